"""From what a profiler recorded to what its user sees.  All formatting is the core's; this asks for it."""
# SPDX-License-Identifier: MIT

import os
import sys

from lineprofiler import _core
from lineprofiler._lines import _resolve

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, TextIO

    from lineprofiler._lines._profiler import LineProfiler
    from lineprofiler._lines._stats import FunctionStats, Key, RegionStats

UNITS = {"ns": 1e-9, "us": 1e-6, "ms": 1e-3, "s": 1.0}
SORTS = ("time", "line", "self", "hits")
_SCOPE_OF_BLOCK = "profiler.scope() lists them all; project_folder= or [tool.lineprofiler] include changes the scope."
_SCOPE_OF_RUN = "--explain-scope lists them all; --project, --include or [tool.lineprofiler] changes the scope."
_TOP_OUTSIDE = 5
_MOST_NOTED = 50


# What was recorded.


def functions(profiler: "LineProfiler") -> "dict[Key, FunctionStats]":
    """By (filename, function_name, first_line)."""
    from lineprofiler._lines import _stats

    document = _document(profiler)
    return {} if document is None else _stats.functions_of(document)


def regions(profiler: "LineProfiler") -> "list[RegionStats]":
    """Outer regions before inner ones."""
    from lineprofiler._lines import _stats

    document = _document(profiler)
    return [] if document is None else _stats.regions_of(document)


def _document(profiler: "LineProfiler") -> "dict[str, Any] | None":
    if profiler._recording is None:
        return None
    import json

    _resolve.all_of(profiler)
    found: dict[str, Any] = json.loads(render(profiler, "json"))
    return found


def outside(profiler: "LineProfiler") -> "dict[str, int]":
    """By file, how many functions were entered that were not in scope."""
    if profiler._session is None:
        return {}
    entered = profiler._session.outside()
    return {name: count for name, count in entered.items() if not profiler._scope.is_ours_or_frozen(name)}


# Output.


def render(profiler: "LineProfiler", format: str, **options: "Any") -> str:
    """What the core makes of the recording."""
    recording = profiler._recording
    assert recording is not None
    note_facts(profiler)
    if profiler.run_dir is None:
        return _core.lines_render(recording, format, **options)
    try:
        return _core.lines_render(profiler.run_dir, format, attempt=recording.attempt, **options)
    except _core.ProfileStorageError:  # nothing has been recorded, so there is no file
        return _core.lines_render(
            _core.Recording("/dev/null/lineprofiler", "main", store="private", facts={"collector": "lines"}),
            format,
            **options,
        )


def note_facts(profiler: "LineProfiler") -> None:
    """Put beside the tables what the numbers in them depend on."""
    recording, session = profiler._recording, profiler._session or profiler._outer
    if recording is None or session is None or not recording.is_open:
        return
    if profiler._is_child and not session.codes():  # a fact alone would make a file
        return
    left_out = sorted(outside(profiler).items(), key=lambda item: (-item[1], item[0]))[:_MOST_NOTED]
    facts = {
        "lines.mechanism": session.mechanism,
        "lines.unobserved": str(session.unobserved_threads),
        "lines.event_cost_ps": str(round(session.event_cost_ns * 1000)),
        "lines.outside": "".join(f"{count}\t{_encodable(name)}\n" for name, count in left_out),
    }
    for key, value in facts.items():
        if value not in ("", "0") and profiler._noted.get(key) != value:
            recording.fact(key, value)
            profiler._noted[key] = value


def _encodable(name: str) -> str:
    return name.replace("\n", "\\n").replace("\0", "\\0").encode("utf-8", "backslashreplace").decode("utf-8")


def print_functions(
    profiler: "LineProfiler",
    min_time_us: float,
    top_n_lines: "int | None",
    sort_by: str,
    stream: "TextIO | None",
    output_unit: "float | str | None",
    raw: bool,
) -> None:
    """One table per function."""
    options = _options(min_time_us, top_n_lines, sort_by, output_unit, raw, "top_n_lines")
    _print(profiler, "functions", options, stream)


def print_top(
    profiler: "LineProfiler",
    top_n: "int | None",
    min_time_us: float,
    sort_by: str,
    stream: "TextIO | None",
    output_unit: "float | str | None",
    raw: bool,
) -> None:
    """The lines that took most."""
    _print(profiler, "top", _options(min_time_us, top_n, sort_by, output_unit, raw, "top_n"), stream)


def print_regions(
    profiler: "LineProfiler",
    top_n: "int | None",
    min_time_us: float,
    stream: "TextIO | None",
    output_unit: "float | str | None",
    raw: bool,
) -> None:
    """One table per region."""
    _print(profiler, "regions", _options(min_time_us, top_n, "self", output_unit, raw, "top_n"), stream)


def _options(
    min_time_us: float, top_n: "int | None", sort_by: str, output_unit: "float | str | None", raw: bool, name: str
) -> "dict[str, Any]":
    """Checked arguments, by the core's names."""
    if sort_by not in SORTS:
        raise ValueError(f"sort_by={sort_by!r} must be one of {', '.join(map(repr, SORTS))}")
    if top_n is not None and (isinstance(top_n, bool) or not isinstance(top_n, int) or not 0 < top_n < 2**31):
        raise ValueError(f"{name}={top_n!r} must be a whole number of lines, or None for all")
    options: dict[str, Any] = {"sort_by": sort_by, "raw": bool(raw)}
    options["min_time_us"] = _number("min_time_us", min_time_us)
    if sort_by == "self":
        options["self"] = True
    if output_unit is not None:
        options["unit"] = unit_of(output_unit)
    if top_n is not None:
        options["top_n"] = top_n
    return options


def unit_of(value: "Any") -> str:
    """A unit of time by its name or its seconds.

    Raises
    ------
    ValueError
        For anything else.
    """
    if isinstance(value, str):
        word = "us" if value in ("µs", "μs") else value
        if word in UNITS:
            return word
    elif isinstance(value, (int, float)) and not isinstance(value, bool):
        for word, seconds in UNITS.items():
            if abs(value - seconds) <= seconds * 1e-9:
                return word
    accepted = ", ".join(f"{seconds:g} ({word!r})" for word, seconds in UNITS.items())
    raise ValueError(f"output_unit={value!r} must be one of {accepted}")


def _number(name: str, value: "Any") -> float:
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = -1.0
    if not 0.0 <= number < float("inf"):
        raise ValueError(f"{name}={value!r} must be a number of at least 0")
    return number


def _print(profiler: "LineProfiler", format: str, options: "dict[str, Any]", stream: "TextIO | None") -> None:
    if stream is None:
        stream = sys.stdout
        if stream is None:  # pythonw, a daemon that closed everything
            return
    encoding = getattr(stream, "encoding", None) or "utf-8"
    options["utf8"] = encoding.lower().replace("-", "").replace("_", "") in ("utf8", "utf8sig", "utf16", "utf32")
    stream.write(text_of(profiler, format, options))


def text_of(profiler: "LineProfiler", format: str, options: "dict[str, Any]") -> str:
    """A table, or why there is nothing in it."""
    if profiler._recording is None:
        return explain_empty(profiler) + "\n"
    _resolve.all_of(profiler)
    return render(profiler, format, why=explain_empty(profiler), project=profiler.project_folder, **options)


def write(profiler: "LineProfiler", path: "str | os.PathLike[str]", format: str, **options: "Any") -> None:
    """Write a file whole or not at all; folders are made."""
    if profiler._recording is None:
        profiler._made_session()
    _resolve.all_of(profiler)
    if format == "html":
        options["why"] = explain_empty(profiler)
    replace_file(path, render(profiler, format, **options))


def replace_file(path: "str | os.PathLike[str]", text: str) -> None:
    """Write `text`; what was there before stays until all of it is written."""
    target = os.path.abspath(os.fsdecode(os.fspath(path)))
    os.makedirs(os.path.dirname(target), exist_ok=True)
    raw = text.encode("utf-8", "surrogatepass")
    if os.path.exists(target) and not os.path.isfile(target):  # a pipe or a device is written through
        with open(target, "wb") as file:
            file.write(raw)
        return
    beside = f"{target}.{os.getpid()}.part"
    try:
        with open(beside, "xb") as file:
            file.write(raw)
        os.replace(beside, target)
    except BaseException:
        try:
            os.unlink(beside)
        except (OSError, ValueError):
            pass
        raise


# Why there is nothing.


def explain_empty(profiler: "LineProfiler") -> str:
    """Why a profiler has no lines to show: one or more sentences."""
    if os.getpid() != profiler._pid and profiler.run_dir is None:
        return (
            "No lines were recorded: this is another process than the one whose lines were recorded. "
            "With run_dir= a profiler also records the processes that are started inside its block."
        )
    if not profiler._entered:
        if profiler._added:
            return "No lines were recorded: the decorated functions were never called in this process."
        return "No lines were recorded: the profiler was never entered. Use `with profiler:` around the calls."
    scope = profiler._scope
    left_out = sorted(outside(profiler).items(), key=lambda item: (not scope.in_project(item[0]), -item[1], item[0]))
    if not left_out:
        return (
            f"No lines were recorded: no Python function was called {_where(profiler)} in this process."
            + _other_processes(profiler)
        )
    return _explain_scope(profiler, left_out)


def _explain_scope(profiler: "LineProfiler", left_out: "list[tuple[str, int]]") -> str:
    from lineprofiler._lines._scope import printable

    root = printable(profiler.project_folder)
    lines = [
        f"No lines were recorded: nothing that was called {_where(profiler)} is in scope, which is {root}.",
        "Called, but left out:",
    ]
    for filename, count in left_out[:_TOP_OUTSIDE]:
        reason = profiler._scope.why_not(filename)
        lines.append(f"  {printable(filename)} {reason} ({count:,} {'function' if count == 1 else 'functions'})")
    if len(left_out) > _TOP_OUTSIDE:
        lines.append(f"  and {len(left_out) - _TOP_OUTSIDE:,} more files")
    lines.append(_SCOPE_OF_RUN if profiler._is_program else _SCOPE_OF_BLOCK)
    return "\n".join(lines) + _other_processes(profiler)


def _where(profiler: "LineProfiler") -> str:
    return "by the program" if profiler._is_program else "inside the block"


def _other_processes(profiler: "LineProfiler") -> str:
    module = sys.modules.get("multiprocessing.process")
    if profiler.run_dir is not None or module is None:
        return ""
    return " Work that was done in other processes is recorded with run_dir=."
