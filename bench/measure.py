# SPDX-License-Identifier: MIT
"""Timing small pieces of code against each other on a machine that is never quiet.

Variants run in turn in every round, a fraction of a millisecond each, so that a change of clock speed or of load meets
all alike; each has the cost of its own bare loop subtracted; the ratio to the baseline is taken round by round, and
the median of the rounds is the figure. Wall and thread CPU clock are read for each.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import repeat

Loop = Callable[[int], object]


def nothing() -> None:
    pass


@dataclass
class Variant:
    """`loop(n)` does the thing n times. `less` names the variant whose cost per operation is subtracted."""

    name: str
    loop: Loop
    less: str = ""
    before: Callable[[], object] = nothing
    after: Callable[[], object] = nothing
    operations: int = 0  # of one call; 0: as many as the round's
    wall_ns: list[float] = field(default_factory=list)
    cpu_ns: list[float] = field(default_factory=list)


@dataclass
class Sample:
    """Nanoseconds of one operation, round by round, less its loop."""

    wall_ns: list[float]
    cpu_ns: list[float]

    @classmethod
    def less(cls, whole: Sample, part: Sample) -> Sample:
        return cls(
            [a - b for a, b in zip(whole.wall_ns, part.wall_ns, strict=True)],
            [a - b for a, b in zip(whole.cpu_ns, part.cpu_ns, strict=True)],
        )


def median(values: Iterable[float]) -> float:
    return statistics.median(values)


def quartiles(values: Sequence[float]) -> tuple[float, float]:
    if len(values) < 2:
        return values[0], values[0]
    low, _, high = statistics.quantiles(values, n=4)
    return low, high


def fastest(values: Sequence[float]) -> float:
    """The upper end of the fastest tenth: unlike a minimum not made by one reading that went wrong."""
    return statistics.quantiles(values, n=10)[0] if len(values) >= 10 else min(values)


def loop_of(statement: str, kind: str = "def", **names: object) -> Loop:
    """A function of n that executes `statement` n times and nothing else."""
    body = "\n".join(f"        {line}" for line in statement.splitlines())
    source = f"{kind} loop(n):\n    for _ in repeat(None, n):\n{body}\n"
    scope: dict[str, object] = {"repeat": repeat, **names}
    exec(compile(source, f"<bench: {statement.splitlines()[0]}>", "exec"), scope)
    loop: Loop = scope["loop"]  # type: ignore[assignment]
    return loop


def driven(coroutine_function: Callable[[int], object]) -> Loop:
    """Runs a coroutine that never waits."""

    def loop(n: int) -> None:
        coroutine = coroutine_function(n)
        try:
            coroutine.send(None)  # type: ignore[attr-defined]
        except StopIteration:
            return
        raise RuntimeError("the coroutine waits")

    return loop


def run_rounds(variants: Sequence[Variant], rounds: int, operations: int, warm_up: int = 3) -> None:
    wall, cpu = time.perf_counter_ns, time.thread_time_ns
    gc.collect()
    gc.freeze()
    gc.disable()
    try:
        for number in range(-warm_up, rounds):
            turn = number % len(variants)
            for variant in (*variants[turn:], *variants[:turn]):
                count = variant.operations or operations
                variant.before()
                loop = variant.loop
                loop(count // 4)  # whatever ran before has left the caches full of its own
                cpu_start, wall_start = cpu(), wall()
                loop(count)
                wall_end, cpu_end = wall(), cpu()
                variant.after()
                if number >= 0:
                    variant.wall_ns.append((wall_end - wall_start) / count)
                    variant.cpu_ns.append((cpu_end - cpu_start) / count)
    finally:
        gc.enable()
        gc.unfreeze()


def samples(variants: Sequence[Variant]) -> dict[str, Sample]:
    """By name, loops subtracted."""
    raw = {variant.name: Sample(variant.wall_ns, variant.cpu_ns) for variant in variants}
    return {v.name: Sample.less(raw[v.name], raw[v.less]) if v.less else raw[v.name] for v in variants}


def ratios(numerator: Sequence[float], denominator: Sequence[float]) -> list[float]:
    """Round by round; a round whose denominator was lost in a stall of its loop says nothing and is left out."""
    return [a / b for a, b in zip(numerator, denominator, strict=True) if b > 0]


def row(name: str, sample: Sample, base: Sample) -> dict[str, object]:
    """One figure of the table: the ratio to the baseline by both clocks, and the plain nanoseconds."""
    wall = ratios(sample.wall_ns, base.wall_ns)
    low, high = quartiles(wall)
    return {
        "name": name,
        "ratio": median(wall),
        "quartiles": [low, high],
        "cpu_ratio": median(ratios(sample.cpu_ns, base.cpu_ns)),
        "ns": median(sample.wall_ns),
        "least_ns": min(sample.wall_ns),
        "base_ns": median(base.wall_ns),
        "rounds": len(wall),
    }


def figure(name: str, value: float, unit: str, **more: object) -> dict[str, object]:
    """One figure that is no ratio to the baseline: bytes, seconds, a difference in nanoseconds."""
    return {"name": name, "value": value, "unit": unit, **more}


def over_rows(name: str, whole: Sample, part: Sample) -> list[dict[str, object]]:
    """A difference in nanoseconds, which other than a ratio grows with what else the machine does: so beside the
    median what it is between the fastest tenths of the rounds of both."""
    over = Sample.less(whole, part)
    tenths = [fastest(each.wall_ns) for each in (whole, part)]
    return [
        figure(name, median(over.wall_ns), "ns", spread=quartiles(over.wall_ns)),
        figure(f"{name}, fastest tenths", tenths[0] - tenths[1], "ns"),
    ]
