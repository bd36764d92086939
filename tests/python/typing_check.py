"""Checked by mypy, not run: the types that users see."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import sys
from collections.abc import AsyncIterator, Callable, Coroutine, Iterator
from typing import Any

from lineprofiler import FunctionStats, LineProfiler, RegionStats, accounting
from lineprofiler.accounting import PhaseStats, PhaseTree, Profiler, begin, count, end, iterate, phase

if sys.version_info >= (3, 11):
    from typing import assert_type
else:
    from typing_extensions import assert_type


@phase("plain")
def plain(a: int, b: str = "") -> list[int]:
    return [a]


@phase("later")
async def later(a: int) -> str:
    return ""


@phase("many")
def many() -> Iterator[int]:
    yield 1


@phase("later many")
async def later_many() -> AsyncIterator[int]:
    yield 1


class Thing:
    @phase("method")
    def method(self, a: int) -> bytes:
        return b""

    @classmethod
    @phase("made")
    def made(cls, a: int) -> Thing:
        return cls()

    @property
    @phase("size")
    def size(self) -> int:
        return 1


profiler = Profiler("run", role="actor")


@profiler.phase("own")
def own(a: int) -> int:
    return a


@profiler.profile
def profiled(a: int) -> int:
    return a


@profiler.profile(name="x")
def named(a: int) -> int:
    return a


@profiler.on_snapshot
def look(tree: PhaseTree) -> None:
    assert_type(tree[("a",)], PhaseStats)


assert_type(plain(1, b="x"), list[int])
assert_type(later(1), Coroutine[Any, Any, str]).close()
assert_type(many(), Iterator[int])
assert_type(later_many(), AsyncIterator[int])
assert_type(Thing().method(1), bytes)
assert_type(Thing.made(1), Thing)
assert_type(Thing().size, int)
assert_type(own(1), int)
assert_type(profiled(1), int)
assert_type(named(1), int)
plain("wrong")  # type: ignore[arg-type]
count("n", 1.5)  # type: ignore[arg-type]

with phase("x") as entered:
    assert_type(entered, phase)
token = begin("x")
end(token)
for item in iterate("x", ["a"]):
    assert_type(item, str)
with accounting.start("run", role="x") as started:
    assert_type(started, Profiler)
assert_type(accounting.current(), str)
assert_type(accounting.merge_run("run").tree, PhaseTree)
check: Callable[[str, str], None] = accounting.write_report


line_profiler = LineProfiler()


@line_profiler
def watched(a: int, b: str = "") -> list[int]:
    return [a]


class Watched:
    @property
    @line_profiler
    def size(self) -> int:
        return 1

    @line_profiler
    @classmethod
    def make(cls) -> Watched:
        return cls()


def lines_keep_their_types() -> None:
    assert_type(watched(1), list[int])
    assert_type(Watched.make().size, int)
    with line_profiler as entered, entered.region("part"):
        assert_type(entered, LineProfiler)
    assert_type(entered.get_stats(), dict[tuple[str, str, int], FunctionStats])
    assert_type(entered.region_stats(), dict[str, RegionStats])
