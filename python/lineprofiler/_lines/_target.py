"""The process that ``lineprofiler run`` has become: the program itself, run by Python as ever, with us at both ends.

``arrange`` is called before the program.  What it registers is called last, when threads have ended and the program's
own exit functions have run; that prints the tables.
"""
# SPDX-License-Identifier: MIT

import os
import sys

from lineprofiler._lines import _children, _ending, _source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Any

    from lineprofiler._lines._profiler import LineProfiler

DEFAULT_TOP = 10


def program_code(fields: "dict[str, list[str]]") -> "CodeType | None":
    """The code of a program that is in no file (``-c``, standard input), and its text kept; else None."""
    kind = fields.get("kind", [""])[0]
    text: str | bytes
    if kind == "c":
        at, skip = map(int, fields["text_at"][0].split(":"))
        filename, text = "<string>", sys.orig_argv[at][skip:]
    elif kind == "stdin":
        filename, text = "<stdin>", _standard_input()
    else:
        return None
    if isinstance(text, bytes):
        text = _source.decode(text)
    if sys.version_info >= (3, 14) and kind == "c":
        import textwrap

        text = textwrap.dedent(text)
    _source.keep(filename, text)
    return _source.compiled(text, filename) or compile("", filename, "exec")  # Python will say what is wrong


def _standard_input() -> bytes:
    """All of it, without taking it from the program: `run` has put a file there."""
    parts: list[bytes] = []
    offset = 0
    while True:
        try:
            part = os.pread(0, 1 << 20, offset)
        except OSError:
            return b""
        if not part:
            return b"".join(parts)
        parts.append(part)
        offset += len(part)


def arrange(fields: "dict[str, list[str]]") -> None:
    """Have the results shown when the program has ended."""
    profiler = _children._profiler
    if profiler is not None:
        _ending.call_last(lambda: _finish(profiler, fields))


def _finish(profiler: "LineProfiler", fields: "dict[str, list[str]]") -> None:
    _flush()
    try:
        profiler.stop()
        _show(profiler, fields)
    except Exception as error:
        _say(f"lineprofiler: run: the results cannot be shown: {type(error).__name__}: {error}\n")
    finally:
        profiler._close()
        if "keep" not in fields and profiler.run_dir is not None:
            _remove(profiler.run_dir)


def _flush() -> None:
    """What the program wrote comes before what we write."""
    for stream in (sys.stderr, sys.stdout):
        try:
            if stream is not None and (stream is sys.stderr or stream.isatty()):
                stream.flush()
        except Exception:  # the interpreter will meet it again, and say it
            pass


def _show(profiler: "LineProfiler", fields: "dict[str, list[str]]") -> None:
    from lineprofiler._lines import _results

    options: dict[str, Any] = {"utf8": _is_utf8(), "raw": False}
    if "output-unit" in fields:
        options["unit"] = fields["output-unit"][0]
    order = "self" if "show-self" in fields else "time"
    if order == "self":
        options["self"] = True
    top = fields["top"][0] if "top" in fields else None
    text = ""
    if "show-functions" in fields:
        text += _results.text_of(profiler, "functions", {**options, "sort_by": order})
    if "show-regions" in fields:
        text += _results.text_of(profiler, "regions", {**options, "sort_by": "self"})
    if top is not None or not text:
        count = {} if top == "all" else {"top_n": int(top or DEFAULT_TOP)}
        text = _results.text_of(profiler, "top", {**options, "sort_by": order, **count}) + text
    if "show-explain-scope" in fields:
        text += f"{profiler.scope()}\n"
    _say(text + _outputs(profiler, fields) + _more(profiler, fields))


def _outputs(profiler: "LineProfiler", fields: "dict[str, list[str]]") -> str:
    from lineprofiler._lines import _results

    said = ""
    for format in ("html", "json"):
        for path in fields.get(format, ()):
            try:
                _results.write(profiler, path, format)
                said += f"lineprofiler: run: wrote {path}\n"
            except OSError as error:
                said += f"lineprofiler: run: cannot write {path}: {error.strerror}\n"
    return said


def _more(profiler: "LineProfiler", fields: "dict[str, list[str]]") -> str:
    """The last line: what shows more."""
    if "keep" in fields:
        return f"more: lineprofiler report {profiler.run_dir}\n"
    if "show-functions" in fields:
        return (
            "more: lineprofiler run --html lines.html …\n"
            if _is_utf8()
            else "more: lineprofiler run --html lines.html ...\n"
        )
    return "more: lineprofiler run --functions …\n" if _is_utf8() else "more: lineprofiler run --functions ...\n"


def _is_utf8() -> bool:
    stream = sys.__stderr__
    return stream is not None and (stream.encoding or "").lower().replace("-", "") == "utf8"


def _say(text: str) -> None:
    """To descriptor 2, whatever the program has made of ``sys.stderr``."""
    raw = text.encode("utf-8" if _is_utf8() else "ascii", "backslashreplace")
    try:
        while raw:
            raw = raw[os.write(2, raw) :]
    except OSError:  # closed, or nobody reads it
        pass


def _remove(folder: str) -> None:
    """The run directory that was made for this run alone."""
    for place, folders, files in os.walk(folder, topdown=False):
        for name in files:
            _quietly(os.unlink, os.path.join(place, name))
        for name in folders:
            _quietly(os.rmdir, os.path.join(place, name))
    _quietly(os.rmdir, folder)


def _quietly(remove: "object", path: str) -> None:
    try:
        remove(path)  # type: ignore[operator]
    except OSError:
        pass
