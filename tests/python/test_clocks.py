"""CPU and waiting time against the kernel's own thread clock, with each CPU clock forced (two clocks of one run)."""
# SPDX-License-Identifier: MIT

import json
import os
import subprocess
import sys

import pytest

PROGRAM = """
import os, sys, threading, time
from lineprofiler import accounting

accounting.start(run_dir=sys.argv[1], role="clocks")
lock = threading.Lock()
lock.acquire()
out, into = os.pipe()

def help_out():
    time.sleep(0.5)
    lock.release()
    time.sleep(0.5)
    os.write(into, b"x")

helper = threading.Thread(target=help_out)
with accounting.phase("all"):
    cpu = time.thread_time_ns()
    wall = time.perf_counter_ns()
    with accounting.phase("sleep"):
        time.sleep(0.5)
    helper.start()
    with accounting.phase("lock"):
        lock.acquire()
    with accounting.phase("pipe"):
        os.read(out, 1)
    with accounting.phase("spin"):
        until = time.thread_time_ns() + 500_000_000
        while time.thread_time_ns() < until:
            pass
    cpu = time.thread_time_ns() - cpu
    wall = time.perf_counter_ns() - wall
helper.join()
accounting.stop()
print(cpu, wall)
"""


def run(run_dir, clock):
    environment = dict(os.environ, LINEPROFILER_CPU_CLOCK=clock)
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(run_dir)], env=environment, capture_output=True, text=True, check=True
    )
    cpu, wall = map(int, done.stdout.split())
    report = subprocess.run(
        [sys.executable, "-m", "lineprofiler", "report", str(run_dir), "--format", "json", "--top", "all"],
        capture_output=True,
        text=True,
        check=True,
    )
    document = json.loads(report.stdout)
    phases = {tuple(phase["path"]): phase for phase in document["roles"][0]["phases"]}
    return cpu, wall, phases


@pytest.mark.parametrize("clock", ["rseq", "age", "syscall"])
def test_cpu_and_wait_agree_with_the_thread_clock(tmp_path, clock):
    cpu, wall, phases = run(tmp_path, clock)
    everything = phases[("all",)]
    assert everything["wall_ns"] == pytest.approx(wall, rel=0.02)
    assert everything["cpu_ns"] == pytest.approx(cpu, rel=0.02)
    assert everything["wait_ns"] == pytest.approx(wall - cpu, rel=0.02)
    assert phases[("all", "spin")]["cpu_ns"] == pytest.approx(500_000_000, rel=0.02)
    for waiting in ("sleep", "lock", "pipe"):
        phase = phases[("all", waiting)]
        assert phase["cpu_ns"] < 0.02 * phase["wall_ns"], waiting
        assert phase["wait_ns"] > 0.98 * phase["wall_ns"], waiting


def test_without_a_cpu_clock_waiting_is_not_measured(tmp_path):
    _, _, phases = run(tmp_path, "none")
    assert phases[("all",)]["cpu_ns"] is None
    assert phases[("all",)]["wait_ns"] is None
    assert phases[("all",)]["calls"] == 1
