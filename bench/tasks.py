# SPDX-License-Identifier: MIT
"""What phases that are held open over a yield or an await cost the program's other generators and tasks, and what they
cost the code that holds them. Each against the same code of the same round without. Prints JSON rows.

    tasks.py ours|others RUN_DIR ROUNDS OPERATIONS
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import Callable, Iterator
from itertools import repeat
from typing import Any

from measure import Variant, row, run_rounds, samples

TASKS = 20


def items(n: int) -> Iterator[int]:
    for i in repeat(0, n):  # noqa: UP028
        yield i


def consume(n: int) -> None:
    for _ in items(n):
        pass


def start_and_close(n: int) -> None:
    for _ in repeat(None, n):
        generator = items(2)
        next(generator)
        generator.close()


class Holder:
    """A generator that holds a phase open while others run."""

    def __init__(self, phase: Callable[[str], Any]) -> None:
        self.phase = phase

    def hold(self) -> Iterator[None]:
        with self.phase("held by a generator"):
            yield

    def start(self) -> None:
        self.generator = self.hold()
        next(self.generator)

    def stop(self) -> None:
        with contextlib.suppress(StopIteration):
            next(self.generator)


class Steps:
    """`n` steps of asyncio, dealt out to TASKS tasks; `hold` runs beside them with a phase open if asked for."""

    def __init__(self, loop: asyncio.AbstractEventLoop, body: Callable[[int], Any], phase: Any = None) -> None:
        self.loop, self.body, self.phase = loop, body, phase

    async def _hold(self, over: asyncio.Event) -> None:
        with self.phase("held by a task"):
            await over.wait()

    async def _all(self, steps: int) -> None:
        over = asyncio.Event()
        holder = asyncio.ensure_future(self._hold(over)) if self.phase else None
        await asyncio.gather(*(self.body(steps) for _ in range(TASKS)))
        over.set()
        if holder:
            await holder

    def __call__(self, n: int) -> None:
        self.loop.run_until_complete(self._all(max(1, n // TASKS)))


def step_variants(prefix: str, phase: Callable[[str], Any]) -> list[Variant]:
    loop = asyncio.new_event_loop()

    async def bare(steps: int) -> None:
        for _ in repeat(None, steps):
            await asyncio.sleep(0)

    async def others(steps: int) -> None:  # code of its own: no phase was ever opened in it
        for _ in repeat(None, steps):
            await asyncio.sleep(0)

    async def holding(steps: int) -> None:
        with phase("held over all steps"):
            for _ in repeat(None, steps):
                await asyncio.sleep(0)

    async def each(steps: int) -> None:
        for _ in repeat(None, steps):
            with phase("step"):
                await asyncio.sleep(0)

    return [
        Variant("asyncio step", Steps(loop, bare)),
        Variant("asyncio step again", Steps(loop, bare)),
        Variant(f"{prefix}asyncio steps beside a task that holds a phase", Steps(loop, others, phase)),
        Variant(f"{prefix}asyncio steps inside one phase", Steps(loop, holding)),
        Variant(f"{prefix}asyncio steps, each a phase", Steps(loop, each)),
    ]


def generator_variants(prefix: str, phase: Callable[[str], Any]) -> list[Variant]:
    holder = Holder(phase)

    def holding(n: int) -> Iterator[int]:
        with phase("held by the loop's generator"):
            for i in repeat(0, n):  # noqa: UP028
                yield i

    def consume_holding(n: int) -> None:
        for _ in holding(n):
            pass

    return [
        Variant("generator item", consume),
        Variant("generator item again", consume),
        Variant(f"{prefix}generator items while a phase is held", consume, "", holder.start, holder.stop),
        Variant(f"{prefix}generator items of the holder itself", consume_holding),
        Variant("next and close", start_and_close, operations=200),
        Variant("next and close again", start_and_close, operations=200),
        Variant(f"{prefix}next and close while a phase is held", start_and_close, "", holder.start, holder.stop, 200),
    ]


def main() -> None:
    which, run_dir, rounds, operations = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    from lineprofiler import accounting

    accounting.start(run_dir=run_dir, role="tasks", enabled=True)
    prefix = "" if which == "ours" else "with-line-profiler: "
    generators = generator_variants(prefix, accounting.phase)
    steps = step_variants(prefix, accounting.phase)
    run_rounds(generators, rounds, operations)
    run_rounds(steps, max(rounds // 2, 10), TASKS * (20 if which == "ours" else 4))
    costs = samples(generators + steps)
    bases = {"generator": "generator item", "next": "next and close", "asyncio": "asyncio step"}
    rows = []
    for name, cost in costs.items():
        if name in bases.values() or (prefix and not name.startswith(prefix)):
            continue
        base = bases[name.removeprefix(prefix).split()[0]]
        rows.append(row(name, cost, costs[base]))
    sys.stdout.write("\n" + json.dumps(rows) + "\n")
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
