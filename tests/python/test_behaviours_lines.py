"""Right behaviours of a line profiler, each as small as it was told: ../behaviours.md says which row a test holds."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from conftest import Program
from lineprofiler import LineProfiler, ProfilerConfig

LIMIT_S = 120


def profiled(tmp_path: Path, text: str, call: str = "", name: str = "subject.py") -> dict[str, dict[int, Any]]:
    """Runs a module's text inside a block; by function, the LineStats by line."""
    path = tmp_path / name
    path.write_text(text)
    space: dict[str, Any] = {"__name__": "subject"}
    profiler = LineProfiler(tmp_path, ProfilerConfig())
    with profiler:
        exec(compile(text, str(path), "exec"), space)
        if call:
            exec(compile(call, "<call>", "exec"), space)
    return {name: stats.line_stats for (_, name, _), stats in profiler.get_stats().items()}


def hits(lines: dict[int, Any]) -> dict[int, int]:
    return {number: line.hits for number, line in lines.items()}


# Hits are executions.


def test_call_over_several_rows_is_one_execution(tmp_path: Path) -> None:
    text = "def g(a, b):\n    return a\ndef f():\n    for i in range(10):\n"
    text += "        g(\n            i,\n            2,\n        )\n"
    found = profiled(tmp_path, text, "f()")
    assert hits(found["f"])[5] == 10 and hits(found["f"])[4] == 11
    assert hits(found["g"]) == {2: 10}


def test_function_on_one_row_counts_definition_and_calls(tmp_path: Path) -> None:
    found = profiled(tmp_path, "def f(): return 1\n", "for _ in range(5): f()")
    assert sum(hits(lines).get(1, 0) for lines in found.values()) == 6


def test_comprehension_counts_its_element(tmp_path: Path) -> None:
    text = "def f():\n    return [\n        i * i\n        for i in range(10)\n    ]\n"
    found = profiled(tmp_path, text, "f()")
    total: dict[int, int] = {}
    for lines in found.values():
        for number, count in hits(lines).items():
            total[number] = max(total.get(number, 0), count)
    assert total[3] == 10 and total[4] == 11


def test_loop_header_has_one_more_than_its_body(tmp_path: Path) -> None:
    found = profiled(tmp_path, "def f():\n    for i in range(10):\n        i + 1\n", "f()")
    assert hits(found["f"]) == {2: 11, 3: 10}


def test_raising_and_finally_lines_are_counted(tmp_path: Path) -> None:
    text = (
        "def f(n):\n    try:\n        if n:\n            raise ValueError\n        return n\n"
        "    finally:\n        n = 3\n"
        "def g(n):\n    try:\n        f(n)\n    except ValueError:\n        n = 5\n"
    )
    found = profiled(tmp_path, text, "g(1); g(0)")
    assert hits(found["f"]) == {2: 2, 3: 2, 4: 1, 5: 1, 7: 2}
    assert hits(found["g"]) == {9: 2, 10: 2, 11: 1, 12: 1}
    assert found["f"][4].total_time > 0


def test_raising_line_keeps_its_hits_and_the_next_one_gets_none(tmp_path: Path) -> None:
    text = (
        "import contextlib\ndef boom():\n    raise ValueError\ndef f():\n    for _ in range(5):\n"
        "        with contextlib.suppress(ValueError):\n            boom()\n            print('never')\n"
    )
    found = profiled(tmp_path, text, "f()")
    assert hits(found["boom"]) == {3: 5}
    assert hits(found["f"])[7] == 5 and hits(found["f"]).get(8, 0) == 0


# Who is who.


def test_twins_in_two_files_are_kept_apart(tmp_path: Path) -> None:
    text = "def main():\n    a = 1\n    return a\n"
    for name in ("one", "two"):
        (tmp_path / f"{name}.py").write_text(text)
    spaces: dict[str, dict[str, Any]] = {"one": {}, "two": {}}
    profiler = LineProfiler(tmp_path, ProfilerConfig())
    for name, space in spaces.items():
        exec(compile(text, str(tmp_path / f"{name}.py"), "exec"), space)
    with profiler:
        for _ in range(3):
            spaces["two"]["main"]()
        spaces["one"]["main"]()
    counted = {Path(file).name: hits(stats.line_stats) for (file, _, _), stats in profiler.get_stats().items()}
    assert counted["one.py"] == {2: 1, 3: 1} and counted["two.py"] == {2: 3, 3: 3}


def test_functions_of_one_name_are_not_taken_for_recursion(tmp_path: Path) -> None:
    profiler = LineProfiler(tmp_path, ProfilerConfig())
    first: dict[str, Any] = {}
    second: dict[str, Any] = {}
    exec(compile("import time\ndef run():\n    time.sleep(0.01)\n", str(tmp_path / "b.py"), "exec"), second)
    exec(compile("def run():\n    other()\n", str(tmp_path / "a.py"), "exec"), first)
    first["other"] = second["run"]
    with profiler:
        first["run"]()
    totals = {Path(file).name: stats.total_time for (file, _, _), stats in profiler.get_stats().items()}
    assert totals["a.py"] >= totals["b.py"] >= 0.009


# Times.


def test_recursion_is_counted_once_in_times_and_fully_in_hits(tmp_path: Path) -> None:
    text = (
        "import time\ndef g(n):\n    if n == 0:\n        return\n    time.sleep(0.01)\n    g(n - 1)\n"
        "def f():\n    time.sleep(0.01)\n    g(1)\n    g(2)\n    g(3)\n"
    )
    found = profiled(tmp_path, text, "f()")
    assert hits(found["g"]) == {3: 9, 4: 3, 5: 6, 6: 6}
    sleeping = found["g"][5].total_time
    assert sleeping >= 0.06
    assert found["g"][6].total_time < sleeping + 0.02
    assert sum(line.total_time for line in found["f"].values()) < 1.5 * (sleeping + found["f"][8].total_time)


@pytest.mark.parametrize("depth", [1, 10, 300])
def test_depth_of_a_recursion_does_not_multiply_its_time(depth: int, tmp_path: Path) -> None:
    text = (
        "import time\ndef down(n):\n    if n > 1:\n        return down(n - 1)\n    time.sleep(0.05)\n"
        "def main(n):\n    down(n)\n"
    )
    profiler = LineProfiler(tmp_path, ProfilerConfig())
    space: dict[str, Any] = {}
    exec(compile(text, str(tmp_path / "r.py"), "exec"), space)
    begin = time.perf_counter()
    with profiler:
        space["main"](depth)
    elapsed = time.perf_counter() - begin
    stats = {name: found for (_, name, _), found in profiler.get_stats().items()}
    assert 0.05 <= stats["down"].total_time <= stats["main"].total_time <= elapsed


def test_slow_line_keeps_its_time_from_its_neighbours(tmp_path: Path) -> None:
    text = "import time\ndef f():\n    for _ in range(5):\n        a = 1\n        time.sleep(0.01)\n        b = a\n"
    lines = profiled(tmp_path, text, "f()")["f"]
    whole = sum(line.self_time for line in lines.values())
    assert lines[5].self_time >= 0.95 * whole


def test_consumer_is_not_billed_to_the_generator(tmp_path: Path) -> None:
    text = (
        "import time\ndef produce():\n    for i in range(3):\n        yield i\n"
        "def consume():\n    for _ in produce():\n        time.sleep(0.01)\n"
    )
    found = profiled(tmp_path, text, "consume()")
    assert found["produce"][4].hits == 3
    assert found["produce"][4].total_time < found["produce"][4].suspended_time / 2
    assert found["produce"][4].suspended_time >= 0.025
    assert found["consume"][7].total_time >= 0.03


# Threads.


def test_threads_before_and_after_the_start_give_forty(tmp_path: Path) -> None:
    text = "def work(n):\n    for i in range(n):\n        i + 1\n"
    space: dict[str, Any] = {}
    exec(compile(text, str(tmp_path / "w.py"), "exec"), space)
    profiler, go = LineProfiler(tmp_path, ProfilerConfig()), threading.Event()

    def body() -> None:
        go.wait()
        space["work"](10)

    threads = [threading.Thread(target=body) for _ in range(4)]
    for thread in threads[:2]:
        thread.start()
    with profiler:
        for thread in threads[2:]:
            thread.start()
        go.set()
        for thread in threads:
            thread.join()
    (stats,) = profiler.get_stats().values()
    assert hits(stats.line_stats) == {2: 44, 3: 40}


def test_thread_s_own_lines_have_its_time(tmp_path: Path) -> None:
    text = (
        "import threading\ndef spin():\n    for i in range(20000):\n        i * i\n"
        "def main():\n    thread = threading.Thread(target=spin)\n    thread.start()\n    thread.join()\n"
    )
    found = profiled(tmp_path, text, "main()")
    assert found["spin"][4].hits == 20000 and found["spin"][4].self_time > 0


def test_two_threads_with_a_block_each_see_themselves(tmp_path: Path) -> None:
    space: dict[str, Any] = {}
    exec(compile("import time\ndef rest():\n    time.sleep(0.02)\n", str(tmp_path / "w.py"), "exec"), space)
    seen: list[int] = []

    def body() -> None:
        profiler = LineProfiler(tmp_path, ProfilerConfig())
        with profiler:
            space["rest"]()
        (stats,) = profiler.get_stats().values()
        seen.append(stats.calls)

    threads = [threading.Thread(target=body) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 2 and all(count >= 1 for count in seen)


def test_daemon_thread_does_not_spoil_the_end(program: Program) -> None:
    done = program(
        """
        import threading
        from lineprofiler import LineProfiler
        def spin():
            while True:
                sum(range(10))
        profiler = LineProfiler()
        profiler.start()
        threading.Thread(target=spin, daemon=True).start()
        sum(range(100000))
        profiler.stop()
        print(len(profiler.get_stats()) > 0)
        """
    )
    assert done.stdout == "True\n" and done.stderr == ""


# Beside other tools.


def test_another_trace_function_stays_and_both_see_the_lines(program: Program) -> None:
    done = program(
        """
        import sys
        from lineprofiler import LineProfiler
        seen = []
        def tracer(frame, event, argument):
            if frame.f_code.co_name == "f" and event == "line":
                seen.append(frame.f_lineno)
            return tracer
        def f():
            a = 1
            return a
        sys.settrace(tracer)
        f()
        profiler = LineProfiler()
        with profiler:
            f()
        print(sys.gettrace() is tracer)
        f()
        sys.settrace(None)
        ours = next(s for k, s in profiler.get_stats().items() if k[1] == "f")
        print([line.hits for line in ours.line_stats.values()], len(seen))
        """
    )
    before, counts = done.stdout.splitlines()
    assert before == "True"
    assert counts.startswith("[1, 1]")
    if sys.version_info >= (3, 12):
        assert counts == "[1, 1] 6"


@pytest.mark.skipif(sys.version_info < (3, 12), reason="needs sys.monitoring")
def test_another_monitoring_tool_that_disables_everything_changes_nothing(program: Program) -> None:
    done = program(
        """
        import sys
        from lineprofiler import LineProfiler
        monitoring = sys.monitoring
        seen = []
        def once(code, line):
            if code.co_name == "f":
                seen.append(line)
            return monitoring.DISABLE
        monitoring.use_tool_id(0, "other")
        monitoring.register_callback(0, monitoring.events.LINE, once)
        monitoring.set_events(0, monitoring.events.LINE)
        def f():
            for i in range(3):
                i + 1
        f()
        profiler = LineProfiler()
        with profiler:
            f()
        f()
        ours = next(s for k, s in profiler.get_stats().items() if k[1] == "f")
        print([line.hits for line in ours.line_stats.values()], monitoring.get_tool(0))
        """
    )
    assert done.stdout == "[4, 3] other\n"


def test_coverage_is_as_without_us(tmp_path: Path) -> None:
    pytest.importorskip("coverage")
    (tmp_path / "prog.py").write_text(
        "import sys\nfrom lineprofiler import LineProfiler\n"
        "def f(n):\n    total = 0\n    for i in range(n):\n        total += i\n    return total\n"
        "def never():\n    return 1\n"
        "profiler = LineProfiler()\n"
        "if len(sys.argv) > 1:\n    with profiler:\n        f(10)\nelse:\n    f(10)\n"
        "f(1)\n"
        "if len(sys.argv) > 1:\n"
        "    s = next(s for k, s in profiler.get_stats().items() if k[1] == 'f')\n"
        "    print([line.hits for _, line in sorted(s.line_stats.items())])\n"
    )
    executed = []
    for words in ([], ["on"]):
        command = [sys.executable, "-m", "coverage"]
        done = subprocess.run(
            [*command, "run", "prog.py", *words], cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT_S
        )
        assert done.returncode == 0, done.stderr
        subprocess.run([*command, "json", "-q"], cwd=tmp_path, check=True, timeout=LIMIT_S)
        document = json.loads((tmp_path / "coverage.json").read_text())
        executed.append(set(document["files"]["prog.py"]["executed_lines"]) & {4, 5, 6, 7, 9, 16})
    assert executed[0] == executed[1] == {4, 5, 6, 7, 16}
    assert done.stdout == "[1, 11, 10, 1]\n"


def test_debugger_works_inside_a_block(tmp_path: Path) -> None:
    (tmp_path / "prog.py").write_text(
        "from lineprofiler import LineProfiler\n"
        "def f():\n    a = 1\n    breakpoint()\n    a += 1\n    return a\n"
        "profiler = LineProfiler()\nwith profiler:\n    f()\n"
        "s = next(s for k, s in profiler.get_stats().items() if k[1] == 'f')\n"
        "print('hits', [line.hits for _, line in sorted(s.line_stats.items())])\n"
    )
    done = subprocess.run(
        [sys.executable, "prog.py"],
        cwd=tmp_path,
        # from 3.13 on breakpoint() stops at its own row
        input="p a + 40\nnext\np a + 40\nnext\np a + 40\ncontinue\n",
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
    )
    assert done.returncode == 0, done.stderr
    assert "41" in done.stdout and "42" in done.stdout
    if sys.version_info >= (3, 12):  # below, the debugger takes the only trace function for itself
        assert "hits [1, 1, 1, 1]" in done.stdout


# Found without being told.


def test_modules_imported_inside_the_block_are_recorded(program: Program, tmp_path: Path) -> None:
    (tmp_path / "late.py").write_text("def f():\n    def inner():\n        return 1\n    return inner()\n")
    done = program(
        """
        from lineprofiler import LineProfiler
        profiler = LineProfiler()
        with profiler:
            import late
            late.f()
        print(sorted(name for file, name, _ in profiler.get_stats() if file.endswith("late.py")))
        """
    )
    assert "'f'" in done.stdout and "inner'" in done.stdout and "<module>" in done.stdout


def test_virtual_environment_in_the_project_is_left_out(program: Program, tmp_path: Path) -> None:
    package = tmp_path / ".venv" / "lib" / "site-packages"
    package.mkdir(parents=True)
    (package / "dep.py").write_text("def f():\n    return 1\n")
    done = program(
        """
        import sys
        sys.path.insert(0, ".venv/lib/site-packages")
        from lineprofiler import LineProfiler
        def mine(): return 2
        profiler = LineProfiler()
        with profiler:
            import dep
            dep.f()
            mine()
        print(sorted({name for _, name, _ in profiler.get_stats()}))
        print(profiler.scope().why(dep.__file__))
        """
    )
    names, reason = done.stdout.splitlines()
    assert "'mine'" in names and "'f'" not in names
    assert reason == "is in .venv, a folder of dependencies"


def test_exclude_holds_for_block_ambient_and_run(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / "pyproject.toml").write_text('[tool.lineprofiler]\nexclude = ["gen/*"]\n')
    (tmp_path / "gen").mkdir()
    (tmp_path / "gen" / "made.py").write_text("def made():\n    return 1\n")
    use = "import sys; sys.path.insert(0, 'gen')\nimport made\ndef mine(): return made.made()\n"
    ways = {
        "block": use + "from lineprofiler import LineProfiler\np = LineProfiler()\nwith p: mine()\n",
        "ambient": use
        + "from lineprofiler import *\np = start_profiling(enabled=True)\nmine()\nstop_profiling(print_stats=False)\n",
        "run": use + "mine()\n",
    }
    for way, text in ways.items():
        script = tmp_path / f"{way}.py"
        if way == "run":
            script.write_text(text)
            command = ["-m", "lineprofiler", "run", "--json", "out.json", script.name]
        else:
            script.write_text(text + "p.to_json('out.json')\n")
            command = [script.name]
        subprocess.run([sys.executable, *command], cwd=tmp_path, check=True, capture_output=True, timeout=LIMIT_S)
        names = {each["name"] for each in json.loads((tmp_path / "out.json").read_text())["functions"]}
        assert "mine" in names and "made" not in names, way


def test_many_short_functions_are_recorded_in_linear_time(tmp_path: Path) -> None:
    def spent(count: int) -> float:
        profiler = LineProfiler(tmp_path, ProfilerConfig())
        begin = time.perf_counter()
        with profiler:
            for i in range(count):
                space: dict[str, Any] = {}
                exec(compile("def f():\n    return 1\n", str(tmp_path / f"{i % 7}.py"), "exec"), space)
                space["f"]()
        spent = time.perf_counter() - begin
        assert sum(stats.calls for (_, name, _), stats in profiler.get_stats().items() if name == "f") == count
        return spent

    assert spent(200) > 0 and spent(2000) > 0  # exact counts; the time is a row of the bench
