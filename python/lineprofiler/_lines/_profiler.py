"""The line profiler: what is recorded between entering and leaving, and the ways to look at it."""
# SPDX-License-Identifier: MIT

import os
import sys

from lineprofiler import _core
from lineprofiler._lines import _config, _decorator, _resolve, _results
from lineprofiler._lines._scope import Scope, ScopeTable
from lineprofiler.accounting import _settings

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from contextlib import AbstractContextManager
    from types import CodeType, FrameType, TracebackType
    from typing import Any, TextIO, TypeVar

    from lineprofiler._lines._config import ProfilerConfig
    from lineprofiler._lines._stats import FunctionStats, Key, RegionStats

    _T = TypeVar("_T")

MECHANISMS = ("monitoring", "settrace")
# A private recording is never copied anywhere; it wants the name of a directory all the same.
NO_RUN_DIR = "/dev/null/lineprofiler"
_OWN = {"collector": "lines"}  # this file holds no phases
ENGINES = ("builtin", "line_profiler")


class LineProfiler:
    """Records the lines of the project's own code: hits, their own time, and their time with what they call.

    Between entering and leaving, all threads are recorded.  Results may be read at any moment and are snapshots; what
    several blocks record adds up until ``clear()``.  Any number of profilers may be at work at once.

    Also a decorator: a decorated function is recorded from then on, inside a block or not, and stays the very object
    that it was.

    Parameters
    ----------
    project_folder
        Whose code is recorded.  Default: the nearest folder with ``.git`` at or above the calling file, else the
        nearest with ``pyproject.toml``, else the folder of the calling file.
    config
        Patterns of files and functions.  Default: ``[tool.lineprofiler]`` in the project's ``pyproject.toml``.
    backend
        ``"monitoring"`` (Python 3.12 and newer) or ``"settrace"``.  Default: the cheaper one that is to be had.
    engine
        Taken for compatibility: ``"builtin"`` and ``"line_profiler"`` are both this one.
    run_dir
        Record into this run directory: nothing is lost when the process is killed, and processes started inside the
        block are recorded as well.  Default: in memory, this process only.
    role
        What this process is called in the run.  Default: LINEPROFILER_ROLE, else ``"main"``.
    run_id
        The attempt to join.  Default: LINEPROFILER_RUN_ID, else what the launcher says, else a fresh one.

    Attributes
    ----------
    project_folder : str
    config : ProfilerConfig
    run_dir : str or None
    backend, engine : str

    Raises
    ------
    ValueError, TypeError
        For a wrong argument; nothing has been created then.
    """

    project_folder: str
    config: "ProfilerConfig"
    run_dir: "str | None"

    def __init__(
        self,
        project_folder: "str | os.PathLike[str] | None" = None,
        config: "ProfilerConfig | None" = None,
        *,
        backend: "str | None" = None,
        engine: "str | None" = None,
        run_dir: "str | os.PathLike[str] | None" = None,
        role: "str | None" = None,
        run_id: "str | None" = None,
    ) -> None:
        self._mechanism = _mechanism(backend)
        if engine is not None and engine not in ENGINES:
            raise ValueError(f"engine={engine!r} must be one of {', '.join(map(repr, ENGINES))}, or None")
        if config is not None and not isinstance(config, _config.ProfilerConfig):
            raise TypeError(f"config must be a ProfilerConfig or None, not {type(config).__name__}")
        self._role = _settings.resolve_role(role)
        self._run_id = _settings.resolve_run_id(run_id)
        self.run_dir = None if run_dir is None else _settings.resolve_run_dir(run_dir)
        self.project_folder = project_of(project_folder, sys._getframe(1))
        self.config = _config.config_of(self.project_folder) if config is None else config
        self._scope = Scope(self.project_folder, self.config)
        self._recording: _core.Recording | None = None
        self._session: _core.LineSession | None = None  # of blocks
        self._outer: _core.LineSession | None = None  # of decorated functions outside blocks
        self._added: list[CodeType] = []
        self._exported: _settings.Exported | None = None
        self._resolved: dict[int, set[int]] = {}  # code objects by their session, both by id; both are kept alive
        self._noted: dict[str, str] = {}
        self._entered = self._active = self._is_child = self._is_program = False
        self._pid = os.getpid()

    @property
    def backend(self) -> str:
        """How lines are watched: ``"monitoring"`` or ``"settrace"``."""
        if self._session is not None:
            return self._session.mechanism
        return self._mechanism or ("monitoring" if sys.version_info >= (3, 12) else "settrace")

    @property
    def engine(self) -> str:
        """Always ``"builtin"``."""
        return "builtin"

    @property
    def is_active(self) -> bool:
        """Whether it is recording."""
        return self._active

    @property
    def run_id(self) -> str:
        """The attempt that is recorded into; ``""`` before the first block and without a run directory."""
        if self.run_dir is None or self._recording is None:
            return ""
        return self._recording.attempt

    def __repr__(self) -> str:
        place = "memory" if self.run_dir is None else repr(self.run_dir)
        return f"<LineProfiler of {self.project_folder!r} into {place}{', recording' if self._active else ''}>"

    # Recording.

    def __enter__(self: "_T") -> "_T":
        self.start()  # type: ignore[attr-defined]
        return self

    def __exit__(
        self, kind: "type[BaseException] | None", value: "BaseException | None", trace: "TracebackType | None"
    ) -> None:
        self.stop()

    def start(self) -> None:
        """Begin to record, as entering does.

        Raises
        ------
        RuntimeError
            When it records already.
        """
        if self._active:
            raise RuntimeError("this LineProfiler is recording already: leave its block first, or use another one")
        session = self._made_session()
        if self._outer is not None:
            self._outer.stop()  # else decorated functions would be counted twice
        self._export()
        try:
            session.start()
        except BaseException:
            self._withdraw()
            raise
        self._active = self._entered = True
        self._bind_region()

    def stop(self) -> None:
        """Stop recording, as leaving does.  From any thread; without effect when it does not record."""
        if not self._active:
            return
        self._active = False
        self._withdraw()
        assert self._session is not None
        self._session.stop()
        if self._outer is not None:
            self._outer.start()
            self._bind_region()
        if self.run_dir is not None:  # whoever reads the file may have no Python; what is in memory can wait
            _resolve.some_of(self)
        _results.note_facts(self)

    def _close(self) -> None:
        """Stop for good, and mark the file as ended in order."""
        self._halt()
        if self._recording is not None and self._recording is not _core.installed():
            self._recording.close()

    def __call__(self, function: "_T") -> "_T":
        """Decorator: record this function from now on, wherever it is called, and give it back as it is.

        Functions, methods, classes, and whatever wraps one of them; functions defined inside come with it.

        Raises
        ------
        TypeError
            When there is no Python code behind `function`.
        """
        codes = _decorator.codes_of(function)
        if _settings.parse_switch(os.environ.get(_config.ENV_ENABLED, "on")) is not False:
            self._add(codes)
        return function

    def _record_only(self, function: "Any") -> None:
        """Record a function whatever the environment says."""
        self._add(_decorator.codes_of(function))

    def _halt(self) -> None:
        """Stop everything that records."""
        self.stop()
        if self._outer is not None:
            self._outer.stop()

    def _add(self, codes: "list[CodeType]") -> None:
        self._added += codes
        if self._session is not None:
            for code in codes:
                self._session.add(code)
        if self._outer is None:
            self._outer = self._new_session(_Nothing(self._scope))
            for code in self._added:
                self._outer.add(code)
            if not self._active:
                _ = self._outer.event_cost_ns  # once per process, and not while anything records
                self._outer.start()
                self._bind_region()
        else:
            for code in codes:
                self._outer.add(code)

    def _sessions(self) -> "list[_core.LineSession]":
        return [session for session in (self._session, self._outer) if session is not None]

    def _made_session(self) -> "_core.LineSession":
        if self._session is None:
            self._session = self._new_session(self._scope)
            for code in self._added:
                self._session.add(code)
        return self._session

    def _prepare(self) -> None:
        """What must be there before lines are watched."""
        if sys.version_info < (3, 12):
            # Threads that begin later are reached through threading's own hook, so it has to be loaded by then.
            import threading  # noqa: F401

    def _new_session(self, scope: "Scope | _Nothing") -> "_core.LineSession":
        if self._recording is None:
            self._prepare()
            self._recording = self._new_recording()
        return _core.LineSession(
            self._recording,
            admit_file=scope.admit_file,
            admit_function=scope.admit_function,
            source=scope.source,
        )

    def _new_recording(self) -> "_core.Recording":
        if self.run_dir is None:
            return _core.Recording(NO_RUN_DIR, self._role, store="private", facts=_OWN)
        shared = _core.installed()
        if shared is not None and shared.run_dir == self.run_dir and shared.is_open:
            return shared  # phases and lines of one process belong into one file
        _close_at_exit(self)
        return _core.Recording(self.run_dir, self._role, self._run_id, facts={**_settings.source_facts(None), **_OWN})

    def _export(self) -> None:
        """Let processes that are started from now on record into the same run."""
        if self.run_dir is None or self._recording is None:
            return
        from lineprofiler._lines import _children

        word = _children.word_for(self._scope, self.run_dir, self._recording.attempt, self._mechanism)
        self._exported = _settings.Exported({_children.ENV_LINES: word})

    def _withdraw(self) -> None:
        if self._exported is not None:
            self._exported.remove()
            self._exported = None

    # Regions.

    def region(self, name: str) -> "AbstractContextManager[object]":
        """A part of the block, as a context manager: what this thread, or its task, records inside belongs to it.

        Regions nest, and an inner region's lines count for the outer one as well.  Outside a block nothing is recorded.
        """
        return self._bind_region()(name)

    def _bind_region(self) -> "Callable[[str], AbstractContextManager[object]]":
        """Let ``region`` of this object go straight into the extension, unless a subclass has its own."""
        session = self._outer if self._outer is not None and not self._active else self._made_session()
        region: Callable[[str], AbstractContextManager[object]] = session.region
        whole = _whole_process()
        if whole is not None and whole is not session:
            region = _both_regions(session, whole)
        if type(self).region is LineProfiler.region:
            self.__dict__["region"] = region
        return region

    # Results.

    def get_stats(self) -> "dict[Key, FunctionStats]":
        """What is recorded so far, by (filename, function_name, first_line), most time first.  A snapshot."""
        return _results.functions(self)

    def region_stats(self) -> "dict[str, RegionStats]":
        """The regions so far, by name; of one inside another ``"outer/inner"``.  A snapshot."""
        return {"/".join(each.path): each for each in _results.regions(self)}

    def region_entries(self) -> "dict[str, int]":
        """How often each region was entered, by the names of ``region_stats``."""
        return {name: each.entries for name, each in self.region_stats().items()}

    def clear(self) -> None:
        """Forget what was recorded.  Results handed out before stay as they are."""
        for session in self._sessions():
            session.clear()

    reset = clear

    def print_stats(
        self,
        min_time_us: float = 0.0,
        top_n_lines: "int | None" = None,
        sort_by: str = "time",
        stream: "TextIO | None" = None,
        *,
        output_unit: "float | str | None" = None,
        raw: bool = False,
    ) -> None:
        """Print one table per function, most time first.

        Parameters
        ----------
        min_time_us
            Leave out lines below this time.
        top_n_lines
            At most so many lines of a function.
        sort_by
            ``"time"``, ``"self"``, ``"hits"``, or ``"line"`` for the function as it is written.
        stream
            Where to; default: ``sys.stdout``.
        output_unit
            The unit of times in the table: ``"ns"``, ``"us"``, ``"ms"``, ``"s"``, or its seconds, ``1e-3``.
        raw
            Leave the measured cost of the recording itself in the times.
        """
        _results.print_functions(self, min_time_us, top_n_lines, sort_by, stream, output_unit, raw)

    def print_global_top_stats(
        self,
        top_n: "int | None" = 10,
        min_time_us: float = 0.0,
        sort_by: str = "time",
        stream: "TextIO | None" = None,
        *,
        output_unit: "float | str | None" = None,
        raw: bool = False,
    ) -> None:
        """Print the lines of all functions that took most; arguments as for ``print_stats``."""
        _results.print_top(self, top_n, min_time_us, sort_by, stream, output_unit, raw)

    def print_regions(
        self,
        top_n: "int | None" = 10,
        min_time_us: float = 0.0,
        stream: "TextIO | None" = None,
        *,
        output_unit: "float | str | None" = None,
        raw: bool = False,
    ) -> None:
        """Print one table per region; arguments as for ``print_stats``."""
        _results.print_regions(self, top_n, min_time_us, stream, output_unit, raw)

    def to_html(self, path: "str | os.PathLike[str]", title: str = "lineprofiler") -> None:
        """Write one page with the source, its lines coloured by their time.  Folders are made."""
        _results.write(self, path, "html", title=title)

    def to_json(self, path: "str | os.PathLike[str] | None" = None) -> "str | None":
        """Write everything as JSON; without a path, return it."""
        if path is None:
            self._made_session()  # a document also of nothing
            _resolve.all_of(self)
            return _results.render(self, "json")
        _results.write(self, path, "json")
        return None

    def to_speedscope(self, path: "str | os.PathLike[str]") -> None:
        """Write a file for speedscope."""
        _results.write(self, path, "speedscope")

    def to_collapsed(self, path: "str | os.PathLike[str]") -> None:
        """Write collapsed stacks, as flame graph tools read them."""
        _results.write(self, path, "collapsed")

    def dump_stats(self, path: "str | os.PathLike[str]") -> None:
        """Write an ``.lprof`` file that line_profiler loads.  line_profiler need not be installed."""
        from lineprofiler._lines import _lprof

        _lprof.dump(path, self.get_stats())

    def scope(self) -> ScopeTable:
        """Which files are recorded, which are not, and why.  Printed, it is a table."""
        return ScopeTable(self._scope, _results.outside(self))


def _whole_process() -> "_core.LineSession | None":
    """The session that records all of this process, under `lineprofiler run` and the like."""
    children = sys.modules.get("lineprofiler._lines._children")
    profiler = getattr(children, "_profiler", None)
    return None if profiler is None else profiler._session


def _both_regions(
    own: "_core.LineSession", whole: "_core.LineSession"
) -> "Callable[[str], AbstractContextManager[object]]":
    """Regions that a program names are regions of the whole as well."""
    return lambda name: _Both(own.region(name), whole.region(name))


class _Both:
    """Two context managers as one."""

    __slots__ = ("_first", "_second")

    def __init__(self, first: "AbstractContextManager[object]", second: "AbstractContextManager[object]") -> None:
        self._first, self._second = first, second

    def __enter__(self) -> "_Both":
        self._first.__enter__()
        self._second.__enter__()
        return self

    def __exit__(
        self, kind: "type[BaseException] | None", value: "BaseException | None", trace: "TracebackType | None"
    ) -> None:
        self._second.__exit__(kind, value, trace)
        self._first.__exit__(kind, value, trace)


class _Nothing:
    """The scope of a session that records only what it is given."""

    def __init__(self, scope: Scope) -> None:
        self.source = scope.source

    def admit_file(self, filename: str) -> int:
        return 0

    def admit_function(self, filename: str, qualname: str, first_line: int) -> bool:
        return False


def _close_at_exit(profiler: LineProfiler) -> None:
    from _weakref import ref

    from lineprofiler._lines import _ending

    reference = ref(profiler)

    def close() -> None:
        alive = reference()
        if alive is not None:
            alive._close()

    _ending.call_last(close)


def _mechanism(backend: "str | None") -> "str | None":
    if backend is not None and backend not in MECHANISMS:
        raise ValueError(f"backend={backend!r} must be one of {', '.join(map(repr, MECHANISMS))}, or None")
    if backend == "monitoring" and sys.version_info < (3, 12):
        version = f"{sys.version_info[0]}.{sys.version_info[1]}"
        raise ValueError(f"backend='monitoring' needs Python 3.12 or newer; on {version} use 'settrace', or None")
    return backend


def project_of(given: "str | os.PathLike[str] | None", frame: "FrameType | None") -> str:
    """The argument as a folder, else the project of the calling file."""
    if given is not None:
        text = os.fsdecode(os.fspath(given))
        if not text or "\0" in text:
            raise ValueError(f"project_folder={text!r} names no folder")
        folder = os.path.abspath(text)
        return folder if os.path.isdir(folder) or not os.path.isfile(folder) else os.path.dirname(folder)
    while frame is not None and _is_ours(frame):
        frame = frame.f_back
    file = frame.f_code.co_filename if frame is not None else ""
    if file and os.path.isfile(file):
        return _config.find_project_root(file)
    return _config.find_project_root(_config.working_folder())


def _is_ours(frame: "FrameType") -> bool:
    name = frame.f_globals.get("__name__")
    return isinstance(name, str) and (name == "lineprofiler" or name.startswith("lineprofiler."))
