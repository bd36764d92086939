"""The extension against a recorder in plain Python, run beside it on the same program."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import importlib.util
import random
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from lineprofiler.accounting import Profiler, merge_run, report_as_dict


def make_naive() -> Any:
    spec = importlib.util.spec_from_file_location("naive", Path(__file__).with_name("naive.py"))
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.Naive()


class Both:
    """Records every phase and counter twice."""

    def __init__(self, profiler: Profiler) -> None:
        self.profiler = profiler
        self.naive = make_naive()

    @contextmanager
    def phase(self, name: str) -> Iterator[None]:
        with self.naive.phase(name), self.profiler.phase(name):
            yield

    def count(self, name: str, n: int) -> None:
        self.naive.count(name, n)
        self.profiler.count(name, n)


def burn(ms: float) -> None:
    end = time.thread_time_ns() + int(ms * 1e6)
    while time.thread_time_ns() < end:
        pass


def random_program(both: Both, rng: random.Random, depth: int, names: str) -> None:
    for _ in range(rng.randrange(1, 4)):
        with both.phase(rng.choice(names)):
            if rng.random() < 0.5:
                both.count(rng.choice("xyz"), rng.randrange(-100, 1_000))
            if depth:
                random_program(both, rng, depth - 1, names)
            if rng.random() < 0.1:
                try:
                    with both.phase("fails"):
                        raise KeyError
                except KeyError:
                    pass


@pytest.mark.parametrize("seed", range(10))
def test_entries_paths_and_counters_of_random_programs_are_equal(seed: int, run_dir: Path) -> None:
    rng = random.Random(seed)
    with Profiler(run_dir) as profiler:
        both = Both(profiler)
        for _ in range(5):
            random_program(both, rng, 5, "abcd/")
        both.count("outside", 3)
    naive, tree = both.naive, merge_run(run_dir).tree
    assert {path: stats.calls for path, stats in tree.items() if path} == {
        path: len(walls) for path, walls in naive.wall_ns.items()
    }
    for (path, name), amounts in naive.amounts.items():
        counter = tree[path].counter_stats[name]
        assert (counter.total, counter.adds) == (sum(amounts), len(amounts))
        assert (counter.min, counter.max) == (min(amounts), max(amounts))
        assert counter.amounts.count + counter.negative_amounts.count == len(amounts)
    assert sum(len(stats.counters) for stats in tree.values()) == len(naive.amounts)


def differences(run_dir: Path) -> list[str]:
    """What the two disagree about beyond 2 %."""
    with Profiler(run_dir) as profiler:
        both = Both(profiler)
        profiler.count("warm")  # makes the file
        for i in range(60):
            with both.phase("iteration"):
                with both.phase("compute"):
                    burn(2 + i % 3)
                with both.phase("sleep"):
                    time.sleep(0.002)
                burn(1)
    tree = merge_run(run_dir).tree
    rows = {tuple(row["path"]): row for role in report_as_dict(run_dir)["roles"] for row in role["phases"]}
    assert set(both.naive.wall_ns) == set(tree) - {()} == set(rows)
    found = []
    for path, walls in both.naive.wall_ns.items():
        stats, row, wall, cpu = tree[path], rows[path], sum(walls), both.naive.cpu_ns[path]
        assert stats.cpu_ns is not None and stats.wait_ns is not None and stats.max_ns is not None
        assert stats.wall_ns <= wall  # each of our entries lies inside the other's
        assert stats.max_ns <= max(walls)
        for what, ours, theirs, slack in (
            ("wall", stats.wall_ns, wall, 0),
            ("wall in JSON", row["wall_ns"], wall, 0),
            ("cpu", stats.cpu_ns, cpu, 60 * 60_000),
            ("wait", stats.wait_ns, wall - cpu, 60 * 60_000),
        ):
            if abs(ours - theirs) > 0.02 * theirs + slack:
                found.append(f"{path} {what}: {ours} against {theirs}")
        low, high = sorted(walls)[int(0.45 * len(walls))], sorted(walls)[int(0.55 * len(walls))]
        if not 0.95 * low <= row["p50_ns"] <= 1.05 * high:
            found.append(f"{path} p50: {row['p50_ns']}, not in {low}..{high}")
    return found


def test_times_agree_within_two_percent(tmp_path: Path) -> None:
    found = differences(tmp_path / "0")
    for attempt in range(1, 3):  # a busy machine may stop us between the two readings of a clock
        if found:
            found = differences(tmp_path / str(attempt))
    assert found == []
