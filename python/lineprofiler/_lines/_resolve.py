"""From counters to executions: has the static pass work out what the counters of each code object stand for.

The result belongs to the code alone, so one process can do it for all processes of a run.  Code that only others have
executed is compiled again from its source for that, and never run.
"""
# SPDX-License-Identifier: MIT

from time import perf_counter

from lineprofiler import _core
from lineprofiler._lines import _source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType

    from lineprofiler._lines._profiler import LineProfiler

    Texts = dict[str, bytes | str | None]

BUDGET_S = 0.2


def some_of(profiler: "LineProfiler") -> None:
    """As many of this process's code objects as there is time for; called when recording stops."""
    deadline = perf_counter() + BUDGET_S
    texts: Texts = {}
    for session, code in _unresolved(profiler):
        if perf_counter() > deadline:
            return
        _resolve(profiler, session, code, texts)


def all_of(profiler: "LineProfiler") -> None:
    """All code objects of the run, before its results are shown; and the time of what runs right now."""
    texts: Texts = {}
    for session in profiler._sessions():
        session.settle()
    for session, code in _unresolved(profiler):
        _resolve(profiler, session, code, texts)
    if profiler.run_dir is not None and profiler._session is not None:
        _resolve_children(profiler, profiler._session, texts)


def _unresolved(profiler: "LineProfiler") -> "list[tuple[_core.LineSession, CodeType]]":
    found = []
    for session in profiler._sessions():
        known = profiler._resolved.setdefault(id(session), set())
        found += [(session, code) for code in session.codes() if id(code) not in known]
    return found


def _resolve(profiler: "LineProfiler", session: "_core.LineSession", code: "CodeType", texts: "Texts") -> None:
    from lineprofiler._lines import sums

    profiler._resolved[id(session)].add(id(code))
    text = _text_of(code.co_filename, texts)
    if text is None:
        return
    try:
        record = sums.sums_record(sums.raw_code(code), 0, text, 0)
    except Exception:  # a fault of ours is not the program's: its rows are shown as line events
        return
    if record is not None:
        session.put_sums(code, record)


def _text_of(filename: str, texts: "Texts") -> "bytes | str | None":
    if filename not in texts:
        text = _source.text_of(filename)
        texts[filename] = _source.read_bytes(filename) if text is None else text
    return texts[filename]


def _resolve_children(profiler: "LineProfiler", session: "_core.LineSession", texts: "Texts") -> None:
    own = {_identity(code) for code in session.codes()}
    for path, wanted in _unproved(profiler).items():
        text = _text_of(path, texts)
        if text is None or not wanted - own:
            continue
        whole = _source.compiled(text, path)
        for code in () if whole is None else _source.codes_in(whole):
            if _identity(code) in wanted - own:
                _resolve(profiler, session, code, texts)


def _identity(code: "CodeType") -> "tuple[str, int]":
    return getattr(code, "co_qualname", code.co_name), code.co_firstlineno


def _unproved(profiler: "LineProfiler") -> "dict[str, set[tuple[str, int]]]":
    """By file, the functions of the run whose executions nobody has worked out."""
    import json

    from lineprofiler._lines import _results

    document = json.loads(_results.render(profiler, "json"))
    found: dict[str, set[tuple[str, int]]] = {}
    for function in document["functions"]:
        if any(row["mark"] == "events" for row in function["rows"]):
            path = document["files"][function["file"]]["path"]
            found.setdefault(path, set()).add((function["name"], function["first_line"]))
    return found
