"""Source text of code that is in no readable file, and names of the functions in a text.

Nothing is imported for it: ``linecache``, ``doctest`` and the like are asked only where the program has loaded them.
"""
# SPDX-License-Identifier: MIT

import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from types import CodeType

_CO_OPTIMIZED = 1

# Code that libraries compile at run time.  Some of them leave a text in linecache; it is nobody's program all the same.
_GENERATED = (
    "<frozen ",
    "<attrs generated",
    "<decorator-gen",
    "<@beartype",
    "<__array_function__",
    "<string>",
    "<stdin>",
)

# Texts that this package knows by itself: standard input and ``-c`` of ``lineprofiler run``.
_own: "dict[str, str]" = {}


def keep(filename: str, text: str) -> None:
    """Remember the text behind a name that is no file."""
    _own[filename] = text


def is_pseudo(filename: str) -> bool:
    """Whether a name stands for no file: ``<string>``, ``<ipython-input-1-…>``."""
    return filename.startswith("<") and filename.endswith(">")


def is_generated(filename: str) -> bool:
    """Whether such a name is one that libraries give to code they make up."""
    return filename.startswith(_GENERATED)


def is_cell(path: str) -> bool:
    """Whether a path is no file but has a text: a kernel names its cells that way."""
    return not os.path.exists(path) and _cached_lines(path) is not None


def has_text(filename: str) -> bool:
    """Whether a name that is no file has a source text."""
    return text_of(filename) is not None


def text_of(filename: str) -> "str | None":
    """The text behind a name that is no readable file."""
    own = _own.get(filename)
    if own is not None:
        return own
    lines = _cached_lines(filename)
    if lines is not None:
        return "".join(lines)
    return _text_in_archive(filename)


def _cached_lines(filename: str) -> "list[str] | None":
    linecache = sys.modules.get("linecache")
    if linecache is None:
        return None
    if filename.startswith("<doctest "):  # doctest answers for its examples itself
        return linecache.getlines(filename) or None
    entry = getattr(linecache, "cache", {}).get(filename)
    if entry is None or len(entry) < 3:  # not there, or of a loader that has not been asked yet
        return None
    return entry[2] or None


def _text_in_archive(filename: str) -> "str | None":
    """A module in a zip file that is on the path."""
    archive = os.path.dirname(filename)
    while archive and not os.path.exists(archive) and os.path.dirname(archive) != archive:
        archive = os.path.dirname(archive)
    importer = sys.path_importer_cache.get(archive)
    if importer is None or not os.path.isfile(archive) or not hasattr(importer, "get_data"):
        return None
    try:
        return decode(importer.get_data(filename))
    except Exception:  # not in it, or a loader of somebody's own
        return None


def read_bytes(path: str) -> "bytes | None":
    """What is in a file; None when it cannot be read."""
    try:
        with open(path, "rb") as file:
            return file.read() if os.path.isfile(path) else None
    except (OSError, ValueError):
        return None


def read(path: str) -> "str | None":
    """The text of a source file; None when it cannot be read."""
    raw = read_bytes(path)
    return None if raw is None else decode(raw)


def decode(raw: bytes) -> str:
    """Source bytes as text, by their own declaration of a coding; what does not fit it is marked."""
    coding = "utf-8-sig"
    for line in raw.split(b"\n", 2)[:2]:
        word = line.decode("latin-1")
        if not word.lstrip().startswith("#"):
            continue
        for mark in ("coding:", "coding="):
            if mark in word:
                coding = word.split(mark, 1)[1].strip().split(" ")[0].split("*")[0].strip("-; ") or coding
    try:
        text = raw.decode(coding, "replace")
    except LookupError:
        text = raw.decode("latin-1")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def compiled(text: "str | bytes", filename: str) -> "CodeType | None":
    """The code of a text; None when it is not Python.  What there is to warn of, Python has warned of before."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return compile(text, filename, "exec", dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError):
            return None


def codes_in(code: "CodeType") -> "Iterator[CodeType]":
    """A code object and all inside it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, type(code)):
            yield from codes_in(constant)


def names_in(code: "CodeType") -> "set[tuple[str, int]]":
    """Name, as the extension will ask for it, and first line of a code object and of all inside it."""
    return {(getattr(inner, "co_qualname", inner.co_name), inner.co_firstlineno) for inner in codes_in(code)}


def qualified_names(filename: str, folder: str) -> "dict[tuple[str, int], str]":
    """Qualified name by plain name and first line, for all functions of a file; worked out by compiling its text."""
    text = read(os.path.join(folder, filename)) or text_of(filename)
    if text is None:
        return {}
    code = compiled(text, filename)
    if code is None:
        return {}
    found: dict[tuple[str, int], str] = {}
    _add_names(code, "", found)
    return found


def _add_names(code: "CodeType", prefix: str, found: "dict[tuple[str, int], str]") -> None:
    for inner in code.co_consts:
        if isinstance(inner, type(code)):
            name = prefix + inner.co_name
            found[inner.co_name, inner.co_firstlineno] = name
            _add_names(inner, name + (".<locals>." if inner.co_flags & _CO_OPTIMIZED else "."), found)
