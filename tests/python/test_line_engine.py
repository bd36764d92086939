"""The line engine by itself: what LineSession counts and times, before the public profiler dresses it."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import asyncio
import contextlib
import gc
import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from lineprofiler import _core

NAME = "<lines under test>"


class Lines:
    """A session over source text of its own, and its figures by row."""

    def __init__(self, text: str, name: str = NAME) -> None:
        self.recording = _core.Recording("/", "test", store="private", facts={"collector": "lines"})
        self.text = text
        self.name = name
        self.session = _core.LineSession(
            self.recording,
            admit_file=lambda filename: int(filename == name),
            admit_function=lambda *facts: False,
            source=lambda filename: text if filename == name else None,
        )
        self.scope: dict[str, Any] = {"time": time, "threading": threading, "asyncio": asyncio, "session": self.session}
        exec(compile(text, name, "exec"), self.scope)

    def __getitem__(self, name: str) -> Any:
        return self.scope[name]

    def run(self, function: Callable[[], object]) -> None:
        self.session.start()
        try:
            function()
        finally:
            self.session.stop()

    def report(self) -> dict[str, Any]:
        self.session.settle()
        document: dict[str, Any] = json.loads(_core.lines_render(self.recording, "json"))
        return document

    def rows(self) -> dict[int, dict[str, Any]]:
        """Row number -> events, self_ns, inclusive_ns, suspended_ns, added up over functions."""
        total: dict[int, dict[str, Any]] = {}
        for function in self.functions():
            for row in function["rows"]:
                into = total.setdefault(row["line"], {"events": 0, "self_ns": 0, "inclusive_ns": 0, "suspended_ns": 0})
                for key in into:
                    into[key] += row[key] or 0
        return total

    def functions(self) -> list[dict[str, Any]]:
        functions: list[dict[str, Any]] = self.report()["functions"]
        return functions

    def function(self, name: str) -> dict[str, Any]:
        (found,) = [function for function in self.functions() if function["name"].split(".")[-1] == name]
        return found

    def events(self) -> dict[int, int]:
        return {line: row["events"] for line, row in self.rows().items()}


LOOP = """\
def loop(rounds):
    total = 0
    for i in range(rounds):
        total += i
    return total
"""


def tools() -> list[str | None]:
    if sys.version_info < (3, 12):
        return []
    return [sys.monitoring.get_tool(number) for number in range(6)]


@pytest.fixture(autouse=True)
def no_tracer_left() -> Iterator[None]:
    before = sys.gettrace(), tools()
    yield
    assert (sys.gettrace(), tools()) == before


def test_lines_are_counted_from_the_first_call_on() -> None:
    lines = Lines(LOOP)
    lines.run(lambda: lines["loop"](10))
    assert lines.events() == {2: 1, 3: 11, 4: 10, 5: 1}
    assert lines.function("loop")["calls"] == 1


def test_a_second_session_sees_what_the_first_did_not_want() -> None:
    """DISABLE outlives a session unless it is taken back."""
    lines = Lines(LOOP)
    other = Lines(LOOP, "<another>")
    other.run(lambda: lines["loop"](10))
    assert other.events() == {}
    lines.run(lambda: lines["loop"](10))
    assert lines.events()[4] == 10


def test_start_and_stop_again_adds_up() -> None:
    lines = Lines(LOOP)
    for _ in range(5):
        lines.run(lambda: lines["loop"](10))
    lines["loop"](1000)
    assert lines.events() == {2: 5, 3: 55, 4: 50, 5: 5}


def test_two_sessions_at_once_each_see_their_own() -> None:
    lines, other = Lines(LOOP), Lines(LOOP, "<another>")
    lines.session.start()
    lines["loop"](10)
    other.session.start()
    lines["loop"](10)
    other["loop"](3)
    lines.session.stop()
    other["loop"](3)
    lines["loop"](10)
    other.session.stop()
    assert lines.events()[4] == 20
    assert other.events()[4] == 6


def test_two_sessions_on_the_same_code() -> None:
    lines = Lines(LOOP)
    other = Lines(LOOP)
    lines.session.start()
    other.session.start()
    lines["loop"](10)
    lines.session.stop()
    lines["loop"](5)
    other.session.stop()
    assert lines.events()[4] == 10
    assert other.events()[4] == 15


def test_entering_an_active_session_is_refused() -> None:
    lines = Lines(LOOP)
    lines.session.start()
    with pytest.raises(RuntimeError, match="active already"):
        lines.session.start()
    lines.session.stop()
    lines.session.stop()


def test_threads_started_before_and_inside_are_exact() -> None:
    lines = Lines(LOOP)
    go, done = threading.Event(), threading.Event()

    def early() -> None:
        go.wait()
        lines["loop"](1000)
        done.set()

    before = threading.Thread(target=early)
    before.start()

    def body() -> None:
        go.set()
        workers = [threading.Thread(target=lines["loop"], args=(1000,)) for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        done.wait()
        before.join()

    lines.run(body)
    assert lines.events() == {2: 5, 3: 5005, 4: 5000, 5: 5}


def test_threads_take_turns_without_losing_a_hit() -> None:
    lines = Lines(LOOP)
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:

        def body() -> None:
            workers = [threading.Thread(target=lines["loop"], args=(100_000,)) for _ in range(4)]
            for worker in workers:
                worker.start()
            for worker in workers:
                worker.join()

        lines.run(body)
    finally:
        sys.setswitchinterval(interval)
    assert lines.events() == {2: 4, 3: 400_004, 4: 400_000, 5: 4}


CALLS = """\
def inner():
    end = time.perf_counter_ns() + 10_000_000
    while time.perf_counter_ns() < end:
        pass

def outer():
    inner()
    return 1

def recurse(n):
    if n == 0:
        inner()
        return
    recurse(n - 1)
"""


def test_a_calling_line_carries_the_call() -> None:
    lines = Lines(CALLS)
    lines.run(lines["outer"])
    call = lines.rows()[7]
    inner = lines.function("inner")
    assert call["inclusive_ns"] >= 0.99 * inner["total_ns"] >= 9e6
    assert call["inclusive_ns"] - call["self_ns"] == pytest.approx(inner["total_ns"], rel=1e-6)
    assert lines.function("outer")["total_ns"] >= inner["total_ns"]


@pytest.mark.parametrize("depth", [1, 10, 500])
def test_recursion_is_counted_once(depth: int) -> None:
    lines = Lines(CALLS)
    begin = time.perf_counter_ns()
    lines.run(lambda: lines["recurse"](depth))
    elapsed = time.perf_counter_ns() - begin
    recursion = lines.function("recurse")
    assert recursion["calls"] == depth + 1
    assert lines.function("inner")["total_ns"] <= recursion["total_ns"] <= elapsed
    for row in recursion["rows"]:
        assert row["inclusive_ns"] <= recursion["total_ns"] * 1.001


def test_self_times_add_up_to_the_outermost_call() -> None:
    lines = Lines(CALLS)
    lines.run(lambda: lines["recurse"](5))
    total = sum(row["self_ns"] for row in lines.rows().values())
    assert total == pytest.approx(lines.function("recurse")["total_ns"], rel=0.001)


GENERATORS = """\
def produce():
    for i in range(3):
        yield i

def consume():
    for item in produce():
        end = time.perf_counter_ns() + 5_000_000
        while time.perf_counter_ns() < end:
            pass

async def wait():
    await asyncio.sleep(0.02)
    return 1

async def main():
    return await wait()
"""


def test_a_suspended_generator_costs_nothing() -> None:
    lines = Lines(GENERATORS)
    lines.run(lines["consume"])
    produced = lines.rows()[3]
    assert produced["events"] == 3
    assert produced["self_ns"] < produced["suspended_ns"]
    assert produced["suspended_ns"] >= 14e6
    assert lines.function("produce")["calls"] == 1


def test_an_await_line_shows_its_waiting_apart() -> None:
    lines = Lines(GENERATORS)
    lines.run(lambda: asyncio.run(lines["main"]()))
    row = lines.rows()[12]
    assert row["events"] == 1
    assert row["suspended_ns"] >= 19e6
    assert row["self_ns"] < row["suspended_ns"]
    assert lines.function("main")["calls"] == 1


def test_a_generator_thrown_into_and_closed() -> None:
    lines = Lines("def steps():\n    try:\n        yield 1\n    except ValueError:\n        yield 2\n    yield 3\n")

    def body() -> None:
        generator = lines["steps"]()
        assert next(generator) == 1
        assert generator.throw(ValueError()) == 2
        generator.close()
        gc.collect()

    lines.run(body)
    events = lines.events()
    assert events[3] == 1
    assert events[5] == 1
    assert 6 not in events


RAISES = """\
def fail():
    x = 1
    raise ValueError(x)

def caller():
    for i in range(5):
        try:
            fail()
        except ValueError:
            pass
    return i
"""


def test_a_raising_line_is_hit_and_its_frame_closed() -> None:
    lines = Lines(RAISES)
    lines.run(lines["caller"])
    events = lines.events()
    assert events[3] == 5
    assert events[8] == 5
    assert events[11] == 1
    assert lines.rows()[3]["self_ns"] > 0


REGIONS = """\
def work(rounds):
    total = 0
    for i in range(rounds):
        total += i
    return total

def divided():
    work(100)
    with session.region("a"):
        work(200)
        with session.region("b"):
            work(300)
    work(400)
"""


def test_regions_part_what_was_counted() -> None:
    lines = Lines(REGIONS)
    lines.run(lines["divided"])
    report = lines.report()
    regions = {region["name"]: region for region in report["regions"]}
    by_line = {name: {row["line"]: row["events"] for row in region["rows"]} for name, region in regions.items()}
    assert by_line["a"][4] == 500
    assert by_line["b"][4] == 300
    assert lines.events()[4] == 1000
    assert regions["a"]["entries"] == regions["b"]["entries"] == 1
    assert regions["b"]["wall_ns"] <= regions["a"]["wall_ns"]


def test_threads_in_different_regions_do_not_mix() -> None:
    lines = Lines(
        "def loop(rounds):\n"
        "    for i in range(rounds):\n"
        "        pass\n"
        "def one():\n"
        "    with session.region('one'):\n"
        "        loop(1000)\n"
        "def two():\n"
        "    with session.region('two'):\n"
        "        loop(2000)\n"
    )

    def body() -> None:
        workers = [threading.Thread(target=lines[name]) for name in ("one", "two")]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()

    lines.run(body)
    counted = {
        region["name"]: {row["line"]: row["events"] for row in region["rows"]} for region in lines.report()["regions"]
    }
    assert counted["one"][3] == 1000
    assert counted["two"][3] == 2000


def test_regions_are_told_by_their_text_however_many_there_are() -> None:
    lines = Lines(REGIONS)

    def body() -> None:
        for number in range(100):
            with contextlib.ExitStack() as stack:
                stack.enter_context(lines.session.region(f"part {number % 50}"))
                lines["work"](number)
        kept = lines.session.region("kept")
        with kept, kept:
            lines["work"](7)
        with kept:
            pass

    lines.run(body)
    entries = {region["name"]: region["entries"] for region in lines.report()["regions"] if "/" not in region["name"]}
    assert {name: entries[name] for name in entries if name != "kept"} == {f"part {i}": 2 for i in range(50)}
    by_line = {
        region["name"]: {row["line"]: row["events"] for row in region["rows"]} for region in lines.report()["regions"]
    }
    assert by_line["part 3"][4] == 3 + 53
    assert by_line["kept"][4] == 7


def test_a_region_is_no_function() -> None:
    lines = Lines(REGIONS)
    region: Any = lines.session.region("a")
    with pytest.raises(TypeError, match="with statement"):
        region(len)
    with pytest.raises(TypeError):
        type(region).__enter__(3)


def test_a_region_outside_a_session_records_nothing() -> None:
    lines = Lines(REGIONS)
    with lines.session.region("idle"):
        lines["work"](3)
    assert lines.report()["regions"] == []


def test_the_running_frame_is_watched_from_the_start_on() -> None:
    lines = Lines(
        "def body():\n    session.start()\n    x = 0\n    for i in range(10):\n        x += i\n    session.stop()\n"
    )
    lines["body"]()
    events = lines.events()
    assert events[5] == 10
    assert lines.function("body")["calls"] == 0


def test_a_second_session_watches_the_frame_that_the_first_ignored() -> None:
    other = Lines(LOOP, "<another>")
    other.session.start()
    try:
        test_the_running_frame_is_watched_from_the_start_on()
    finally:
        other.session.stop()


def test_clear_forgets_and_goes_on() -> None:
    lines = Lines(LOOP)
    lines.session.start()
    lines["loop"](10)
    lines.session.clear()
    lines["loop"](3)
    lines.session.stop()
    assert lines.events() == {2: 1, 3: 4, 4: 3, 5: 1}


def test_reading_while_it_runs_changes_nothing() -> None:
    lines = Lines(LOOP)
    lines.session.start()
    for done in (1, 2, 3):
        lines["loop"](10)
        assert lines.events()[4] == 10 * done
    lines.session.stop()


def test_code_objects_that_come_and_go_are_one_function() -> None:
    lines = Lines("")
    lines.session.start()
    for _ in range(300):
        scope: dict[str, Any] = {}
        exec(compile(LOOP, NAME, "exec"), scope)
        scope["loop"](2)
    lines.session.stop()
    assert lines.events()[4] == 600
    assert lines.function("loop")["calls"] == 300
    assert len(lines.session.codes()) == 2  # the module's and the function's


def test_equal_functions_of_two_files_stay_apart() -> None:
    one, two = Lines(LOOP, "<one>"), Lines(LOOP, "<two>")
    recording = _core.Recording("/", "test", store="private", facts={"collector": "lines"})
    session = _core.LineSession(
        recording,
        admit_file=lambda filename: int(filename in ("<one>", "<two>")),
        admit_function=lambda *facts: False,
        source=lambda filename: LOOP,
    )
    session.start()
    one["loop"](10)
    two["loop"](20)
    session.stop()
    document = json.loads(_core.lines_render(recording, "json"))
    found = {
        document["files"][function["file"]]["path"]: {row["line"]: row["events"] for row in function["rows"]}
        for function in document["functions"]
    }
    assert found["<one>"][4] == 10
    assert found["<two>"][4] == 20


def test_what_is_out_of_scope_is_listed() -> None:
    lines = Lines(LOOP)
    lines.run(lambda: json.loads("[1]"))
    outside = lines.session.outside()
    assert any(name.endswith(os.path.join("json", "__init__.py")) for name in outside)
    assert all(count >= 1 for count in outside.values())


QUIET = """\
import json, sys, threading
from lineprofiler import _core
recording = _core.Recording(sys.argv[1], "test", facts={"collector": "lines"})
session = _core.LineSession(
    recording,
    admit_file=lambda filename: 0,
    admit_function=lambda *facts: False,
    source=lambda filename: None,
)
session.start()
json.loads("[1]")
thread = threading.Thread(target=json.loads, args=("[2]",))
thread.start()
thread.join()
session.stop()
recording.close()
"""


def test_a_process_that_runs_nothing_in_scope_leaves_no_file(tmp_path: Path) -> None:
    """In a process of its own: another session's watched code would make states for this one as well."""
    run = tmp_path / "run"
    subprocess.run([sys.executable, "-c", QUIET, str(run)], check=True, timeout=60)
    assert list(run.rglob("*.lpw")) == []


def test_a_scope_that_raises_costs_the_file_not_the_program() -> None:
    recording = _core.Recording("/", "test", store="private", facts={"collector": "lines"})

    def broken(filename: str) -> int:
        raise KeyError(filename)

    session = _core.LineSession(recording, admit_file=broken, admit_function=lambda *f: False, source=lambda f: None)
    scope: dict[str, Any] = {}
    exec(compile(LOOP, NAME, "exec"), scope)
    session.start()
    try:
        assert scope["loop"](3) == 3
    finally:
        session.stop()


def test_a_pending_exception_survives_our_looking() -> None:
    lines = Lines(RAISES)
    lines.session.start()
    with pytest.raises(ValueError, match="1"):
        lines["fail"]()
    lines.session.stop()
    assert lines.events()[3] == 1


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork")
def test_the_child_of_a_fork_counts_its_own(tmp_path: Any) -> None:
    recording = _core.Recording(str(tmp_path / "run"), "test")
    text = LOOP + "def forking():\n    loop(10)\n    pid = os.fork()\n    loop(100)\n    return pid\n"
    session = _core.LineSession(
        recording,
        admit_file=lambda filename: int(filename == NAME),
        admit_function=lambda *facts: False,
        source=lambda filename: text,
    )
    scope: dict[str, Any] = {"os": os}
    exec(compile(text, NAME, "exec"), scope)
    session.start()
    pid = scope["forking"]()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)
    session.stop()
    recording.close()
    document = json.loads(_core.lines_render(str(tmp_path / "run"), "json"))
    rows = {row["line"]: row["events"] for function in document["functions"] for row in function["rows"]}
    assert rows[4] == 10 + 100 + 100
    assert rows[8] == 1  # the parent began it; the child goes on behind it
    assert rows[9] == 2


def test_sessions_come_and_go_on_many_threads() -> None:
    """While one thread's scope is asked, which runs Python code, others start, stop and drop their sessions."""
    counted: list[int] = []
    failures: list[BaseException] = []

    def slow_scope(filename: str) -> int:
        time.sleep(0)
        return int(filename == NAME)

    def worker() -> None:
        try:
            for _ in range(15):
                recording = _core.Recording("/", "test", store="private", facts={"collector": "lines"})
                session = _core.LineSession(
                    recording, admit_file=slow_scope, admit_function=lambda *facts: False, source=lambda filename: LOOP
                )
                scope: dict[str, Any] = {}
                exec(compile(LOOP, NAME, "exec"), scope)
                session.start()
                scope["loop"](20)
                session.stop()
                document = json.loads(_core.lines_render(recording, "json"))
                counted.append(
                    sum(row["events"] for f in document["functions"] for row in f["rows"] if row["line"] == 4)
                )
        except BaseException as error:
            failures.append(error)

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        workers = [threading.Thread(target=worker) for _ in range(6)]
        for each in workers:
            each.start()
        for each in workers:
            each.join()
    finally:
        sys.setswitchinterval(interval)
    assert failures == []
    assert len(counted) == 90
    assert min(counted) >= 20  # its own loop, and whatever others ran meanwhile


def test_the_cost_of_an_event_is_measured() -> None:
    lines = Lines(LOOP)
    assert 0 < lines.session.event_cost_ns < 100_000


def test_wrong_use_is_told() -> None:
    lines = Lines(LOOP)
    with pytest.raises(TypeError, match="must be a str"):
        lines.session.region(3)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="code object"):
        lines.session.add("loop")  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="callable"):
        _core.LineSession(lines.recording, admit_file=1, admit_function=len, source=len)  # type: ignore[arg-type]
