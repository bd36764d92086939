"""Random programs of generators and tasks against an oracle, and what must hold whatever they did."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import asyncio
import gc
import random
import sys
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
from lineprofiler import _core
from lineprofiler._core import phase
from watching import Path_, Watch, hold_and_yield, managed


class Boom(Exception):
    pass


class Frame:
    """A generator's frame as the oracle sees it: the paths of what it has open, and the frame that delegates to it.

    A path is fixed when its phase begins, so it says what was on top then; ``current`` tells what is on top now.
    """

    running: list[Frame] = []
    checks = 0

    def __init__(self, outer: Frame | None = None) -> None:
        self.open: list[Path_] = []
        self.outer = outer

    def chain(self) -> list[Frame]:
        return [*(self.outer.chain() if self.outer else ()), self]

    def stop(self) -> None:
        for frame in reversed(self.chain()):
            assert Frame.running.pop() is frame

    def go_on(self) -> None:
        Frame.running.extend(self.chain())

    def enter(self) -> None:
        Frame.running.append(self)

    def leave(self) -> None:
        assert Frame.running.pop() is self

    def begin(self, name: str) -> None:
        self.open.append((*Frame.top(), name))

    def end(self) -> None:
        self.open.pop()

    @staticmethod
    def top() -> Path_:
        return next((frame.open[-1] for frame in reversed(Frame.running) if frame.open), ())

    @staticmethod
    def check() -> None:
        Frame.checks += 1
        assert _core.current() == Frame.top()


class Writer:
    """Writes the source of a random generator function."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.lines: list[str] = []
        self.names = 0

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def block(self, depth: int, budget: int, inner: bool) -> None:
        for _ in range(self.rng.randint(1, 3)):
            self.step(depth, budget, inner)

    def step(self, depth: int, budget: int, inner: bool) -> None:
        kind = self.rng.choice(["with", "with", "managed", "yield", "yield", "catch", "delegate", "other", "check"])
        if kind in ("with", "managed") and budget:
            self.opened(depth, "P" if kind == "with" else "managed", budget, inner)
        elif kind == "yield":
            self.pause(depth)
        elif kind == "catch":
            self.line(depth, "try:")
            self.pause(depth + 1)
            self.line(depth, "except Boom:")
            self.line(depth + 1, "check()")
        elif kind == "delegate" and not inner:
            self.line(depth, "yield from delegate(me)")
        elif kind == "other":
            self.line(depth, "act()")
        else:
            self.line(depth, "check()")

    def opened(self, depth: int, how: str, budget: int, inner: bool) -> None:
        self.names += 1
        name = f"n{self.names}"
        self.line(depth, f"with {how}({name!r}):")
        self.line(depth + 1, f"me.begin({name!r})")
        self.line(depth + 1, "try:")
        self.line(depth + 2, "check()")
        self.block(depth + 2, budget - 1, inner)
        self.line(depth + 1, "finally:")
        self.line(depth + 2, "check()")
        self.line(depth + 2, "me.end()")

    def pause(self, depth: int) -> None:
        self.line(depth, "me.stop()")
        self.line(depth, "try:")
        self.line(depth + 1, "yield")
        self.line(depth, "finally:")
        self.line(depth + 1, "me.go_on()")
        self.line(depth, "check()")

    def function(self, name: str, inner: bool) -> None:
        """An inner one has a phase open throughout: without, a close cannot know who awaits it."""
        self.line(0, f"def {name}(me):")
        self.line(1, "me.enter()")
        self.line(1, "try:")
        if inner:
            self.opened(2, "P", 2, inner)
        else:
            self.block(2, 3, inner)
        self.line(2, "if 0: yield")
        self.line(1, "finally:")
        self.line(2, "me.leave()")


class Program:
    """Up to eight generators that advance, throw into, close and drop each other."""

    def __init__(self, seed: int) -> None:
        self.rng = random.Random(seed)
        self.space: dict[str, Any] = {
            "P": phase,
            "managed": managed,
            "Boom": Boom,
            "check": Frame.check,
            "act": self.act,
            "delegate": self.delegate,
        }
        writer = Writer(self.rng)
        for i in range(5):
            writer.function(f"outer{i}", inner=False)
        for i in range(3):
            writer.function(f"inner{i}", inner=True)
        exec("\n".join(writer.lines), self.space)
        self.alive: dict[Frame, Generator[None, None, None]] = {}
        self.acts = 0

    def delegate(self, outer: Frame) -> Generator[None, None, None]:
        return self.space[f"inner{self.rng.randrange(3)}"](Frame(outer))  # type: ignore[no-any-return]

    def start(self) -> None:
        frame = Frame()
        self.alive[frame] = self.space[f"outer{self.rng.randrange(5)}"](frame)

    def act(self) -> None:
        """One random deed on one random generator that does not run."""
        self.acts += 1
        idle = [frame for frame in self.alive if frame not in Frame.running]
        if self.acts > 300 or not idle:
            return
        frame = self.rng.choice(idle)
        deed = self.rng.choice(["next", "next", "next", "throw", "close", "drop"])
        try:
            if deed == "drop":
                del self.alive[frame]  # the last reference: it is closed here
            elif deed == "next":
                next(self.alive[frame])
            elif deed == "throw":
                self.alive[frame].throw(Boom)
            else:
                self.alive[frame].close()
        except (StopIteration, Boom, RuntimeError, ValueError):
            self.alive.pop(frame, None)
        Frame.check()

    def run(self) -> None:
        base = Frame()
        Frame.running[:] = [base]
        with phase("base"):
            base.begin("base")
            for _ in range(60):
                while len(self.alive) < 4:
                    self.start()
                self.act()
            for frame in list(self.alive):
                del self.alive[frame]
                Frame.check()
        assert Frame.running == [base]


@pytest.mark.parametrize("seed", range(40))
def test_random_generators_against_an_oracle(watch: Watch, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    if not exact_here(watch):
        pytest.skip("inference is right in all but rare cases; this looks for them")
    faults: list[object] = []
    monkeypatch.setattr(sys, "unraisablehook", lambda fault: faults.append(fault.exc_value))
    gc.collect()
    gc.disable()
    checks = Frame.checks
    try:
        Program(seed).run()
    finally:
        gc.enable()
        Frame.running.clear()
    assert [fault for fault in faults if isinstance(fault, AssertionError)] == []
    assert Frame.checks > checks + 60
    assert watch.open_scopes() == 0


def exact_here(watch: Watch) -> bool:
    list(hold_and_yield(0))
    return watch.is_exact()


def test_conservation_after_random_tasks(watch: Watch) -> None:
    """What entries ran themselves adds up to what ran below the root, in whatever order they stopped and went on."""
    rng = random.Random(7)

    async def task(depth: int) -> None:
        with phase(f"level {depth}"):
            if rng.random() < 0.5:
                await asyncio.sleep(rng.random() / 1000)
            if depth:
                await asyncio.gather(*[task(depth - 1) for _ in range(2)], return_exceptions=True)

    async def main() -> None:
        tasks = [asyncio.create_task(task(3)) for _ in range(10)]
        await asyncio.sleep(0.002)
        for victim in tasks[::3]:
            victim.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    asyncio.run(main())
    if not watch.is_exact():
        pytest.skip("unmeasured")
    (role,) = watch.run()["roles"]
    root = next(node for node in role["tree"] if not node["path"])
    active = sum(node["wall_ns"] - node["suspended_ns"] for node in role["tree"] if node["path"])
    inner = sum(node["inner_ns"] for node in role["tree"] if node["path"])
    assert active - inner == pytest.approx(root["inner_ns"], abs=100 * len(role["tree"]))


def test_a_run_may_start_inside_a_coroutine(tmp_path: Path) -> None:
    async def main() -> dict[str, int]:
        watch = Watch(tmp_path / "run")
        with phase("in"):
            await asyncio.sleep(0)
            with phase("deeper"):
                await asyncio.sleep(0)
        calls = watch.calls()
        watch.recording.close()
        return calls

    async def both() -> dict[str, int]:
        return await main()

    assert asyncio.run(both()) == {"in": 1, "in/deeper": 1}
