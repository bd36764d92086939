"""Named phases and counters for long, multi-process runs, cheap enough to stay on.

    from lineprofiler.accounting import count, phase, start, stop

    start(run_dir="profile", role="actor")
    with phase("step"):
        with phase("forward"):
            count("samples", 32)
    stop()

``lineprofiler report profile`` then shows where the time went.  Without a profiler the calls cost next to nothing, so
libraries may keep them.  Everything here but the calls of the hot path is loaded when it is first used.
"""
# SPDX-License-Identifier: MIT

from lineprofiler import _core
from lineprofiler._core import begin, count, end, iterate, phase

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from lineprofiler._later import Backend as Backend
    from lineprofiler._later import ResourceSampler as ResourceSampler
    from lineprofiler._later import Sample as Sample
    from lineprofiler._later import SampleAnalysis as SampleAnalysis
    from lineprofiler._later import Span as Span
    from lineprofiler._later import TraceBuffer as TraceBuffer
    from lineprofiler._later import WorkerTrace as WorkerTrace
    from lineprofiler._later import analyse as analyse
    from lineprofiler._later import compare as compare
    from lineprofiler._later import lifecycle_segments as lifecycle_segments
    from lineprofiler._later import overlap_ns as overlap_ns
    from lineprofiler._later import render_comparison as render_comparison
    from lineprofiler._later import write_trace as write_trace
    from lineprofiler.accounting._histogram import DurationHistogram as DurationHistogram
    from lineprofiler.accounting._profiler import Profiler as Profiler
    from lineprofiler.accounting._run import MergedRun as MergedRun
    from lineprofiler.accounting._run import WorkerSnapshot as WorkerSnapshot
    from lineprofiler.accounting._run import merge_run as merge_run
    from lineprofiler.accounting._run import render as render
    from lineprofiler.accounting._run import report as report
    from lineprofiler.accounting._run import report_as_dict as report_as_dict
    from lineprofiler.accounting._run import write_report as write_report
    from lineprofiler.accounting._stats import CounterStats as CounterStats
    from lineprofiler.accounting._stats import PhaseDelta as PhaseDelta
    from lineprofiler.accounting._stats import PhaseStats as PhaseStats
    from lineprofiler.accounting._stats import PhaseTree as PhaseTree
    from lineprofiler.accounting._stats import merge_trees as merge_trees

# Where the names that are loaded on first use live.
_HOMES = {
    "Backend": "lineprofiler._later",
    "CounterStats": "lineprofiler.accounting._stats",
    "DurationHistogram": "lineprofiler.accounting._histogram",
    "MergedRun": "lineprofiler.accounting._run",
    "PhaseDelta": "lineprofiler.accounting._stats",
    "PhaseStats": "lineprofiler.accounting._stats",
    "PhaseTree": "lineprofiler.accounting._stats",
    "Profiler": "lineprofiler.accounting._profiler",
    "ResourceSampler": "lineprofiler._later",
    "Sample": "lineprofiler._later",
    "SampleAnalysis": "lineprofiler._later",
    "Span": "lineprofiler._later",
    "TraceBuffer": "lineprofiler._later",
    "WorkerSnapshot": "lineprofiler.accounting._run",
    "WorkerTrace": "lineprofiler._later",
    "analyse": "lineprofiler._later",
    "compare": "lineprofiler._later",
    "lifecycle_segments": "lineprofiler._later",
    "merge_run": "lineprofiler.accounting._run",
    "merge_trees": "lineprofiler.accounting._stats",
    "overlap_ns": "lineprofiler._later",
    "render": "lineprofiler.accounting._run",
    "render_comparison": "lineprofiler._later",
    "report": "lineprofiler.accounting._run",
    "report_as_dict": "lineprofiler.accounting._run",
    "write_report": "lineprofiler.accounting._run",
    "write_trace": "lineprofiler._later",
}

__all__ = [
    "Backend",
    "CounterStats",
    "DurationHistogram",
    "MergedRun",
    "PhaseDelta",
    "PhaseStats",
    "PhaseTree",
    "Profiler",
    "ResourceSampler",
    "Sample",
    "SampleAnalysis",
    "Span",
    "TraceBuffer",
    "WorkerSnapshot",
    "WorkerTrace",
    "analyse",
    "begin",
    "compare",
    "count",
    "current",
    "end",
    "install_profiler",
    "installed_profiler",
    "iterate",
    "lifecycle_segments",
    "merge_run",
    "merge_trees",
    "overlap_ns",
    "phase",
    "render",
    "render_comparison",
    "report",
    "report_as_dict",
    "signal_ready",
    "start",
    "stop",
    "trace_begin",
    "trace_end",
    "trace_mark",
    "uninstall_profiler",
    "wait_on",
    "write_report",
    "write_trace",
]


def start(run_dir: "Any" = None, role: "str | None" = None, **options: "Any") -> "Profiler":
    """Make a ``Profiler`` with these arguments and install it.

    Raises
    ------
    ValueError, TypeError, NotImplementedError
        As ``Profiler`` does.
    """
    from lineprofiler.accounting._profiler import Profiler

    options["install"] = True
    return Profiler(run_dir, role, **options)


def stop() -> "Profiler | None":
    """Close the installed profiler, if there is one, and return it."""
    profiler = installed_profiler()
    if profiler is not None:
        profiler.close()
    return profiler


def current() -> str:
    """Path of the innermost running phase of this thread, ``"a/b"``; ``""`` when there is none."""
    return "/".join(_core.current())


def installed_profiler() -> "Profiler | None":
    """The process-wide profiler, which ``phase``, ``count`` and the other functions of this module record into."""
    from lineprofiler.accounting import _profiler

    return _profiler.installed()


def install_profiler(profiler: "Profiler") -> None:
    """Make `profiler` the process-wide one.

    Raises
    ------
    TypeError
        For anything but a Profiler.
    RuntimeError
        For a profiler that is closed.
    """
    from lineprofiler.accounting import _profiler

    _profiler.install(profiler)


def uninstall_profiler(profiler: "Profiler | None" = None) -> None:
    """Take the process-wide profiler away; given `profiler`, only if it is that one."""
    from lineprofiler.accounting import _profiler

    _profiler.uninstall(profiler)


def signal_ready(channel: str, key: object) -> None:
    """Has no effect until the timeline exists."""


def wait_on(channel: str, key: object) -> None:
    """Has no effect until the timeline exists."""


def trace_begin(channel: str, key: object) -> None:
    """Has no effect until the timeline exists."""


def trace_mark(channel: str, key: object, name: str, sample: float = 1.0) -> None:
    """Has no effect until the timeline exists."""


def trace_end(channel: str, key: object) -> None:
    """Has no effect until the timeline exists."""


def __getattr__(name: str) -> object:
    home = _HOMES.get(name)
    if home is None:
        raise AttributeError(f"module 'lineprofiler.accounting' has no attribute {name!r}")
    import sys

    __import__(home)
    value: object = getattr(sys.modules[home], name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
