"""Counters: what may be added, and what is known of it afterwards."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import enum
from pathlib import Path

import pytest
from lineprofiler import accounting
from lineprofiler.accounting import Profiler, merge_run, report_as_dict

MAX = 2**63 - 1
MIN = -(2**63)


class Index:
    """What numpy and torch integers have in common."""

    def __init__(self, value: object) -> None:
        self.value = value

    def __index__(self) -> int:
        return self.value  # type: ignore[return-value]


class Color(enum.IntEnum):
    RED = 5


@pytest.mark.parametrize(
    ("amount", "total"),
    [(1, 1), (0, 0), (-7, -7), (True, 1), (MAX, MAX), (MIN, MIN), (Index(3), 3), (Index(MAX), MAX), (Color.RED, 5)],
    ids=repr,
)
def test_whole_number_of_any_kind_is_added(amount: object, total: int, run_dir: Path) -> None:
    with Profiler(run_dir, install=True) as profiler:
        with profiler.phase("p"):
            profiler.count("own", amount)  # type: ignore[arg-type]
            accounting.count("ambient", amount)  # type: ignore[arg-type]
    assert merge_run(run_dir).tree[("p",)].counters == {"own": total, "ambient": total}


@pytest.mark.parametrize("wrong", [1.0, 1.5, float("nan"), None, "3", b"3", [3], 1j], ids=repr)
def test_anything_else_is_refused_at_the_call(wrong: object, run_dir: Path) -> None:
    with Profiler(run_dir, install=True) as profiler:
        with pytest.raises(TypeError):
            profiler.count("n", wrong)  # type: ignore[arg-type]
        with pytest.raises(TypeError):
            accounting.count("n", wrong)  # type: ignore[arg-type]
        profiler.count("n", 2)
    assert merge_run(run_dir).tree[()].counters == {"n": 2}


@pytest.mark.parametrize("big", [MAX + 1, MIN - 1, 2**70, Index(2**100)], ids=repr)
def test_amount_beyond_64_bits_is_refused_at_the_call(big: object, run_dir: Path) -> None:
    with Profiler(run_dir) as profiler:
        with pytest.raises(OverflowError):
            profiler.count("n", big)  # type: ignore[arg-type]
        profiler.count("n", 2)
    assert merge_run(run_dir).tree[()].counters == {"n": 2}


def test_exception_of_index_reaches_the_caller(run_dir: Path) -> None:
    class Bad:
        def __index__(self) -> int:
            raise KeyError("mine")

    with Profiler(run_dir) as profiler:
        with pytest.raises(KeyError, match="mine"):
            profiler.count("n", Bad())


def test_total_has_128_bits(run_dir: Path) -> None:
    with Profiler(run_dir) as profiler:
        for _ in range(8):
            profiler.count("up", 2**62)
            profiler.count("down", MIN)
            profiler.count("both", MAX)
            profiler.count("both", -MAX)
    assert merge_run(run_dir).tree[()].counters == {"up": 2**65, "down": MIN * 8, "both": 0}


def test_amount_goes_to_the_innermost_running_phase(run_dir: Path) -> None:
    with Profiler(run_dir) as profiler:
        profiler.count("n", 1)
        with profiler.phase("a"):
            profiler.count("n", 10)
            with profiler.phase("b"):
                profiler.count("n", 100)
            profiler.count("n", 1_000)
        profiler.count("n", 10_000)
    tree = merge_run(run_dir).tree
    assert {path: stats.counters["n"] for path, stats in tree.items()} == {(): 10_001, ("a",): 1_010, ("a", "b"): 100}


def test_default_amount_is_one(run_dir: Path) -> None:
    with Profiler(run_dir) as profiler:
        profiler.count("n")
        profiler.count("n")
    assert merge_run(run_dir).tree[()].counters == {"n": 2}


def test_counter_outside_any_phase_is_in_text_and_json(run_dir: Path) -> None:
    with Profiler(run_dir) as profiler:
        profiler.count("lonely things", 5)
    text = accounting.render(run_dir)
    outside = text[text.index("OUTSIDE ANY PHASE") :]
    assert "lonely things" in outside
    assert '"lonely things"' in str(report_as_dict(run_dir)).replace("'", '"')


def test_smallest_largest_and_number_of_amounts(run_dir: Path) -> None:
    amounts = [3, -2, 9, 9, 0, 1_000_000, -50]
    with Profiler(run_dir) as profiler:
        for n in amounts:
            profiler.count("n", n)
        for _ in range(5):
            profiler.count("same", 7)
    counters = merge_run(run_dir).tree[()].counter_stats
    n, same = counters["n"], counters["same"]
    assert (n.total, n.adds, n.min, n.max) == (sum(amounts), len(amounts), -50, 1_000_000)
    assert (same.total, same.adds, same.min, same.max) == (35, 5, 7, 7)
    assert n.quantile(0.0) == -50
    assert n.quantile(1.0) == 1_000_000
    assert same.quantile(0.5) == 7


def test_steady_and_bursty_amounts_of_one_mean_differ(run_dir: Path) -> None:
    with Profiler(run_dir) as profiler:
        for i in range(100):
            profiler.count("steady", 4 + i % 2)
            profiler.count("bursty", 1 if i % 2 else 8)
    counters = merge_run(run_dir).tree[()].counter_stats
    assert counters["steady"].total == counters["bursty"].total == 450
    assert counters["steady"].quantile(0.05) == pytest.approx(4)
    assert counters["bursty"].quantile(0.05) == pytest.approx(1)
    assert counters["bursty"].quantile(0.95) == pytest.approx(8)


def test_first_amounts_are_in_the_spread_when_a_second_value_comes(run_dir: Path) -> None:
    with Profiler(run_dir) as profiler:
        for n in [5] * 90 + [9] * 10:
            profiler.count("n", n)
    counter = merge_run(run_dir).tree[()].counter_stats["n"]
    assert counter.amounts.count == 100
    assert counter.quantile(0.5) == pytest.approx(5)
    assert counter.quantile(0.99) == pytest.approx(9)


def test_numpy_integer_is_added(run_dir: Path) -> None:
    numpy = pytest.importorskip("numpy")
    with Profiler(run_dir) as profiler:
        profiler.count("n", numpy.int64(3))
        profiler.count("n", numpy.uint8(4))
    assert merge_run(run_dir).tree[()].counters == {"n": 7}


def test_time_outside_any_phase_has_no_cpu_time(run_dir: Path) -> None:
    with Profiler(run_dir) as profiler:
        profiler.count("n")
        with profiler.phase("p"):
            pass
    root = merge_run(run_dir).tree[()]
    assert root.cpu_ns is None
    assert root.wait_ns is None
    assert merge_run(run_dir).tree[("p",)].wait_ns is not None
