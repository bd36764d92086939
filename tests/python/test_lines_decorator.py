"""``@profiler`` on everything that can be decorated: it stays what it was, and its lines are recorded."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import asyncio
import functools
import inspect
import io
import pickle
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any

import pytest
from lineprofiler import LineProfiler

profiler = LineProfiler()


@pytest.fixture(autouse=True)
def nothing_recorded() -> Iterator[None]:
    profiler.clear()
    yield
    profiler._halt()


def calls(name: str, of: LineProfiler = profiler) -> int:
    """Executions of the first line of a function, by the end of its qualified name."""
    found = [stats for (_, function, _), stats in of.get_stats().items() if function.split(".")[-1] == name]
    return sum(stats.line_stats[min(stats.line_stats)].hits for stats in found)


def fresh() -> LineProfiler:
    return LineProfiler()


def test_function_stays_the_object_it_was() -> None:
    mine = fresh()

    def function(a: int, /, b: str = "x", *, c: float = 1.0) -> str:
        """Says something."""
        return b * a

    before = (
        function.__name__,
        function.__qualname__,
        function.__doc__,
        inspect.signature(function),
        dict(vars(function)),
    )
    decorated = mine(function)
    assert decorated is function
    after = (
        function.__name__,
        function.__qualname__,
        function.__doc__,
        inspect.signature(function),
        dict(vars(function)),
    )
    assert after == before
    assert function(2) == "xx" and function(3, "y", c=2.0) == "yyy"
    assert calls("function", mine) == 2
    mine._halt()


def test_call_adds_no_frame() -> None:
    mine = fresh()

    @mine
    def function() -> Any:
        return sys._getframe().f_back

    assert function() is sys._getframe()
    mine._halt()


def test_switched_off_records_nothing_and_gives_the_function(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEPROFILER_ENABLED", "0")
    mine = fresh()

    def function() -> int:
        return 1

    assert mine(function) is function
    function()
    assert mine.get_stats() == {} and mine._recording is None


class Kinds:
    """One of each."""

    @profiler
    def plain(self) -> int:
        return 1

    @profiler
    @classmethod
    def class_above(cls) -> type:
        return cls

    @classmethod
    @profiler
    def class_below(cls) -> type:
        return cls

    @profiler
    @staticmethod
    def static_above() -> int:
        return 2

    @staticmethod
    @profiler
    def static_below() -> int:
        return 2

    @profiler
    @property
    def prop(self) -> int:
        return 3

    @prop.setter
    def prop(self, value: int) -> None:
        self.kept = value

    @profiler
    @functools.cached_property
    def cached(self) -> int:
        return 4

    @profiler
    @functools.singledispatchmethod
    def dispatched(self, value: object) -> str:
        return "object"

    @dispatched.register
    def _(self, value: int) -> str:
        return "int"

    def with_argument(self, value: int) -> int:
        return value

    partial = profiler(functools.partialmethod(with_argument, 5))

    @profiler
    def __call__(self) -> int:
        return 6


class Sub(Kinds):
    pass


def start_again() -> None:
    """The fixture stops what was decorated at import; record it again."""
    assert profiler._outer is not None
    profiler._outer.start()


def test_methods_of_every_kind_keep_their_kind() -> None:
    start_again()
    kinds = Kinds()
    for name, kind in (
        ("class_above", classmethod),
        ("class_below", classmethod),
        ("static_above", staticmethod),
        ("static_below", staticmethod),
        ("prop", property),
        ("cached", functools.cached_property),
        ("partial", functools.partialmethod),
        ("dispatched", functools.singledispatchmethod),
    ):
        assert type(vars(Kinds)[name]) is kind
    assert kinds.plain() == 1
    for owner, expected in ((Kinds, Kinds), (Sub, Sub), (Sub(), Sub)):
        assert owner.class_above() is expected and owner.class_below() is expected
    assert Kinds.static_above() == kinds.static_below() == 2
    assert kinds.prop == 3
    kinds.prop = 7
    assert kinds.cached == kinds.cached == 4
    assert kinds.dispatched("x") == "object" and kinds.dispatched(3) == "int"
    assert kinds.partial() == 5
    assert kinds() == 6
    expected = {
        "plain": 1,
        "class_above": 3,
        "class_below": 3,
        "static_above": 1,
        "static_below": 1,
        "prop": 1,
        "cached": 1,
        "dispatched": 1,
        "with_argument": 1,
        "__call__": 1,
    }
    assert {name: calls(name) for name in expected} == expected


def logged(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return function(*args, **kwargs)

    return wrapper


def test_wrapped_function_is_followed_to_the_bottom() -> None:
    mine = fresh()

    @mine
    @logged
    @functools.lru_cache
    @logged
    def bottom(n: int) -> int:
        return n

    assert bottom(1) == bottom(1) == 1
    assert calls("bottom", mine) == 1
    assert calls("wrapper", mine) == 0
    mine._halt()


def test_inner_functions_come_with_the_outer_one() -> None:
    mine = fresh()

    @mine
    def outer() -> int:
        def inner() -> int:
            return 1

        return sum(inner() for _ in range(10))

    assert outer() == 10
    assert calls("inner", mine) == 10
    mine._halt()


def test_coroutines_and_generators_stay_what_they_are() -> None:
    mine = fresh()

    @mine
    async def coroutine() -> int:
        await asyncio.sleep(0)
        return 1

    @mine
    def generator() -> Iterator[int]:
        yield 1
        yield 2

    @mine
    async def async_generator() -> AsyncIterator[int]:
        yield 1

    async def main() -> list[int]:
        return [await coroutine(), *[item async for item in async_generator()]]

    assert inspect.iscoroutinefunction(coroutine) and inspect.isgeneratorfunction(generator)
    assert inspect.isasyncgenfunction(async_generator)
    assert asyncio.run(main()) == [1, 1]
    assert list(generator()) == [1, 2]
    assert [calls(name, mine) for name in ("coroutine", "generator", "async_generator")] == [1, 1, 1]
    mine._halt()


def test_class_is_recorded_whole() -> None:
    mine = fresh()

    @mine
    class Walker:
        def step(self) -> int:
            return 1

        class Inner:
            def deep(self) -> int:
                return 2

    assert Walker().step() == 1 and Walker.Inner().deep() == 2
    assert calls("step", mine) == calls("deep", mine) == 1
    mine._halt()


def test_three_methods_with_the_same_body_are_kept_apart() -> None:
    mine = fresh()

    @mine
    class Same:
        def first(self) -> None:
            pass

        def second(self) -> None:
            pass

        def third(self) -> None:
            pass

    same = Same()
    same.first()
    for _ in range(2):
        same.second()
    for _ in range(3):
        same.third()
    assert [calls(name, mine) for name in ("first", "second", "third")] == [1, 2, 3]
    mine._halt()


def test_partials_generic_functions_and_bound_methods() -> None:
    mine = fresh()

    def add(a: int, b: int) -> int:
        return a + b

    @functools.singledispatch
    def show(value: object) -> str:
        return "object"

    @show.register
    def show_int(value: int) -> str:
        return "int"

    class Thing:
        def method(self) -> int:
            return 1

    part, bound = functools.partial(add, 1), Thing().method
    assert mine(part) is part and mine(show) is show and mine(bound) is bound
    assert part(2) == 3 and show(1) == "int" and show("") == "object" and bound() == 1
    assert [calls(name, mine) for name in ("add", "show", "show_int", "method")] == [1, 1, 1, 1]
    mine._halt()


def module_level() -> int:
    return 1


def test_decorated_function_pickles() -> None:
    mine = fresh()
    assert mine(module_level) is module_level
    assert pickle.loads(pickle.dumps(module_level)) is module_level
    mine._halt()


@pytest.mark.parametrize("thing", [len, 3, None, "text", print])
def test_what_has_no_lines_is_refused(thing: Any) -> None:
    with pytest.raises(TypeError, match="no Python function behind"):
        fresh()(thing)


def test_counts_are_not_doubled_inside_a_block() -> None:
    mine = fresh()

    @mine
    def function() -> int:
        return 1

    function()
    with mine:
        function()
    function()
    assert calls("function", mine) == 3
    mine._halt()


def test_results_are_readable_at_any_moment() -> None:
    mine = fresh()

    @mine
    def function() -> int:
        return 1

    seen = [calls("function", mine)]
    function()
    seen.append(calls("function", mine))
    for _ in range(10):
        function()
    seen.append(calls("function", mine))
    assert seen == [0, 1, 11]
    mine._halt()


def test_function_that_was_never_called_is_said_to_be() -> None:
    mine = fresh()

    @mine
    def function() -> int:
        return 1

    stream = io.StringIO()
    mine.print_stats(stream=stream)
    assert "the decorated functions were never called" in " ".join(stream.getvalue().split())
    mine._halt()


def test_two_profilers_on_one_generator_see_the_same() -> None:
    first, second = fresh(), fresh()

    @first
    @second
    def generator() -> Iterator[int]:
        for i in range(2):
            yield i * 1

    assert list(generator()) == [0, 1]
    lines = [
        [line.hits for _, line in sorted(next(iter(each.get_stats().values())).line_stats.items())]
        for each in (first, second)
    ]
    assert lines == [[3, 2], [3, 2]]
    for each in (first, second):
        each._halt()


def test_region_holds_what_is_decorated_without_a_block() -> None:
    mine = fresh()

    @mine
    def function() -> int:
        return 1

    with mine.region("part"):
        function()
    with mine:
        with mine.region("inside"):
            function()
    with mine.region("part"):
        function()
    assert mine.region_entries() == {"part": 2, "inside": 1}
    assert calls("function", mine) == 3
    mine._halt()
