"""A session that ends in one page of lines, functions, files and memory.  Not built yet: only the version is here.

Every name raises NotImplementedError when it is called or constructed, and creates nothing.
"""
# SPDX-License-Identifier: MIT

from lineprofiler._core import version as __version__
from lineprofiler._later import LINESCOPE, missing

__all__ = [
    "Backend",
    "Config",
    "DisplayMode",
    "ProfileController",
    "RunStatus",
    "Session",
    "SessionState",
    "SourceKind",
    "SymbolKind",
    "__version__",
    "load_ipython_extension",
    "profile",
    "profiler",
    "register_backend",
    "unload_ipython_extension",
]


class _Later:
    """Stands for a name until it is built; whatever is done with it says so."""

    def __init__(self, name: str) -> None:
        self.__name__ = self.__qualname__ = name

    def __call__(self, *args: object, **kwargs: object) -> None:
        raise missing(f"linescope.{self.__name__}", LINESCOPE)

    def __getattr__(self, attribute: str) -> object:
        if attribute.startswith("__"):
            raise AttributeError(attribute)
        raise missing(f"linescope.{self.__name__}.{attribute}", LINESCOPE)


def __getattr__(name: str) -> _Later:
    if name not in __all__:
        raise AttributeError(f"module 'linescope' has no attribute {name!r}")
    value = globals()[name] = _Later(name)
    return value


def __dir__() -> list[str]:
    return sorted(set(globals()) | set(__all__))
