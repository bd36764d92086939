"""Who belongs to a run, who is missing from it, who is slow, and how each process ended, as the report tells it."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import textwrap
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from lineprofiler.accounting import Profiler, merge_run

LIMIT_S = 60
WORK = """
import sys
from lineprofiler.accounting import count, phase, start
start("run", "worker")
with phase("step"):
    count("n", int(sys.argv[1]) if len(sys.argv) > 1 else 1)
"""
LAUNCHER_VARIABLES = re.compile("RANK|WORLD_SIZE|SLURM|OMPI_|PMI|TORCHELASTIC|MASTER_|FLUX|LSB|JSM|PBS|RAY_|JOB_COMP")


@pytest.fixture(autouse=True)
def no_launcher(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests may themselves have been started by one."""
    for name in list(os.environ):
        if LAUNCHER_VARIABLES.search(name):
            monkeypatch.delenv(name)


@pytest.fixture
def children() -> Iterator[list[subprocess.Popen[str]]]:
    """What is still alive at the end of a test is killed."""
    started: list[subprocess.Popen[str]] = []
    yield started
    for child in started:
        if child.poll() is None:
            child.kill()
        child.communicate()


def begin_program(tmp_path: Path, code: str, *args: str, env: Mapping[str, str] | None = None) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *args],
        cwd=tmp_path,
        env={**os.environ, **(env or {})},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def line_of(child: subprocess.Popen[str]) -> str:
    assert child.stdout is not None
    return child.stdout.readline().strip()


def finish(child: subprocess.Popen[str], status: int = 0) -> None:
    child.communicate("\n", timeout=LIMIT_S)
    assert child.returncode == status


def report(run_dir: Path, *args: str) -> dict[str, Any]:
    text = report_text(run_dir, "--format", "json", "--top", "all", "--workers", *args)
    document: dict[str, Any] = json.loads(text)
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


def phases_of(document: Mapping[str, Any], role: str | None = None) -> dict[tuple[str, ...], dict[str, Any]]:
    (found,) = [entry for entry in document["roles"] if role in (None, entry["role"])]
    return {tuple(phase["path"]): phase for phase in found["phases"]}


def others(document: Mapping[str, Any]) -> list[str]:
    """Attempts that are there and not shown."""
    return [attempt["id"] for attempt in document["run"]["attempts"] if not attempt["chosen"]]


def section(text: str, title: str) -> str:
    return text[re.search(f"^{title}", text, re.M).start() :].split("\n\n")[0]  # type: ignore[union-attr]


# ------------------------------------------------------------------------------------------------- ranks of one launch

LAUNCHES: dict[str, list[dict[str, str]]] = {
    "Slurm step": [
        {
            "SLURM_JOB_ID": "812",
            "SLURM_STEP_ID": "3",
            "SLURM_PROCID": str(rank),
            "SLURM_STEP_NUM_TASKS": "2",
            "SLURM_LOCALID": "0",
        }
        for rank in range(2)
    ],
    "torchelastic run": [
        {
            "TORCHELASTIC_RUN_ID": "night",
            "TORCHELASTIC_RESTART_COUNT": "0",
            "RANK": str(rank),
            "WORLD_SIZE": "2",
            "LOCAL_RANK": str(rank),
            "MASTER_ADDR": "localhost",
            "MASTER_PORT": "4711",
        }
        for rank in range(2)
    ],
    "PMIx namespace": [{"PMIX_NAMESPACE": "prte-7@1", "PMIX_RANK": str(rank), "PMI_SIZE": "2"} for rank in range(2)],
    "Open MPI namespace": [
        {"PMIX_NAMESPACE": "12345", "OMPI_COMM_WORLD_RANK": str(rank), "OMPI_COMM_WORLD_SIZE": "2"} for rank in range(2)
    ],
    "own variable": [{"LINEPROFILER_RUN_ID": "mine", "RANK": str(rank), "WORLD_SIZE": "2"} for rank in range(2)],
}


@pytest.mark.parametrize("launch", LAUNCHES)
def test_ranks_of_one_launch_find_each_other_without_an_id(program, run_dir: Path, launch: str) -> None:
    for rank, env in enumerate(LAUNCHES[launch]):
        program(WORK, str(rank + 1), env=env)
    document = report(run_dir)
    assert others(document) == []
    assert [worker["rank"] for worker in document["workers"]] == [0, 1]
    assert document["run"]["world_size"] == 2
    assert document["caveats"]["missing_count"] == 0
    assert phases_of(document)[("step",)]["counters"] == {"n": 3}


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"SLURM_STEP_ID": "0"}, {"SLURM_STEP_ID": "1"}),
        ({"SLURM_STEP_ID": "0"}, {"SLURM_STEP_ID": "0", "SLURM_RESTART_COUNT": "1"}),
    ],
    ids=["two steps", "requeued"],
)
def test_two_launches_of_one_job_are_not_added_up(
    program, run_dir: Path, first: dict[str, str], second: dict[str, str]
) -> None:
    for amount, env in (("1", first), ("10", second)):
        program(WORK, amount, env={"SLURM_JOB_ID": "812", "SLURM_PROCID": "0", "SLURM_NTASKS": "1", **env})
    document = report(run_dir)
    assert phases_of(document)[("step",)]["counters"] == {"n": 10}
    (older,) = others(document)
    assert phases_of(report(run_dir, "--attempt", older))[("step",)]["counters"] == {"n": 1}
    assert phases_of(report(run_dir, "--attempt", "all"))[("step",)]["counters"] == {"n": 11}
    assert "1 other attempt" in report_text(run_dir).split("\n\n")[0]
    assert older in section(report_text(run_dir), "CAVEATS")


def test_run_id_none_of_torchelastic_joins_nobody(program, run_dir: Path) -> None:
    """It is what the launcher says when nobody chose an id."""
    for _ in range(2):
        program(WORK, env={"TORCHELASTIC_RUN_ID": "none", "TORCHELASTIC_RESTART_COUNT": "0"})
    document = report(run_dir)
    assert document["run"]["processes"] == 1
    assert len(others(document)) == 1


def test_rank_that_never_wrote_is_named(program, run_dir: Path) -> None:
    for rank in (0, 1, 3):
        program(WORK, env={"LINEPROFILER_RUN_ID": "one", "RANK": str(rank), "WORLD_SIZE": "4"})
    document = report(run_dir)
    assert document["caveats"]["missing_ranks"] == [2]
    assert document["caveats"]["missing_count"] == 1
    head = report_text(run_dir).split("\n\n")[0]  # beside the other facts, not below the tables
    assert re.search(r"WARNING: rank 2 of 4 ", head)


def test_single_process_is_rank_0_of_1(program, run_dir: Path) -> None:
    program(WORK)
    document = report(run_dir)
    assert document["caveats"]["missing_ranks"] == []
    assert document["run"]["processes"] == 1


# ------------------------------------------------------------------------------------------------------ who is slow


def test_slowest_worker_is_named_with_its_ratio(tmp_path: Path, run_dir: Path) -> None:
    code = """
        import sys, time
        from lineprofiler.accounting import phase, start
        start("run", "worker")
        with phase("step"):
            time.sleep(float(sys.argv[1]))
    """
    for rank, length in enumerate(("0.05", "0.05", "0.15", "0.05")):
        env = {"LINEPROFILER_RUN_ID": "one", "RANK": str(rank), "WORLD_SIZE": "4"}
        finish(begin_program(tmp_path, code, length, env=env))
    document = report(run_dir)
    workers = document["workers"]
    walls = sorted(worker["wall_ns"] for worker in workers)
    slow = workers[document["roles"][0]["spread"]["slowest"]]
    assert slow["rank"] == 2
    # the median of four is between two; either side of it is one
    assert walls[3] / walls[2] - 1e-3 <= slow["ratio"] <= walls[3] / walls[1] + 1e-3
    row = re.search(r"slowest +rank 2 \S+ .* ([\d.]+)x", section(report_text(run_dir), "WORKERS"))
    assert row and float(row[1]) == pytest.approx(slow["ratio"], abs=0.0051)


def test_processes_are_counted_by_file_not_by_pid(run_dir: Path) -> None:
    """Containers of one host share pids, and one process may record twice."""
    for amount in (1, 2, 3):
        with Profiler(run_dir, run_id="one") as profiler, profiler.phase("x"):
            profiler.count("n", amount)
    document = report(run_dir)
    assert {worker["pid"] for worker in document["workers"]} == {os.getpid()}
    assert document["run"]["processes"] == len(document["workers"]) == 3
    assert phases_of(document)[("x",)]["counters"] == {"n": 6}


def test_same_pid_in_two_pid_namespaces_is_two_processes(tmp_path: Path, run_dir: Path) -> None:
    unshare = ["unshare", "--user", "--map-root-user", "--pid", "--fork", "--mount-proc"]
    if subprocess.run([*unshare, "true"], capture_output=True).returncode:
        pytest.skip("no pid namespaces here")
    for amount in ("1", "2"):
        subprocess.run(
            [*unshare, sys.executable, "-c", WORK, amount],
            cwd=tmp_path,
            env={**os.environ, "LINEPROFILER_RUN_ID": "one"},
            check=True,
            timeout=LIMIT_S,
        )
    document = report(run_dir)
    assert [worker["pid"] for worker in document["workers"]] == [1, 1]
    assert phases_of(document)[("step",)]["counters"] == {"n": 3}


def test_workers_one_after_the_other_span_the_sum_of_their_times(
    tmp_path: Path, run_dir: Path, children: list[subprocess.Popen[str]]
) -> None:
    code = """
        import time
        from lineprofiler.accounting import Profiler
        with Profiler("run") as p, p.phase("x"):
            time.sleep(0.1)
    """
    for _ in range(3):
        children.append(begin_program(tmp_path, code, env={"LINEPROFILER_RUN_ID": "one"}))
        finish(children[-1])
    document = report(run_dir)
    spans = [worker["span_ns"] / 1e9 for worker in document["workers"]]
    runtime = document["run"]["runtime_s"]
    assert document["run"]["longest_worker_s"] == pytest.approx(max(spans), abs=2e-6)
    assert runtime >= sum(spans) * 0.999
    assert runtime == pytest.approx(document["run"]["ended_at"] - document["run"]["started_at"], abs=0.01)
    head = report_text(run_dir).split("\n\n")[0]
    assert "Runtime " in head and "Longest worker " in head


# ------------------------------------------------------------------------------------------------- how a process ended


def test_worker_killed_after_a_tenth_of_a_second_keeps_all_it_did(
    tmp_path: Path, run_dir: Path, children: list[subprocess.Popen[str]]
) -> None:
    code = """
        import time
        from lineprofiler.accounting import count, phase, start
        start("run", "worker")
        begun = time.monotonic()
        with phase("train"):
            for i in range(10):
                with phase("step"):
                    count("n", 2)
            with phase("last"):
                while time.monotonic() < begun + 0.1:
                    with phase("short"): pass
                print("old enough", flush=True)
                input()
    """
    child = begin_program(tmp_path, code)
    children.append(child)
    assert line_of(child) == "old enough"

    live = report(run_dir)  # a look while it runs
    assert live["workers"][0]["verdict"] == "running"
    assert phases_of(live)[("train",)]["open"] == 1
    assert phases_of(live)[("train", "step")]["calls"] == 10

    child.kill()
    child.wait(LIMIT_S)
    document = report(run_dir)
    (worker,) = document["workers"]
    phases = phases_of(document)
    assert worker["verdict"] == "killed"
    assert worker["killed_in"] == "train/last"
    assert phases[("train", "step")]["calls"] == 10
    assert phases[("train", "step")]["counters"] == {"n": 20}
    for path in (("train",), ("train", "last")):
        assert (phases[path]["calls"], phases[path]["open"]) == (0, 1)
        assert phases[path]["p50_ns"] is None
    assert phases[("train",)]["wall_ns"] >= phases[("train", "last")]["wall_ns"] > 0
    assert phases[("train", "last")]["wall_ns"] >= phases[("train", "last", "short")]["wall_ns"] > 0
    assert worker["wall_ns"] == phases[("train",)]["wall_ns"]
    text = report_text(run_dir)
    assert re.search(r"^WORKER  \(1 process", text, re.M)  # the block of the role is there
    assert "1 killed" in text.split("\n\n")[0]
    assert re.search(rf"killed +\S*:{worker['pid']} .* in train/last", section(text, "WORKERS"))
    for name in ("train", "train/step", "train/last"):
        assert name in text


def test_worker_killed_outside_any_phase_is_not_called_killed_in_one(
    tmp_path: Path, run_dir: Path, children: list[subprocess.Popen[str]]
) -> None:
    code = """
        from lineprofiler.accounting import phase, start
        start("run")
        with phase("x"): pass
        print("ready", flush=True)
        input()
    """
    child = begin_program(tmp_path, code)
    children.append(child)
    line_of(child)
    child.kill()
    child.wait(LIMIT_S)
    (worker,) = report(run_dir)["workers"]
    assert worker["verdict"] == "ended"
    assert worker["killed_in"] == ""


def test_early_finisher_is_no_caveat_and_the_killed_one_is(
    tmp_path: Path, run_dir: Path, children: list[subprocess.Popen[str]]
) -> None:
    env = {"LINEPROFILER_RUN_ID": "one"}
    finish(begin_program(tmp_path, WORK, env={**env, "RANK": "0", "WORLD_SIZE": "2"}))
    (early,) = (run_dir / worker.path for worker in merge_run(run_dir).workers)
    os.utime(early, (1_000_000_000, 1_000_000_000))  # long before the other one
    code = """
        from lineprofiler.accounting import phase, start
        start("run", "worker")
        with phase("step"):
            print("in", flush=True)
            input()
    """
    late = begin_program(tmp_path, code, env={**env, "RANK": "1", "WORLD_SIZE": "2"})
    children.append(late)
    line_of(late)
    late.kill()
    late.wait(LIMIT_S)
    document = report(run_dir)
    assert [worker["verdict"] for worker in document["workers"]] == ["finished", "killed"]
    assert document["caveats"]["stale"] == []
    (named,) = document["caveats"]["killed"]
    assert named.startswith("rank 1 ")
    assert not any("rank 0" in note["text"] for note in document["caveats"]["notes"])


SURVIVED = {
    "own handler of SIGUSR1": "signal.signal(signal.SIGUSR1, lambda *a: handled.append(1)); s = signal.SIGUSR1",
    "own handler of SIGTERM": "signal.signal(signal.SIGTERM, lambda *a: handled.append(1)); s = signal.SIGTERM",
    "nohup": "signal.signal(signal.SIGHUP, signal.SIG_IGN); s = signal.SIGHUP; handled.append(1)",
    "own handler of SIGINT": "signal.signal(signal.SIGINT, lambda *a: handled.append(1)); s = signal.SIGINT",
}


@pytest.mark.parametrize("how", SURVIVED)
def test_program_that_survives_a_signal_is_recorded_to_its_end(program, run_dir: Path, how: str) -> None:
    done = program(
        f"""
        import os, signal
        from lineprofiler.accounting import phase, start
        handled = []
        start("run")
        {SURVIVED[how]}
        with phase("before"): pass
        with phase("around"):
            os.kill(os.getpid(), s)
        for _ in range(100):
            with phase("after"): pass
        print(handled)
        """
    )
    assert done.stdout == "[1]\n"
    document = report(run_dir)
    calls = {path: phase["calls"] for path, phase in phases_of(document).items()}
    assert calls == {("before",): 1, ("around",): 1, ("after",): 100}
    assert document["workers"][0]["verdict"] == "finished"


def test_state_is_there_when_a_long_c_call_holds_back_the_handler(
    tmp_path: Path, run_dir: Path, children: list[subprocess.Popen[str]]
) -> None:
    """The grace period of a batch system ends in SIGKILL while Python has not yet seen the SIGTERM."""
    code = """
        import itertools, signal, sys
        from lineprofiler.accounting import phase, start
        signal.signal(signal.SIGTERM, lambda *a: print("handled", flush=True))
        start("run")
        for _ in range(7):
            with phase("done"): pass
        with phase("long"):
            print("in", flush=True)
            sum(itertools.repeat(1, 10**13))
    """
    child = begin_program(tmp_path, code)
    children.append(child)
    line_of(child)
    child.terminate()
    child.kill()
    assert child.stdout is not None
    assert child.stdout.read() == ""
    child.wait(LIMIT_S)
    document = report(run_dir)
    assert phases_of(document)[("done",)]["calls"] == 7
    assert document["workers"][0]["killed_in"] == "long"


def test_phases_in_a_signal_handler_that_comes_at_any_moment(program, run_dir: Path) -> None:
    """Nothing of ours is held while a phase begins or ends, so a handler may always record."""
    done = program(
        """
        import signal
        from lineprofiler.accounting import count, phase, start
        handled = 0
        def handler(*_):
            global handled
            with phase("handler"):
                count("n")
            handled += 1
        start("run")
        signal.signal(signal.SIGALRM, handler)
        signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.0005)
        entered = 0
        while handled < 200:
            with phase("main"):
                with phase("inner"):
                    count("n")
            entered += 1
        signal.setitimer(signal.ITIMER_REAL, 0)
        print(entered, handled)
        """
    )
    entered, handled = map(int, done.stdout.split())
    found: Counter[str] = Counter()
    amounts: Counter[str] = Counter()
    for path, stats in merge_run(run_dir).tree.items():
        if path:
            found[path[-1]] += stats.calls
            amounts[path[-1]] += stats.counters.get("n", 0)
    assert found == {"main": entered, "inner": entered, "handler": handled}
    assert amounts == {"main": 0, "inner": entered, "handler": handled}


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


# ----------------------------------------------------------------------------------------------------- a thousand deaths

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
