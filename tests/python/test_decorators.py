"""``phase`` on everything that can be decorated: kind, identity, signature, behaviour and what is recorded."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import abc
import asyncio
import copy
import functools
import importlib.util
import inspect
import pickle
import sys
import types
import typing
from collections.abc import AsyncIterator, Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from lineprofiler import accounting
from lineprofiler.accounting import Profiler, merge_run, phase


@pytest.fixture(scope="module")
def zoo() -> Iterator[types.ModuleType]:
    """decorated.py under a name by which pickle finds it."""
    spec = importlib.util.spec_from_file_location("decorated", Path(__file__).with_name("decorated.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["decorated"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["decorated"]


@pytest.fixture
def recorded(run_dir: Path) -> Iterator[Callable[[], dict[str, int]]]:
    """Installs a profiler; calling it closes and gives the entries per path."""
    profiler = Profiler(run_dir, install=True)

    def close() -> dict[str, int]:
        profiler.close()
        return {"/".join(path): stats.calls for path, stats in merge_run(run_dir).tree.items()}

    yield close
    profiler.close()


KINDS: dict[str, tuple[Callable[[Any], bool], ...]] = {
    "plain": (inspect.isroutine, callable),
    "bare": (inspect.isroutine, callable),
    "coroutine": (inspect.iscoroutinefunction, inspect.isfunction, asyncio.iscoroutinefunction)
    if sys.version_info < (3, 14)
    else (inspect.iscoroutinefunction, inspect.isfunction),
    "generator": (inspect.isgeneratorfunction, inspect.isfunction),
    "async_generator": (inspect.isasyncgenfunction, inspect.isfunction),
}


@pytest.mark.parametrize("name", KINDS)
def test_function_keeps_kind_and_metadata(zoo: types.ModuleType, name: str) -> None:
    function = getattr(zoo, name)
    inner = inspect.unwrap(function)
    assert inner is function.__wrapped__
    assert all(kind(function) for kind in KINDS[name])
    assert not any(kind(function) != kind(inner) for kind in (inspect.iscoroutinefunction, inspect.isgeneratorfunction))
    for attribute in ("__name__", "__qualname__", "__doc__", "__module__", "__annotations__"):
        assert getattr(function, attribute) == getattr(inner, attribute)
    assert inspect.signature(function) == inspect.signature(inner)
    assert typing.get_type_hints(function) == typing.get_type_hints(inner)
    assert inspect.getsource(function) == inspect.getsource(inner)
    assert inspect.getdoc(function) == inspect.getdoc(inner)


@pytest.mark.parametrize("name", KINDS)
def test_function_pickles_by_reference(zoo: types.ModuleType, name: str) -> None:
    function = getattr(zoo, name)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        assert pickle.loads(pickle.dumps(function, protocol)) is function
    assert copy.copy(function) is function
    assert copy.deepcopy(function) is function


def test_arguments_result_and_attributes_pass(zoo: types.ModuleType, recorded) -> None:
    assert zoo.plain(1, "y", 2, 3, key=True, z=4) == (1, "y", (2, 3), True, {"z": 4})
    zoo.plain.label = "mine"
    assert zoo.plain.label == "mine"
    del zoo.plain.label
    with pytest.raises(TypeError):
        zoo.plain()
    assert zoo.bare(1) == 2
    assert recorded() == {"plain": 2, "bare": 1}


def test_bare_decorator_takes_the_qualified_name(recorded) -> None:
    class Outer:
        @phase
        def method(self) -> int:
            return 1

        @phase
        async def later(self) -> int:
            return 2

        @phase
        @staticmethod
        def static() -> int:
            return 3

    assert Outer().method() == 1
    assert asyncio.run(Outer().later()) == 2
    assert Outer.static() == 3
    prefix = "test_bare_decorator_takes_the_qualified_name.<locals>.Outer."
    assert recorded() == {prefix + "method": 1, prefix + "later": 1, prefix + "static": 1}


def test_bare_decorator_takes_things_without_a_name_of_their_own(recorded) -> None:
    class Thing:
        @phase
        @property
        def size(self) -> int:
            return 4

    def add(a: int, b: int) -> int:
        return a + b

    assert Thing().size == 4
    assert phase(functools.partial(add, 1))(2) == 3
    names = sorted(name.rsplit(".", 1)[-1] for name in recorded())
    assert names == ["add", "size"]


def test_classmethod_gets_the_class_it_was_called_on(zoo: types.ModuleType, recorded) -> None:
    for name in ("class_above", "class_below"):
        assert isinstance(zoo.Base.__dict__[name], classmethod)
        assert getattr(zoo.Base, name)() is zoo.Base
        assert getattr(zoo.Derived, name)() is zoo.Derived
        assert getattr(zoo.Derived(), name)() is zoo.Derived
    assert recorded() == {"above": 3, "below": 3}


def test_staticmethod_stays_one(zoo: types.ModuleType, recorded) -> None:
    for name in ("static_above", "static_below"):
        assert isinstance(zoo.Base.__dict__[name], staticmethod)
        assert getattr(zoo.Base, name)(5) == 5
        assert getattr(zoo.Derived(), name)(6) == 6
    assert recorded() == {"static above": 2, "static below": 2}


def test_property_stays_one_in_both_orders(zoo: types.ModuleType, recorded) -> None:
    assert isinstance(zoo.Base.__dict__["property_above"], property)
    assert isinstance(zoo.Base.__dict__["property_below"], property)
    assert zoo.Base.__dict__["property_above"].__doc__ == "Property docs."
    assert (zoo.Base().property_above, zoo.Base().property_below) == (1, 2)
    assert recorded() == {"property above": 1, "property below": 1}


def test_property_with_setter_and_deleter(recorded) -> None:
    class Thing:
        value = 0

        def _get(self) -> int:
            return self.value

        def _set(self, value: int) -> None:
            self.value = value

        def _del(self) -> None:
            self.value = -1

        size = phase("size")(property(_get, _set, _del, "Own docs."))

    thing = Thing()
    thing.size = 3
    assert thing.size == 3
    del thing.size
    assert thing.value == -1
    assert Thing.__dict__["size"].__doc__ == "Own docs."
    assert recorded() == {"size": 3}


def test_method_binds_and_is_recorded(zoo: types.ModuleType, recorded) -> None:
    base = zoo.Base()
    assert base.method(1) is base
    assert base.method.__self__ is base
    assert zoo.Base.method(base, 2) is base
    assert inspect.ismethod(base.method)
    assert str(inspect.signature(base.method)) == "(a: 'int') -> 'Base'"
    assert recorded() == {"method": 2}


def test_bound_method_stays_bound(recorded) -> None:
    class Thing:
        def method(self) -> object:
            return self

    thing = Thing()
    measured = phase("m")(thing.method)
    assert inspect.ismethod(measured)
    assert measured() is thing
    assert recorded() == {"m": 1}


def test_cached_property(recorded) -> None:
    class Thing:
        @phase("c")
        @functools.cached_property
        def above(self) -> list[int]:
            """Docs."""
            return [1]

        @functools.cached_property
        @phase("c")
        def below(self) -> list[int]:
            return [2]

    assert isinstance(Thing.__dict__["above"], functools.cached_property)
    assert Thing.__dict__["above"].__doc__ == "Docs."
    thing = Thing()
    assert thing.above is thing.above
    assert thing.below is thing.below
    assert recorded() == {"c": 2}


def test_partial_and_partialmethod(recorded) -> None:
    def add(a: int, b: int) -> int:
        return a + b

    measured = phase("p")(functools.partial(add, 1))
    assert isinstance(measured, functools.partial)
    assert (measured.args, measured.keywords) == ((1,), {})
    assert measured(2) == 3

    class Thing:
        def set(self, value: int) -> tuple[Thing, int]:
            return self, value

        one = phase("pm")(functools.partialmethod(set, 1))

    thing = Thing()
    assert thing.one() == (thing, 1)
    assert recorded() == {"p": 1, "pm": 1}


def test_partial_of_a_coroutine_function_stays_one(recorded) -> None:
    async def add(a: int, b: int) -> int:
        await asyncio.sleep(0)
        return a + b

    measured = phase("p")(functools.partial(add, 1))
    assert inspect.iscoroutinefunction(measured)
    assert asyncio.run(measured(2)) == 3
    assert recorded() == {"p": 1}


def test_singledispatch(recorded) -> None:
    @phase("outer")
    @functools.singledispatch
    def show(value: object) -> str:
        return "object"

    @show.register
    @phase("int")
    def _(value: int) -> str:
        return "int"

    @show.register(str)
    def _(value: str) -> str:
        return "str"

    assert [show(x) for x in (1.0, 1, "a")] == ["object", "int", "str"]
    assert show.registry.keys() >= {object, int, str}
    assert recorded() == {"outer": 3, "outer/int": 1}


def test_singledispatchmethod(recorded) -> None:
    class Shower:
        @phase("m")
        @functools.singledispatchmethod
        def show(self, value: object) -> str:
            return "object"

        @show.register
        def _(self, value: int) -> str:
            return "int"

    shower = Shower()
    assert isinstance(Shower.__dict__["show"], functools.singledispatchmethod)
    assert [shower.show(x) for x in (1.0, 1)] == ["object", "int"]
    assert recorded() == {"m": 2}


def test_cached_function_keeps_its_cache(recorded) -> None:
    @phase("c")
    @functools.lru_cache
    def square(n: int) -> int:
        """Docs."""
        return n * n

    assert [square(2), square(2), square(3)] == [4, 4, 9]
    assert square.cache_info().hits == 1
    square.cache_clear()
    assert square.cache_info().currsize == 0
    assert (square.__name__, square.__doc__) == ("square", "Docs.")
    assert str(inspect.signature(square)) == "(n: 'int') -> 'int'"
    assert recorded() == {"c": 3}


def test_cached_method_binds(recorded) -> None:
    class Thing:
        @phase("c")
        @functools.lru_cache  # noqa: B019
        def me(self) -> object:
            return self

    thing = Thing()
    assert thing.me() is thing
    assert recorded() == {"c": 1}


def test_callable_objects_and_builtins(recorded) -> None:
    class Adder:
        """Adds."""

        total = 0

        def __call__(self, n: int) -> int:
            self.total += n
            return self.total

    adder = Adder()
    measured = phase("a")(adder)
    assert isinstance(measured, Adder)
    assert [measured(1), measured(2)] == [1, 3]
    assert measured.total == 3
    assert measured.__doc__ == "Adds."
    assert phase("len")(len)([1, 2]) == 2

    class Holder:
        size = phase("len")(len)

    assert Holder().size([1]) == 1  # a builtin does not bind
    assert recorded() == {"a": 2, "len": 2}


def test_callable_object_with_an_async_call(recorded) -> None:
    class Worker:
        async def __call__(self, n: int) -> int:
            await asyncio.sleep(0)
            accounting.count("inside", n)
            return n

    assert asyncio.run(phase("w")(Worker())(3)) == 3
    assert recorded() == {"w": 1}


def test_function_under_wraps(recorded) -> None:
    def inner(a: int) -> int:
        """Inner docs."""
        return a

    @phase("w")
    @functools.wraps(inner)
    def outer(*args: Any) -> int:
        return inner(*args)

    assert outer(3) == 3
    assert (outer.__name__, outer.__doc__) == ("inner", "Inner docs.")
    assert str(inspect.signature(outer)) == "(a: 'int') -> 'int'"
    assert recorded() == {"w": 1}


def test_abstract_method_stays_abstract() -> None:
    class Shape(abc.ABC):
        @phase("a")
        @abc.abstractmethod
        def area(self) -> int: ...

        @phase("n")
        @property
        @abc.abstractmethod
        def name(self) -> str: ...

    assert Shape.__abstractmethods__ == {"area", "name"}
    with pytest.raises(TypeError):
        Shape()  # type: ignore[abstract]


def test_closure_and_recursion(recorded) -> None:
    def outer(n: int) -> Callable[[int], int]:
        @phase("fact")
        def fact(k: int) -> int:
            return 1 if k <= 1 else k * fact(k - 1)

        return fact

    assert outer(0)(4) == 24
    assert recorded() == {"fact": 1, "fact/fact": 1, "fact/fact/fact": 1, "fact/fact/fact/fact": 1}


def test_same_names_in_two_places_are_no_recursion(recorded) -> None:
    def make(inner: Callable[[], int] | None) -> Callable[[], int]:
        @phase("run")
        def run() -> int:
            return 1 + (inner() if inner else 0)

        return run

    @phase("b.run")
    def other() -> int:
        return 1

    assert make(other)() == 2
    assert recorded() == {"run": 1, "run/b.run": 1}


def test_exception_passes_and_is_recorded(recorded) -> None:
    error = ValueError("mine")

    @phase("p")
    def fail() -> None:
        raise error

    @phase("g")
    def generate() -> Iterator[int]:
        yield 1
        raise error

    @phase("c")
    async def later() -> None:
        raise error

    for call in (fail, lambda: list(generate()), lambda: asyncio.run(later())):
        with pytest.raises(ValueError) as caught:
            call()
        assert caught.value is error
    assert recorded() == {"p": 1, "g": 1, "c": 1}


def test_traceback_has_no_frame_of_ours_for_a_plain_function(recorded) -> None:
    @phase("p")
    def fail() -> None:
        raise ValueError

    with pytest.raises(ValueError) as caught:
        fail()
    functions = [entry.name for entry in caught.traceback]
    assert functions == ["test_traceback_has_no_frame_of_ours_for_a_plain_function", "fail"]


def test_coroutine_function_is_measured_while_it_runs_not_when_called(recorded) -> None:
    @phase("c")
    async def f() -> int:
        await asyncio.sleep(0.05)
        return 7

    pending = f()
    assert inspect.iscoroutine(pending)
    assert accounting.current() == ""
    assert asyncio.run(pending) == 7
    profiler = accounting.installed_profiler()
    assert profiler is not None
    assert profiler.merged_tree()[("c",)].wall_ns >= 45_000_000
    assert recorded() == {"c": 1}


def test_coroutines_in_parallel_are_beside_each_other(recorded) -> None:
    @phase("c")
    async def f() -> None:
        await asyncio.sleep(0.01)

    async def main() -> None:
        await asyncio.gather(*(f() for _ in range(64)))

    asyncio.run(main())
    assert recorded() == {"c": 64}


def test_cancellation_passes_through(recorded) -> None:
    seen = []

    @phase("c")
    async def f() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            seen.append("cancelled")
            raise

    async def main() -> None:
        task = asyncio.ensure_future(f())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert seen == ["cancelled"]
    assert recorded() == {"c": 1}


def test_generator_protocol(recorded) -> None:
    log: list[object] = []

    @phase("g")
    def talk() -> Iterator[Any]:
        try:
            log.append((yield 1))
            try:
                yield 2
            except KeyError:
                yield "caught"
            yield 3
        finally:
            log.append("closed")
        return "never"

    generator = talk()
    assert inspect.isgenerator(generator)
    assert next(generator) == 1
    assert generator.send("sent") == 2
    assert generator.throw(KeyError()) == "caught"
    generator.close()
    assert log == ["sent", "closed"]

    @phase("r")
    def give() -> Iterator[int]:
        yield 1
        return 5

    def take() -> Iterator[int]:
        result = yield from give()
        log.append(result)

    assert list(take()) == [1]
    assert log[-1] == 5
    assert recorded() == {"g": 1, "r": 1}


def test_consumer_of_a_generator_is_not_below_it(recorded) -> None:
    @phase("g")
    def numbers() -> Iterator[int]:
        for i in range(3):
            with phase("make"):
                pass
            yield i

    for _ in numbers():
        with phase("use"):
            pass
    assert recorded() == {"g": 1, "g/make": 3, "use": 3}


def test_types_coroutine_stays_awaitable(recorded) -> None:
    @phase("t")
    @types.coroutine
    def step() -> Iterator[Any]:
        result = yield
        return result

    async def main() -> object:
        return await step()

    running = main()
    running.send(None)
    with pytest.raises(StopIteration) as caught:
        running.send("value")
    assert caught.value.value == "value"
    assert recorded() == {"t": 1}


def test_async_generator_protocol(recorded) -> None:
    log: list[object] = []

    @phase("ag")
    async def talk() -> AsyncIterator[Any]:
        try:
            log.append((yield 1))
            try:
                yield 2
            except KeyError:
                yield "caught"
            yield 3
        finally:
            await asyncio.sleep(0)
            log.append("closed")

    async def main() -> None:
        generator: Any = talk()
        assert inspect.isasyncgen(generator)
        assert await generator.__anext__() == 1
        assert await generator.asend("sent") == 2
        assert await generator.athrow(KeyError()) == "caught"
        await generator.aclose()
        assert log == ["sent", "closed"]
        assert [x async for x in talk()] == [1, 2, 3]
        with pytest.raises(StopAsyncIteration):
            await generator.__anext__()

    asyncio.run(main())
    assert recorded() == {"ag": 2}


def test_async_generator_left_in_the_middle_is_closed_by_its_loop_once(recorded) -> None:
    log = []
    problems = []

    @phase("ag")
    async def numbers() -> AsyncIterator[int]:
        try:
            for i in range(10):
                yield i
        finally:
            await asyncio.sleep(0)
            log.append("closed")

    held: list[object] = []

    async def main() -> None:
        asyncio.get_running_loop().set_exception_handler(lambda loop, context: problems.append(context))
        generator = numbers()
        held.append(generator)
        async for _ in generator:
            break

    asyncio.run(main())
    assert log == ["closed"]
    assert problems == []
    assert recorded() == {"ag": 1}


def test_exception_thrown_into_an_async_generator_keeps_its_identity(recorded) -> None:
    @phase("ag")
    async def numbers() -> AsyncIterator[int]:
        yield 1

    async def main() -> None:
        generator: Any = numbers()
        await generator.__anext__()
        error = LookupError("mine")
        with pytest.raises(LookupError) as caught:
            await generator.athrow(error)
        assert caught.value is error

    asyncio.run(main())
    assert recorded() == {"ag": 1}


@pytest.mark.parametrize("wrong", [3, None, object(), [len]], ids=repr)
def test_what_cannot_be_called_is_refused(wrong: object) -> None:
    with pytest.raises(TypeError):
        phase("x")(wrong)  # type: ignore[type-var]


def test_class_is_refused_with_the_remedy() -> None:
    with pytest.raises(TypeError, match="methods"):

        @phase("x")
        class Thing:
            pass


def test_kept_decorator_may_decorate_many(recorded) -> None:
    decorate = phase("shared")

    @decorate
    def f() -> int:
        return 1

    @decorate
    async def g() -> int:
        return f()

    assert f() == 1
    assert asyncio.run(g()) == 1
    with decorate:
        pass
    assert recorded() == {"shared": 3, "shared/shared": 1}


def test_decorated_before_a_profiler_exists_records_once_there_is_one(run_dir: Path) -> None:
    @phase("f")
    def f() -> None:
        pass

    f()
    with Profiler(run_dir, install=True):
        f()
    f()
    assert merge_run(run_dir).tree[("f",)].calls == 1


def test_profile_of_a_profiler(run_dir: Path) -> None:
    with Profiler(run_dir) as profiler:

        @profiler.profile
        def a() -> int:
            return 1

        @profiler.profile(name="named")
        async def b() -> int:
            return 2

        @profiler.profile()
        def c() -> int:
            return 3

        @profiler.phase("other")
        def d() -> int:
            return 4

        assert (a(), asyncio.run(b()), c(), d()) == (1, 2, 3, 4)
    prefix = "test_profile_of_a_profiler.<locals>."
    assert {p[0]: s.calls for p, s in merge_run(run_dir).tree.items()} == {
        prefix + "a": 1,
        "named": 1,
        prefix + "c": 1,
        "other": 1,
    }


def test_sampled_and_async_work_options_reach_the_phase(run_dir: Path) -> None:
    with Profiler(run_dir, install=True) as profiler:

        @phase("s", sample=0.1)
        def f() -> None:
            pass

        @phase("w", async_work=True)
        async def g() -> None:
            pass

        for _ in range(1_000):
            f()
        asyncio.run(g())
        tree = profiler.merged_tree()
    assert tree[("s",)].calls == 1_000
    assert tree[("s",)].sample_stride > 1
    assert tree[("w",)].async_entries == 1
