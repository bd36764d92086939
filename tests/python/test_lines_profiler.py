"""``LineProfiler`` as a user meets it: blocks, results, regions, and why there is nothing."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import gc
import io
import json
import linecache
import os
import pickle
import sys
import threading
import time
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import lineprofiler
import pytest
import with_line_profiler
from conftest import Program
from lineprofiler import FunctionStats, LineProfiler, LineStats, ProfilerConfig, start_profiling, stop_profiling

HERE = Path(__file__).parent


def loop(n: int) -> int:
    total = 0
    for i in range(n):
        total += i
    return total


def inner() -> int:
    time.sleep(0.02)
    return 1


def outer() -> int:
    value = inner()
    return value + 1


def here(**patterns: Any) -> LineProfiler:
    """A profiler of this file alone."""
    return LineProfiler(HERE, ProfilerConfig(include=[Path(__file__).name], **patterns))


def hits(profiler: LineProfiler, function: Callable[..., Any]) -> list[int]:
    """Executions of the lines of a function, in order."""
    return [line.hits for _, line in sorted(stats(profiler, function).line_stats.items())]


def stats(profiler: LineProfiler, function: Callable[..., Any]) -> FunctionStats:
    code = function.__code__
    name = getattr(code, "co_qualname", code.co_name)
    return profiler.get_stats()[code.co_filename, name, code.co_firstlineno]


def printed(profiler: LineProfiler, what: str = "print_stats", **options: Any) -> str:
    stream = io.StringIO()
    getattr(profiler, what)(stream=stream, **options)
    return stream.getvalue()


# Blocks.


def test_block_gives_the_profiler_and_counts_exactly() -> None:
    with here() as profiler:
        loop(1000)
    assert isinstance(profiler, LineProfiler)
    assert hits(profiler, loop) == [1, 1001, 1000, 1]


def test_blocks_add_up_until_cleared() -> None:
    profiler = here()
    for _ in range(3):
        with profiler:
            loop(10)
    assert hits(profiler, loop) == [3, 33, 30, 3]
    profiler.clear()
    assert profiler.get_stats() == {}
    with profiler:
        loop(5)
    assert hits(profiler, loop) == [1, 6, 5, 1]
    profiler.reset()
    assert profiler.get_stats() == {}


def test_nothing_is_recorded_outside_blocks() -> None:
    profiler = here()
    loop(10)
    with profiler:
        pass
    loop(10)
    assert not any(name == "loop" for _, name, _ in profiler.get_stats())


def test_entering_twice_is_refused_and_changes_nothing() -> None:
    profiler, before = here(), sys.gettrace()
    with profiler:
        with pytest.raises(RuntimeError, match="recording already"):
            with profiler:
                pass
        loop(4)
    assert sys.gettrace() is before
    assert hits(profiler, loop) == [1, 5, 4, 1]


def test_exception_leaves_the_block_and_is_not_touched() -> None:
    profiler = here()
    with pytest.raises(ZeroDivisionError):
        with profiler:
            loop(2)
            1 / 0
    assert not profiler.is_active
    assert hits(profiler, loop) == [1, 3, 2, 1]


def test_stop_of_a_profiler_that_does_not_record_does_nothing() -> None:
    here().stop()


def test_profilers_may_be_nested_and_overlap() -> None:
    first, second = here(), here()
    with first:
        loop(3)
        with second:
            loop(10)
        loop(4)
    assert hits(first, loop) == [3, 20, 17, 3]
    assert hits(second, loop) == [1, 11, 10, 1]
    first.clear()
    second.clear()
    first.start()
    second.start()
    loop(2)
    first.stop()
    loop(5)
    second.stop()
    assert hits(first, loop) == [1, 3, 2, 1]
    assert hits(second, loop) == [2, 9, 7, 2]


def test_session_that_filters_does_not_blind_the_next_one() -> None:
    with here(functions=["nosuch"]) as first:
        loop(3)
    with here() as second:
        loop(3)
    assert first.get_stats() == {}
    assert hits(second, loop) == [1, 4, 3, 1]


def test_function_patterns_narrow_what_is_recorded() -> None:
    with here(functions=["lo*"]) as profiler:
        loop(3)
        outer()
    assert [name for _, name, _ in profiler.get_stats()] == ["loop"]


def test_dotted_function_patterns_match_on_every_version() -> None:
    class Walker:
        def step(self) -> int:
            return 1

        def skip(self) -> int:
            return 2

    with here(functions=["*Walker.step"]) as profiler:
        Walker().step()
        Walker().skip()
    assert [name.rpartition(".")[2] for _, name, _ in profiler.get_stats()] == ["step"]


def test_threads_count_wherever_they_begin() -> None:
    profiler, go, threads = here(), threading.Event(), []

    def work() -> None:
        go.wait()
        loop(500)

    for _ in range(2):
        threads.append(threading.Thread(target=work))
        threads[-1].start()
    with profiler:
        for _ in range(2):
            threads.append(threading.Thread(target=work))
            threads[-1].start()
        go.set()
        for thread in threads:
            thread.join()
    assert hits(profiler, loop) == [4, 2004, 2000, 4]


def test_block_may_be_left_on_another_thread() -> None:
    profiler = here()
    profiler.start()
    loop(5)
    thread = threading.Thread(target=profiler.stop)
    thread.start()
    thread.join()
    loop(5)
    assert hits(profiler, loop) == [1, 6, 5, 1]


def test_profiler_that_nobody_keeps_goes() -> None:
    profiler = here()
    with profiler:
        loop(1)
    reference = weakref.ref(profiler)
    del profiler
    gc.collect()
    assert reference() is None


# Results.


def test_line_that_calls_carries_the_callee() -> None:
    with here() as profiler:
        outer()
    first = min(stats(profiler, outer).line_stats)
    line = stats(profiler, outer).line_stats[first]
    assert line.total_time >= 0.95 * stats(profiler, inner).total_time >= 0.015
    assert line.self_time < 0.5 * line.total_time
    assert stats(profiler, outer).calls == 1


def test_results_are_snapshots() -> None:
    profiler = here()
    with profiler:
        loop(10)
        during = profiler.get_stats()
        loop(10)
    after = profiler.get_stats()
    kept = pickle.dumps([(key, value.calls) for key, value in after.items()])
    profiler.clear()
    key = next(key for key in after if key[1] == "loop")
    assert during[key].calls == 1 and after[key].calls == 2
    assert pickle.dumps([(key, value.calls) for key, value in after.items()]) == kept


def test_stats_have_source_events_and_units_of_seconds() -> None:
    with here() as profiler:
        loop(10)
    found = stats(profiler, loop)
    first = loop.__code__.co_firstlineno
    assert found.source_lines[first + 2] == "    for i in range(n):"
    line = found.line_stats[first + 2]
    assert line.line_number == first + 2 and line.exact and line.events >= 10
    assert line.average_time == line.total_time / 11
    assert 0 < found.self_time <= found.total_time < 1
    assert found.filename == __file__


def test_stats_can_be_made_by_hand() -> None:
    line = LineStats(3, 10, 0.5)
    assert (line.line_number, line.hits, line.total_time, line.average_time) == (3, 10, 0.5, 0.05)
    assert LineStats(1).average_time == 0.0
    function = FunctionStats("a.py", "f", 1)
    assert function.line_stats == {} and function.source_lines == {} and function.total_time == 0.0
    assert function == FunctionStats("a.py", "f", 1) != FunctionStats("a.py", "g", 1)
    assert "first_line=1" in repr(function)


def test_results_may_be_read_while_it_records() -> None:
    profiler = here()
    with profiler:
        loop(7)
        assert hits(profiler, loop) == [1, 8, 7, 1]
        assert "total += i" in printed(profiler)


def test_code_without_a_file_shows_its_source() -> None:
    name, text = "<made by a test>", "def made(n):\n    for _ in range(n):\n        pass\n"
    linecache.cache[name] = (len(text), None, text.splitlines(True), name)
    space: dict[str, Any] = {}
    exec(compile(text, name, "exec"), space)
    profiler = LineProfiler(HERE, ProfilerConfig(exclude=["*.py"]))
    with profiler:
        space["made"](4)
    assert hits(profiler, space["made"]) == [5, 4]
    assert "for _ in range(n):" in printed(profiler)


def test_string_is_recorded_when_asked_for() -> None:
    space: dict[str, Any] = {}
    exec(compile("def made():\n    return 1\n", "<string>", "exec"), space)
    profiler = LineProfiler(HERE, ProfilerConfig(include=["<string>"], exclude=["*.py"]))
    with profiler:
        space["made"]()
    assert [name for _, name, _ in profiler.get_stats()] == ["made"]


# Printing.


def test_first_example_of_the_document_prints_its_table(program: Program) -> None:
    document = Path(os.environ.get("LP_SHARED", "nowhere"), "reference", "with-line-profiler-readme.txt")
    if not document.exists():
        pytest.skip("needs LP_SHARED")
    text = document.read_text(encoding="utf-8")
    begin, end = text.index("# example.py\n") + len("# example.py\n"), text.index("\n====")
    shown = text[end + 1 : text.index("(numbers vary by machine")].strip().splitlines()
    printed = program(text[begin:end], script="example.py").stdout.splitlines()
    at = printed.index("Function: slow_function at line 3")
    table = printed[at - 2 : at + 9]
    assert table[1].startswith("File: ") and table[1].endswith("example.py")
    for same in (0, 2, 4, 5, 6):
        assert table[same] == shown[same]
    rows = {line.split(None, 5)[5]: line.split() for line in table[7:11]}
    assert rows["total += i * i"][1] == "1000000" and rows["for i in range(1_000_000):"][1] == "1000001"
    assert rows["return total"][1] == rows["total = 0"][1] == "1"
    for ours, theirs in zip(table[7:11], shown[7:11], strict=True):  # columns begin where theirs do
        starts = [i for i, char in enumerate(theirs) if char != " " and (i == 0 or theirs[i - 1] == " ")][:5]
        assert all(ours[i] != " " and (i == 0 or ours[i - 1] == " ") for i in starts)


def test_table_of_a_function_is_laid_out_as_known() -> None:
    with here(functions=["loop"]) as profiler:
        loop(100)
    lines = printed(profiler).splitlines()
    first = loop.__code__.co_firstlineno
    assert lines[0] == "=" * 100
    assert lines[1] == f"File: {__file__}"
    assert lines[2] == f"Function: loop at line {first}"
    assert lines[3].startswith("Total time: ") and lines[3].endswith(" µs")
    assert lines[5] == "Line #   Hits       Time (µs)       Per Hit (µs)    % Time     Line Content"
    assert lines[6] == "-" * 100
    rows = [line.split(None, 5) for line in lines[7:11]]
    assert {row[5]: row[1] for row in rows} == {
        "total = 0": "1",
        "for i in range(n):": "101",
        "total += i": "100",
        "return total": "1",
    }
    times = [float(row[2]) for row in rows]
    assert times == sorted(times, reverse=True)


@pytest.mark.parametrize("order", ["time", "line", "self", "hits"])
def test_rows_are_ordered(order: str) -> None:
    with here(functions=["loop"]) as profiler:
        loop(100)
    numbers = [line.split()[:2] for line in printed(profiler, sort_by=order).splitlines()[7:11]]
    if order == "line":
        assert numbers == sorted(numbers)
    if order == "hits":
        assert [row[1] for row in numbers][:2] == ["101", "100"]
    assert len(numbers) == 4


def test_rows_are_limited_by_number_and_time() -> None:
    with here(functions=["loop"]) as profiler:
        loop(100)
    assert "return total" in printed(profiler, sort_by="line")
    assert "return total" not in printed(profiler, sort_by="line", top_n_lines=2)
    assert "total += i" not in printed(profiler, min_time_us=1e9)


def test_ranking_has_shares_of_the_whole() -> None:
    with here(functions=["loop", "inner"]) as profiler:
        inner()
        loop(1)
    rows = [line for line in printed(profiler, "print_global_top_stats").splitlines() if "::" in line][1:]
    assert "inner" in rows[0]
    shares = {row.split("::")[1].split()[0]: float(row.split()[5]) for row in rows}
    assert shares["inner"] <= 100 and shares["loop"] < 50


@pytest.mark.parametrize(
    ("method", "options"),
    [
        ("print_stats", {"sort_by": "name"}),
        ("print_stats", {"top_n_lines": 0}),
        ("print_stats", {"top_n_lines": True}),
        ("print_stats", {"min_time_us": "much"}),
        ("print_stats", {"min_time_us": float("nan")}),
        ("print_stats", {"output_unit": 0.5}),
        ("print_global_top_stats", {"top_n": 1.5}),
        ("print_regions", {"top_n": -1}),
    ],
)
def test_wrong_option_is_refused(method: str, options: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        printed(here(), method, **options)


def test_cost_is_printed_with_every_table_and_can_be_left_in() -> None:
    with here(functions=["loop"]) as profiler:
        loop(20000)
    assert "taken off the times above" in printed(profiler)
    assert "in the times above" in printed(profiler, raw=True)


def test_unit_is_chosen_by_name_or_seconds() -> None:
    with here() as profiler:
        loop(1)
    for unit in ("ms", 1e-3, 0.001):
        assert "Time (ms)" in printed(profiler, output_unit=unit)


def test_plain_stream_gets_plain_text() -> None:
    with here() as profiler:
        loop(1)
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    profiler.print_stats(stream=stream)
    stream.flush()
    assert b"Time (us)" in raw.getvalue()


# Files.


def test_files_are_written_and_folders_made(tmp_path: Path) -> None:
    with here() as profiler:
        outer()
    profiler.to_html(tmp_path / "a" / "p.html", title="a <title>")
    page = (tmp_path / "a" / "p.html").read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>") and "a &lt;title&gt;" in page and "<title>a <title>" not in page
    profiler.to_json(tmp_path / "b" / "p.json")
    document = json.loads((tmp_path / "b" / "p.json").read_text(encoding="utf-8"))
    assert document == json.loads(profiler.to_json() or "")
    profiler.to_speedscope(tmp_path / "p.speedscope.json")
    assert "speedscope" in json.loads((tmp_path / "p.speedscope.json").read_text(encoding="utf-8"))["$schema"]
    profiler.to_collapsed(str(tmp_path / "p.txt"))
    assert any("outer" in line and ";inner" in line for line in (tmp_path / "p.txt").read_text().splitlines())
    assert not list(tmp_path.rglob("*.part"))


def test_file_is_replaced_whole_or_not_at_all(tmp_path: Path) -> None:
    (tmp_path / "p.json").write_text("old")
    (tmp_path / "locked").mkdir()
    profiler = here()
    with pytest.raises(ValueError, match="null"):
        profiler.to_json(tmp_path / "locked" / "\0")
    with pytest.raises(IsADirectoryError):
        profiler.to_json(tmp_path / "locked")
    profiler.to_json(tmp_path / "p.json")
    assert json.loads((tmp_path / "p.json").read_text())["functions"] == []


# Regions.


def test_regions_partition_what_they_hold() -> None:
    with here() as profiler:
        with profiler.region("first"):
            loop(300)
        with profiler.region("second"):
            loop(100)
            with profiler.region("deep"):
                loop(50)
        loop(7)
    found = profiler.region_stats()
    assert list(found) == ["first", "second", "second/deep"]
    assert profiler.region_entries() == {"first": 1, "second": 1, "second/deep": 1}
    body = loop.__code__.co_firstlineno + 3
    per_region = {
        name: next(lines[body].hits for key, lines in region.line_stats.items() if key[1] == "loop")
        for name, region in found.items()
    }
    assert per_region == {"first": 300, "second": 150, "second/deep": 50}
    assert hits(profiler, loop)[2] == 457
    assert found["second"].total_time >= found["second/deep"].total_time > 0
    assert found["second/deep"].path == ("second", "deep")
    assert all(0 <= (region.share or 0) <= 1 for region in found.values())
    text = printed(profiler, "print_regions")
    assert "Region: first" in text and "Region: second" in text


def test_region_that_holds_everything_has_it_all() -> None:
    profiler = here(functions=["loop"])
    with profiler:
        with profiler.region("all"):
            loop(20000)
    share = profiler.region_stats()["all"].share
    assert share is not None and abs(share - 1.0) < 0.001


def test_region_is_entered_again_and_of_its_thread() -> None:
    profiler = here(functions=["loop"])

    def work(name: str, n: int) -> None:
        with profiler.region(name):
            loop(n)

    with profiler:
        for _ in range(3):
            work("main", 10)
        thread = threading.Thread(target=work, args=("other", 25))
        with profiler.region("main"):
            thread.start()
            thread.join()
    assert profiler.region_entries() == {"main": 4, "other": 1}
    body = loop.__code__.co_firstlineno + 3
    regions = profiler.region_stats()
    assert [lines[body].hits for lines in regions["main"].line_stats.values()] == [30]
    assert [lines[body].hits for lines in regions["other"].line_stats.values()] == [25]


def test_region_outside_a_block_records_nothing() -> None:
    profiler = here()
    with profiler.region("early"):
        loop(3)
    assert profiler.region_stats() == {}
    with pytest.raises(TypeError, match="name"):
        profiler.region(3)  # type: ignore[arg-type]


# Arguments.


def test_backend_and_engine_are_checked() -> None:
    with pytest.raises(ValueError, match="backend='nosuch'"):
        LineProfiler(backend="nosuch")
    with pytest.raises(ValueError, match="engine='nosuch'"):
        LineProfiler(engine="nosuch")
    for engine in ("builtin", "line_profiler"):
        assert LineProfiler(engine=engine).engine == "builtin"
    assert LineProfiler(backend="settrace").engine == "builtin"
    if sys.version_info >= (3, 12):
        assert LineProfiler(backend="monitoring").backend == "monitoring"
    else:
        with pytest.raises(ValueError, match="3.12"):
            LineProfiler(backend="monitoring")


def test_other_names_of_the_package_are_the_same_objects() -> None:
    for name in ("LineProfiler", "FunctionStats", "LineStats", "ProfilerConfig", "start_profiling", "stop_profiling"):
        assert getattr(with_line_profiler, name) is getattr(lineprofiler, name)
        assert name in lineprofiler.__all__


# start_profiling.


def test_second_start_warns_and_gives_the_running_one(capsys: pytest.CaptureFixture[str]) -> None:
    first = start_profiling(HERE, enabled=True)
    try:
        with pytest.warns(RuntimeWarning, match="called again"):
            assert start_profiling(enabled=True) is first
        loop(3)
    finally:
        assert stop_profiling() is first
    assert "of all functions" in capsys.readouterr().out
    assert stop_profiling() is None


# Why there is nothing.


def test_profiler_that_was_never_entered_says_so() -> None:
    for what in ("print_stats", "print_global_top_stats", "print_regions"):
        assert "never entered" in printed(here(), what)
    assert here().get_stats() == {} and here().region_stats() == {}


def test_function_that_was_never_called_says_so(program: Program) -> None:
    done = program(
        """
        from lineprofiler import LineProfiler, ProfilerConfig
        def wanted(): pass
        profiler = LineProfiler(config=ProfilerConfig(functions=["wanted"]))
        with profiler:
            pass
        profiler.print_stats()
        """
    )
    text = " ".join(done.stdout.split())
    assert "No lines were recorded" in text and "has no function that matches 'wanted' (1 function)" in text


def test_cleared_profiler_has_nothing_to_show() -> None:
    profiler = here(functions=["loop"])
    with profiler:
        loop(3)
    profiler.clear()
    assert "Function: loop" not in printed(profiler)


def test_work_out_of_scope_is_named(program: Program, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    done = program(
        """
        import json
        from lineprofiler import LineProfiler
        profiler = LineProfiler("elsewhere")
        with profiler:
            json.dumps([1], indent=1)
        profiler.print_stats()
        """
    )
    text = " ".join(done.stdout.split())
    assert f"nothing that was called inside the block is in scope, which is {tmp_path / 'elsewhere'}" in text
    assert "encoder.py is in the standard library" in text


def test_functions_that_match_no_pattern_are_named() -> None:
    with here(functions=["nosuch"]) as profiler:
        loop(1)
    assert "has no function that matches 'nosuch'" in " ".join(printed(profiler).split())


def test_work_in_another_process_is_named(program: Program) -> None:
    done = program(
        """
        import multiprocessing
        from lineprofiler import LineProfiler, ProfilerConfig
        def work(n): return n
        if __name__ == "__main__":
            profiler = LineProfiler(config=ProfilerConfig(functions=["work"]))
            with profiler:
                with multiprocessing.get_context("fork").Pool(1) as pool:
                    pool.map(work, range(3))
            profiler.print_stats()
        """
    )
    assert "other processes is recorded with run_dir=" in " ".join(done.stdout.split())


@pytest.mark.skipif(sys.version_info < (3, 12), reason="tool ids are of sys.monitoring")
def test_no_free_tool_id_says_so(program: Program) -> None:
    done = program(
        """
        import sys
        from lineprofiler import LineProfiler
        for number in range(6):
            if not sys.monitoring.get_tool(number):
                sys.monitoring.use_tool_id(number, f"tool {number}")
        profiler = LineProfiler()
        try:
            with profiler:
                pass
        except RuntimeError as error:
            print("refused:", error)
        profiler.print_stats()
        """
    )
    assert "refused:" in done.stdout and "tool" in done.stdout
    assert "No lines were recorded" in done.stdout


def test_source_that_is_gone_leaves_the_numbers(program: Program, tmp_path: Path) -> None:
    (tmp_path / "gone.py").write_text("def f(n):\n    for _ in range(n):\n        pass\n")
    done = program(
        """
        import os
        from lineprofiler import LineProfiler
        import gone
        os.unlink(gone.__file__)
        profiler = LineProfiler()
        with profiler:
            gone.f(3)
        profiler.print_stats()
        """
    )
    assert "gone.py" in done.stdout and "Function: f at line 1" in done.stdout


def test_broken_toml_costs_a_warning_not_the_program(program: Program, tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").write_text("[tool.lineprofiler\n")
    done = program("from lineprofiler import LineProfiler\nwith LineProfiler():\n    pass\nprint('done')\n")
    assert done.stdout == "done\n"
    assert done.stderr.count("RuntimeWarning") == 1 and "is not TOML" in done.stderr


def test_profiler_without_a_run_directory_leaves_nothing(program: Program, tmp_path: Path) -> None:
    program(
        """
        import time
        from lineprofiler import LineProfiler
        def f(): time.sleep(1.3)  # long enough for whoever copies something every second
        profiler = LineProfiler()
        with profiler:
            f()
        profiler.get_stats()
        """
    )
    assert [path.name for path in tmp_path.iterdir()] == ["prog.py"]


def test_block_imports_nothing_of_the_standard_library(program: Program) -> None:
    done = program(
        """
        import sys
        before = set(sys.modules)
        from lineprofiler import LineProfiler
        def f(n):
            for i in range(n):
                pass
        profiler = LineProfiler()
        with profiler:
            f(3)
        after = {name for name in set(sys.modules) - before if name.partition(".")[0] != "lineprofiler"}
        print(sorted(after))
        """
    )
    known = {"_weakref", "time", "atexit", "opcode", "_opcode", "_opcode_metadata"}
    loaded = set(eval(done.stdout))
    assert loaded <= known or (sys.version_info < (3, 12) and "threading" in loaded)
