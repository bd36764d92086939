"""Lines of child processes: every way to start one, and every way to end."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from lineprofiler import _core
from lineprofiler._lines import _children, _run

LIMIT_S = 120

WORK = """\
def work(n):
    total = 0
    for i in range(n):
        total += i
    return total
"""

Lines = dict[str, list[int]]
Run = Callable[..., subprocess.CompletedProcess[str]]


def lines_of(run_dir: Path) -> Lines:
    """By function, executions of its rows, in order."""
    document = json.loads(_core.lines_render(str(run_dir), "json"))
    return {each["name"]: [row["hits"] for row in each["rows"]] for each in document["functions"]}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    """Runs a program that defines `work`; it records into `run` below its folder."""

    def program(
        code: str, *args: str, env: Mapping[str, str] | None = None, flags: tuple[str, ...] = (), status: int = 0
    ) -> subprocess.CompletedProcess[str]:
        (tmp_path / "prog.py").write_text(WORK + code)
        done = subprocess.run(
            [sys.executable, *flags, "prog.py", *args],
            cwd=tmp_path,
            env={**os.environ, **(env or {})},
            capture_output=True,
            text=True,
            timeout=LIMIT_S,
        )
        assert done.returncode == status, done.stdout + done.stderr
        return done

    return program


POOL = """
import concurrent.futures, multiprocessing, sys
from lineprofiler import LineProfiler

def batch(numbers):
    total = 0
    for number in numbers:
        total += number
    return total

if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1])
    batches = [range(1, 334), range(334, 667), range(667, 1001)]
    profiler = LineProfiler(run_dir="run")
    with profiler:
        if sys.argv[2] == "pool":
            with context.Pool(3) as pool:
                parts = pool.map(batch, batches)
        else:
            with concurrent.futures.ProcessPoolExecutor(3, mp_context=context) as pool:
                parts = list(pool.map(batch, batches))
        print(batch(parts))
    stats = {key[1]: value for key, value in profiler.get_stats().items()}
    print([line.hits for _, line in sorted(stats["batch"].line_stats.items())])
    print(all(line.exact for line in stats["batch"].line_stats.values()))
"""


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
@pytest.mark.parametrize("pool", ["pool", "executor"])
def test_pools_add_up_exactly(run: Run, method: str, pool: str) -> None:
    done = run(POOL, method, pool)
    assert done.stdout.split("\n")[:3] == ["500500", "[4, 1007, 1003, 4]", "True"]


CHILD = """
import os, subprocess, sys
from lineprofiler import LineProfiler
profiler = LineProfiler(run_dir="run")
if __name__ == "__main__":
    with profiler:
        {start}
"""


@pytest.mark.parametrize(
    "start",
    [
        "subprocess.run([sys.executable, 'child.py'], check=True)",
        "subprocess.run(sys.executable + ' child.py', shell=True, check=True)",
        "subprocess.run([sys.executable, '-c', 'import child'], check=True)",
        "subprocess.run([sys.executable, '-m', 'child'], check=True)",
        "subprocess.run([sys.executable, 'child.py'], check=True, env={**os.environ, 'X': '1'})",
        "os.spawnv(os.P_WAIT, sys.executable, [sys.executable, 'child.py'])",
        "subprocess.run([sys.executable, '-c', 'import os, sys; os.execl(*[sys.executable] * 2, \"child.py\")'])",
    ],
)
def test_interpreters_are_recorded_however_they_start(run: Run, tmp_path: Path, start: str) -> None:
    (tmp_path / "child.py").write_text("def child(n):\n    for _ in range(n):\n        pass\nchild(12)\n")
    run(CHILD.format(start=start))
    assert lines_of(tmp_path / "run")["child"] == [13, 12]


@pytest.mark.parametrize("flag", ["-S", "-I"])
def test_interpreters_that_want_to_be_left_alone_are(run: Run, tmp_path: Path, flag: str) -> None:
    (tmp_path / "child.py").write_text("def child():\n    return 1\nchild()\n")
    run(CHILD.format(start=f"work(2); subprocess.run([sys.executable, {flag!r}, 'child.py'], check=True)"))
    assert "child" not in lines_of(tmp_path / "run")
    assert lines_of(tmp_path / "run")["work"] == [1, 3, 2, 1]


def test_user_customisation_runs_as_ever(run: Run, tmp_path: Path) -> None:
    (tmp_path / "custom").mkdir()
    (tmp_path / "custom" / "sitecustomize.py").write_text("import sys\nprint('customised', file=sys.stderr)\n")
    (tmp_path / "child.py").write_text("def child():\n    return 1\nchild()\n")
    done = run(
        CHILD.format(start="subprocess.run([sys.executable, 'child.py'], check=True)"),
        env={"PYTHONPATH": str(tmp_path / "custom")},
    )
    assert done.stderr == "customised\ncustomised\n"
    assert lines_of(tmp_path / "run")["child"] == [1]


@pytest.mark.parametrize(
    "end", ["os._exit(0)", "sys.exit(0)", "os.kill(os.getpid(), 9)", "os.abort()", "os.kill(os.getpid(), 15)", "1 / 0"]
)
def test_end_of_a_child_loses_nothing(run: Run, tmp_path: Path, end: str) -> None:
    run(
        f"""
import os, sys
from lineprofiler import LineProfiler
with LineProfiler(run_dir="run"):
    work(10)
    child = os.fork()
    if not child:
        work(100)
        {end}
    os.waitpid(child, 0)
"""
    )
    assert lines_of(tmp_path / "run")["work"] == [2, 112, 110, 2]


def test_fork_in_a_thread_counts_nothing_twice(run: Run, tmp_path: Path) -> None:
    run(
        """
import os, threading
from lineprofiler import LineProfiler
def in_thread():
    work(7)
    child = os.fork()
    if not child:
        work(5)
        os._exit(0)
    os.waitpid(child, 0)
with LineProfiler(run_dir="run"):
    thread = threading.Thread(target=in_thread)
    thread.start()
    thread.join()
"""
    )
    assert lines_of(tmp_path / "run")["work"] == [2, 14, 12, 2]


def test_children_that_run_nothing_are_not_counted(run: Run, tmp_path: Path) -> None:
    (tmp_path / "busy.py").write_text("def busy():\n    return 1\nbusy()\n")
    run(
        CHILD.format(
            start="[subprocess.run([sys.executable, *words]) for words in (['busy.py'], ['-c', ''], ['-c', '']) * 3]"
        )
    )
    document = json.loads(_core.lines_render(str(tmp_path / "run"), "json"))
    assert lines_of(tmp_path / "run")["busy"] == [3]
    assert document["processes"] == 1 + 3


def test_children_obey_the_scope_of_the_parent(run: Run, tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "pyproject.toml").write_text("[tool.lineprofiler]\nexclude = ['*']\n")
    (tmp_path / "sub" / "child.py").write_text("def child_a(): pass\ndef child_b(): pass\nchild_a()\nchild_b()\n")
    run(
        """
import subprocess, sys
from lineprofiler import LineProfiler, ProfilerConfig
with LineProfiler(run_dir="run", config=ProfilerConfig(functions=["work", "*_a"])):
    work(1)
    subprocess.run([sys.executable, "child.py"], cwd="sub", check=True)
"""
    )
    assert set(lines_of(tmp_path / "run")) == {"work", "child_a"}


def test_environment_is_as_before_after_the_block(run: Run) -> None:
    done = run(
        """
import os
from lineprofiler import LineProfiler
before = dict(os.environ)
with LineProfiler(run_dir="run"):
    print(sorted(set(os.environ) - set(before)))
print(dict(os.environ) == before)
"""
    )
    assert done.stdout.split("\n")[:2] == ["['LINEPROFILER_LINES']", "True"]


# The environment alone.


def test_variable_records_a_program_and_its_children(run: Run, tmp_path: Path) -> None:
    code = """
import subprocess, sys
work(4)
if len(sys.argv) == 1:
    subprocess.run([sys.executable, "prog.py", "child"], check=True)
"""
    done = run(code, env={"LINEPROFILER_LINES": "1", "LINEPROFILER_RUN_DIR": "run"})
    assert done.stdout == done.stderr == ""
    assert lines_of(tmp_path / "run")["work"] == [2, 10, 8, 2]


@pytest.mark.parametrize("word", ["0", "off", "no", "FALSE", ""])
def test_words_for_off_record_nothing(run: Run, tmp_path: Path, word: str) -> None:
    done = run("import sys\nprint('lineprofiler._lines' in sys.modules)\n", env={"LINEPROFILER_LINES": word})
    assert not (tmp_path / "profile").exists()
    assert done.stderr == ""


def test_wrong_word_is_one_warning(run: Run, tmp_path: Path) -> None:
    done = run("print('ran')", env={"LINEPROFILER_LINES": "perhaps"})
    assert done.stdout == "ran\n" and done.stderr.count("RuntimeWarning") == 1
    assert not (tmp_path / "profile").exists()


def test_phases_and_lines_of_one_process_share_a_file(run: Run, tmp_path: Path) -> None:
    run(
        """
from lineprofiler import LineProfiler
from lineprofiler.accounting import phase, start, stop
start(run_dir="run", role="actor")
with LineProfiler(run_dir="run"):
    with phase("busy"):
        work(6)
stop()
"""
    )
    assert lines_of(tmp_path / "run")["work"] == [1, 7, 6, 1]
    assert len(list((tmp_path / "run").rglob("*.lpw"))) == 1
    report = json.loads(_core.report(str(tmp_path / "run"), "json"))
    assert report["roles"][0]["role"] == "actor" and report["roles"][0]["phases"][0]["calls"] == 1


def test_start_up_line_is_quick_when_nothing_is_asked_for(tmp_path: Path) -> None:
    """A look at the environment, not an import: counted in calls, not in time."""
    code = """
import os, sys
calls = []
sys.setprofile(lambda frame, event, argument: calls.append(event))
exec(open(sys.argv[1]).read())
sys.setprofile(None)
print(len(calls))
"""
    line = Path(_core.__file__).resolve().parents[1] / "lineprofiler.pth"
    if not line.exists():
        pytest.skip("not installed with its start-up line beside it")
    done = subprocess.run([sys.executable, "-c", code, str(line)], capture_output=True, text=True, check=True)
    assert int(done.stdout) < 40


def test_any_name_survives_the_environment() -> None:
    fields = [("run_dir", "/tmp/a;b=c%\n3B"), ("include", "x;y"), ("include", "%3B"), ("project", "/ö")]
    found = _children.fields_of(_children.word_of(fields))
    assert found == {"run_dir": ["/tmp/a;b=c%\n3B"], "include": ["x;y", "%3B"], "project": ["/ö"]}


@pytest.mark.parametrize(
    ("original", "expected"),
    [
        (["python", "-m", "lineprofiler", "run", "x.py"], []),
        (["python", "-X", "dev", "-m", "lineprofiler", "run", "x.py"], ["-X", "dev"]),
        (["python", "-Im", "lineprofiler", "run", "x.py"], ["-I"]),
        (["python", "-O", "/venv/bin/lineprofiler", "run", "x.py"], ["-O"]),
        (["python", "-mlineprofiler", "run", "x.py"], []),
        (["pytest", "something", "else"], []),
    ],
)
def test_options_of_the_interpreter_are_found(original: list[str], expected: list[str]) -> None:
    assert _run.interpreter_options(original, ["lineprofiler", "run", "x.py"]) == expected
