"""The profiler object: one recording of this process, how it is switched on, and how it ends."""
# SPDX-License-Identifier: MIT

import atexit
import os
import sys
from _weakref import ref

from lineprofiler import _core
from lineprofiler.accounting import _settings
from lineprofiler.accounting._warn import warn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence
    from types import TracebackType
    from typing import Any, NoReturn, SupportsIndex, TypeVar, overload

    from lineprofiler.accounting._idle import IdlePhase
    from lineprofiler.accounting._snapshots import Snapshots
    from lineprofiler.accounting._stats import PhaseTree

    _T = TypeVar("_T")
    _F = TypeVar("_F", bound=Callable[..., Any])
    _Callback = TypeVar("_Callback", bound=Callable[[PhaseTree], object])
else:

    def overload(function):
        """Without typing, the last definition simply wins."""
        return function


# Profilers that are not closed, by id.  Only the installed one is kept alive by this module.
_live: "dict[int, ref[Profiler]]" = {}
_installed: "Profiler | None" = None


def _family() -> int:
    """Pid of the multiprocessing parent, whose workers are one run even if it does not record itself; 0: none."""
    module = sys.modules.get("multiprocessing.process")
    parent = module.parent_process() if module is not None else None
    return 0 if parent is None else int(parent.pid)


class Profiler:
    """Records phases and counters of this process into a run directory.

    Whether it records is decided once, at construction: by `enabled`; without it by whether `run_dir` was given;
    without both by the environment variable LINEPROFILER_PROFILE.  A profiler that does not record creates nothing.

    Recording needs no flushing and survives the death of the process; ``close`` only says that the end was orderly.  A
    profiler is also a context manager that closes itself.

    Parameters
    ----------
    run_dir
        Directory of the run, made absolute now.  Default: LINEPROFILER_RUN_DIR, else ``"profile"``.
    role
        What this process does; the report groups by it.  Default: LINEPROFILER_ROLE, else ``"main"``.
    run_id
        The attempt to join.  Default: LINEPROFILER_RUN_ID, else what the launcher says, else a fresh one.
    enabled
        True, False, or a word such as ``"on"`` or ``"off"``.
    snapshot_interval_s
        Seconds between calls of what ``on_snapshot`` registered; None for never.
    measure_cpu
        Whether phases measure CPU time, from which waiting time follows.
    install
        Become the process-wide profiler, see ``install_profiler``.
    strict_names
        Make the second name that differs from another only in its digits a ValueError.
    thread_names
        Nest the phases of each thread below the thread's name.
    source
        What to record about the program's revision, a dict.
    store
        Where the live file is: ``"auto"``, ``"run_dir"``, ``"shm"`` or ``"memory"``, see ``docs/processes.md``.
    share
        ``"group"`` makes what is created readable to the group.
    max_paths
        Ceiling on distinct paths; entries beyond it go to ``(folded)``.  Default: 16,384.
    sample_interval_s, backend, backend_window, window_phase, annotate, cuda_sync, trace, trace_capacity,
    trace_functions
        Of parts that do not exist yet.  None, False and the default are accepted.

    Attributes
    ----------
    run_dir, role : str
    run_id : str
        Attempt; ``""`` when not recording and none was given.
    enabled, closed : bool

    Raises
    ------
    ValueError, TypeError
        For a wrong argument; nothing has been created then.
    NotImplementedError
        For an argument that asks for a part that does not exist yet.
    """

    run_dir: str
    role: str
    run_id: str
    enabled: bool
    closed = True  # until construction has succeeded
    _used = False
    _idle_before = 0

    def __init__(
        self,
        run_dir: "str | os.PathLike[str] | None" = None,
        role: "str | None" = None,
        run_id: "str | None" = None,
        enabled: "bool | str | None" = None,
        snapshot_interval_s: "float | None" = 30.0,
        sample_interval_s: "float | None" = 1.0,
        measure_cpu: bool = True,
        backend: "str | None" = None,
        backend_window: "tuple[int, int] | None" = None,
        window_phase: str = "iteration",
        annotate: bool = False,
        install: bool = False,
        strict_names: bool = False,
        thread_names: bool = False,
        trace: "bool | str | None" = None,
        trace_capacity: int = 200_000,
        trace_functions: "Sequence[str] | None" = None,
        source: "dict[str, Any] | None" = None,
        cuda_sync: "bool | None" = None,
        *,
        store: str = "auto",
        share: "str | None" = None,
        max_paths: "int | None" = None,
    ) -> None:
        install = _settings.switch_argument("install", install)
        options: dict[str, Any] = {
            "measure_cpu": _settings.switch_argument("measure_cpu", measure_cpu),
            "strict_names": _settings.switch_argument("strict_names", strict_names),
            "thread_names": _settings.switch_argument("thread_names", thread_names),
            "max_paths": _settings.path_ceiling(max_paths),
            "facts": _settings.source_facts(source),
            "store": _settings.choice("store", store, _settings.STORES),
            "share": _settings.choice("share", share, (None, "group")),
        }
        self._interval_s = _settings.positive_interval("snapshot_interval_s", snapshot_interval_s)
        attempt = _settings.resolve_run_id(run_id)
        self.role = _settings.resolve_role(role)
        self.run_dir = _settings.resolve_run_dir(run_dir)
        _settings.refuse_unbuilt(
            {
                "sample_interval_s": sample_interval_s,
                "backend": backend,
                "backend_window": backend_window,
                "window_phase": window_phase,
                "annotate": annotate,
                "trace": trace,
                "trace_capacity": trace_capacity,
                "trace_functions": trace_functions,
                "cuda_sync": cuda_sync,
            }
        )
        self.enabled = _settings.resolve_enabled(enabled, run_dir)
        if self.enabled and trace is None:
            _settings.note_trace_environment()
        self._pid = os.getpid()
        self._snapshots: Snapshots | None = None
        self._cursor: PhaseTree | None = None
        self._exported: _settings.Exported | None = None
        self._recording: _core.Recording | None = None
        if self.enabled:
            self._recording = _core.Recording(self.run_dir, self.role, attempt, family=_family(), **options)
            self.run_id = self._recording.attempt
        else:
            self.run_id = attempt or ""
        self._go_live(install)

    def _go_live(self, install: bool) -> None:
        self.closed = False
        _enter_registry(self)
        recording = self._recording
        if recording is not None:
            _warn_of_double(self)
            self._exported = _settings.Exported(
                {
                    _settings.ENV_PROFILE: "1",
                    _settings.ENV_RUN_DIR: self.run_dir,
                    _settings.ENV_RUN_ID: self.run_id,
                }
            )
            self._bind(recording)
        if install:
            _install(self)

    def _bind(self, recording: "_core.Recording") -> None:
        """Let the hot calls of this object go straight into the extension, unless a subclass has its own."""
        for name in ("phase", "count", "begin", "end", "iterate"):
            if getattr(type(self), name) is getattr(Profiler, name):
                self.__dict__[name] = getattr(recording, name)

    # What records.  On a profiler that records, instances answer with the extension's own functions (see _bind), so
    # these bodies serve profilers that are switched off, and subclasses that call them.

    @overload
    def phase(
        self, name: str, io: bool = False, sync: bool = False, sample: float = 1.0, async_work: bool = False
    ) -> "_core.phase": ...
    @overload
    def phase(self, name: "_F") -> "_F": ...  # noqa: F811
    def phase(  # noqa: F811
        self, name: "Any", io: bool = False, sync: bool = False, sample: float = 1.0, async_work: bool = False
    ) -> "Any":
        """A phase of this profiler: a context manager, an async one, and a decorator.

        Parameters
        ----------
        name
            Any str.  A function instead makes this a bare decorator; the phase is called by its ``__qualname__``.
        io, sync, async_work
            See ``docs/accounting.md``.
        sample
            Share of the entries to measure, above 0 and at most 1.
        """
        if self._recording is not None:
            return self._recording.phase(name, io, sync, sample, async_work)
        if not isinstance(name, str) and callable(name):
            from lineprofiler.accounting import _decorate

            return self._idle_phase(_decorate.name_of(name), io, sync, sample, async_work)(name)
        return self._idle_phase(name, io, sync, sample, async_work)

    def _idle_phase(
        self, name: str, io: bool = False, sync: bool = False, sample: float = 1.0, async_work: bool = False
    ) -> "IdlePhase":
        from lineprofiler.accounting._idle import IdlePhase

        return IdlePhase(self, name, io, sync, sample, async_work)

    def count(self, name: str, n: "SupportsIndex" = 1) -> None:
        """Add `n` to the counter `name` of the innermost running phase of this thread, or of none.

        Raises
        ------
        TypeError
            Unless `name` is a str and `n` a whole number of any kind.
        OverflowError
            When `n` does not fit 64 bits.
        """
        if self._recording is not None:
            return self._recording.count(name, n)
        from lineprofiler.accounting import _idle

        _idle.check_name(name)
        _idle.check_amount(n)
        self._used = True
        return None

    def begin(self, name: str, /) -> "_core.Token":
        """Begin a phase where ``with`` does not fit.  Keep the token: when it dies, the phase ends."""
        if self._recording is not None:
            return self._recording.begin(name)
        from lineprofiler.accounting._idle import IdleToken

        token: Any = IdleToken(name)
        self._used = True
        return token  # type: ignore[no-any-return]

    def end(self, token: "_core.Token", /) -> None:
        """End the phase of `token`.  An end without a begin, or a second one, is counted and reported, never raised."""
        if self._recording is not None:
            self._recording.end(token)

    def iterate(self, name: str, iterable: "Iterable[_T]", /) -> "Iterator[_T]":
        """The items of `iterable`; getting each is a phase called `name`, what the loop does with it is not."""
        if self._recording is not None:
            return self._recording.iterate(name, iterable)
        from lineprofiler.accounting import _idle

        _idle.check_name(name)
        self._used = True
        return iter(iterable)

    @overload
    def profile(self, function: "_F", /) -> "_F": ...
    @overload
    def profile(self, function: None = None, /, *, name: "str | None" = None) -> "Callable[[_F], _F]": ...  # noqa: F811
    def profile(self, function: "Any" = None, /, *, name: "str | None" = None) -> "Any":  # noqa: F811
        """Decorator: each call of the function is a phase, called `name` or else by its ``__qualname__``."""
        if function is None:
            return lambda function: self.profile(function) if name is None else self.phase(name)(function)
        if name is not None:
            return self.phase(name)(function)
        return self.phase(function)

    def signal(self, channel: str, key: object) -> None:
        """Has no effect until the timeline exists."""

    def wait_on(self, channel: str, key: object) -> None:
        """Has no effect until the timeline exists."""

    def trace_begin(self, channel: str, key: object) -> None:
        """Has no effect until the timeline exists."""

    def trace_mark(self, channel: str, key: object, name: str, sample: float = 1.0) -> None:
        """Has no effect until the timeline exists."""

    def trace_end(self, channel: str, key: object) -> None:
        """Has no effect until the timeline exists."""

    # What looks at the recording.

    def current_phase(self) -> str:
        """The deepest open path over all threads of this process, ``"a/b"``; ``""`` when nothing is open."""
        deepest: tuple[str, ...] = ()
        for path, stats in self.merged_tree().items():
            if stats.open and len(path) > len(deepest):
                deepest = path
        return "/".join(deepest)

    def io_counters(self) -> "NoReturn":
        """Bytes that this process has read and written; needs resource sampling, which does not exist yet."""
        from lineprofiler import _later

        raise _later.missing("io_counters()", _later.RESOURCES)

    def snapshot(self) -> None:
        """Copy the store into the run directory now.  Only needed where the live file is elsewhere."""
        if self._recording is not None and not self.closed:
            self._recording.snapshot()

    def merged_tree(self) -> "PhaseTree":
        """All phases of this process so far, its threads joined; also after ``close``."""
        from lineprofiler.accounting import _run, _stats

        if self._recording is None:
            return _stats.PhaseTree()
        return _run.tree_from_dump(self._recording.dump())

    def deltas(self) -> "PhaseTree":
        """What happened since the last call of ``deltas`` (the first time: since the start).

        Every figure is of the interval, see ``PhaseDelta``.  The CPU time of an entry counts in the interval in which
        it ends; its wall time in each that it crosses.

        Returns
        -------
        PhaseTree
            ``PhaseDelta`` by path; phases in which nothing happened are absent.
        """
        from lineprofiler.accounting import _stats

        now = self.merged_tree()
        if self._pid != os.getpid():  # in the child of a fork the tree starts anew
            self._pid = os.getpid()
            self._cursor = None
        earlier, self._cursor = self._cursor, now
        return _stats.tree_difference(now, earlier if earlier is not None else _stats.PhaseTree())

    def on_snapshot(self, callback: "_Callback") -> "_Callback":
        """Call `callback` with the tree so far every ``snapshot_interval_s`` seconds, on a thread of its own.

        Its exceptions are counted and go no further.  Usable as a decorator.
        """
        if not callable(callback):
            raise TypeError(f"on_snapshot takes a function, not {type(callback).__name__}")
        if self._recording is not None and not self.closed and self._interval_s is not None:
            if self._snapshots is None:
                from lineprofiler.accounting._snapshots import Snapshots

                self._snapshots = Snapshots(self, self._interval_s)
            self._snapshots.add(callback)
        return callback

    @property
    def write_failures(self) -> int:
        """How many times the system refused to keep something."""
        return self._recording.write_failures if self._recording is not None else 0

    # The end.

    def close(self) -> None:
        """End the recording for good and undo every hook.  May be called again."""
        if self.closed:
            return
        self._retire()
        recording = self._recording
        if recording is not None:
            recording.close()
            if recording.write_failures and not recording.path:  # no report will ever tell
                warn(
                    f"nothing could be written to {self.run_dir}, so what this process recorded is lost: "
                    "name a directory that can be created and written"
                )

    def _retire(self) -> None:
        """Everything of ``close`` but the recording itself, which a phase may still hold."""
        self.closed = True
        if _installed is self:
            _install(None)
        if self._snapshots is not None:
            self._snapshots.stop()
        if self._exported is not None:
            self._exported.remove()
        _leave_registry(self)
        if self._used and self._recording is None:
            warn(
                f"a profiler that was switched off was used, so nothing was recorded in {self.run_dir}: "
                f"pass run_dir= or enabled=True, or set {_settings.ENV_PROFILE}=1"
            )

    def _now_installed(self) -> None:
        if self._recording is None:
            self._idle_before = _core.unrecorded_uses()[0]
        else:
            self._recording.install()
            _warn_of_undecorated(self._recording)

    def _uninstalled(self) -> None:
        if self._recording is not None:
            self._recording.uninstall()
        elif _core.unrecorded_uses()[0] > self._idle_before:
            self._used = True

    def __enter__(self) -> "Profiler":
        return self

    def __exit__(
        self, kind: "type[BaseException] | None", value: "BaseException | None", trace: "TracebackType | None"
    ) -> None:
        self.close()

    def __del__(self) -> None:
        if not self.closed:
            self._retire()

    def __repr__(self) -> str:
        state = "closed" if self.closed else "recording" if self.enabled else "off"
        return f"<Profiler {self.role!r} in {self.run_dir!r}: {state}>"


# All profilers of the process.


def _enter_registry(profiler: Profiler) -> None:
    if not _live:
        atexit.register(_close_all)
    _live[id(profiler)] = ref(profiler)


def _leave_registry(profiler: Profiler) -> None:
    if _live.pop(id(profiler), None) is not None and not _live:
        atexit.unregister(_close_all)


def _close_all() -> None:
    for reference in list(_live.values()):
        profiler = reference()
        if profiler is not None:
            profiler.close()


def _warn_of_double(profiler: Profiler) -> None:
    """A second profiler on one directory splits the numbers of the process.  One inherited over a fork does not."""
    for reference in list(_live.values()):
        other = reference()
        if other is None or other is profiler or not other.enabled or other._pid != profiler._pid:
            continue
        if other.run_dir == profiler.run_dir:
            warn(
                f"another profiler of this process already records into {profiler.run_dir}: "
                "its phases will stand beside these ones as another worker; close it first, or use one",
                profiler._recording,
            )
            return


_warned_of_undecorated = False


def _warn_of_undecorated(recording: "_core.Recording") -> None:
    """Functions that were decorated while the environment said "off" are not measured, and cannot be any more."""
    global _warned_of_undecorated
    undecorated = _core.unrecorded_uses()[1]
    if undecorated and not _warned_of_undecorated:
        _warned_of_undecorated = True
        warn(
            f"{undecorated} functions were decorated while {_settings.ENV_PROFILE} said off, so they stay as they were "
            "and are not measured: unset it, or set it to 1, before they are imported",
            recording,
        )


# The installed one, which module functions and C code record into.


def installed() -> "Profiler | None":
    """The process-wide profiler."""
    return _installed


def _install(profiler: "Profiler | None") -> None:
    global _installed
    previous, _installed = _installed, profiler
    if previous is profiler:
        return
    if previous is not None:
        previous._uninstalled()
    if profiler is None:
        return
    profiler._now_installed()
    if previous is not None and previous._pid == os.getpid():
        warn(
            f"{previous!r} was installed and is replaced by {profiler!r}: "
            "phases without a profiler are recorded by the new one from now on",
            profiler._recording,
        )


def install(profiler: Profiler) -> None:
    """Make `profiler` the process-wide one."""
    if not isinstance(profiler, Profiler):
        raise TypeError(f"install_profiler takes a Profiler, not {type(profiler).__name__}")
    if profiler.closed:
        raise RuntimeError("this profiler is closed, and closing is final: make a new one")
    _install(profiler)


def uninstall(profiler: "Profiler | None" = None) -> None:
    """Take the process-wide profiler away; with `profiler`, only if it is that one."""
    if profiler is None or _installed is profiler:
        _install(None)
