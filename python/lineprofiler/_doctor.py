"""What `lineprofiler doctor` says about this interpreter's installation; loaded by that command alone."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from importlib import metadata
from pathlib import Path
from typing import Any

import lineprofiler

# Distributions that install packages of the same names.
RIVALS = ("with-line-profiler", "linescope")

Line = tuple[str, str, str, int]

_NAME = "<lineprofiler doctor>"


def lines() -> list[Line]:
    """Name, value, meaning, and 1 for a check that passed, 0 for one that failed, -1 for a fact."""
    here = str(Path(lineprofiler.__file__).parent)
    found: list[Line] = [("package", here, "", -1)]
    for rival in RIVALS:
        try:
            version = metadata.version(rival)
        except metadata.PackageNotFoundError:
            continue
        meaning = (
            f"also installed, into the same folder; what is imported is ours ({lineprofiler.__version__}): "
            "uninstall one of the two"
        )
        found.append(("other package", f"{rival} {version}", meaning, 0))
    return [*found, _line_profiler(), _startup()]


def _line_profiler() -> Line:
    """A loop of a thousand rounds, recorded and counted."""
    rounds = 1000
    space: dict[str, Any] = {}
    exec(compile("def loop(n):\n    for i in range(n):\n        i + 1\n", _NAME, "exec"), space)
    try:
        profiler = lineprofiler.LineProfiler(config=lineprofiler.ProfilerConfig(include=[_NAME], functions=["loop"]))
        with profiler:
            space["loop"](rounds)
        hits = sum(line.hits for stats in profiler.get_stats().values() for line in stats.line_stats.values())
    except Exception as error:
        return ("line profiler", "does not work", f"{type(error).__name__}: {error}", 0)
    right = hits == 2 * rounds + 1
    meaning = "" if right else f"a loop of {rounds} rounds gave {hits} executions instead of {2 * rounds + 1}"
    return ("line profiler", f"{profiler.backend}, {'counts exactly' if right else 'miscounts'}", meaning, int(right))


def _startup() -> Line:
    from lineprofiler._lines import _run

    try:
        _run.check_startup()
    except _run.Usage as why:
        return ("start-up line", "not there", f"`run` and children need it: {why}", -1)
    return ("start-up line", _run.STARTUP_FILE, "", 1)
