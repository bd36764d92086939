"""``lineprofiler run``: programs run as ever, and their lines are shown afterwards."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import textwrap
import time
import zipapp
from collections.abc import Callable
from pathlib import Path

import pytest

LIMIT_S = 120
RUN = [sys.executable, "-m", "lineprofiler", "run"]
WORK = """\
def work(n):
    total = 0
    for i in range(n):
        total += i
    return total
"""


@pytest.fixture
def here(tmp_path: Path) -> Path:
    """A folder of its own, in which programs run."""
    folder = tmp_path / "here"
    folder.mkdir()
    return folder


def execute(command: list[str], here: Path, stdin: bytes = b"", **env: str) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        command,
        cwd=here,
        input=stdin,
        capture_output=True,
        timeout=LIMIT_S,
        env={**os.environ, "PYTHONHASHSEED": "0", **env},
    )


def profile(here: Path, *words: str, stdin: bytes = b"", status: int = 0, **env: str) -> str:
    """Runs `lineprofiler run` and gives what it printed to stderr."""
    done = execute([*RUN, *words], here, stdin, **env)
    assert done.returncode == status, done
    return done.stderr.decode("utf-8", "surrogateescape")


def write(here: Path, text: str, name: str = "prog.py") -> Path:
    path = here / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(textwrap.dedent(text), encoding="utf-8")
    return path


def hits(here: Path, *words: str, stdin: bytes = b"", status: int = 0, **env: str) -> dict[str, dict[int, int]]:
    """By function, executions by line."""
    out = here / "lines.json"
    profile(here, "--json", str(out), *words, stdin=stdin, status=status, **env)
    document = json.loads(out.read_text(encoding="utf-8"))
    return {each["name"]: {row["line"]: row["hits"] for row in each["rows"]} for each in document["functions"]}


# A zoo of programs: output and status are the same with and without.

ZOO: dict[str, str] = {
    "arguments": """
        import sys
        print(sys.argv, sys.orig_argv[1:], __name__, __file__, __spec__, __doc__, __package__)
        print(sys.path, sorted(globals()), sys.flags)
    """,
    "own options": """
        import argparse
        parser = argparse.ArgumentParser()
        parser.add_argument("--top", type=int)
        parser.add_argument("rest", nargs="*")
        print(parser.parse_args(["--top", "3", "x"]), parser.prog)
        parser.parse_args(["--nosuch"])
    """,
    "pickle": """
        import pickle
        class Point:
            def __init__(self, x): self.x = x
        def function(): pass
        print(pickle.loads(pickle.dumps(Point(3))).x, pickle.loads(pickle.dumps(function)) is function)
        print(Point, Point.__module__, pickle.dumps(Point))
    """,
    "fork": """
        import multiprocessing
        class Task:
            def __init__(self, n): self.n = n
        def work(task): return task.n * 2
        if __name__ == "__main__":
            with multiprocessing.get_context("fork").Pool(2) as pool:
                print(pool.map(work, [Task(n) for n in range(5)]))
    """,
    "spawn": """
        import multiprocessing
        class Task:
            def __init__(self, n): self.n = n
        def work(task): return task.n * 2
        if __name__ == "__main__":
            with multiprocessing.get_context("spawn").Pool(2) as pool:
                print(pool.map(work, [Task(n) for n in range(5)]))
    """,
    "executor": """
        import concurrent.futures, multiprocessing
        def work(n): return n + 1
        if __name__ == "__main__":
            context = multiprocessing.get_context("forkserver")
            with concurrent.futures.ProcessPoolExecutor(2, mp_context=context) as pool:
                print(list(pool.map(work, range(4))))
    """,
    "unittest": """
        import unittest
        class Test(unittest.TestCase):
            def test_a(self): pass
            def test_b(self): self.assertEqual(1, 2)
        if __name__ == "__main__":
            import sys
            runner = unittest.TextTestRunner(stream=open("log", "w"))
            program = unittest.main(exit=False, argv=["prog"], testRunner=runner)
            print(program.result)
            sys.exit(not program.result.wasSuccessful())
    """,
    "asyncio": """
        import asyncio
        async def one(n):
            await asyncio.sleep(0)
            return n
        async def main():
            print(await asyncio.gather(*(one(n) for n in range(3))))
        asyncio.run(main())
    """,
    "exception": """
        def f(n):
            if n: f(n - 1)
            else: raise ValueError("nothing left")
        print("before")
        f(3)
    """,
    "chained exception": """
        try:
            {}["a"]
        except KeyError as error:
            raise RuntimeError("for that reason") from error
    """,
    "syntax error": "print('a'\n",
    "exit 0": "import sys; print('x'); sys.exit()",
    "exit 7": "import sys; print('x'); sys.exit(7)",
    "exit text": "import sys; sys.exit('a message')",
    "exit object": "raise SystemExit((1, 2))",
    "exit huge": "import sys; sys.exit(2**40 + 3)",
    "exit without farewell": "import os; print('x', flush=True); os._exit(5)",
    "killed by itself": "import os, signal; print('x', flush=True); os.kill(os.getpid(), signal.SIGKILL)",
    "interrupted": "raise KeyboardInterrupt",
    "stack": """
        import inspect, sys, traceback, warnings
        def f(): traceback.print_stack(file=sys.stdout)
        f()
        print(len(inspect.stack()), sys._getframe().f_back)
        warnings.warn("for the caller", stacklevel=2)
    """,
    "own hooks": """
        import sys
        sys.excepthook = lambda kind, value, trace: print("hook", kind.__name__, value, trace.tb_frame.f_code.co_name)
        raise ValueError("x")
    """,
    "at exit": """
        import atexit, threading, time
        atexit.register(print, "at exit")
        def late():
            threading.main_thread().join()
            print("late thread")
        threading.Thread(target=late).start()
        print("main done")
    """,
    "state": """
        import signal, sys, threading
        print(sys.gettrace(), sys.getprofile(), threading.active_count(), sys.excepthook is sys.__excepthook__)
        print(signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGTERM), signal.getsignal(signal.SIGPIPE))
    """,
    "recursion": """
        import sys
        def deep(n):
            try:
                return deep(n + 1)
            except RecursionError:
                return n
        print(deep(0), sys.getrecursionlimit())
    """,
    "standard input": "import sys; print(sys.stdin.read().upper())",
    "folder that goes": """
        import os, tempfile
        folder = tempfile.mkdtemp()
        os.chdir(folder)
        os.rmdir(folder)
        print("still here")
    """,
    "dataclass": """
        from dataclasses import dataclass
        from collections import namedtuple
        @dataclass
        class D:
            x: int = 1
        print(D(), D(2) == D(2), namedtuple("N", "a b")(1, 2))
    """,
    "doctest": '''
        """
        >>> 1 + 1
        2
        """
        import doctest
        print(doctest.testmod())
    ''',
    "subprocess": """
        import subprocess, sys
        print(subprocess.run([sys.executable, "-c", "import sys; print(sys.argv)", "a"], capture_output=True))
        print(subprocess.run("echo x; false", shell=True, capture_output=True))
    """,
    "non-ASCII": "print('Grüße, 世界', ascii(__file__))",
}


def assert_same(plain: subprocess.CompletedProcess[bytes], ours: subprocess.CompletedProcess[bytes]) -> None:
    assert ours.stdout == plain.stdout
    assert ours.returncode == plain.returncode
    # The program's own lines come first; what follows is the table.
    assert ours.stderr.startswith(plain.stderr), ours.stderr.decode("utf-8", "replace")
    assert b"Traceback" not in ours.stderr[len(plain.stderr) :]


@pytest.mark.parametrize("name", ZOO)
def test_output_and_status_are_the_same(name: str, here: Path) -> None:
    if name == "state" and sys.version_info < (3, 12):
        pytest.skip("lines are watched by a trace function there, which sys.gettrace() shows")
    script = write(here, ZOO[name], "größer als.py" if name == "non-ASCII" else "prog.py").name
    plain = execute([sys.executable, script, "a b", "--top", "-m"], here, b"some text\n")
    ours = execute([*RUN, script, "a b", "--top", "-m"], here, b"some text\n")
    assert_same(plain, ours)


@pytest.mark.skipif(sys.version_info < (3, 12), reason="there threading is needed to reach new threads")
def test_import_set_differs_by_what_is_ours_alone(here: Path) -> None:
    write(here, "import sys\nprint('\\n'.join(sorted(sys.modules)))\n")
    plain = set(execute([sys.executable, "prog.py"], here).stdout.decode().split())
    ours = set(execute([*RUN, "prog.py"], here).stdout.decode().split())
    assert plain - ours == set()
    others = {name for name in ours - plain if name.partition(".")[0] != "lineprofiler"}
    assert others <= {"atexit", "_weakref", "opcode", "_opcode", "_opcode_metadata"}


@pytest.mark.parametrize("how", ["package", "module", "namespace", "attached", "missing"])
def test_modules_run_as_with_dash_m(here: Path, how: str) -> None:
    body = "import sys\nfrom . import part\nprint(sys.argv, sys.path[0], __spec__.name, __package__, part.x)\n"
    write(here, body, "pkg/__main__.py")
    write(here, body, "pkg/mod.py")
    write(here, "x = 1\n", "pkg/part.py")
    if how != "namespace":
        write(here, "", "pkg/__init__.py")
    words = {"package": ["-m", "pkg"], "attached": ["-mpkg.mod"], "missing": ["-m", "pkg.nosuch"]}.get(
        how, ["-m", "pkg.mod"]
    )
    assert_same(execute([sys.executable, *words, "x", "-c"], here), execute([*RUN, *words, "x", "-c"], here))


@pytest.mark.parametrize("kind", ["directory", "zipapp"])
def test_directories_and_zipapps_run(here: Path, kind: str) -> None:
    write(here, WORK, "app/helper.py")
    write(here, "import sys, helper\nprint(sys.argv, sys.path[0], __file__, helper.work(5))\n", "app/__main__.py")
    target = "app"
    if kind == "zipapp":
        zipapp.create_archive(here / "app", here / "app.pyz")
        shutil.rmtree(here / "app")
        target = "app.pyz"
    assert_same(execute([sys.executable, target, "x"], here), execute([*RUN, target, "x"], here))
    assert hits(here, target)["work"] == {2: 1, 3: 6, 4: 5, 5: 1}


def test_code_and_standard_input_run_and_show_their_source(here: Path) -> None:
    code = WORK + "import sys\nprint(work(4), sys.argv)\n"
    assert_same(execute([sys.executable, "-c", code, "x"], here), execute([*RUN, "-c", code, "x"], here))
    assert_same(
        execute([sys.executable, "-", "x"], here, code.encode()), execute([*RUN, "-", "x"], here, code.encode())
    )
    assert hits(here, "-c", code)["work"] == {2: 1, 3: 5, 4: 4, 5: 1}
    assert hits(here, "-", stdin=code.encode())["work"] == {2: 1, 3: 5, 4: 4, 5: 1}
    assert "total += i" in profile(here, "-c", code)
    assert "total += i" in profile(here, "-", stdin=code.encode())


def test_code_that_libraries_compile_is_not_taken_for_the_program(here: Path) -> None:
    code = "import collections\nN = collections.namedtuple('N', 'a b')\nprint(N(1, 2))\n"
    assert set(hits(here, "-c", code)) == {"<module>"}


def test_interpreter_options_are_handed_on(here: Path) -> None:
    write(here, "import sys\nprint(sys.flags, sys._xoptions, sys.warnoptions)\n")
    flags = ["-X", "dev", "-W", "error::BytesWarning", "-O"]
    plain = execute([sys.executable, *flags, "prog.py"], here)
    ours = execute([sys.executable, *flags, "-m", "lineprofiler", "run", "prog.py"], here)
    assert_same(plain, ours)


# Options.


def test_options_before_the_program_are_ours_and_those_behind_its_own(here: Path) -> None:
    write(here, "import sys\nprint(sys.argv)\n")
    done = execute([*RUN, "--top", "1", "--self", "--", "prog.py", "--top", "9", "--", "-h"], here)
    assert done.stdout.decode().strip() == str(["prog.py", "--top", "9", "--", "-h"])
    assert b"Top 1 of" in done.stderr


def test_table_of_hottest_lines_is_the_default(here: Path) -> None:
    write(here, WORK + "work(2000)\n")
    text = profile(here, "prog.py")
    assert "of all functions, by time" in text
    assert re.search(r"prog\.py::work +4 +2000 .*total \+= i", text)
    assert text.rstrip().splitlines()[-1].startswith("more: lineprofiler run --functions")


def test_top_may_stand_without_a_number(here: Path) -> None:
    write(here, WORK + "work(20)\n")
    assert "Top 5 of 5" in profile(here, "--top", "prog.py") or "Top 6 of 6" in profile(here, "--top", "prog.py")
    assert "Top 2 of" in profile(here, "--top=2", "prog.py")
    assert re.search(r"Top (\d+) of \1 lines", profile(here, "--top", "all", "prog.py"))


def test_functions_regions_and_scope_are_shown_on_demand(here: Path) -> None:
    write(
        here,
        WORK + "from lineprofiler import LineProfiler\nwith LineProfiler() as p, p.region('r'):\n    work(3)\n",
    )
    (here / ".venv").mkdir()
    text = profile(here, "--functions", "--explain-scope", "prog.py")
    assert "Function: work at line 1" in text
    assert "Scope of " in text and ".venv/ is in .venv, a folder of dependencies" in text
    assert "prog.py is in the project" in text
    regions = profile(here, "--regions", "prog.py")
    assert "Region: r" in regions and "in 1 entry" in regions and "prog.py::work" in regions


def test_page_and_json_are_written_where_we_were_started(here: Path) -> None:
    write(here, WORK + "import os\nos.chdir('/')\nwork(5)\n")
    text = profile(here, "--html", "out/lines.html", "--json", "out/lines.json", "prog.py")
    assert (here / "out" / "lines.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert json.loads((here / "out" / "lines.json").read_text(encoding="utf-8"))["functions"]
    assert f"wrote {here / 'out' / 'lines.html'}" in text


def test_output_that_cannot_be_written_costs_neither_table_nor_status(here: Path) -> None:
    write(here, WORK + "work(5)\nraise SystemExit(3)\n")
    (here / "file").touch()
    text = profile(here, "--json", "file/x.json", "prog.py", status=3)
    assert "cannot write" in text and "prog.py::work" in text


def test_unit_of_time_is_chosen(here: Path) -> None:
    write(here, WORK + "work(5)\n")
    assert "Time (ms)" in profile(here, "--output-unit", "ms", "prog.py")
    assert "Time (ns)" in profile(here, "--output-unit=1e-9", "prog.py")


def test_patterns_narrow_the_scope(here: Path) -> None:
    write(here, WORK, "lib/helper.py")
    write(here, "import sys\nsys.path.insert(0, 'lib')\nimport helper\nhelper.work(3)\n")
    assert set(hits(here, "--include", "lib/*", "prog.py")) == {"<module>", "work"}
    assert "work" not in hits(here, "--exclude", "lib/*", "prog.py")
    (here / "pyproject.toml").write_text("[tool.lineprofiler]\nfunctions = ['work']\n")
    assert set(hits(here, "prog.py")) == {"work"}


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "a script, -m MODULE, -c CODE or - comes after the options"),
        (["nosuch.py"], "there is no script 'nosuch.py'"),
        (["--nosuch", "prog.py"], "no option '--nosuch'"),
        (["-x", "prog.py"], "no option '-x'"),
        (["--top", "0", "prog.py"], "--top takes a number"),
        (["--self=3", "prog.py"], "--self takes no value"),
        (["--output-unit", "week", "prog.py"], "--output-unit takes ns, us, ms or s"),
        (["--html", "prog.py"], "--html takes a file to write"),
        (["--html", ".", "prog.py"], "is a folder"),
        (["--json"], "--json needs a value"),
        (["-m"], "-m needs a module"),
        (["-c"], "-c needs some code"),
        (["--project", "nosuch", "prog.py"], "--project takes a folder"),
        (["--", "--top"], "after -- comes a script"),
    ],
)
def test_wrong_use_is_one_line_and_2_and_leaves_nothing(here: Path, words: list[str], message: str) -> None:
    write(here, "print('ran')\n")
    done = execute([*RUN, *words], here, TMPDIR=str(here))
    assert done.returncode == 2
    assert done.stdout == b""
    assert done.stderr.decode().startswith("lineprofiler: run: ") and done.stderr.count(b"\n") == 1
    assert message in done.stderr.decode()
    assert [path.name for path in here.iterdir()] == ["prog.py"]


def test_help_is_that_of_the_command_line(here: Path) -> None:
    done = execute([*RUN, "--help"], here)
    assert done.returncode == 0 and b"usage: lineprofiler run [options] SCRIPT" in done.stdout


# What is left behind, and what is kept.


def test_nothing_is_left_behind(here: Path, tmp_path: Path) -> None:
    write(here, WORK + "work(5)\n")
    temporary = tmp_path / "tmp"
    temporary.mkdir()
    profile(here, "prog.py", TMPDIR=str(temporary))
    assert list(temporary.iterdir()) == []
    assert [path.name for path in here.iterdir()] == ["prog.py"]


def test_run_directory_is_kept_and_reported(here: Path) -> None:
    write(here, WORK + "work(5)\n")
    text = profile(here, "--run-dir", "kept", "prog.py")
    assert text.rstrip().splitlines()[-1] == f"more: lineprofiler report {here / 'kept'}"
    done = execute([sys.executable, "-m", "lineprofiler", "report", "kept"], here)
    assert done.returncode == 0 and b"work" in done.stdout


def test_environment_tells_the_program_nothing_about_the_tables(here: Path) -> None:
    write(here, "import os\nprint([name for name in os.environ if 'LINEPROFILER' in name])\n")
    assert execute([*RUN, "--no-children", "prog.py"], here).stdout.strip() == b"[]"
    assert execute([*RUN, "prog.py"], here).stdout.strip() == b"['LINEPROFILER_LINES']"


# Interrupts.


@pytest.mark.parametrize("handled", [False, True])
def test_interrupt_reaches_the_program_and_the_table_is_printed(here: Path, handled: bool) -> None:
    body = """
        import time
        def wait():
            print("ready", flush=True)
            while True:
                time.sleep(0.01)
    """
    body += (
        "\n        try:\n            wait()\n        except KeyboardInterrupt:\n            print('caught')\n"
        if handled
        else "\n        wait()\n"
    )
    write(here, body)
    status: list[int] = []
    for command in ([sys.executable, "prog.py"], [*RUN, "prog.py"]):
        child = subprocess.Popen(command, cwd=here, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert child.stdout is not None and child.stdout.readline() == b"ready\n"
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=LIMIT_S)
        status.append(child.returncode)
    assert status[0] == status[1] == (0 if handled else -signal.SIGINT)
    assert out == (b"caught\n" if handled else b"")
    assert b"prog.py::wait" in err.partition(b"of all functions")[2]


# An empty result says why.


def test_program_out_of_scope_says_so(here: Path) -> None:
    write(here, "import json\njson.dumps({1: [2]}, indent=1)\n")
    text = " ".join(profile(here, "--exclude", "*", "prog.py").split())
    assert "No lines were recorded" in text and "prog.py matches exclude '*'" in text
    assert "--explain-scope lists them all" in text


def test_program_of_one_process_needs_no_folder(here: Path, tmp_path: Path) -> None:
    write(here, WORK + "work(3)\n")
    missing = tmp_path / "no such folder"
    done = execute([*RUN, "--no-children", "prog.py"], here, TMPDIR=str(missing))
    assert done.returncode == 0 and b"prog.py::work" in done.stderr
    done = execute([*RUN, "prog.py"], here, TMPDIR=str(missing))
    assert done.returncode == 2 and done.stderr.count(b"\n") == 1


def test_start_costs_little_where_nothing_is_asked_for(here: Path) -> None:
    """The start-up line imports nothing when the variable is not set."""
    done = execute([sys.executable, "-c", "import sys; print([m for m in sys.modules if 'lineprofiler' in m])"], here)
    assert done.stdout.strip() == b"[]"


Execute = Callable[..., "subprocess.CompletedProcess[bytes]"]


def test_doctor_proves_the_line_profiler(here: Path) -> None:
    done = execute([sys.executable, "-m", "lineprofiler", "doctor"], here)
    assert done.returncode == 0
    assert re.search(r"line profiler +ok +\w+, counts exactly", done.stdout.decode())
    assert re.search(r"start-up line +ok +lineprofiler\.pth", done.stdout.decode())


def test_threads_that_outlive_the_program_are_counted(here: Path) -> None:
    write(
        here,
        WORK
        + "import threading\n"
        + "def late():\n    threading.main_thread().join()\n    work(7)\n"
        + "threading.Thread(target=late).start()\n",
    )
    assert hits(here, "prog.py")["work"] == {2: 1, 3: 8, 4: 7, 5: 1}


def test_killed_child_keeps_its_hits(here: Path) -> None:
    write(
        here,
        WORK
        + "import os, signal\n"
        + "child = os.fork()\n"
        + "if not child:\n    work(11)\n    os.kill(os.getpid(), signal.SIGKILL)\n"
        + "os.waitpid(child, 0)\n",
    )
    started = time.monotonic()
    assert hits(here, "prog.py")["work"] == {2: 1, 3: 12, 4: 11, 5: 1}
    assert time.monotonic() - started < LIMIT_S
