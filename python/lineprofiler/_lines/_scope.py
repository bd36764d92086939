"""Which code is recorded: the one rule of every way to profile lines, and the reasons it gives.

The extension asks once per file name and session, and once per function where a file alone does not decide; whatever
it asks is remembered here, so that a table can say why an expected function is not among the results.
"""
# SPDX-License-Identifier: MIT

import os
import sys

from lineprofiler._lines import _globs, _source
from lineprofiler._lines._config import ProfilerConfig, working_folder

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType

OUT, IN, ASK = 0, 1, 2

# Folders below the project that hold other people's code; each is one part of a path, or two.
DEPENDENCY_FOLDERS = frozenset(
    (".venv", "venv", "site-packages", "dist-packages", "node_modules", ".tox", ".nox", "build/lib")
)
_SKIPPED_FOLDERS = frozenset((".git", ".hg", ".svn", "__pycache__", ".mypy_cache", ".ruff_cache", ".pytest_cache"))
_MOST_SHOWN = 40
_WALK_LIMIT = 5000

_PACKAGE = os.path.realpath(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))


class ScopeRow:
    """One file, or one folder that is left out whole.

    Attributes
    ----------
    path : str
        As the code has it; a folder ends with a slash.
    recorded : bool
    reason : str
        To be read after the path.
    entered : int
        Functions of it that were called while nothing of it was recorded.
    ran : bool
        Whether any of its code was met at all.
    """

    __slots__ = ("entered", "path", "ran", "reason", "recorded")

    def __init__(self, path: str, recorded: bool, reason: str, entered: int = 0, ran: bool = False) -> None:
        self.path, self.recorded, self.reason, self.entered, self.ran = path, recorded, reason, entered, ran

    def __repr__(self) -> str:
        return f"ScopeRow({self.path!r}, {self.recorded!r}, {self.reason!r}, {self.entered!r}, {self.ran!r})"


class Scope:
    """The rule for one project.

    Parameters
    ----------
    root
        The project folder, absolute.
    config
        Its patterns.
    asked
        Code objects that are in scope although they come from no file: those of ``run -c`` and of standard input.
    """

    def __init__(self, root: str, config: ProfilerConfig, asked: "CodeType | None" = None) -> None:
        self.root = root
        self.config = config
        self._roots = _both(root)
        self._folder = working_folder()
        self._asked = None if asked is None else _source.names_in(asked)
        self._asked_file = None if asked is None else asked.co_filename
        self._blocked = _interpreter_folders(self._roots)
        self._verdicts: dict[str, tuple[bool, str]] = {}
        self._environments: dict[str, bool] = {}
        self._functions: dict[str, dict[tuple[str, int], str]] = {}
        self._includes = tuple(pattern for pattern in config.include if not pattern.startswith("<"))

    # What the extension calls.

    def admit_file(self, filename: str) -> int:
        """0: out of scope, 1: all of it is in scope, 2: ask for each function."""
        recorded = self.verdict(filename)[0]
        if not recorded:
            return OUT
        return ASK if self.config.functions or filename == self._asked_file else IN

    def admit_function(self, filename: str, qualname: str, first_line: int) -> bool:
        """Whether a function of a file for which the answer was 2 is recorded."""
        if filename == self._asked_file and self._asked is not None and (qualname, first_line) not in self._asked:
            return False  # dataclass and namedtuple compile code of the same name
        if not self.config.functions:
            return True
        if sys.version_info < (3, 11):  # a code object does not know its qualified name there
            qualname = self._qualname(filename, qualname, first_line)
        return self.config.allows_function(qualname)

    def source(self, filename: str) -> "str | None":
        """The text of code that is not in a readable file."""
        return _source.text_of(filename)

    # The rule.

    def verdict(self, filename: str) -> "tuple[bool, str]":
        """Whether a file's code is recorded, and why."""
        known = self._verdicts.get(filename)
        if known is None:
            known = self._verdicts[filename] = self._decide(filename)
        return known

    def is_ours_or_frozen(self, filename: str) -> bool:
        """Whether a file is part of this package, or of the machinery of imports."""
        return filename.startswith("<frozen ") or any(_below(place, _PACKAGE) for place in _both(filename))

    def in_project(self, filename: str) -> bool:
        """Whether a file lies below the project folder, in scope or not."""
        place = os.path.join(self._folder, filename)
        return not _source.is_pseudo(filename) and any(
            _below(each, root) for each in _both(place) for root in self._roots
        )

    def why_not(self, filename: str) -> str:
        """Why functions of a file were left out, to be read after its name."""
        recorded, reason = self.verdict(filename)
        if not recorded:
            return reason
        patterns = ", ".join(map(repr, self.config.functions))
        return f"has no function that matches {patterns}" if patterns else reason

    def _decide(self, filename: str) -> "tuple[bool, str]":
        if filename == self._asked_file:
            return True, "is the program itself"
        if _source.is_pseudo(filename):
            return self._decide_pseudo(filename)
        path = os.path.abspath(os.path.join(self._folder, filename))
        places = [place for place in _both(path) if any(_below(place, root) for root in self._roots)]
        relative = self._relative(places[0] if places else path)
        excluded = _first(self.config.exclude, relative, path)
        if excluded is not None:
            return False, f"matches exclude {excluded!r}"
        included = _first(self._includes, relative, path)
        if self.is_ours_or_frozen(path):
            return False, "is lineprofiler itself"
        if included is not None:
            return True, f"matches include {included!r}"
        if not places and _source.is_cell(path):
            return (False, "matches no include") if self._includes else (True, "is a notebook cell")
        if not path.endswith(".py") and not os.path.isfile(path) and not _source.has_text(path):
            return False, "is no file and has no source"
        blocked = self._blocked_by(path, places)
        if blocked is not None:
            return False, blocked
        return (False, "matches no include") if self._includes else (True, "is in the project")

    def _decide_pseudo(self, filename: str) -> "tuple[bool, str]":
        excluded = _globs.first_match(filename, self.config.exclude)
        if excluded is not None:
            return False, f"matches exclude {excluded!r}"
        included = next((each for each in self.config.include if each == filename), None)
        if included is None:
            included = _globs.first_match(filename, self.config.include)
        if included is not None:
            return True, f"matches include {included!r}"
        if _source.is_generated(filename):
            return False, f"comes from no file; include {filename!r} to record it"
        if _source.has_text(filename):
            return True, "comes from no file but has a source"
        return False, f"comes from no file and has no source; include {filename!r} to record it"

    def _blocked_by(self, path: str, places: "list[str]") -> "str | None":
        for place in _both(path):
            for folder, what in self._blocked:
                if _below(place, folder):
                    return what
        if not places:
            return "is outside the project folder"
        for place in places:
            found = self._dependency_folder(place)
            if found is not None:
                return found
        return None

    def _dependency_folder(self, place: str) -> "str | None":
        root = next(root for root in self._roots if _below(place, root))
        parts = os.path.relpath(os.path.dirname(place), root).split(os.sep)
        at = root
        for i, part in enumerate(parts):
            at = os.path.join(at, part)
            pair = "/".join(parts[i : i + 2])
            if part in DEPENDENCY_FOLDERS or pair in DEPENDENCY_FOLDERS:
                return f"is in {part if part in DEPENDENCY_FOLDERS else pair}, a folder of dependencies"
            if part not in (".", "") and self._is_environment(at):
                return f"is in {part}, a virtual environment"
        return None

    def _is_environment(self, folder: str) -> bool:
        known = self._environments.get(folder)
        if known is None:
            known = self._environments[folder] = os.path.exists(os.path.join(folder, "pyvenv.cfg"))
        return known

    def _relative(self, place: str) -> str:
        for root in self._roots:
            if _below(place, root):
                return os.path.relpath(place, root)
        return os.path.relpath(place, self.root)

    def _qualname(self, filename: str, name: str, first_line: int) -> str:
        names = self._functions.get(filename)
        if names is None:
            names = self._functions[filename] = _source.qualified_names(filename, self._folder)
        return names.get((name, first_line), name)

    # The table.

    def rows(self, outside: "dict[str, int]") -> "list[ScopeRow]":
        """What is in scope and what is not: files of the project, and files that ran.

        Parameters
        ----------
        outside
            By file name, how many functions out of scope were entered.
        """
        found = {}
        for filename in [*self._verdicts, *outside]:
            recorded, reason = self.verdict(filename)
            if recorded or not self.is_ours_or_frozen(filename):
                found[filename] = ScopeRow(filename, recorded, reason, outside.get(filename, 0), True)
        seen: set[str] = set()
        for filename in found:
            if not _source.is_pseudo(filename):
                seen.update(_both(os.path.join(self._folder, filename)))
        for path, folder in self._walk():
            if path not in seen:
                recorded, reason = self._decide(os.path.join(path, "x.py") if folder else path)
                found[path] = ScopeRow(path + os.sep if folder else path, recorded, reason)
        return sorted(found.values(), key=lambda row: (not row.recorded, not row.ran, -row.entered, row.path))

    def _walk(self) -> "Iterator[tuple[str, bool]]":
        """Python files of the project; a folder that is left out is one item."""
        left = _WALK_LIMIT
        for folder, folders, files in os.walk(self.root):
            kept = []
            for name in sorted(folders):
                inner = os.path.join(folder, name)
                if name in _SKIPPED_FOLDERS:
                    continue
                if not self._includes and self._blocked_by(inner + "/x", [inner + "/x"]) is not None:
                    yield inner, True
                else:
                    kept.append(name)
            folders[:] = kept
            for name in sorted(files):
                if name.endswith(".py"):
                    yield os.path.join(folder, name), False
            left -= len(files) + len(folders) + 1
            if left <= 0:
                return


class ScopeTable:
    """The rule as a table: ``rows``, ``project``, ``in_scope(path)``; printed, it is text."""

    def __init__(self, scope: Scope, outside: "dict[str, int]") -> None:
        self._scope = scope
        self.project = scope.root
        self.rows = scope.rows(outside)

    def in_scope(self, filename: "str | os.PathLike[str]") -> bool:
        """Whether code of that file is recorded."""
        return self._scope.verdict(os.fspath(filename))[0]

    def why(self, filename: "str | os.PathLike[str]") -> str:
        """The reason, to be read after the name of the file."""
        return self._scope.verdict(os.fspath(filename))[1]

    def __iter__(self) -> "Iterator[ScopeRow]":
        return iter(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __str__(self) -> str:
        lines = [f"Scope of {printable(self.project)}"]
        for recorded, title in ((True, "Recorded:"), (False, "Left out:")):
            rows = [row for row in self.rows if row.recorded is recorded]
            lines.append(title if rows else f"{title} nothing")
            shown = [row for row in rows if row.ran]
            shown += [row for row in rows if not row.ran][:_MOST_SHOWN]
            lines += [f"  {printable(self._short(row.path))} {row.reason}{_calls(row.entered)}" for row in shown]
            if len(shown) < len(rows):
                lines.append(f"  and {len(rows) - len(shown):,} more that did not run")
        return "\n".join(lines)

    def _short(self, path: str) -> str:
        prefix = self.project.rstrip(os.sep) + os.sep
        return path[len(prefix) :] if path.startswith(prefix) and len(path) > len(prefix) else path


def printable(text: str) -> str:
    """`text` without anything that would move the cursor or break the line."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)


def _calls(entered: int) -> str:
    return f" ({entered:,} {'function' if entered == 1 else 'functions'} called)" if entered else ""


def _first(patterns: "tuple[str, ...]", relative: str, path: str) -> "str | None":
    """The first pattern that describes a file: by its path in the project, or by its absolute path."""
    for pattern in patterns:
        if _globs.matches(path if pattern.startswith("/") else relative.replace(os.sep, "/"), pattern):
            return pattern
    return None


def _both(path: str) -> "tuple[str, ...]":
    """A path as it is written, and where its links lead."""
    try:
        real = os.path.realpath(path)
    except (OSError, ValueError):  # a NUL in a name that somebody compiled with
        return (path,)
    return (path,) if real == path else (path, real)


def _below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip(os.sep) + os.sep)


def _interpreter_folders(roots: "tuple[str, ...]") -> "list[tuple[str, str]]":
    """Folders of the standard library and of installed packages, except those that hold the project itself."""
    found = []
    for folder, what in _library_folders():
        for place in _both(folder):
            if not any(_below(root, place) for root in roots):
                found.append((place, what))
    return found


def _library_folders() -> "Iterator[tuple[str, str]]":
    standard, installed = "is in the standard library", "is an installed package"
    library = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    for prefix in {sys.base_prefix, sys.base_exec_prefix, sys.prefix, sys.exec_prefix}:
        for lib in {"lib", getattr(sys, "platlibdir", "lib")}:
            folder = os.path.join(prefix, lib, library)
            # Packages first: they lie inside the folder of the standard library.
            yield os.path.join(folder, "site-packages"), installed
            yield os.path.join(folder, "dist-packages"), installed
            yield folder, standard
    yield os.path.dirname(os.path.abspath(os.__file__)), standard
    yield from ((folder, installed) for folder in _site_folders())


def _site_folders() -> "Iterator[str]":
    """What ``site`` added, asked only where the program has it."""
    site = sys.modules.get("site")
    if site is None:
        return
    try:
        yield from site.getsitepackages()
    except Exception:  # an old virtualenv has a site of its own
        pass
    user = getattr(site, "USER_SITE", None)
    if isinstance(user, str):
        yield user
    paths = sys.modules.get("sysconfig")
    if paths is not None:
        for name in ("stdlib", "platstdlib", "purelib", "platlib"):
            folder = paths.get_path(name)
            if folder:
                yield os.path.abspath(folder)
