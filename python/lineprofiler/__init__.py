"""Where the time of a long, multi-process Python run goes: named phases, counters and, later, single lines.

``lineprofiler.accounting`` is the part that stays on in production; ``docs/start.md`` begins there.  Importing this
package loads the extension and nothing else.
"""
# SPDX-License-Identifier: MIT

from lineprofiler._core import version as __version__

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lineprofiler import accounting as accounting
    from lineprofiler import errors as errors
    from lineprofiler._later import FunctionStats as FunctionStats
    from lineprofiler._later import LineProfiler as LineProfiler
    from lineprofiler._later import LineStats as LineStats
    from lineprofiler._later import start_profiling as start_profiling
    from lineprofiler._later import stop_profiling as stop_profiling

__all__ = [
    "FunctionStats",
    "LineProfiler",
    "LineStats",
    "__version__",
    "accounting",
    "errors",
    "start_profiling",
    "stop_profiling",
]

_SUBMODULES = frozenset(("accounting", "errors"))


def __getattr__(name: str) -> object:
    if name in _SUBMODULES:
        # An import statement binds the submodule in this module's namespace, so this runs once per name.
        __import__("lineprofiler." + name)
        return globals()[name]
    if name in __all__:
        from lineprofiler import _later

        value: object = getattr(_later, name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'lineprofiler' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
