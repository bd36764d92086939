"""Reading runs back: the merged run as Python objects, and reports as text, JSON or a file.

The C core reads, checks and merges the files; this module only gives its answer a Python shape.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import errno
import json
import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from lineprofiler import _core, _later
from lineprofiler.accounting._histogram import DurationHistogram
from lineprofiler.accounting._stats import (
    CounterStats,
    PhaseStats,
    PhaseTree,
    merge_trees,
)

_FORMATS = ("text", "json", "html")


def _own_scale(row: Mapping[str, Any]) -> float:
    """By how much the measured entries of a phase stand for those that ``sample=`` left out."""
    timed = row["calls"] + row["open"]
    return (timed + row["skipped"]) / timed if row["skipped"] and timed else 1.0


def _counter(row: Mapping[str, Any], scale: float) -> CounterStats:
    total, adds = row["total"], row["adds"]
    return CounterStats(
        total if scale == 1 else round(total * scale),
        adds if scale == 1 else round(adds * scale),
        row["min"],
        row["max"],
        DurationHistogram.from_buckets(row.get("hist") or ()),
        DurationHistogram.from_buckets(row.get("hist_negative") or ()),
    )


def _raw_active(row: Mapping[str, Any]) -> float:
    active: float = row["wall_ns"] + row["open_wall_ns"] - row["suspended_ns"]
    return max(0.0, active)


class _Level:
    """What the rows below one row add up to, in time as measured and as estimated beyond that row's scale."""

    __slots__ = ("beyond", "raw", "raw_open")

    def __init__(self) -> None:
        self.raw = self.raw_open = self.beyond = 0.0


def _inner_ns(row: Mapping[str, Any], scale: float, below: _Level) -> float:
    """What phases on top took.  An open one has not been charged yet, so its time so far is added."""
    inner: float = row["inner_ns"]
    if below.raw_open > 0:
        inner = max(inner, min(below.raw, inner + below.raw_open))
    return inner * scale + below.beyond


def _stats(row: Mapping[str, Any], above: float, scale: float, below: _Level, has_cpu: bool) -> PhaseStats:
    hist = DurationHistogram.from_buckets(row["hist"] or ())
    # The root stands for the time outside any phase, for which no CPU time is kept.
    measured_cpu = has_cpu and bool(row["path"]) and row["cpu_ns"] is not None and not row["unmeasured"]
    stats = PhaseStats(
        calls=round((row["calls"] + row["skipped"]) * above),
        wall_ns=round((row["wall_ns"] + row["open_wall_ns"]) * scale),
        cpu_ns=round(max(0, row["cpu_ns"]) * scale) if measured_cpu else None,
        child_wall_ns=round(_inner_ns(row, scale, below)),
        hist=hist if scale == 1 else hist.scaled(scale),
        sample_stride=round(scale) if scale != 1 else 0,
        async_entries=row["async_entries"],
        open=row["open"],
        open_ns=round(row["open_wall_ns"] * scale),
        suspended_ns=round(row["suspended_ns"] * scale),
        unmeasured=row["unmeasured"],
        min_ns=None if row["min_ns"] is None else round(row["min_ns"]),
        max_ns=None if row["max_ns"] is None else round(row["max_ns"]),
        counter_stats={name: _counter(counter, scale) for name, counter in row["counters"].items()},
    )
    if "thread" in row["flags"]:
        # Stands for a thread's name: it is what its phases are.
        stats.wall_ns = stats.child_wall_ns = round(below.raw)
        stats.suspended_ns = 0
        stats.cpu_ns = None
    return stats


def _measured_cpu(workers: Iterable[Mapping[str, Any]]) -> bool:
    """Whether every process that recorded something had a CPU clock."""
    return all(worker["clock"]["cpu"] is not None or worker["verdict"] == "nothing" for worker in workers)


def tree_from_rows(rows: Sequence[Mapping[str, Any]], has_cpu: bool) -> PhaseTree:
    """A tree from the core's rows (root first, parents before children), estimates scaled as in the report.

    ``has_cpu=False``: CPU time was not measured, whatever the rows say.
    """
    scales: dict[tuple[str, ...], tuple[float, float]] = {}
    for row in rows:
        path = tuple(row["path"])
        above = scales[path[:-1]][1] if path else 1.0
        scales[path] = (above, above * _own_scale(row))
    below = {path: _Level() for path in scales}
    found: dict[tuple[str, ...], PhaseStats] = {}
    for row in reversed(rows):
        path = tuple(row["path"])
        above, scale = scales[path]
        found[path] = _stats(row, above, scale, below[path], has_cpu)
        if path:
            parent, parent_scale = below[path[:-1]], scales[path[:-1]][1]
            raw = below[path].raw if "thread" in row["flags"] else _raw_active(row)
            parent.raw += raw
            parent.raw_open += row["open_wall_ns"]
            parent.beyond += (scale - parent_scale) * raw
    tree = PhaseTree()
    for row in rows:
        path = tuple(row["path"])
        if path or found[path].counter_stats:
            tree[path] = found[path]
    return tree


def tree_from_dump(dump: bytes) -> PhaseTree:
    """The tree of one live process from ``Recording.dump``."""
    if not dump:
        return PhaseTree()
    data = json.loads(dump)
    has_cpu = _measured_cpu(data["workers"])
    return merge_trees(tree_from_rows(role["tree"], has_cpu) for role in data["roles"])


class WorkerSnapshot:
    """One process of a run.

    Attributes
    ----------
    pid : int
    role, host, run_id : str
        ``run_id`` is the attempt it belongs to.
    path : str
        Its file, relative to the run directory.
    rank : int or None
    started_at, written_at : float or None
        Seconds since the epoch; ``written_at`` is the last sign of life.  None when the clock was unusable.
    wall_ns : int
        Sum of its outermost phases, open ones included.
    verdict : str
        ``finished``, ``running``, ``stale``, ``killed``, ``ended`` (without closing, no phase open) or ``nothing``.
    killed_in : str
        The innermost open phase of a process that was killed.
    write_failures : int
    placement : dict
        Launcher, job, rank, local rank and world size as far as known.
    samples, trace, backend, hardware
        Empty until resource sampling, the timeline and the heavy backends exist.
    """

    def __init__(self, facts: Mapping[str, Any], run_dir: str) -> None:
        self._facts = facts
        self._run_dir = run_dir
        self._tree: PhaseTree | None = None
        self.pid: int = facts["pid"]
        self.role: str = facts["role"]
        self.path: str = facts["path"]
        self.started_at: float | None = facts["started_at"]
        self.written_at: float | None = facts["written_at"]
        self.run_id: str = facts["attempt"]
        self.write_failures: int = facts["write_failures"]
        self.host: str = facts["host"]
        self.rank: int | None = facts["rank"]
        self.verdict: str = facts["verdict"]
        self.killed_in: str = facts["killed_in"]
        self.wall_ns: int = round(facts["wall_ns"])
        self.samples: list[Any] = []
        self.trace: Any = None
        self.backend: dict[str, Any] = {}
        self.hardware: dict[str, Any] = {}

    @property
    def facts(self) -> Mapping[str, Any]:
        """Everything the core knows of the process, as in the JSON report."""
        return {name: value for name, value in self._facts.items() if name != "tree"}

    @property
    def placement(self) -> dict[str, Any]:
        """Launcher, job, rank, local rank and world size as far as known."""
        names = ("host", "rank", "local_rank", "world_size", "launcher", "job")
        return {name: self._facts[name] for name in names if self._facts.get(name) not in (None, "")}

    @property
    def tree(self) -> PhaseTree:
        """The phases of this process alone."""
        if self._tree is None:
            self._tree = tree_from_rows(self._facts.get("tree") or (), _measured_cpu([self._facts]))
        return self._tree

    @property
    def label(self) -> str:
        """``rank N (host)`` where there is a rank, else ``host:pid``."""
        return f"{self.host}:{self.pid}" if self.rank is None else f"rank {self.rank} ({self.host})"

    def __repr__(self) -> str:
        return f"<WorkerSnapshot {self.role!r} {self.label} {self.verdict}>"


class MergedRun:
    """A run directory, read and merged.

    Attributes
    ----------
    run_dir : str
    run_id : str
        The attempt that is shown; ``"all"`` when several are.
    workers : list of WorkerSnapshot
    unreadable : list of dict
        ``file``, ``error`` and ``detail`` of each file that cost itself.
    superseded : list of dict
        ``id``, ``files``, ``started_at`` and ``written_at`` of the attempts that are not shown.
    missing_ranks : list of int
        Ranks that should exist and do not.
    metadata : dict
        Attempt, start, host, program and Python version of the first worker.
    empty_reason : str
        ``""``, ``"missing"`` (no such directory) or ``"no_worker_files"``.
    """

    def __init__(
        self, run_dir: str, data: Mapping[str, Any] | None, empty_reason: str, selection: dict[str, Any]
    ) -> None:
        data = data or {}
        caveats = data.get("caveats", {})
        attempts = data.get("attempts", [])
        self.run_dir = run_dir
        self.selection = selection
        self.run_id: str = data.get("attempt") or ""
        self.workers = [WorkerSnapshot(facts, run_dir) for facts in data.get("workers", [])]
        self.attempts: list[dict[str, Any]] = attempts
        self.unreadable: list[dict[str, Any]] = caveats.get("unreadable", [])
        self.superseded = [attempt for attempt in attempts if not attempt["chosen"]]
        self.missing_ranks: list[int] = caveats.get("missing_ranks", [])
        self.world_size: int | None = caveats.get("world_size")
        self.empty_reason = empty_reason
        self._roles: dict[str, Mapping[str, Any]] = {role["role"]: role for role in data.get("roles", [])}
        self._trees: dict[str, PhaseTree] = {}
        self._tree: PhaseTree | None = None

    @property
    def roles(self) -> list[str]:
        """Roles, the one with the most phase time first."""
        return list(self._roles)

    @property
    def tree(self) -> PhaseTree:
        """The phases of all roles joined by path."""
        if self._tree is None:
            self._tree = merge_trees(self.tree_of(role) for role in self._roles)
        return self._tree

    @property
    def hosts(self) -> list[str]:
        """Host names in order of appearance."""
        return list(dict.fromkeys(worker.host for worker in self.workers))

    @property
    def metadata(self) -> dict[str, Any]:
        """Attempt, start, host, program and Python version of the worker that started first."""
        if not self.workers:
            return {}
        first = min(self.workers, key=lambda worker: worker.started_at or float("inf"))
        facts = first.facts
        return {
            "run_id": self.run_id,
            "started_at": first.started_at,
            "host": first.host,
            "argv": facts.get("argv", ""),
            "python": facts.get("python", ""),
        }

    @property
    def imbalance(self) -> float:
        """Phase time of the busiest process to the mean of all; 1.0 when there is none."""
        walls = [worker.wall_ns for worker in self.workers]
        return max(walls) * len(walls) / sum(walls) if walls and sum(walls) else 1.0

    @property
    def hardware_by_host(self) -> dict[str, Any]:
        """Empty until resource sampling exists."""
        return {}

    def workers_of(self, role: str) -> list[WorkerSnapshot]:
        """The processes of `role`."""
        return [worker for worker in self.workers if worker.role == role]

    def tree_of(self, role: str) -> PhaseTree:
        """The phases of `role`, its processes joined; empty for a role that is not there."""
        if role not in self._trees:
            rows = self._roles[role]["tree"] if role in self._roles else ()
            has_cpu = _measured_cpu(worker._facts for worker in self.workers_of(role))
            self._trees[role] = tree_from_rows(rows, has_cpu)
        return self._trees[role]

    def samples_of(self, role: str) -> list[Any]:
        """Empty until resource sampling exists."""
        return []

    def samples_by_process(self) -> dict[int, Any]:
        """Empty until resource sampling exists."""
        return {}

    def backend_artifacts(self) -> list[Any]:
        """Empty until the heavy backends exist."""
        return []

    def __repr__(self) -> str:
        return f"<MergedRun {self.run_dir!r} {self.run_id!r}: {len(self.workers)} workers, roles {self.roles}>"


def merge_run(
    run_dir: str | os.PathLike[str],
    with_samples: bool = True,
    with_trace: bool = False,
    *,
    attempt: str = "latest",
    ranks: str | None = None,
    roles: str | None = None,
    hosts: str | None = None,
    any_owner: bool = False,
    read_only: bool = False,
) -> MergedRun:
    """Read and merge a run directory, which may still be written to.

    Parameters
    ----------
    run_dir
        The directory.
    with_samples
        Has no effect until resource sampling exists.
    with_trace
        True asks for the timeline, which does not exist yet.
    attempt
        ``"latest"``, the id of one attempt, or ``"all"``.
    ranks, roles, hosts
        Selections such as ``"0-3,5"`` and ``"actor,learner"``; None for all.
    any_owner
        Also read files that belong neither to the reader nor to the directory's owner.
    read_only
        Change nothing in the directory.

    Returns
    -------
    MergedRun
        With ``empty_reason`` set, and nothing in it, when there is no such directory or no run in it.

    Raises
    ------
    ProfileError
        A subclass that fits the cause.  A bad file among good ones is no error; it is in ``unreadable``.
    """
    if with_trace:
        raise _later.missing("with_trace=True", _later.TIMELINE)
    directory = os.fsdecode(os.fspath(run_dir))
    selection: dict[str, Any] = {
        "attempt": attempt,
        "ranks": ranks,
        "roles": roles,
        "hosts": hosts,
        "any_owner": any_owner,
        "read_only": read_only,
    }
    try:
        text = _core.load_run(directory, process_trees=True, **selection)
    except _core.ProfileStorageError as error:
        reason = {"not-found": "missing", "no-run": "no_worker_files"}.get(getattr(error, "slug", ""))
        if reason is None:
            raise
        return MergedRun(directory, None, reason, selection)
    return MergedRun(directory, json.loads(text), "", selection)


def _check_format(format: str) -> None:
    if format not in _FORMATS:
        raise ValueError(f"format={format!r} must be one of {', '.join(map(repr, _FORMATS))}")
    if format == "html":
        raise _later.missing("format='html'", _later.PAGES)


def _source(run: MergedRun | str | os.PathLike[str]) -> tuple[str, str]:
    if isinstance(run, MergedRun):
        return run.run_dir, run.selection["attempt"]
    return os.fsdecode(os.fspath(run)), "latest"


def render(run: MergedRun | str | os.PathLike[str], *, width: int = 0) -> str:
    """The text report.

    Parameters
    ----------
    run
        A merged run, of which directory and attempt count, or a run directory.  The files are read again.
    width
        Columns; 0 for 80.

    Raises
    ------
    ProfileError
        When there is no run.
    """
    return report(run, "text", width=width)


def report(run: MergedRun | str | os.PathLike[str], format: str = "text", *, width: int = 0) -> str:
    """The report as ``"text"`` or ``"json"``; see ``render`` for the rest, and ``write_report`` for a file.

    Raises
    ------
    ValueError
        For another format.
    """
    _check_format(format)
    directory, attempt = _source(run)
    return _core.report(directory, format, attempt=attempt, width=width).decode("utf-8")


def report_as_dict(run: MergedRun | str | os.PathLike[str]) -> dict[str, Any]:
    """What ``lineprofiler report --format json`` prints, as a dict; see ``render`` for the rest."""
    directory, attempt = _source(run)
    document: dict[str, Any] = json.loads(_core.report(directory, "json", attempt=attempt))
    return document


def write_report(
    run_dir: str | os.PathLike[str],
    path: str | os.PathLike[str],
    format: str = "text",
    *,
    attempt: str = "latest",
) -> None:
    """Write the report of `run_dir` into the file `path`.

    Parameters
    ----------
    run_dir
        The run directory.
    path
        The file; folders on the way are made, and a regular file is replaced as a whole or not at all.
    format
        ``"text"`` or ``"json"``; ``"html"`` once it exists.
    attempt
        ``"latest"``, the id of one attempt, or ``"all"``.

    Raises
    ------
    ValueError
        For another format.
    ProfileError
        When there is no run, or the file cannot be written.
    """
    _check_format(format)
    content = _core.report(os.fsdecode(os.fspath(run_dir)), format, attempt=attempt)
    target = os.fsdecode(os.fspath(path))
    try:
        _write(target, content)
    except OSError as error:
        raise _core.ProfileStorageError(error.errno, f"cannot write the report: {error.strerror}", target) from error


def _write(target: str, content: bytes) -> None:
    """Replace a regular file or make a new one at once; write through to a device or pipe; refuse a link."""
    folder = os.path.dirname(target) or "."
    try:
        mode = os.lstat(target).st_mode
    except FileNotFoundError:
        mode = 0
        os.makedirs(folder, exist_ok=True)
    if stat.S_ISLNK(mode):
        raise OSError(errno.ELOOP, "is a symbolic link", target)
    if mode and not stat.S_ISREG(mode):
        with open(target, "wb") as through:
            through.write(content)
        return
    temporary = os.path.join(folder, f".{os.path.basename(target)[:200]}.{os.getpid()}.{os.urandom(4).hex()}")
    try:
        with open(temporary, "xb") as new:
            new.write(content)
            new.flush()
            os.fsync(new.fileno())
        os.replace(temporary, target)
    except BaseException:
        try:
            os.unlink(temporary)
        except OSError:
            pass
        raise
