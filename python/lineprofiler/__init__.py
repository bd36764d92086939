"""Where the time of a long, multi-process Python run goes: named phases, counters and single lines.

``lineprofiler.accounting`` is the part that stays on in production; ``docs/start.md`` begins there.  ``LineProfiler``
shows the lines of a part that is suspected.  Importing this package loads the extension and nothing else.
"""
# SPDX-License-Identifier: MIT

from lineprofiler._core import version as __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from lineprofiler import accounting as accounting
    from lineprofiler import config as config
    from lineprofiler import errors as errors
    from lineprofiler._lines._ambient import start_profiling as start_profiling
    from lineprofiler._lines._ambient import stop_profiling as stop_profiling
    from lineprofiler._lines._profiler import LineProfiler as LineProfiler
    from lineprofiler._lines._stats import FunctionStats as FunctionStats
    from lineprofiler._lines._stats import LineStats as LineStats
    from lineprofiler._lines._stats import RegionStats as RegionStats
    from lineprofiler.config import ProfilerConfig as ProfilerConfig

__all__ = [
    "FunctionStats",
    "LineProfiler",
    "LineStats",
    "ProfilerConfig",
    "RegionStats",
    "__version__",
    "accounting",
    "config",
    "errors",
    "start_profiling",
    "stop_profiling",
]

_SUBMODULES = frozenset(("accounting", "config", "errors"))
_HOMES = {
    "FunctionStats": "lineprofiler._lines._stats",
    "LineProfiler": "lineprofiler._lines._profiler",
    "LineStats": "lineprofiler._lines._stats",
    "ProfilerConfig": "lineprofiler._lines._config",
    "RegionStats": "lineprofiler._lines._stats",
    "start_profiling": "lineprofiler._lines._ambient",
    "stop_profiling": "lineprofiler._lines._ambient",
}


def __getattr__(name: str) -> object:
    if name in _SUBMODULES:
        # An import statement binds the submodule in this module's namespace, so this runs once per name.
        __import__("lineprofiler." + name)
        return globals()[name]
    if name in _HOMES:
        value: object = getattr(__import__(_HOMES[name], None, None, [name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'lineprofiler' has no attribute {name!r}")


def load_ipython_extension(shell: "Any") -> None:
    """What ``%load_ext lineprofiler`` calls: registers ``%lprun`` and ``%%lprun``."""
    from lineprofiler._lines import _magics

    _magics.register(shell)


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
