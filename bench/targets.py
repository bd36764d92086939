# SPDX-License-Identifier: MIT
"""What things must cost: the bounds that the table of `make bench` is judged by.

A bound is for the row's own figure: a ratio to the baseline, or a value in the row's unit. Two numbers: for Python
3.10 to 3.13 and for 3.14 and later, whose interpreter calls methods of C types more slowly.
"""

from __future__ import annotations

Bound = float | tuple[float, float]

TARGETS: dict[str, Bound] = {
    # against `with Empty(): pass`
    "phase": (0.45, 0.8),
    "phase, kept": (0.4, 0.7),
    "count": 0.15,
    "nothing installed": (0.35, 0.6),
    "phase in a coroutine": (0.6, 1.2),
    "async with phase": (1.1, 1.6),
    # against the plain call, and against the same entry with nothing installed
    "decorated, switched off": 1.02,
    "sample=0.01, skipped entry over nothing installed": 25.0,
    # against the same code without phases; 1.03 stands for no measurable slow-down: twins differ by 1 % to
    # 2 % here
    "generator items while a phase is held": 1.03,
    "next and close while a phase is held": 1.03,
    "asyncio steps beside a task that holds a phase": 1.03,
    "asyncio steps inside one phase": 1.1,
    "MCTS, four phases": 1.1,
    "MCTS, nested with counters": 1.25,
    # the C core
    "C begin and end, over two clock reads": 15.0,
    "tail: p99.99 in the run directory, over memory": 20.0,
    "store: bytes of a path": 1536.0,
    "store: a process with 50 paths": 256.0 * 1024,
    # whole programs
    "start to first phase": 5.0,
    "import, CPU against python -c pass": 1.3,
    "report of one small run": 10.0,
    "report of 1,000 processes x 200 paths, CPU": 0.5,
    "report of 1,000 processes x 200 paths, memory": 100.0,
    "report of 10,000 processes x 100 paths, CPU": 1.0,
    "page of 20,000 source lines, CPU": 1.0,
    "page of 20,000 source lines, bytes a line beyond the source": 100.0,
    # lines watched, against the same code bare
    "lines: loop": 2.2,
    "lines: loop below line 256": 2.8,
    "lines: fib": 4.0,
    "lines: library": 1.03,
    "lines: a line event in 4 threads against 1": 1.2,
    "lines: fresh function, of 10,000 against of 1,000": 1.2,
    "lines: start of a block, 600 functions recorded before": 1.0,
    "lines: start of a block, 600 functions decorated": 1.0,
    "lines: region against a phase, 600 functions recorded": 2.0,
}

# Below 3.12 lines are told by a trace function, which hears of every line of every frame.
TRACED: dict[str, Bound | None] = {
    "lines: loop": 3.2,
    "lines: loop below line 256": 3.2,
    "lines: fib": 8.0,
    "lines: library": None,
}


def bound(name: str, version: tuple[int, int]) -> float | None:
    target = TARGETS.get(name)
    if version < (3, 12) and name in TRACED:
        target = TRACED[name]
    if isinstance(target, tuple):
        return target[version >= (3, 14)]
    return target
