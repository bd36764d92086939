"""Tasks, generators, greenlets, exceptions and decorated functions: each is billed its own, beside the others."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from lineprofiler.accounting import Profiler, begin, count, end, phase

LIMIT_S = 120
# On 3.11 suspended time, CPU time and wait of entries in coroutines and generators are measured on request only.
MEASURED = sys.version_info[:2] != (3, 11)
needs_exact = pytest.mark.skipif(not MEASURED, reason="3.11 does not measure it unless asked")


def report(run_dir: Path, *args: str) -> dict[str, Any]:
    done = subprocess.run(
        [sys.executable, "-m", "lineprofiler", "report", str(run_dir), "--format", "json", "--top", "all", *args],
        capture_output=True,
        text=True,
        check=True,
        timeout=LIMIT_S,
    )
    document: dict[str, Any] = json.loads(done.stdout)
    return document


def phases_of(run_dir: Path) -> dict[tuple[str, ...], dict[str, Any]]:
    (role,) = report(run_dir)["roles"]
    return {tuple(row["path"]): row for row in role["phases"]}


def calls_of(phases: Mapping[tuple[str, ...], Mapping[str, Any]]) -> dict[str, int]:
    assert all(row["open"] == 0 for row in phases.values())
    return {"/".join(path): row["calls"] for path, row in phases.items()}


def burn(ms: float) -> None:
    stop = time.thread_time_ns() + int(ms * 1e6)
    while time.thread_time_ns() < stop:
        pass


@pytest.fixture
def recording(run_dir: Path) -> Iterator[Profiler]:
    with Profiler(run_dir, install=True) as profiler:
        yield profiler


@pytest.mark.parametrize("in_task", [False, True])
def test_report_says_where_and_how_suspended_time_can_be_measured(in_task: bool, run_dir: Path) -> None:
    async def wait() -> None:
        with phase("held"):
            await asyncio.sleep(0.001)

    with Profiler(run_dir, install=True):
        if in_task:
            asyncio.run(wait())
        else:
            with phase("held"):
                pass
    document = report(run_dir)
    inferred = in_task and not MEASURED
    notes = [note["text"] for note in document["caveats"]["notes"] if note["kind"] == "suspensions"]
    assert ["LINEPROFILER_EXACT_ASYNC=1" in note for note in notes] == [True] * inferred
    assert [worker["suspensions_inferred"] for worker in document["workers"]] == [inferred]
    assert (phases_of(run_dir)[("held",)]["cpu_ns"] is None) == inferred
    done = subprocess.run(
        [sys.executable, "-m", "lineprofiler", "report", str(run_dir)], capture_output=True, text=True, check=True
    )
    text = " ".join(done.stdout.split())
    assert ("CAVEATS says why" in text) == ("LINEPROFILER_EXACT_ASYNC=1" in text) == inferred


# --------------------------------------------------------------------------------------------------------------- tasks


def test_sixty_four_requests_at_once_are_beside_each_other_with_their_own_times(
    recording: Profiler, run_dir: Path
) -> None:
    seen: dict[str, int] = {}

    async def request(i: int) -> None:
        with phase("request"):
            begun = time.perf_counter_ns()
            with phase(f"request {chr(65 + i)}"):
                await asyncio.sleep(0.001 * (1 + i % 8))
            seen[f"request {chr(65 + i)}"] = time.perf_counter_ns() - begun

    async def main() -> None:
        await asyncio.gather(*(request(i) for i in range(64)))

    with phase("loop"):
        asyncio.run(main())
    recording.close()
    phases = phases_of(run_dir)
    assert len(seen) == 64
    assert calls_of(phases) == {
        "loop": 1,
        "loop/request": 64,
        **{f"loop/request/{name}": 1 for name in seen},
    }
    for name, outside in seen.items():
        row = phases[("loop", "request", name)]
        assert 1_000_000 <= row["wall_ns"] <= outside
        if MEASURED:
            assert row["suspended_ns"] >= 0.9 * 1_000_000
            assert row["active_ns"] <= row["wall_ns"] - row["suspended_ns"] + 1
            assert row["cpu_ns"] is not None
        else:
            assert row["cpu_ns"] is None
    request_row = phases[("loop", "request")]
    assert request_row["wall_ns"] >= sum(phases[("loop", "request", name)]["wall_ns"] for name in seen)
    assert request_row["wall_ns"] > phases[("loop",)]["wall_ns"]  # 64 at once; no share claims otherwise


def test_await_of_ten_sleeps_is_elapsed_time_and_no_cpu_time(recording: Profiler, run_dir: Path) -> None:
    async def main() -> None:
        for _ in range(10):
            with phase("await"):
                await asyncio.sleep(0.01)

    asyncio.run(main())
    recording.close()
    row = phases_of(run_dir)[("await",)]
    assert row["calls"] == 10
    assert row["wall_ns"] >= 10 * 9_900_000
    if MEASURED:
        assert row["cpu_ns"] < 0.1 * row["wall_ns"]
        assert row["suspended_ns"] >= 10 * 9_000_000


def test_two_sleepers_are_each_as_long_as_the_whole(recording: Profiler, run_dir: Path) -> None:
    async def sleeper(name: str) -> None:
        with phase(name):
            await asyncio.sleep(0.2)

    async def main() -> None:
        with phase("both"):
            await asyncio.gather(sleeper("one"), sleeper("two"))

    begun = time.perf_counter_ns()
    asyncio.run(main())
    elapsed = time.perf_counter_ns() - begun
    recording.close()
    phases = phases_of(run_dir)
    assert calls_of(phases) == {"both": 1, "one": 1, "two": 1}
    for row in phases.values():
        assert 199_000_000 <= row["wall_ns"] <= elapsed
    assert phases[("one",)]["wall_ns"] + phases[("two",)]["wall_ns"] > 1.5 * elapsed * 0.9
    if MEASURED:  # the thread itself was idle: no active time is claimed twice
        assert sum(row["self_ns"] for row in phases.values()) < 0.5 * elapsed


@needs_exact
def test_tasks_have_their_own_busy_and_waiting_times(tmp_path: Path) -> None:
    def measure(directory: Path) -> list[str]:
        busy: dict[str, int] = {"a": 0, "b": 0, "c": 0}

        async def task(name: str, sleep_s: float) -> None:
            with phase(name):
                cpu = time.thread_time_ns()
                burn(20)
                busy[name] += time.thread_time_ns() - cpu
                await asyncio.sleep(sleep_s)
                cpu = time.thread_time_ns()
                burn(20)
                busy[name] += time.thread_time_ns() - cpu

        async def main() -> None:
            await asyncio.gather(task("a", 0.2), task("b", 0.1), task("c", 0.3))

        with Profiler(directory, install=True):
            asyncio.run(main())
        phases = phases_of(directory)
        assert calls_of(phases) == {"a": 1, "b": 1, "c": 1}
        found = []
        for name, sleep_ns in (("a", 200_000_000), ("b", 100_000_000), ("c", 300_000_000)):
            row = phases[(name,)]
            assert row["suspended_ns"] >= 0.99 * sleep_ns
            assert row["active_ns"] == pytest.approx(row["wall_ns"] - row["suspended_ns"], abs=2)
            if abs(row["cpu_ns"] - busy[name]) > 0.02 * busy[name] + 500_000:
                found.append(f"{name}: {row['cpu_ns']} of CPU against {busy[name]}")
        return found

    found = measure(tmp_path / "0")
    for attempt in range(1, 3):
        if found:
            found = measure(tmp_path / str(attempt))
    assert found == []


@needs_exact
def test_cpu_time_is_of_the_busy_task_only(recording: Profiler, run_dir: Path) -> None:
    stop = asyncio.Event

    async def idle(name: str, done: asyncio.Event) -> None:
        with phase(name):
            await done.wait()

    async def busy(done: asyncio.Event) -> None:
        with phase("busy"):
            for _ in range(10):
                burn(5)
                await asyncio.sleep(0)
        done.set()

    async def main() -> None:
        done = stop()
        await asyncio.gather(idle("idle 1", done), idle("idle 2", done), busy(done))

    asyncio.run(main())
    recording.close()
    phases = phases_of(run_dir)
    assert phases[("busy",)]["cpu_ns"] >= 49_000_000
    for name in ("idle 1", "idle 2"):
        assert phases[(name,)]["cpu_ns"] < 0.1 * phases[("busy",)]["cpu_ns"]
        assert phases[(name,)]["suspended_ns"] >= 0.9 * phases[("busy",)]["active_ns"]


@pytest.mark.parametrize("place", ["before the loop", "inside the loop"])
def test_place_of_the_start_makes_no_difference(run_dir: Path, place: str) -> None:
    profilers = []

    async def main() -> None:
        if place == "inside the loop":
            profilers.append(Profiler(run_dir, install=True))
        with phase("a"):
            await asyncio.sleep(0.05)
            async with phase("b"):
                await asyncio.sleep(0)
        profilers[0].close()

    if place == "before the loop":
        profilers.append(Profiler(run_dir, install=True))
    asyncio.run(main())
    phases = phases_of(run_dir)
    assert calls_of(phases) == {"a": 1, "a/b": 1}
    assert phases[("a",)]["wall_ns"] >= 49_900_000
    # On 3.10 what suspends is seen of frames that began after the recording.
    if MEASURED and not (sys.version_info[:2] == (3, 10) and place == "inside the loop"):
        assert phases[("a",)]["suspended_ns"] >= 0.8 * 50_000_000


def test_cancelled_task_ends_its_phases(recording: Profiler, run_dir: Path) -> None:
    async def waiting(entered: asyncio.Event) -> None:
        with phase("outer"):
            async with phase("inner"):
                entered.set()
                await asyncio.Event().wait()

    async def main() -> None:
        entered = asyncio.Event()
        task = asyncio.create_task(waiting(entered))
        await entered.wait()
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        with phase("after"):
            pass

    asyncio.run(main())
    recording.close()
    assert calls_of(phases_of(run_dir)) == {"outer": 1, "outer/inner": 1, "after": 1}


def test_async_generator_and_its_consumer_are_beside_each_other(recording: Profiler, run_dir: Path) -> None:
    async def source() -> AsyncIterator[int]:
        with phase("source"):
            for i in range(5):
                with phase("read"):
                    await asyncio.sleep(0)
                yield i

    async def main() -> None:
        async for _ in source():
            with phase("use"):
                await asyncio.sleep(0)

    asyncio.run(main())
    recording.close()
    assert calls_of(phases_of(run_dir)) == {"source": 1, "source/read": 5, "use": 5}


def test_async_comprehension_and_plain_function_are_both_recorded(recording: Profiler, run_dir: Path) -> None:
    @phase
    async def twice(x: int) -> int:
        await asyncio.sleep(0)
        return 2 * x

    @phase
    def plain(x: int) -> int:
        return x + 1

    async def main() -> list[int]:
        return [plain(await twice(i)) for i in range(5)]

    assert asyncio.run(main()) == [1, 3, 5, 7, 9]
    recording.close()
    names = {name.rpartition(".")[2]: n for name, n in calls_of(phases_of(run_dir)).items()}
    assert names == {"twice": 5, "plain": 5}


# ---------------------------------------------------------------------------------------------------------- generators


def test_generator_costs_nothing_while_its_consumer_sleeps(recording: Profiler, run_dir: Path) -> None:
    def generator() -> Iterator[int]:
        with phase("generator"):
            yield from range(5)

    for _ in generator():
        with phase("consumer"):
            time.sleep(0.02)
    recording.close()
    phases = phases_of(run_dir)
    assert calls_of(phases) == {"generator": 1, "consumer": 5}
    assert phases[("consumer",)]["wall_ns"] >= 100_000_000
    assert phases[("generator",)]["wall_ns"] >= phases[("consumer",)]["wall_ns"]  # open all that time
    if MEASURED:
        assert phases[("generator",)]["suspended_ns"] >= phases[("consumer",)]["wall_ns"]
        assert phases[("generator",)]["cpu_ns"] < 0.1 * phases[("consumer",)]["wall_ns"]


def test_generator_decorated_and_advanced_by_next_keeps_the_consumer_beside_it(
    recording: Profiler, run_dir: Path
) -> None:
    """What a test framework does with its fixtures."""

    @phase("fixture")
    def fixture() -> Iterator[str]:
        with phase("set up"):
            pass
        yield "resource"
        with phase("tear down"):
            pass

    made = fixture()
    assert next(made) == "resource"
    with phase("test"):
        with phase("step"):
            count("n", 2)
    assert next(made, None) is None
    recording.close()
    assert calls_of(phases_of(run_dir)) == {
        "fixture": 1,
        "fixture/set up": 1,
        "fixture/tear down": 1,
        "test": 1,
        "test/step": 1,
    }


@pytest.mark.parametrize("kind", ["contextmanager", "asynccontextmanager", "ExitStack", "AsyncExitStack", "class"])
def test_wrapped_phase_is_a_plain_with(recording: Profiler, run_dir: Path, kind: str) -> None:
    @contextlib.contextmanager
    def plain() -> Iterator[None]:
        with phase("wrapped"):
            yield

    @contextlib.asynccontextmanager
    async def awaited() -> AsyncIterator[None]:
        with phase("wrapped"):
            yield

    class Wrapper:
        def __enter__(self) -> None:
            self.phase = phase("wrapped")
            self.phase.__enter__()

        def __exit__(self, *exception: object) -> None:
            self.phase.__exit__(None, None, None)

    def body() -> None:
        with phase("inside"):
            count("n")

    async def main() -> None:
        if kind == "contextmanager":
            with plain():
                body()
        elif kind == "asynccontextmanager":
            async with awaited():
                body()
                await asyncio.sleep(0)
        elif kind == "ExitStack":
            with contextlib.ExitStack() as stack:
                stack.enter_context(phase("wrapped"))
                body()
        elif kind == "AsyncExitStack":
            async with contextlib.AsyncExitStack() as stack:
                await stack.enter_async_context(phase("wrapped"))
                body()
                await asyncio.sleep(0)
        else:
            with Wrapper():
                body()
                await asyncio.sleep(0)

    async def beside() -> None:
        with phase("beside"):
            await asyncio.sleep(0)

    async def all_of_it() -> None:
        await asyncio.gather(main(), beside())
        with phase("after"):
            pass

    asyncio.run(all_of_it())
    recording.close()
    assert calls_of(phases_of(run_dir)) == {"wrapped": 1, "wrapped/inside": 1, "beside": 1, "after": 1}


def test_two_greenlets_have_a_result_each(program, run_dir: Path) -> None:
    pytest.importorskip("greenlet")
    program(
        """
        import time
        import greenlet
        from lineprofiler.accounting import count, phase, start
        start("run")
        def work(name, pause):
            for _ in range(5):
                with phase(name):
                    with phase("step"):
                        time.sleep(pause)
                        main.switch()
                    count("n")
        main = greenlet.getcurrent()
        lets = [greenlet.greenlet(lambda n=n, p=p: work(n, p)) for n, p in (("sleeping", 0.005), ("quick", 0))]
        while not all(let.dead for let in lets):
            for let in lets:
                if not let.dead:
                    with phase("hub"):
                        let.switch()
        """
    )
    calls = calls_of(phases_of(run_dir))
    found: dict[str, int] = {}
    for name, n in calls.items():
        found[re.sub("^(hub/)+", "", name)] = found.get(re.sub("^(hub/)+", "", name), 0) + n
    # each greenlet's phases stay its own, wherever the hub's phase was when it first ran
    assert found == {"hub": 12, "sleeping": 5, "sleeping/step": 5, "quick": 5, "quick/step": 5}


# ---------------------------------------------------------------------------------------------------------- exceptions


@pytest.mark.parametrize("way", ["decorator", "with", "begin and end", "async decorator", "generator"])
def test_entry_that_raises_ends_there(recording: Profiler, run_dir: Path, way: str) -> None:
    def fail() -> None:
        time.sleep(0.01)
        raise KeyError("mine")

    def by_with() -> None:
        with phase("p"):
            fail()

    def by_hand() -> None:
        token = begin("p")
        try:
            fail()
        finally:
            end(token)

    @phase("p")
    async def awaited() -> None:
        fail()

    @phase("p")
    def generated() -> Iterator[int]:
        yield 1
        fail()

    ways = {
        "decorator": phase("p")(fail),
        "with": by_with,
        "begin and end": by_hand,
        "async decorator": lambda: asyncio.run(awaited()),
        "generator": lambda: list(generated()),
    }
    with pytest.raises(KeyError) as caught:
        begun = time.perf_counter_ns()
        try:
            ways[way]()
        finally:
            elapsed = time.perf_counter_ns() - begun
    assert caught.value.args == ("mine",) and caught.value.__context__ is None
    time.sleep(0.05)
    with phase("after"):
        pass
    recording.close()
    phases = phases_of(run_dir)
    assert calls_of(phases) == {"p": 1, "after": 1}
    assert 10_000_000 <= phases[("p",)]["wall_ns"] <= elapsed


def test_stop_twice_and_end_twice_stop_nothing(program, run_dir: Path) -> None:
    done = program(
        """
        from lineprofiler.accounting import *
        end_token = None
        p = start("run")
        token = begin("a")
        end(token); end(token)
        with phase("b"): pass
        print(stop() is p, stop(), stop())
        p.close()
        end(token)
        with phase("c"): pass
        uninstall_profiler()
        print("end")
        """,
        flags=("-W", "error"),
    )
    assert (done.stdout, done.stderr) == ("True None None\nend\n", "")
    document = report(run_dir)
    assert {row["phase"]: row["calls"] for row in document["roles"][0]["phases"]} == {"a": 1, "b": 1}
    assert document["workers"][0]["drops"]["end_without_begin"] == 1


def test_child_that_raises_keeps_its_calls_and_its_traceback(program, run_dir: Path) -> None:
    code = """
        import multiprocessing as mp, sys
        if sys.argv[1:]:
            from lineprofiler.accounting import phase, start
        else:
            import contextlib
            phase = lambda name: contextlib.nullcontext()
        def work():
            for _ in range(3):
                with phase("x"): pass
            with phase("fails"):
                raise LookupError("the child's own")
        if __name__ == "__main__":
            if sys.argv[1:]:
                start("run")
            child = mp.get_context("fork").Process(target=work, name="child")
            child.start(); child.join()
            print(child.exitcode)
    """
    plain, recorded = program(code), program(code, "on")
    assert recorded.stdout == plain.stdout == "1\n"
    assert recorded.stderr == plain.stderr
    assert "LookupError: the child's own" in recorded.stderr
    assert calls_of(phases_of(run_dir)) == {"x": 3, "fails": 1}


# ----------------------------------------------------------------------------------------------------------- decorators


def test_same_name_in_two_modules_is_no_recursion(program, tmp_path: Path, run_dir: Path) -> None:
    (tmp_path / "b.py").write_text("from lineprofiler.accounting import phase\n@phase('b.run')\ndef run(): return 1\n")
    (tmp_path / "a.py").write_text(
        "import b\nfrom lineprofiler.accounting import phase\n@phase('a.run')\ndef run(): return b.run() + 1\n"
    )
    program("import a\nfrom lineprofiler.accounting import start\nstart('run')\nassert a.run() == 2\n")
    assert calls_of(phases_of(run_dir)) == {"a.run": 1, "a.run/b.run": 1}


def test_inner_function_is_recorded_once_per_call(recording: Profiler, run_dir: Path) -> None:
    @phase("outer")
    def outer() -> int:
        @phase("inner")
        def inner(x: int) -> int:
            return x + 1

        return sum(inner(i) for i in range(10))

    assert outer() == 55
    recording.close()
    assert calls_of(phases_of(run_dir)) == {"outer": 1, "outer/inner": 10}


def test_decorated_coroutine_is_as_long_as_it_sleeps(recording: Profiler, run_dir: Path) -> None:
    @phase("coroutine")
    async def coroutine() -> None:
        await asyncio.sleep(0.05)

    @phase("generator")
    def generator() -> Iterator[int]:
        for i in range(5):
            time.sleep(0.01)
            yield i

    made = coroutine()
    time.sleep(0.05)  # nothing has begun
    begun = time.perf_counter_ns()
    asyncio.run(made)
    elapsed = time.perf_counter_ns() - begun
    assert list(generator()) == [0, 1, 2, 3, 4]
    recording.close()
    phases = phases_of(run_dir)
    assert calls_of(phases) == {"coroutine": 1, "generator": 1}
    assert 49_900_000 <= phases[("coroutine",)]["wall_ns"] <= elapsed
    assert phases[("generator",)]["wall_ns"] >= 50_000_000
