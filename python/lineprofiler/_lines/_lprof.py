"""Writes ``.lprof`` files, the pickles that line_profiler loads, without line_profiler."""
# SPDX-License-Identifier: MIT

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lineprofiler._lines._stats import FunctionStats, Key

UNIT_S = 1e-9


def dump(path: "str | os.PathLike[str]", stats: "dict[Key, FunctionStats]") -> None:
    """Write `stats` to `path`; the folder is made."""
    folder = os.path.dirname(os.path.abspath(os.fspath(path)))
    os.makedirs(folder, exist_ok=True)
    with open(path, "wb") as file:
        file.write(pickled(stats))


def pickled(stats: "dict[Key, FunctionStats]") -> bytes:
    """The bytes of the file.

    It is the call ``LineStats(timings, unit)`` of line_profiler's class, spelled out in pickle's own instructions
    because the class need not be there to be named: c NAME pushes it, R calls it with the tuple that follows.
    """
    import pickle

    timings = {
        (function.filename, function.first_line, function.function_name): [
            (line.line_number, line.hits or line.events, round(line.total_time / UNIT_S))
            for line in sorted(function.line_stats.values(), key=lambda line: line.line_number)
            if line.hits or line.events  # the reader divides by it
        ]
        for function in stats.values()
    }
    arguments = pickle.dumps((timings, UNIT_S), protocol=2)
    return arguments[:2] + b"cline_profiler._line_profiler\nLineStats\n" + arguments[2:-1] + b"R."
