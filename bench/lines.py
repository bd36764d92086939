# SPDX-License-Identifier: MIT
"""What watching every line costs: programs with a tool switched on, against the same programs bare, by the CPU clock
of the thread. Prints JSON rows.

    lines.py TOOL FOLDER ROUNDS [SHARE]      TOOL: a key of lines_tools.TOOLS; SHARE: of the operations of a turn

Each turn switches the tool on, runs a quarter untimed and the rest timed, and switches it off; bare copies of the
programs take turns with it. A tool that has not counted what was run ends this with an error.
"""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any

from calls import print_and_leave
from lines_code import Project
from lines_tools import TOOLS, Tool
from measure import Variant, fastest, figure, median, quartiles, ratios, run_rounds

Row = dict[str, Any]

# Name of the row; operations of a turn; a line, and its executions in an operation; line events of an operation.
PROGRAMS = {
    "loop": ("loop", 200_000, 4, 1.0, 2.0),
    "deep": ("loop below line 256", 200_000, 304, 1.0, 2.0),
    "fib": ("fib", 4, 2, 57_313.0, 2 * 57_313.0),
    "library": ("library", 8, 3, 1.0, 2.0),
}
WITH_EVENTS = ("loop", "deep", "fib")  # the others have next to none


def ratio_row(name: str, watched: Variant, bare: Variant) -> Row:
    """The median over the rounds of what the thread's CPU clock says, and the ratio of the fastest tenths of both."""
    by_cpu = ratios(watched.cpu_ns, bare.cpu_ns)
    return {
        "name": name,
        "ratio": median(by_cpu),
        "quartiles": list(quartiles(by_cpu)),
        "cpu_ratio": median(by_cpu),
        "wall_ratio": median(ratios(watched.wall_ns, bare.wall_ns)),
        "least_ratio": fastest(watched.cpu_ns) / fastest(bare.cpu_ns),
        "ns": median(watched.cpu_ns),
        "base_ns": median(bare.cpu_ns),
        "rounds": len(by_cpu),
    }


def event_row(name: str, watched: Variant, bare: Variant, events: float) -> Row:
    """Over the bare run, for each line event: between the fastest tenths, where little disturbs; the median beside."""
    over = [(a - b) / events for a, b in zip(watched.cpu_ns, bare.cpu_ns, strict=True)]
    least = (fastest(watched.cpu_ns) - fastest(bare.cpu_ns)) / events
    return figure(f"{name}, a line event", least, "ns", median=median(over), spread=quartiles(over))


def variants_of(tool: Tool, kind: str, modules: dict[str, ModuleType], share: float) -> list[Variant]:
    operations = max(4, int(PROGRAMS[kind][1] * share))
    watched = Variant(f"{kind} watched", modules["watched"].run, "", tool.start, tool.stop, operations)
    return [watched, *(Variant(f"{kind} {of}", modules[of].run, operations=operations) for of in ("bare", "again"))]


def check(tool: Tool, kind: str, file: str, operations: int, turns: int, exact: bool) -> None:
    """Whether the tool was really there."""
    _, _, line, each, _ = PROGRAMS[kind]
    least = turns * (operations + operations // 4) * each
    found = tool.hits(file, line)
    if found != least if exact else found < min(1, least):
        raise SystemExit(f"{kind}: {found} executions of line {line}, {least:.0f} were made")


def main() -> None:
    which, folder, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3])
    share = float(sys.argv[4]) if len(sys.argv) > 4 else 1.0
    project = Project(folder)
    programs = {kind: {of: project.copy(kind, of) for of in ("watched", "bare", "again")} for kind in PROGRAMS}
    tool = TOOLS[which](project.folder, [modules["watched"] for modules in programs.values()])
    variants = {kind: variants_of(tool, kind, modules, share) for kind, modules in programs.items()}
    run_rounds([each for group in variants.values() for each in group], rounds, 0)
    rows: list[Row] = []
    for kind, (watched, bare, again) in variants.items():
        title, events = f"{tool.label or 'lines'}: {PROGRAMS[kind][0]}", PROGRAMS[kind][4]
        file = str(programs[kind]["watched"].__file__)
        check(tool, kind, file, watched.operations, rounds + 3, which == "ours")
        rows.append(ratio_row(title, watched, bare))
        if kind in WITH_EVENTS:
            rows.append(event_row(title, watched, bare, events))
        if which == "ours":
            rows.append(ratio_row(f"{title}, bare again", again, bare))
    print_and_leave(rows)


if __name__ == "__main__":
    main()
