"""What a live process tells about itself: the tree so far, intervals, callbacks."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import gc
import os
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from lineprofiler.accounting import PhaseDelta, PhaseTree, Profiler, merge_run


def enter(profiler: Profiler, name: str, times: int = 1) -> None:
    for _ in range(times):
        with profiler.phase(name):
            pass


def wait_for(condition: Callable[[], object], timeout_s: float = 30.0) -> None:
    end = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < end, "never happened"
        time.sleep(0.005)


def test_tree_so_far_is_the_tree_of_the_run(run_dir: Path) -> None:
    with Profiler(run_dir) as profiler:
        enter(profiler, "a", 3)
        with profiler.phase("b"):
            profiler.count("n", 4)
            enter(profiler, "c")
        live = profiler.merged_tree()
    closed = profiler.merged_tree()
    run = merge_run(run_dir)
    for tree in (live, closed, run.tree, run.workers[0].tree):
        assert isinstance(tree, PhaseTree)
        assert {path: stats.calls for path, stats in tree.items()} == {("a",): 3, ("b",): 1, ("b", "c"): 1}
        assert tree[("b",)].counters == {"n": 4}
    assert closed[("b",)].wall_ns == pytest.approx(run.tree[("b",)].wall_ns, rel=1e-3, abs=2)


def test_profiler_that_recorded_nothing_has_an_empty_tree(run_dir: Path) -> None:
    with Profiler(run_dir) as profiler:
        assert profiler.merged_tree() == {}
        assert profiler.deltas() == {}


def test_open_phase_is_in_the_tree_with_its_time_so_far(run_dir: Path) -> None:
    with Profiler(run_dir) as profiler:
        with profiler.phase("train"):
            enter(profiler, "step", 10)
            time.sleep(0.02)
            tree = profiler.merged_tree()
            run = merge_run(run_dir)
    for open_tree in (tree, run.tree):
        train = open_tree[("train",)]
        assert (train.calls, train.open) == (0, 1)
        assert train.wall_ns >= 20_000_000
        assert train.open_ns == train.wall_ns
        assert open_tree[("train", "step")].calls == 10
    done = merge_run(run_dir).tree[("train",)]
    assert (done.calls, done.open, done.open_ns) == (1, 0, 0)


def test_delta_is_of_the_interval(run_dir: Path) -> None:
    with Profiler(run_dir) as profiler:
        enter(profiler, "a", 3)
        first = profiler.deltas()
        enter(profiler, "a", 2)
        enter(profiler, "b", 1)
        second = profiler.deltas()
        third = profiler.deltas()
    assert {path: stats.calls for path, stats in first.items()} == {("a",): 3}
    assert {path: stats.calls for path, stats in second.items()} == {("a",): 2, ("b",): 1}
    assert third == {}
    assert all(isinstance(stats, PhaseDelta) for stats in second.values())
    total = profiler.merged_tree()
    # Each reading fits the line between the two clocks anew, over a few milliseconds here.
    assert first[("a",)].wall_ns + second[("a",)].wall_ns == pytest.approx(total[("a",)].wall_ns, rel=1e-3)
    assert first[("a",)].hist.count == 3
    assert second[("a",)].hist.count == 2


def test_deltas_leave_the_whole_tree_alone(run_dir: Path) -> None:
    with Profiler(run_dir) as profiler:
        for _ in range(3):
            enter(profiler, "a")
            profiler.deltas()
        assert profiler.merged_tree()[("a",)].calls == 3


def test_counter_bounds_are_of_the_interval(run_dir: Path) -> None:
    with Profiler(run_dir) as profiler:
        seen = []
        for amounts in ([9], [1], [5, 5], [-3, 2], [1], [1_000, 7]):
            for n in amounts:
                profiler.count("n", n)
            delta = profiler.deltas()[()].counter_stats["n"]
            seen.append((delta.total, delta.adds, delta.min, delta.max))
    assert seen[:5] == [(9, 1, 9, 9), (1, 1, 1, 1), (10, 2, 5, 5), (-1, 2, -3, 2), (1, 1, 1, 1)]
    total, adds, low, high = seen[5]
    assert (total, adds, low) == (1_007, 2, 7)
    assert 1_000 * 15 / 16 <= high <= 1_000 * 17 / 16


def test_time_bounds_are_of_the_interval(run_dir: Path) -> None:
    with Profiler(run_dir) as profiler:
        with profiler.phase("a"):
            time.sleep(0.03)
        slow = profiler.deltas()[("a",)]
        with profiler.phase("a"):
            pass
        fast = profiler.deltas()[("a",)]
    assert slow.min_ns is not None and fast.max_ns is not None
    assert slow.min_ns >= 30_000_000 * 15 / 16
    assert fast.max_ns < 15_000_000
    assert fast.quantile(1.0) is not None and fast.quantile(1.0) < 15_000_000  # type: ignore[operator]


def test_open_phase_has_its_share_of_each_interval(run_dir: Path) -> None:
    with Profiler(run_dir) as profiler, profiler.phase("train"):
        time.sleep(0.02)
        first = profiler.deltas()[("train",)]
        time.sleep(0.03)
        second = profiler.deltas()[("train",)]
    third = profiler.deltas()[("train",)]
    assert first.wall_ns >= 20_000_000
    assert second.wall_ns >= 30_000_000
    assert (first.calls, second.calls, third.calls) == (0, 0, 1)
    whole = merge_run(run_dir).tree[("train",)].wall_ns
    assert first.wall_ns + second.wall_ns + third.wall_ns == pytest.approx(whole, rel=1e-3)


def test_no_thread_without_a_callback(run_dir: Path) -> None:
    before = threading.active_count()
    with Profiler(run_dir, snapshot_interval_s=0.01) as profiler:
        enter(profiler, "a")
        assert threading.active_count() == before


def test_callback_gets_the_tree_so_far_until_close(run_dir: Path) -> None:
    trees: list[PhaseTree] = []
    profiler = Profiler(run_dir, snapshot_interval_s=0.01)
    enter(profiler, "a", 5)
    assert profiler.on_snapshot(trees.append) == trees.append
    wait_for(lambda: len(trees) >= 2)
    profiler.close()
    seen = len(trees)
    assert trees[0][("a",)].calls == 5
    assert all(thread.name != "lineprofiler-snapshot" for thread in threading.enumerate())
    assert len(trees) == seen


def test_callback_as_a_decorator(run_dir: Path) -> None:
    with Profiler(run_dir) as profiler:

        @profiler.on_snapshot
        def look(tree: PhaseTree) -> None: ...

        assert look.__name__ == "look"
        with pytest.raises(TypeError):
            profiler.on_snapshot("no function")  # type: ignore[type-var]


def test_exceptions_of_callbacks_go_no_further(run_dir: Path) -> None:
    calls = []
    with Profiler(run_dir, snapshot_interval_s=0.01) as profiler:

        @profiler.on_snapshot
        def fail(tree: PhaseTree) -> None:
            calls.append("fail")
            raise ValueError("mine")

        profiler.on_snapshot(lambda tree: calls.append("after"))
        wait_for(lambda: calls.count("after") >= 2)
        assert profiler._snapshots is not None
        assert profiler._snapshots.failures >= 1


def test_close_from_inside_a_callback(run_dir: Path) -> None:
    with Profiler(run_dir, snapshot_interval_s=0.01) as profiler:
        profiler.on_snapshot(lambda tree: profiler.close())
        wait_for(lambda: profiler.closed)


def test_thread_does_not_keep_a_profiler_alive(run_dir: Path) -> None:
    profiler = Profiler(run_dir, snapshot_interval_s=0.01)
    profiler.on_snapshot(lambda tree: None)
    thread = next(thread for thread in threading.enumerate() if thread.name == "lineprofiler-snapshot")
    del profiler
    gc.collect()
    thread.join(30)
    assert not thread.is_alive()


@pytest.mark.parametrize("options", [{"snapshot_interval_s": None}, {"enabled": False}])
def test_never_called_without_an_interval_or_a_recording(run_dir: Path, options: dict[str, object]) -> None:
    before = threading.active_count()
    with Profiler(run_dir, **options) as profiler:  # type: ignore[arg-type]
        profiler.on_snapshot(lambda tree: None)
        assert threading.active_count() == before


def test_current_phase_is_the_deepest_over_all_threads(run_dir: Path) -> None:
    inside, leave = threading.Event(), threading.Event()

    def work() -> None:
        with profiler.phase("t"), profiler.phase("u"), profiler.phase("v"):
            inside.set()
            leave.wait(30)

    with Profiler(run_dir) as profiler:
        assert profiler.current_phase() == ""
        with profiler.phase("a"):
            assert profiler.current_phase() == "a"
            thread = threading.Thread(target=work)
            thread.start()
            inside.wait(30)
            assert profiler.current_phase() == "t/u/v"
            leave.set()
            thread.join()
            assert profiler.current_phase() == "a"
        assert profiler.current_phase() == ""


def test_io_counters_belong_to_a_part_to_come(run_dir: Path) -> None:
    with Profiler(run_dir) as profiler, pytest.raises(NotImplementedError, match="resource sampling"):
        profiler.io_counters()


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_child_of_a_fork_starts_its_intervals_and_callbacks_anew(program, run_dir: Path) -> None:
    program(
        """
        import os, threading
        from lineprofiler.accounting import Profiler
        p = Profiler("run", snapshot_interval_s=0.01)
        called = threading.Event()
        pid = os.getpid()
        p.on_snapshot(lambda tree: called.set() if os.getpid() != pid else None)
        for _ in range(7):
            with p.phase("a"): pass
        p.deltas()
        child = os.fork()
        if not child:
            with p.phase("a"): pass
            with p.phase("b"): pass
            d = {k: v.calls for k, v in p.deltas().items()}
            ok = d == {("a",): 1, ("b",): 1} and called.wait(30)
            os._exit(0 if ok else 1)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert p.deltas() == {}
        p.close()
        """
    )
    assert merge_run(run_dir).tree[("a",)].calls == 8
