"""Children of every kind are in the run with all they did, and neither a full disk nor a kill takes any of it."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from lineprofiler.accounting import Profiler, merge_run

LIMIT_S = 60


def report(run_dir: Path) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(report_text(run_dir, "--format", "json", "--top", "all", "--workers"))
    return document


def report_text(run_dir: Path, *args: str) -> str:
    return subprocess.run(
        [sys.executable, "-m", "lineprofiler", "report", str(run_dir), *args],
        env={**os.environ, "LC_ALL": "C.UTF-8"},
        capture_output=True,
        encoding="utf-8",
        check=True,
        timeout=LIMIT_S,
    ).stdout


def phases_of(document: Mapping[str, Any]) -> dict[tuple[str, ...], dict[str, Any]]:
    (found,) = document["roles"]
    return {tuple(phase["path"]): phase for phase in found["phases"]}


def others(document: Mapping[str, Any]) -> list[str]:
    """Attempts that are there and not shown."""
    return [attempt["id"] for attempt in document["run"]["attempts"] if not attempt["chosen"]]


# ------------------------------------------------------------------------------------------- children of every kind


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_subclass_of_process_is_recorded(program, run_dir: Path, method: str) -> None:
    program(
        f"""
        import multiprocessing as mp
        from lineprofiler.accounting import Profiler, installed_profiler, phase

        ctx = mp.get_context({method!r})

        class Child(ctx.Process):
            def run(self):
                if installed_profiler() is None:
                    Profiler(role="child", install=True)
                with phase("child's"): pass

        if __name__ == "__main__":
            with Profiler("run", role="parent", install=True), phase("parent's"):
                children = [Child() for _ in range(3)]
                for child in children: child.start()
                for child in children: child.join()
                assert [child.exitcode for child in children] == [0] * 3
        """
    )
    document = report(run_dir)
    assert len(document["workers"]) == 4
    assert merge_run(run_dir).tree[("child's",)].calls == 3
    assert {worker["verdict"] for worker in document["workers"]} <= {"finished", "ended"}


def test_spawned_children_that_run_nothing_profiled_leave_no_file(program, run_dir: Path) -> None:
    program(
        """
        import multiprocessing as mp
        from lineprofiler.accounting import Profiler, phase, start

        def work(i):
            start(role="child")
            if i % 2:
                with phase("x"): pass

        if __name__ == "__main__":
            with Profiler("run", role="parent") as p:
                children = [mp.get_context("spawn").Process(target=work, args=(i,)) for i in range(4)]
                for child in children: child.start()
                for child in children: child.join()
                assert [child.exitcode for child in children] == [0] * 4
                with p.phase("p"): pass
        """
    )
    files = [path for path in run_dir.rglob("*") if path.is_file() and path.name != ".gitignore"]
    assert len(files) == 3
    run = merge_run(run_dir)
    assert run.unreadable == []
    assert len(run.workers_of("child")) == 2
    assert run.tree_of("child")[("x",)].calls == 2


def test_trivial_function_over_a_large_map_is_counted_exactly(program, run_dir: Path) -> None:
    program(
        """
        import multiprocessing as mp
        from lineprofiler.accounting import count, phase, start

        @phase("f")
        def f(x):
            count("x", x)
            return x

        if __name__ == "__main__":
            start("run")
            with mp.get_context("fork").Pool(3) as pool:
                assert sum(pool.imap_unordered(f, range(100_000), 500)) == 4_999_950_000
        """
    )
    stats = merge_run(run_dir).tree[("f",)]
    assert stats.calls == 100_000
    assert stats.counters == {"x": 4_999_950_000}


def test_partial_sums_of_pool_and_parent_merge(program, run_dir: Path) -> None:
    """Work that the parent repeats on its children's results is in one figure."""
    program(
        """
        import multiprocessing as mp
        from lineprofiler.accounting import count, phase, start

        def accumulate(numbers):
            total = 0
            for n in numbers:
                with phase("accumulate"):
                    total += n
                    count("n", n)
            return total

        if __name__ == "__main__":
            start("run")
            with mp.get_context("fork").Pool(3) as pool:
                parts = pool.map(accumulate, [range(i, 1001, 3) for i in (1, 2, 3)])
            assert accumulate(parts) == 500_500
        """
    )
    stats = merge_run(run_dir).tree[("accumulate",)]
    assert stats.calls == 1_003
    assert stats.counters == {"n": 2 * 500_500}


@pytest.mark.parametrize("leave", ["sys.exit(0)", "os._exit(0)", "sys.exit(3)", "raise KeyError"])
def test_plain_fork_is_recorded_however_the_child_leaves(program, run_dir: Path, leave: str) -> None:
    status = {"sys.exit(3)": 3, "raise KeyError": 1}.get(leave, 0)
    program(
        f"""
        import os, sys
        from lineprofiler.accounting import phase, start
        start("run")
        pid = os.fork()
        if not pid:
            with phase("child's"): pass
            {leave}
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == {status}
        with phase("parent's"): pass
        """
    )
    document = report(run_dir)
    assert {path: phase["calls"] for path, phase in phases_of(document).items()} == {("child's",): 1, ("parent's",): 1}
    child = next(worker for worker in document["workers"] if worker["parent_pid"] in pids(document))
    assert child["verdict"] == ("ended" if leave == "os._exit(0)" else "finished")


def pids(document: Mapping[str, Any]) -> set[int]:
    return {worker["pid"] for worker in document["workers"]}


def test_settings_of_a_profiler_hold_in_its_forked_children(program, run_dir: Path) -> None:
    program(
        """
        import os
        from lineprofiler.accounting import phase, start
        start("run", "mine", measure_cpu=False, strict_names=True, max_paths=10)
        with phase("n1"): pass
        pid = os.fork()
        if not pid:
            with phase("n1"): pass
            try:
                with phase("n2"): pass
            except ValueError:
                pass
            for name in "abcdefghijklmnop":
                with phase(name): pass
            os._exit(0)
        assert os.waitpid(pid, 0)[1] == 0
        """
    )
    run = merge_run(run_dir)
    assert run.roles == ["mine"]
    (child,) = (worker for worker in run.workers if len(worker.tree) > 1)
    assert ("n2",) not in child.tree
    assert child.tree[("n1",)].cpu_ns is None
    assert child.tree[("(folded)",)].calls >= 6
    assert sum(stats.calls for stats in child.tree.values()) == 17


@pytest.mark.parametrize(
    "call",
    [
        "subprocess.run([sys.executable, 'child.py'], check=True)",
        "subprocess.run(sys.executable + ' child.py', shell=True, check=True)",
        "subprocess.run([sys.executable, '-c', open('child.py').read()], check=True)",
        "subprocess.run([sys.executable, '-m', 'child'], check=True)",
        "assert os.system(sys.executable + ' child.py') == 0",
        "assert os.spawnv(os.P_WAIT, sys.executable, [sys.executable, 'child.py']) == 0",
        "assert os.waitpid(os.posix_spawn(sys.executable, [sys.executable, 'child.py'], os.environ), 0)[1] == 0",
    ],
    ids=["list", "shell", "-c", "-m", "system", "spawnv", "posix_spawn"],
)
def test_program_started_in_any_way_joins(program, tmp_path: Path, run_dir: Path, call: str) -> None:
    (tmp_path / "child.py").write_text("from lineprofiler.accounting import *\nstart()\nwith phase('c'): pass\n")
    program(
        f"""
        import os, subprocess, sys
        from lineprofiler.accounting import phase, start
        start("run")
        with phase("p"):
            {call}
            subprocess.run(["true"], check=True)  # a child that knows nothing of us is nobody's trouble
        """
    )
    document = report(run_dir)
    assert {path: phase["calls"] for path, phase in phases_of(document).items()} == {("p",): 1, ("c",): 1}
    assert others(document) == []
    assert document["caveats"]["notes"] == []


def test_prefork_server_needs_no_thread_that_survives(program, run_dir: Path) -> None:
    program(
        """
        import os, threading, time
        from lineprofiler.accounting import Profiler, phase
        p = Profiler("run", install=True, snapshot_interval_s=0.01)
        called = threading.Event()
        p.on_snapshot(lambda tree: called.set())
        with phase("boot"):
            assert called.wait(30)
        workers = []
        for _ in range(2):
            pid = os.fork()
            if not pid:
                with phase("request"): pass
                os._exit(0)
            workers.append(pid)
        assert [os.waitpid(pid, 0)[1] for pid in workers] == [0, 0]
        """,
        flags=("-W", "ignore"),
    )
    assert merge_run(run_dir).tree[("request",)].calls == 2


def test_directory_that_cannot_be_written_is_said_and_costs_the_program_nothing(program, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    done = program(
        """
        from lineprofiler.accounting import phase, start
        p = start("file/run")
        with phase("x"): pass
        p.close()
        assert p.write_failures
        print("end")
        """,
        flags=("-W", "always"),
    )
    assert done.stdout == "end\n"
    assert done.stderr.count("RuntimeWarning") == 1
    assert "file/run" in done.stderr
    assert (tmp_path / "file").read_text() == "mine"


# ---------------------------------------------------------------------------------------------------- the disk is full


def test_limit_on_file_size_keeps_what_was_there_and_says_so(program, run_dir: Path) -> None:
    """Like a quota: writing past it would kill the program (SIGXFSZ)."""
    program(
        """
        import resource
        from lineprofiler.accounting import phase, start
        resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 17, resource.RLIM_INFINITY))
        start("run")
        for _ in range(5):
            with phase("early"): pass
        for i in range(4_000):
            with phase("many " + chr(0x4e00 + i)): pass
        for _ in range(5):
            with phase("early"): pass
        """
    )
    document = report(run_dir)
    assert phases_of(document)[("early",)]["calls"] == 10
    counted = sum(phase["calls"] for phase in phases_of(document).values())
    dropped = document["workers"][0]["drops"]["no_space"]
    assert counted + dropped == 4_010
    assert dropped > 0
    assert "NOT recorded" in report_text(run_dir)


def test_full_disk_costs_neither_the_program_nor_what_was_recorded(tmp_path: Path) -> None:
    unshare = ["unshare", "--user", "--map-root-user", "--mount"]
    (tmp_path / "small").mkdir()
    code = """
        import os, shutil, sys
        from lineprofiler.accounting import phase, start
        start("small/run")
        for _ in range(5):
            with phase("early"): pass
        filler = os.open("small/filler", os.O_CREAT | os.O_WRONLY)
        try:
            while True: os.write(filler, b"x" * 4096)
        except OSError: pass
        for i in range(4_000):
            with phase("many " + chr(0x4e00 + i)): pass
        with phase("early"): pass
        print("end", flush=True)
        shutil.copytree("small/run", "copy")
    """
    (tmp_path / "prog.py").write_text(textwrap.dedent(code))
    script = 'mount -t tmpfs -o size=1m none small && exec "$0" prog.py'
    if subprocess.run([*unshare, "mount", "-t", "tmpfs", "none", str(tmp_path / "small")]).returncode:
        pytest.skip("no mounts in a name space here")
    done = subprocess.run(
        [*unshare, "sh", "-c", script, sys.executable], cwd=tmp_path, capture_output=True, text=True, timeout=LIMIT_S
    )
    assert (done.returncode, done.stdout) == (0, "end\n"), done.stderr
    document = report(tmp_path / "copy")
    assert phases_of(document)[("early",)]["calls"] == 6
    counted = sum(phase["calls"] for phase in phases_of(document).values())
    assert counted + document["workers"][0]["drops"]["no_space"] == 4_006
    assert "NOT recorded" in report_text(tmp_path / "copy")


# -------------------------------------------------------------------------------------------------- the program's files


def test_recording_makes_no_write_calls(program) -> None:
    """Nothing is flushed, so there is nothing that a busy file system could slow."""
    done = program(
        """
        import os
        from lineprofiler.accounting import count, phase, start
        start("run")
        def calls():
            with open("/proc/self/io") as f:
                return {k: int(v) for k, v in (line.split(":") for line in f)}
        with phase("x"): count("n")
        before = calls()
        for _ in range(10_000):
            with phase("x"): count("n")
        after = calls()
        print(after["syscw"] - before["syscw"], after["wchar"] - before["wchar"])
        """
    )
    assert done.stdout == "0 0\n"


def test_files_of_a_run_lie_in_a_folder_per_host(run_dir: Path) -> None:
    for _ in range(3):
        with Profiler(run_dir, run_id="one") as profiler, profiler.phase("x"):
            pass
    run = merge_run(run_dir)
    assert len({Path(worker.path).parent for worker in run.workers}) == 1
    assert all(worker.host in Path(worker.path).parent.name for worker in run.workers)
    assert len(list(run_dir.rglob("*.lpw"))) == 3


def test_system_without_some_signals_and_hooks_imports_us(program, run_dir: Path) -> None:
    program(
        """
        import os, signal
        for name in ("SIGUSR1", "SIGUSR2", "SIGHUP", "SIGXFSZ", "SIGALRM", "SIGKILL"):
            delattr(signal, name)
        for name in ("register_at_fork", "O_DIRECTORY", "fsync", "statvfs"):
            delattr(os, name)
        from lineprofiler.accounting import *
        with Profiler("run", install=True), phase("x"): pass
        """
    )
    assert merge_run(run_dir).tree[("x",)].calls == 1


def test_terminated_child_is_to_its_parent_as_without_us(program, run_dir: Path) -> None:
    """A child that its parent terminates is seen by the parent as it would be without us."""
    done = program(
        """
        import multiprocessing as mp
        from lineprofiler.accounting import phase, start
        def work(ready):
            for _ in range(1000):
                with phase("x"): pass
            with phase("waiting"):
                ready.send(1000)
                ready.recv()
        if __name__ == "__main__":
            start("run")
            ours, theirs = mp.Pipe()
            child = mp.get_context("fork").Process(target=work, args=(theirs,))
            child.start()
            assert ours.recv() == 1000
            child.terminate()
            child.join()
            print(child.exitcode)
        """
    )
    assert int(done.stdout) == -signal.SIGTERM
    document = report(run_dir)
    assert phases_of(document)[("x",)]["calls"] == 1000
    assert [worker["killed_in"] for worker in document["workers"]] == ["waiting"]


# ---------------------------------------------------------------------------------------------------- a thousand deaths

KILLS = """
import json, os, random, signal, sys, time
from lineprofiler.accounting import count, phase, start

def child(i, out):
    start("run", "child", run_id="one")
    count("child", i)
    with phase("outer"):
        while True:
            with phase("step"):
                count("n", 2)
            os.write(out, b".")

rng = random.Random(20260101)
seen = {}
for i in range(1, int(sys.argv[1]) + 1):
    into, out = os.pipe()
    pid = os.fork()
    if not pid:
        os.close(into)
        child(i, out)
    os.close(out)
    done = len(os.read(into, rng.randrange(1, 60)))
    moment = time.perf_counter_ns() + rng.randrange(300_000)
    while time.perf_counter_ns() < moment:
        pass
    os.kill(pid, signal.SIGKILL)
    while rest := os.read(into, 1 << 16):
        done += len(rest)
    os.close(into)
    assert os.waitpid(pid, 0)[1] == signal.SIGKILL
    seen[i] = done
print(json.dumps(seen))
"""


@pytest.mark.slow
@pytest.mark.timeout(600)
def test_thousand_kills_at_random_instants_lose_nothing(tmp_path: Path, run_dir: Path) -> None:
    kills = 1_000
    child = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", KILLS, str(kills)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=500,
    )
    reported = {int(i): done for i, done in json.loads(child.stdout).items()}
    run = merge_run(run_dir)
    assert run.unreadable == []
    found = {worker.tree[()].counters["child"]: worker for worker in run.workers}
    assert found.keys() == reported.keys()
    assert len(found) == kills
    for i, worker in found.items():
        step = worker.tree[("outer", "step")]
        # what was reported, and at most the one entry whose report did not get out
        assert reported[i] <= step.calls <= reported[i] + 1, i
        assert step.counters["n"] in (2 * step.calls, 2 * (step.calls + 1)), i
        assert worker.verdict == "killed", i
        assert worker.tree[("outer",)].open == 1, i
