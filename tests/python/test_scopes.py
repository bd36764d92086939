"""Who is whose parent: phases in coroutines, generators, context managers, greenlets and threads, and their times.

The parent of an entry is the innermost phase that physically runs on its thread.  Where suspensions are only inferred
(Python 3.11 unless asked for more, or no free monitoring tool) the tree is right and the times of such phases are
unmeasured; on 3.11 every test runs in both modes.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import contextvars
import decimal
import functools
import gc
import importlib.util
import json
import os
import subprocess
import sys
import threading
import time
import types
import weakref
from collections.abc import AsyncIterator, Generator, Iterator
from pathlib import Path
from typing import Any

import pytest
from lineprofiler import _core
from lineprofiler._core import begin, end, phase
from watching import HAVE_EVENTS, Watch, burn, hold_and_yield, managed


def load_scenarios() -> types.ModuleType | None:
    shared = os.environ.get("LP_SHARED")
    if not shared or not Path(shared, "data", "scope_scenarios.py").is_file():
        return None
    spec = importlib.util.spec_from_file_location("scope_scenarios", Path(shared, "data", "scope_scenarios.py"))
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


SCENARIOS = load_scenarios()


class Api:
    """What the scenarios ask of an implementation."""

    phase = _core.phase
    begin = staticmethod(_core.begin)
    end = staticmethod(_core.end)
    decorate = staticmethod(_core.phase)

    def __init__(self, watch: Watch) -> None:
        self.tree = watch.times
        self.open_scopes = watch.open_scopes


# Nobody says that the coroutine of a hand-written __aenter__ ended, where suspensions are inferred.
NEEDS_EVENTS = {"async_wrapper_class_hands_over"}


@pytest.mark.skipif(SCENARIOS is None, reason="LP_SHARED does not name the shared scenarios")
@pytest.mark.parametrize("name", [case["name"] for case in SCENARIOS.CASES] if SCENARIOS else [])
def test_scenario(name: str, watch: Watch) -> None:
    assert SCENARIOS
    (case,) = (case for case in SCENARIOS.CASES if case["name"] == name)
    if not SCENARIOS.applicable(case):
        pytest.skip("not for this interpreter, or a package is missing")
    with phase("to know the mechanism"):
        asyncio.run(asyncio.sleep(0))
    if name in NEEDS_EVENTS and not watch.is_exact():
        pytest.skip("suspensions are inferred")
    messages: list[str] = []
    for _ in range(5):
        # Upper bounds say how busy the machine is; lower bounds, CPU and the tree say whether we are right.
        _, messages, _ = SCENARIOS.run_case(case, Api(watch), slack=1e5)
        if not all("ms, expected" in message for message in messages) or not messages:
            break
    assert messages == []


# -- coroutines -------------------------------------------------------------------------------------------------------


def test_sixty_four_coroutines_hold_a_phase_over_an_await(watch: Watch) -> None:
    async def task(barrier: asyncio.Event) -> None:
        with phase("step"):
            await barrier.wait()
            with phase("inner"):
                await asyncio.sleep(0)

    async def main() -> float:
        barrier = asyncio.Event()
        tasks = [asyncio.create_task(task(barrier)) for _ in range(64)]
        await asyncio.sleep(0)
        held = time.perf_counter()
        await asyncio.sleep(0.02)
        held = time.perf_counter() - held
        barrier.set()
        await asyncio.gather(*tasks)
        return held

    held = asyncio.run(main())
    assert watch.calls() == {"step": 64, "step/inner": 64}
    step = watch.times()[("step",)]
    assert step.wall >= 64 * held
    if not watch.is_exact():
        assert (step.active, step.cpu, step.suspended) == (None, None, None)
        return
    assert step.suspended is not None and step.active is not None and step.cpu is not None
    assert step.suspended >= 64 * held
    assert step.cpu <= step.active + 1e-3
    assert watch.drops() == {}


def test_each_task_runs_at_the_depth_of_what_runs_the_loop(watch: Watch) -> None:
    async def child() -> None:
        async with phase("child"):
            await asyncio.sleep(0)

    async def main() -> None:
        async with phase("batch"):
            await asyncio.gather(*[child() for _ in range(5)])

    with phase("program"):
        asyncio.run(main())
    assert watch.calls() == {"program": 1, "program/batch": 1, "program/child": 5}


def test_a_phase_of_an_awaited_coroutine_is_below_its_awaiter(watch: Watch) -> None:
    async def level(n: int) -> None:
        if n == 0:
            with phase("bottom"):
                await asyncio.sleep(0)
            return
        await level(n - 1)

    async def main() -> None:
        with phase("top"):
            await level(50)

    asyncio.run(main())
    assert watch.calls() == {"top": 1, "top/bottom": 1}


def test_cancellation_runs_its_clean_up_inside(watch: Watch) -> None:
    async def inner() -> None:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            with phase("clean"):
                await asyncio.sleep(0)
            raise

    async def outer() -> None:
        with phase("work"):
            await inner()

    async def main() -> None:
        task = asyncio.create_task(outer())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.sleep(0)
        with phase("beside"):
            pass
        with contextlib.suppress(asyncio.CancelledError):
            await task
        with phase("after"):
            pass

    asyncio.run(main())
    assert watch.calls() == {"work": 1, "work/clean": 1, "beside": 1, "after": 1}
    assert watch.open_scopes() == 0


def test_contexts_change_nothing(watch: Watch) -> None:
    variable: contextvars.ContextVar[int] = contextvars.ContextVar("variable")

    async def coroutine() -> None:
        with phase("in"):
            await asyncio.sleep(0)

    async def main() -> None:
        context = contextvars.copy_context()
        if sys.version_info >= (3, 11):
            await asyncio.gather(*[asyncio.create_task(coroutine(), context=context) for _ in range(2)])
        else:
            await asyncio.gather(coroutine(), coroutine())

    def inside() -> None:
        with phase("in"):
            pass

    with phase("a"):
        variable.set(1)
        decimal.Decimal(1) / decimal.Decimal(3)
        contextvars.copy_context().run(inside)
        asyncio.run(main())
    assert watch.calls() == {"a": 1, "a/in": 3}


def test_a_kept_phase_object_closes_the_entry_of_its_own_task(watch: Watch) -> None:
    kept = phase("kept")

    async def task(turns: int) -> None:
        with kept:
            for _ in range(turns):
                await asyncio.sleep(0)
            with phase(str(turns)):
                pass

    async def main() -> None:
        await asyncio.gather(*[task(turns) for turns in (4, 1, 3, 2)])

    asyncio.run(main())
    assert watch.calls() == {"kept": 4, "kept/1": 1, "kept/2": 1, "kept/3": 1, "kept/4": 1}
    assert watch.open_scopes() == 0


def test_a_coroutine_that_moves_between_threads_takes_its_phase_along(watch: Watch) -> None:
    def steps() -> Iterator[None]:
        with phase("moving"):
            for _ in range(3):
                burn(0.002)
                yield
                with phase("step"):
                    pass

    moving = steps()
    next(moving)
    for _ in range(2):
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            pool.submit(next, moving).result()
    with phase("here"):
        pass
    moving.close()
    if not watch.is_exact():  # it looks as if it still ran on the first thread
        assert watch.calls()["moving"] == 1
        return
    assert watch.calls() == {"moving": 1, "moving/step": 2, "here": 1}
    times = watch.times()[("moving",)]
    if times.cpu is not None and times.active is not None:
        assert 0.006 <= times.cpu <= times.active + 1e-3


# -- generators -------------------------------------------------------------------------------------------------------


def test_a_generator_and_its_consumer_bill_each_to_its_own(watch: Watch) -> None:
    def produce() -> Iterator[int]:
        with phase("producer"):
            for i in range(3):
                with phase("make"):
                    burn(0.002)
                yield i

    consumed = 0.0
    for _ in produce():
        start = time.perf_counter()
        with phase("consumer"):
            burn(0.004)
        consumed += time.perf_counter() - start
    assert watch.calls() == {"producer": 1, "producer/make": 3, "consumer": 3}
    producer = watch.times()[("producer",)]
    assert producer.wall >= consumed
    if producer.suspended is not None and producer.cpu is not None:
        assert producer.suspended >= consumed
        assert producer.cpu >= 0.006
        assert producer.wall == pytest.approx(producer.suspended + (producer.active or 0.0))


@pytest.mark.parametrize("how", ["close", "drop", "cycle", "throw", "exhaust"])
def test_however_a_generator_ends_its_phase_ends(watch: Watch, how: str) -> None:
    def generate(box: list[object]) -> Iterator[None]:
        with phase("held"):
            try:
                yield
            finally:
                with phase("clean"):
                    pass

    box: list[object] = []
    generator = generate(box)
    next(generator)
    if how == "close":
        generator.close()
    elif how == "throw":
        with pytest.raises(KeyError):
            generator.throw(KeyError)
    elif how == "exhaust":
        assert list(generator) == []
    elif how == "cycle":
        box.append(generator)
    del generator, box
    gc.collect()
    with phase("after"):
        pass
    assert watch.calls() == {"held": 1, "held/clean": 1, "after": 1}
    assert watch.open_scopes() == 0


def test_a_close_runs_the_inner_generator_below_the_outer_one(watch: Watch) -> None:
    def inner() -> Iterator[None]:
        with phase("inner"):
            try:
                yield
            finally:
                with phase("clean"):
                    pass

    def outer() -> Iterator[None]:
        with phase("outer"):
            yield from inner()

    generator = outer()
    next(generator)
    with phase("closer"):
        generator.close()  # the outer frame is not on the chain of callers while the inner one cleans up
    if watch.is_exact():
        assert watch.calls() == {"outer": 1, "outer/inner": 1, "outer/inner/clean": 1, "closer": 1}
    assert watch.open_scopes() == 0


def test_a_throw_into_a_chain_that_goes_on_suspends_all_of_it_again(watch: Watch) -> None:
    def inner() -> Iterator[None]:
        for _ in range(3):
            try:
                yield
            except KeyError:
                with phase("caught"):
                    pass

    def outer() -> Iterator[None]:
        with phase("outer"):
            yield from inner()

    generator = outer()
    next(generator)
    for _ in range(2):
        generator.throw(KeyError)
        with phase("between"):
            pass
    generator.close()
    assert watch.calls() == {"outer": 1, "outer/caught": 2, "between": 2}


def test_a_token_left_open_by_a_frame_that_is_gone_ends(watch: Watch) -> None:
    kept = []

    def generate() -> Iterator[None]:
        kept.append(begin("left"))
        yield

    for _ in generate():
        pass
    with phase("after"):
        pass
    assert watch.calls()["after"] == 1
    kept.clear()
    gc.collect()
    assert watch.calls() == {"left": 1, "after": 1}
    assert watch.open_scopes() == 0
    assert watch.drops() == {"left_open": 1}


# -- context managers -------------------------------------------------------------------------------------------------


@contextlib.asynccontextmanager
async def async_managed(name: str) -> AsyncIterator[None]:
    with phase(name):
        await asyncio.sleep(0)
        yield


def test_a_contextmanager_is_as_good_as_a_plain_with(watch: Watch) -> None:
    @managed("decorating")
    def decorated() -> None:
        with phase("in"):
            pass

    with managed("outer"), managed("middle"):
        with phase("inner"):
            decorated()
    assert watch.calls() == {
        "outer": 1,
        "outer/middle": 1,
        "outer/middle/inner": 1,
        "outer/middle/inner/decorating": 1,
        "outer/middle/inner/decorating/in": 1,
    }
    assert watch.drops() == {}


def test_a_contextmanager_in_a_task_is_suspended_with_it(watch: Watch) -> None:
    async def task() -> None:
        with managed("managed"):
            await asyncio.sleep(0)
            with phase("in"):
                pass

    async def main() -> None:
        task_ = asyncio.create_task(task())
        await asyncio.sleep(0)
        with phase("beside"):
            pass
        await task_

    asyncio.run(main())
    assert watch.calls() == {"managed": 1, "managed/in": 1, "beside": 1}


def test_exit_stacks(watch: Watch) -> None:
    async def use() -> None:
        async with contextlib.AsyncExitStack() as stack:
            await stack.enter_async_context(phase("a"))
            await stack.enter_async_context(async_managed("b"))
            stack.enter_context(managed("c"))
            stack.enter_context(phase("d"))
            with phase("in"):
                await asyncio.sleep(0)

    async def main() -> None:
        task = asyncio.create_task(use())
        for _ in range(2):
            await asyncio.sleep(0)
            with phase("beside"):
                pass
        await task

    with contextlib.ExitStack() as stack:
        stack.enter_context(phase("stack"))
        asyncio.run(main())
    assert watch.calls() == {
        "stack": 1,
        "stack/a": 1,
        "stack/a/b": 1,
        "stack/a/b/c": 1,
        "stack/a/b/c/d": 1,
        "stack/a/b/c/d/in": 1,
        "stack/beside": 2,
    }


def test_a_phase_may_be_entered_through_its_class(watch: Watch) -> None:
    entered = phase("x")
    assert type(entered).__enter__(entered) is entered
    type(entered).__exit__(entered, None, None, None)
    assert watch.calls() == {"x": 1}


# -- threads ----------------------------------------------------------------------------------------------------------


def test_many_short_threads(watch: Watch) -> None:
    def work() -> None:
        with phase("thread"):
            pass

    with phase("main"):
        for _ in range(100):
            threads = [threading.Thread(target=work) for _ in range(10)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    assert watch.calls() == {"main": 1, "thread": 1000}


def test_an_exit_on_another_thread_ends_the_entry(watch: Watch) -> None:
    entered = phase("x")
    entered.__enter__()
    thread = threading.Thread(target=entered.__exit__, args=(None, None, None))
    thread.start()
    thread.join()
    with phase("y"):
        pass
    assert watch.calls() == {"x": 1, "y": 1}
    assert watch.drops() == {"end_foreign": 1}


# -- greenlets --------------------------------------------------------------------------------------------------------


def test_greenlets_are_beside_each_other(watch: Watch) -> None:
    greenlet = pytest.importorskip("greenlet")
    main = greenlet.getcurrent()

    def held() -> Iterator[None]:
        with phase("generator"):
            main.switch()
            with phase("in"):
                pass
            yield

    def body(name: str) -> None:
        with phase(name):
            for _ in held():
                main.switch()

    a, b = (greenlet.greenlet(functools.partial(body, name)) for name in "ab")
    with phase("warm"):  # main has a phase open while the first one starts
        pass
    a.switch()
    b.switch()
    with phase("main"):
        start = time.perf_counter()
        burn(0.005)
        slept = time.perf_counter() - start
        a.switch()
        b.switch()
        with phase("own"):
            pass
    a.switch()
    b.switch()
    assert watch.calls() == {
        "warm": 1,
        "a": 1,
        "a/generator": 1,
        "a/generator/in": 1,
        "b": 1,
        "b/generator": 1,
        "b/generator/in": 1,
        "main": 1,
        "main/own": 1,
    }
    times = watch.times()[("a",)]
    if times.suspended is not None:
        assert times.suspended >= slept


def test_the_programs_own_greenlet_trace_is_called_and_given_back(tmp_path: Path) -> None:
    greenlet = pytest.importorskip("greenlet")
    seen: list[str] = []

    def trace(event: str, arguments: object) -> None:
        seen.append(event)

    before = greenlet.settrace(trace)
    try:
        watch = Watch(tmp_path / "run")
        with phase("x"):
            greenlet.greenlet(lambda: None).switch()
        watch.recording.close()
        assert seen == ["switch", "switch"]
        assert greenlet.gettrace() is trace
    finally:
        greenlet.settrace(before)


# -- the hooks --------------------------------------------------------------------------------------------------------


@pytest.mark.skipif(not HAVE_EVENTS, reason="sys.monitoring")
def test_hooks_are_few_and_undone(tmp_path: Path) -> None:
    monitoring = sys.monitoring
    events = monitoring.events
    tools = [monitoring.get_tool(i) for i in range(6)]
    watch = Watch(tmp_path / "run")
    with phase("plain"):
        pass
    assert [monitoring.get_tool(i) for i in range(6)] == tools, "plain phases need no tool"
    generator = hold_and_yield(5000)
    next(generator)
    (tool,) = (i for i in range(6) if monitoring.get_tool(i) == "lineprofiler")
    assert monitoring.get_events(tool) == events.PY_THROW
    code = hold_and_yield.__code__
    assert monitoring.get_local_events(tool, code) == events.PY_YIELD | events.PY_RESUME
    for _ in generator:
        pass
    assert monitoring.get_local_events(tool, code) == 0, "code that yields on without a phase is let go"
    with contextlib.closing(hold_and_yield(1)) as generator:
        next(generator)
        watch.recording.close()
    assert [monitoring.get_tool(i) for i in range(6)] == tools
    assert monitoring.get_local_events(tool, code) == 0 if monitoring.use_tool_id(tool, "test") is None else True
    monitoring.free_tool_id(tool)


@pytest.mark.skipif(not HAVE_EVENTS, reason="sys.monitoring")
def test_without_a_free_tool_suspensions_are_inferred(tmp_path: Path) -> None:
    taken = [i for i in (3, 4, 5) if sys.monitoring.get_tool(i) is None]
    for i in taken:
        sys.monitoring.use_tool_id(i, "another")
    try:
        watch = Watch(tmp_path / "run")
        for _ in hold_and_yield(3):
            with phase("consumer"):
                pass
        assert not watch.is_exact()
        assert watch.calls() == {"held": 1, "consumer": 4}
        assert watch.times()[("held",)].suspended is None
        assert watch.drops() == {}
        watch.recording.close()
        said = subprocess.run(
            [sys.executable, "-m", "lineprofiler", "report", str(tmp_path / "run"), "--format", "json"],
            check=True,
            capture_output=True,
        )
        document = json.loads(said.stdout)
        notes = [note["text"] for note in document["caveats"]["notes"] if note["kind"] == "suspensions"]
        assert len(notes) == 1 and "not measured" in notes[0] and "sys.monitoring" in notes[0]
        assert [worker["suspensions_inferred"] for worker in document["workers"]] == [True]
    finally:
        for i in taken:
            sys.monitoring.free_tool_id(i)


def test_nothing_of_the_program_is_kept_alive(tmp_path: Path) -> None:
    watch = Watch(tmp_path / "run")
    space: dict[str, Any] = {"phase": phase}
    exec("def generate():\n with phase('x'):\n  yield", space)
    code = weakref.ref(space["generate"].__code__)
    list(space["generate"]())
    watch.recording.close()
    del space
    gc.collect()
    assert code() is None


@pytest.mark.parametrize("tracer", ["settrace", "setprofile", "monitoring"])
def test_right_under_another_tool(watch: Watch, tracer: str) -> None:
    def noop(*args: object) -> Any:
        return noop

    if tracer == "monitoring":
        if not HAVE_EVENTS:
            pytest.skip("sys.monitoring")
        events = sys.monitoring.events
        kinds = (events.LINE, events.INSTRUCTION, events.PY_YIELD, events.PY_RESUME, events.PY_THROW)
        sys.monitoring.use_tool_id(2, "another")
        for kind in kinds:
            sys.monitoring.register_callback(2, kind, lambda *args: None)
        sys.monitoring.set_events(2, sum(kinds))
    else:
        getattr(sys, tracer)(noop)
    try:
        test_a_throw_into_a_chain_that_goes_on_suspends_all_of_it_again(watch)
    finally:
        if tracer == "monitoring":
            sys.monitoring.set_events(2, 0)
            sys.monitoring.free_tool_id(2)
        else:
            getattr(sys, tracer)(None)


def test_no_record_stays_behind_short_tasks(watch: Watch) -> None:
    async def task(kept: list[object]) -> None:
        kept.append(begin("token"))
        with phase("held"):
            await asyncio.sleep(0)

    async def main() -> None:
        for _ in range(20):
            kept: list[object] = []
            await asyncio.gather(*[task(kept) for _ in range(50)])

    asyncio.run(main())
    gc.collect()
    calls = watch.calls()
    assert sum(count for path, count in calls.items() if path.endswith("held")) == 1000
    assert sum(count for path, count in calls.items() if path.endswith("token")) == 1000
    assert watch.open_scopes() == 0


def test_the_exception_being_handled_is_left_alone(watch: Watch) -> None:
    def generate() -> Generator[str, None, None]:
        with phase("x"):
            try:
                raise KeyError("mine")
            except KeyError:
                token = begin("y")
                yield repr(sys.exc_info()[1])
                end(token)
                yield repr(sys.exc_info()[1])

    assert list(generate()) == ["KeyError('mine')"] * 2


# -- random programs --------------------------------------------------------------------------------------------------
