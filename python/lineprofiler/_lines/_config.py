"""``[tool.lineprofiler]`` of a project, and where a project begins.

A broken file is one warning and the defaults; it never stops a program.
"""
# SPDX-License-Identifier: MIT

import os

from lineprofiler._lines import _globs, _toml
from lineprofiler.accounting._settings import switch_environment
from lineprofiler.accounting._warn import warn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

ENV_ENABLED = "LINEPROFILER_ENABLED"
_SIZE_LIMIT = 4 << 20


class ProfilerConfig:
    """What a project says about its line profiles.  Immutable.

    Parameters
    ----------
    enabled
        Whether ``start_profiling()`` starts anything when the call does not say.
    include
        Patterns of files, relative to the project folder.  Where there are any, nothing else is in scope; what they
        name is, also inside a folder that is otherwise left out.  ``"<string>"`` and other names in angle brackets
        only add.
    exclude
        Patterns of files that are out of scope; they win.
    functions
        Patterns of qualified names; where there are any, only such functions are recorded.
    """

    __slots__ = ("enabled", "exclude", "functions", "include")

    enabled: bool
    include: "tuple[str, ...]"
    exclude: "tuple[str, ...]"
    functions: "tuple[str, ...]"

    def __init__(
        self,
        enabled: bool = False,
        include: "Iterable[str]" = (),
        exclude: "Iterable[str]" = (),
        functions: "Iterable[str]" = (),
    ) -> None:
        put = object.__setattr__
        put(self, "enabled", bool(enabled))
        for name, patterns in (("include", include), ("exclude", exclude), ("functions", functions)):
            put(self, name, _patterns(name, patterns))

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"a ProfilerConfig does not change: make another one to set {name!r}")

    def __delattr__(self, name: str) -> None:
        self.__setattr__(name, None)

    def allows_function(self, qualname: str) -> bool:
        """Whether a function of that qualified name is recorded."""
        return not self.functions or _globs.first_match(qualname, self.functions) is not None

    def allows_path(self, relative: str) -> bool:
        """Whether a file is in scope as far as these patterns are concerned; `relative` to the project folder."""
        relative = os.fspath(relative).replace(os.sep, "/")
        if _globs.first_match(relative, self.exclude) is not None:
            return False
        files = tuple(pattern for pattern in self.include if not pattern.startswith("<"))
        return not files or _globs.first_match(relative, files) is not None

    def _key(self) -> "tuple[object, ...]":
        return (self.enabled, self.include, self.exclude, self.functions)

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, ProfilerConfig) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def __reduce__(self) -> "tuple[Any, ...]":
        return (ProfilerConfig, self._key())

    def __repr__(self) -> str:
        return (
            f"ProfilerConfig(enabled={self.enabled!r}, include={self.include!r}, exclude={self.exclude!r}, "
            f"functions={self.functions!r})"
        )


def _patterns(name: str, patterns: "Iterable[str]") -> "tuple[str, ...]":
    if isinstance(patterns, str):
        raise TypeError(f"{name} must be a list of patterns, not one str: use [{patterns!r}]")
    found = tuple(patterns)
    for pattern in found:
        if not isinstance(pattern, str):
            raise TypeError(f"{name} must hold str patterns, not {type(pattern).__name__}")
    return found


# Where a project begins.


def folder_of(path: "str | os.PathLike[str]") -> str:
    """The absolute folder that `path` is or lies in."""
    text = os.path.abspath(os.fspath(path))
    return text if os.path.isdir(text) else os.path.dirname(text)


def find_project_root(start: "str | os.PathLike[str]") -> str:
    """The nearest folder at or above `start` that holds ``.git``, else the nearest with a ``pyproject.toml``, else the
    folder of `start`."""
    folder = folder_of(start)
    above = _upwards(folder)
    for marker in (".git", "pyproject.toml"):
        for place in above:
            if os.path.exists(os.path.join(place, marker)):
                return place
    return folder


def _upwards(folder: str) -> "list[str]":
    places = [folder]
    while os.path.dirname(folder) != folder:
        folder = os.path.dirname(folder)
        places.append(folder)
    return places


def working_folder() -> str:
    """The current directory; the root folder once that is gone."""
    try:
        return os.getcwd()
    except OSError:
        return os.sep


# What the file says.

_read: "dict[str, ProfilerConfig]" = {}


def get_config(start_path: "str | os.PathLike[str] | None" = None) -> ProfilerConfig:
    """The configuration of the project that `start_path`, or else the current directory, belongs to.

    Read once per project and process.
    """
    return config_of(find_project_root(working_folder() if start_path is None else start_path))


def config_of(root: str) -> ProfilerConfig:
    """The same for a project folder that is known."""
    config = _read.get(root)
    if config is None:
        lists = _lists_of(os.path.join(root, "pyproject.toml"))
        config = _read[root] = ProfilerConfig(switch_environment(ENV_ENABLED), **lists)
    return config


def _lists_of(path: str) -> "dict[str, tuple[str, ...]]":
    text = _text_of(path)
    if text is None:
        return {}
    try:
        tool = _toml.loads(text).get("tool")
    except _toml.TomlError as error:
        warn(f"{path} is not TOML ({error}), so the defaults of [tool.lineprofiler] hold")
        return {}
    table = tool.get("lineprofiler") if isinstance(tool, dict) else None
    if not isinstance(table, dict):
        return {}
    found = {}
    for name in ("include", "exclude", "functions"):
        values = table.get(name)
        if isinstance(values, list):
            found[name] = tuple(value for value in values if isinstance(value, str))
    return found


def _text_of(path: str) -> "str | None":
    if not os.path.isfile(path):  # a pipe of that name would hang us
        return None
    try:
        with open(path, "rb") as file:
            raw = file.read(_SIZE_LIMIT + 1)
    except OSError as error:
        warn(f"{path} cannot be read ({error.strerror}), so the defaults of [tool.lineprofiler] hold")
        return None
    try:
        text = raw.decode("utf-8") if len(raw) <= _SIZE_LIMIT else None
    except UnicodeDecodeError:
        text = None
    if text is None:
        warn(f"{path} cannot be read as UTF-8 text, so the defaults of [tool.lineprofiler] hold")
    return text
