"""Processes: every child once, nothing of the parent twice, and nothing lost however a process ends."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from lineprofiler.accounting import MergedRun, merge_run

START_METHODS = ("fork", "spawn", "forkserver")


def verdicts(run: MergedRun) -> list[str]:
    return sorted(worker.verdict for worker in run.workers)


def roles(run: MergedRun) -> dict[str, int]:
    return {role: len(run.workers_of(role)) for role in run.roles}


@pytest.mark.parametrize("method", START_METHODS)
def test_process_children_are_there_once_each(program, run_dir: Path, method: str) -> None:
    program(
        f"""
        import multiprocessing as mp
        from lineprofiler.accounting import Profiler, count, phase

        def work(i):
            with Profiler("run", role="worker", install=True):
                for _ in range(100):
                    with phase("step"):
                        count("n", i)

        if __name__ == "__main__":
            ctx = mp.get_context({method!r})
            with Profiler("run", role="parent", install=True), phase("all"):
                children = [ctx.Process(target=work, args=(i,)) for i in range(3)]
                for c in children: c.start()
                for c in children: c.join()
                assert [c.exitcode for c in children] == [0] * 3
        """
    )
    run = merge_run(run_dir)
    assert roles(run) == {"parent": 1, "worker": 3}
    assert run.superseded == []
    tree = run.tree_of("worker")
    assert tree[("step",)].calls == 300
    assert tree[("step",)].counters == {"n": 300}
    assert run.tree_of("parent")[("all",)].calls == 1
    assert verdicts(run) == ["finished"] * 4
    parent = run.workers_of("parent")[0].pid
    if method != "forkserver":
        assert {worker.facts["parent_pid"] for worker in run.workers_of("worker")} == {parent}


@pytest.mark.parametrize("method", START_METHODS)
@pytest.mark.parametrize("kind", ["Pool", "ProcessPoolExecutor"])
def test_pool_loses_nothing_and_is_not_called_killed(program, run_dir: Path, method: str, kind: str) -> None:
    program(
        f"""
        import concurrent.futures as cf, multiprocessing as mp, os
        from lineprofiler.accounting import Profiler, count, installed_profiler, phase

        def work(i):
            if installed_profiler() is None:
                Profiler(role="pool", install=True)
            with phase("item"):
                count("sum", i)
            return i

        if __name__ == "__main__":
            ctx = mp.get_context({method!r})
            with Profiler("run", role="parent", install=True):
                if {kind!r} == "Pool":
                    with ctx.Pool(3) as pool:
                        assert sum(pool.map(work, range(1, 201))) == 20100
                else:
                    with cf.ProcessPoolExecutor(3, mp_context=ctx) as pool:
                        assert sum(pool.map(work, range(1, 201))) == 20100
        """
    )
    run = merge_run(run_dir)
    tree = run.tree
    assert tree[("item",)].calls == 200
    assert tree[("item",)].counters == {"sum": 20_100}
    assert "killed" not in verdicts(run)
    assert 1 <= len(run.workers) <= 4
    if method != "fork":
        assert all(worker.role == "pool" for worker in run.workers if worker.tree)


def test_forked_child_starts_with_nothing_of_its_parent(program, run_dir: Path) -> None:
    program(
        """
        import os
        from lineprofiler.accounting import count, phase, start
        start("run")
        with phase("before"):
            count("n", 7)
        pid = os.fork()
        with phase("after"):
            count("n", 5)
        if pid:
            assert os.waitpid(pid, 0)[1] == 0
        else:
            os._exit(0)
        """
    )
    run = merge_run(run_dir)
    assert len(run.workers) == 2
    assert run.tree[("before",)].counters == {"n": 7}
    assert run.tree[("after",)].counters == {"n": 10}
    assert verdicts(run) == ["ended", "finished"]


def test_fork_inside_an_open_phase(program, run_dir: Path) -> None:
    program(
        """
        import os
        from lineprofiler.accounting import phase, start
        start("run")
        with phase("outer"):
            pid = os.fork()
            with phase("inner"): pass
            if not pid: os._exit(0)
            assert os.waitpid(pid, 0)[1] == 0
        """
    )
    run = merge_run(run_dir)
    assert run.tree[("outer",)].calls == 1
    inner = {path: stats.calls for path, stats in run.tree.items() if path[-1] == "inner"}
    assert sum(inner.values()) == 2
    assert inner[("outer", "inner")] >= 1


def test_phase_inherited_over_a_fork_is_ignored_when_it_ends_in_the_child(program, run_dir: Path) -> None:
    program(
        """
        import os
        from lineprofiler.accounting import phase, start
        start("run")
        pid = None
        with phase("outer"):
            pid = os.fork()
        with phase("own"): pass
        if pid: assert os.waitpid(pid, 0)[1] == 0
        """
    )
    run = merge_run(run_dir)
    assert run.tree[("outer",)].calls == 1
    assert run.tree[("own",)].calls == 2
    assert verdicts(run) == ["finished", "finished"]


def test_generator_inherited_over_a_fork_brings_no_phase_with_it(program, run_dir: Path) -> None:
    program(
        """
        import os
        from lineprofiler.accounting import phase, start
        start("run")

        def generate():
            with phase("outer"):
                yield
                yield

        generator = generate()
        next(generator)
        pid = os.fork()
        if not pid:
            next(generator)  # the child's first news
            with phase("own"): pass
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        next(generator)
        with phase("own"): pass
        generator.close()
        """
    )
    run = merge_run(run_dir)
    assert {path: stats.calls for path, stats in run.tree.items()} == {("outer",): 1, ("own",): 2}
    (child,) = (worker for worker in run.workers if worker.verdict == "ended")
    assert list(child.tree) == [("own",)]


def test_fork_in_a_thread(program, run_dir: Path) -> None:
    program(
        """
        import os, threading
        from lineprofiler.accounting import phase, start
        start("run")
        with phase("main"):
            def work():
                with phase("thread"):
                    pid = os.fork()
                    if not pid:
                        with phase("child"): pass
                        os._exit(0)
                    assert os.waitpid(pid, 0)[1] == 0
            t = threading.Thread(target=work); t.start(); t.join()
        """
    )
    run = merge_run(run_dir)
    found = {path[-1]: stats.calls for path, stats in run.tree.items()}
    assert found == {"main": 1, "thread": 1, "child": 1}
    assert len(run.workers) == 2


def test_grandchildren_of_forks(program, run_dir: Path) -> None:
    program(
        """
        import os
        from lineprofiler.accounting import phase, start
        start("run")
        for depth in range(4):
            with phase(f"level {depth}"): pass
            pid = os.fork()
            if pid:
                assert os.waitpid(pid, 0)[1] == 0
                os._exit(0)
        with phase("last"): pass
        os._exit(0)
        """
    )
    run = merge_run(run_dir)
    assert {path[0]: stats.calls for path, stats in run.tree.items()} == {
        **{f"level {depth}": 1 for depth in range(4)},
        "last": 1,
    }
    assert len(run.workers) == 5


def test_child_that_records_nothing_leaves_no_file(program, run_dir: Path) -> None:
    program(
        """
        import os
        from lineprofiler.accounting import phase, start
        start("run")
        with phase("x"): pass
        for _ in range(5):
            pid = os.fork()
            if not pid: os._exit(0)
            os.waitpid(pid, 0)
        """
    )
    assert len(merge_run(run_dir).workers) == 1


def test_profiler_closed_before_a_fork_stays_closed(program, run_dir: Path) -> None:
    program(
        """
        import os, shutil
        from lineprofiler.accounting import phase, start
        p = start("run")
        with phase("x"): pass
        p.close()
        shutil.rmtree("run")
        pid = os.fork()
        with phase("y"): pass
        with p.phase("z"): pass
        if not pid: os._exit(0)
        os.waitpid(pid, 0)
        """
    )
    assert not run_dir.exists()


def test_own_profiler_of_a_forked_child_makes_no_noise(program, run_dir: Path) -> None:
    done = program(
        """
        import os
        from lineprofiler.accounting import Profiler, phase, start
        start("run", "parent")
        with phase("p"): pass
        pid = os.fork()
        if not pid:
            with Profiler("run", role="child", install=True):
                with phase("c"): pass
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        """,
        flags=("-W", "always"),
    )
    assert done.stderr == ""
    run = merge_run(run_dir)
    assert roles(run) == {"parent": 1, "child": 1} or roles(run) == {"child": 1, "parent": 1}
    assert run.tree_of("child")[("c",)].calls == 1
    assert run.tree_of("parent")[("p",)].calls == 1


def test_subprocess_joins_by_the_environment(program, run_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "child.py").write_text(
        "import os\n"
        "os.chdir('/')\n"
        "from lineprofiler.accounting import Profiler, phase\n"
        "with Profiler(role='child', install=True), phase('c'): pass\n"
    )
    program(
        """
        import subprocess, sys
        from lineprofiler.accounting import phase, start
        start("run", "parent")
        with phase("p"):
            subprocess.run([sys.executable, "child.py"], check=True)
            subprocess.run(f"{sys.executable} child.py", shell=True, check=True)
        """
    )
    run = merge_run(run_dir)
    assert len(run.workers_of("child")) == 2
    assert run.tree_of("child")[("c",)].calls == 2
    assert len({worker.run_id for worker in run.workers}) == 1
    assert run.superseded == []


def test_exec_ends_one_record_and_starts_another(program, run_dir: Path, tmp_path: Path) -> None:
    (tmp_path / "next.py").write_text(
        "from lineprofiler.accounting import start, phase\nstart(role='next')\nwith phase('b'): pass\n"
    )
    program(
        """
        import os, sys
        from lineprofiler.accounting import phase, start
        start("run", "first")
        with phase("a"): pass
        os.execv(sys.executable, [sys.executable, "next.py"])
        """
    )
    run = merge_run(run_dir)
    assert roles(run) in ({"first": 1, "next": 1}, {"next": 1, "first": 1})
    assert {path[0]: stats.calls for path, stats in run.tree.items()} == {"a": 1, "b": 1}
    assert "killed" not in verdicts(run)


def test_second_attempt_is_not_added_to_the_first(program, run_dir: Path) -> None:
    code = "from lineprofiler.accounting import *\nstart('run')\nwith phase('x'): pass\n"
    program(code)
    first = merge_run(run_dir).run_id
    time.sleep(0.01)
    program(code)
    run = merge_run(run_dir)
    assert run.run_id != first
    assert run.tree[("x",)].calls == 1
    assert [attempt["id"] for attempt in run.superseded] == [first]
    assert merge_run(run_dir, attempt=first).tree[("x",)].calls == 1
    assert merge_run(run_dir, attempt="all").tree[("x",)].calls == 2


LOOP = """
import os, signal, sys, time
from lineprofiler.accounting import count, phase, start
start("run", "loop")
with phase("outer"):
    for i in range(10**9):
        with phase("step"):
            count("n", 2)
        if i % 100 == 99:
            os.write(1, b"%d\\n" % (i + 1))
"""


def start_loop(tmp_path: Path, code: str = LOOP) -> subprocess.Popen[bytes]:
    script = tmp_path / "loop.py"
    script.write_text(textwrap.dedent(code))
    return subprocess.Popen([sys.executable, str(script)], cwd=tmp_path, stdout=subprocess.PIPE)


def last_progress(child: subprocess.Popen[bytes], lines: int) -> int:
    """Reads `lines` reports of progress; the rest is left in the pipe until the child is dead."""
    assert child.stdout is not None
    return [int(child.stdout.readline()) for _ in range(lines)][-1]


ENDINGS: dict[str, tuple[Callable[[subprocess.Popen[bytes]], None], str]] = {
    "SIGKILL": (lambda child: child.kill(), "killed"),
    "SIGTERM": (lambda child: child.terminate(), "killed"),
    "SIGABRT": (lambda child: child.send_signal(signal.SIGABRT), "killed"),
    "SIGINT": (lambda child: child.send_signal(signal.SIGINT), "finished"),
    "SIGSEGV": (lambda child: child.send_signal(signal.SIGSEGV), "killed"),
}


@pytest.mark.parametrize("ending", ENDINGS)
def test_everything_up_to_a_deadly_signal_is_there(tmp_path: Path, run_dir: Path, ending: str) -> None:
    kill, verdict = ENDINGS[ending]
    child = start_loop(tmp_path)
    last_progress(child, 20)
    kill(child)
    assert child.stdout is not None
    reported = [int(line) for line in child.stdout.read().split(b"\n") if line.endswith(b"00")]
    assert child.wait(30) != 0
    run = merge_run(run_dir)
    (worker,) = run.workers
    assert worker.verdict == verdict
    step = run.tree[("outer", "step")]
    assert step.calls >= max(reported, default=2_000)
    # An interrupt may also come between the entry and the body, as into any `with` statement.
    assert step.counters["n"] in [2 * (step.calls + more) for more in ((0, 1) if verdict == "killed" else (-1, 0, 1))]
    if verdict == "killed":
        assert run.tree[("outer",)].open == 1
        assert run.tree[("outer",)].wall_ns >= step.wall_ns
        assert worker.killed_in.startswith("outer")
        assert child.wait() < 0


def test_kill_at_random_instants_loses_nothing(tmp_path: Path, run_dir: Path) -> None:
    for round_number in range(15):
        child = start_loop(tmp_path)
        seen = last_progress(child, 1 + round_number % 7)
        child.kill()
        assert child.stdout is not None
        rest = [line for line in child.stdout.read().split(b"\n") if line]
        child.wait(30)
        seen = max([seen, *(int(line) for line in rest[:-1])])
        run = merge_run(run_dir)
        assert run.unreadable == []
        assert run.tree[("outer", "step")].calls >= seen


def test_os_exit_loses_nothing_and_is_not_called_killed(program, run_dir: Path) -> None:
    program(
        """
        import os
        from lineprofiler.accounting import phase, start
        start("run")
        pid = os.fork()
        if not pid:
            for _ in range(5):
                with phase("x"): pass
            os._exit(0)
        os.waitpid(pid, 0)
        """
    )
    run = merge_run(run_dir)
    assert run.tree[("x",)].calls == 5
    assert verdicts(run) == ["ended"]


def test_abort_keeps_everything(program, run_dir: Path) -> None:
    program(
        """
        import os, resource
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        from lineprofiler.accounting import phase, start
        start("run")
        with phase("outer"):
            for _ in range(7):
                with phase("x"): pass
            os.abort()
        """,
        status=-signal.SIGABRT,
    )
    run = merge_run(run_dir)
    assert run.tree[("outer", "x")].calls == 7
    assert verdicts(run) == ["killed"]


def test_child_that_raises_keeps_its_calls(program, run_dir: Path) -> None:
    program(
        """
        import multiprocessing as mp
        from lineprofiler.accounting import phase, start

        def work():
            for _ in range(3):
                with phase("x"): pass
            with phase("fails"):
                raise ValueError("mine")

        if __name__ == "__main__":
            start("run")
            child = mp.get_context("fork").Process(target=work)
            child.start(); child.join()
            assert child.exitcode == 1
        """
    )
    run = merge_run(run_dir)
    assert run.tree[("x",)].calls == 3
    assert run.tree[("fails",)].calls == 1


@pytest.mark.parametrize("status", [0, 1, 3, 255])
def test_exit_status_is_the_programs(program, run_dir: Path, status: int) -> None:
    program(
        f"import sys\nfrom lineprofiler.accounting import *\nstart('run')\nwith phase('x'): sys.exit({status})",
        status=status,
    )


def test_program_that_is_killed_in_a_thread_while_others_work(tmp_path: Path, run_dir: Path) -> None:
    code = """
        import os, threading
        from lineprofiler.accounting import phase, start
        start("run")
        lock = threading.Lock()
        total = 0
        def work(name):
            global total
            for _ in range(10**9):
                with phase(name): pass
                with lock:
                    total += 1
                    if total % 500 == 0: os.write(1, b"%d\\n" % total)
        for i in range(4): threading.Thread(target=work, args=(f"t{i}",), daemon=True).start()
        threading.Event().wait()
    """
    child = start_loop(tmp_path, code)
    seen = last_progress(child, 10)
    child.kill()
    child.wait(30)
    assert child.stdout is not None
    child.stdout.close()
    assert sum(stats.calls for stats in merge_run(run_dir).tree.values()) >= seen


def test_running_process_is_read_while_it_writes(tmp_path: Path, run_dir: Path) -> None:
    child = start_loop(tmp_path)
    try:
        seen = last_progress(child, 3)
        run = merge_run(run_dir)
        assert verdicts(run) == ["running"]
        assert run.tree[("outer", "step")].calls >= seen
        assert run.tree[("outer",)].open == 1
    finally:
        child.kill()
        assert child.stdout is not None
        child.stdout.close()
        child.wait(30)


def test_fork_storm_with_busy_threads_makes_progress(program, run_dir: Path) -> None:
    program(
        """
        import os, threading
        from lineprofiler.accounting import phase, start
        start("run")
        stop = threading.Event()
        def busy():
            while not stop.is_set():
                with phase("busy"): pass
        threads = [threading.Thread(target=busy) for _ in range(3)]
        for t in threads: t.start()
        for _ in range(60):
            pid = os.fork()
            if not pid:
                with phase("child"): pass
                os._exit(0)
            assert os.waitpid(pid, 0)[1] == 0
        stop.set()
        for t in threads: t.join()
        """,
        flags=("-W", "ignore"),
    )
    assert merge_run(run_dir).tree[("child",)].calls == 60


def test_many_short_children_are_all_counted(program, run_dir: Path) -> None:
    program(
        """
        import os
        from lineprofiler.accounting import phase, start
        start("run")
        with phase("x"): pass
        for _ in range(50):
            pid = os.fork()
            if not pid:
                with phase("x"): pass
                os._exit(0)
            os.waitpid(pid, 0)
        """
    )
    assert merge_run(run_dir).tree[("x",)].calls == 51


def test_descriptors_of_the_program_survive_a_daemon_that_closes_all(program, run_dir: Path, tmp_path: Path) -> None:
    program(
        """
        import os
        from lineprofiler.accounting import phase, start
        start("run")
        with phase("before"): pass
        os.closerange(3, 256)
        f = open("data", "wb")
        for _ in range(1000):
            with phase("after"): pass
        f.write(b"mine"); f.close()
        """
    )
    assert (tmp_path / "data").read_bytes() == b"mine"
    assert merge_run(run_dir).tree[("after",)].calls == 1_000


@pytest.mark.skipif(sys.version_info < (3, 12), reason="older versions do not warn")
def test_fork_does_not_warn_of_threads(program) -> None:
    done = program(
        """
        import os, time
        from lineprofiler.accounting import phase, start
        start("run")
        with phase("x"): pass
        time.sleep(0.05)
        pid = os.fork()
        if not pid: os._exit(0)
        os.waitpid(pid, 0)
        """,
        flags=("-W", "error"),
    )
    assert done.stderr == ""


def test_pickling_and_pools_of_main_work_as_without_us(program) -> None:
    code = """
        import multiprocessing as mp, pickle, sys
        if len(sys.argv) > 1:
            from lineprofiler.accounting import phase, start
        class Point:
            def __init__(self, x): self.x = x
        def f(p): return p.x * 2
        if len(sys.argv) > 1:
            f = phase("f")(f)
        if __name__ == "__main__":
            if len(sys.argv) > 1: start("run")
            print(pickle.loads(pickle.dumps(Point(3))).x)
            with mp.get_context("spawn").Pool(2) as pool:
                print(pool.map(f, [Point(1), Point(2)]))
    """
    with_us, without_us = program(code, "on"), program(code)
    assert (with_us.stdout, with_us.stderr) == (without_us.stdout, without_us.stderr)


def test_environment_of_the_program_is_the_only_thing_children_need(program, run_dir: Path) -> None:
    program(
        """
        import multiprocessing as mp, os
        from lineprofiler.accounting import Profiler, phase

        def work():
            profiler = Profiler(role="child")
            assert profiler.enabled
            with profiler.phase("c"): pass
            profiler.close()

        if __name__ == "__main__":
            with Profiler("run", role="parent") as profiler:
                os.makedirs("elsewhere"); os.chdir("elsewhere")
                child = mp.get_context("spawn").Process(target=work)
                child.start(); child.join()
                assert child.exitcode == 0
                with profiler.phase("p"): pass
        """
    )
    run = merge_run(run_dir)
    assert set(run.roles) == {"parent", "child"}
    assert not (run_dir.parent / "elsewhere" / "run").exists()
