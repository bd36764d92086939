"""Who belongs to a run, who is missing from it, who is slow, and how each process ended, as the report tells it."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import os
import re
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
