"""Runs read back: merged runs, trees, histograms, reports written to files, and what bad input does."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import os
import pickle
import random
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from lineprofiler import accounting
from lineprofiler.accounting import (
    DurationHistogram,
    MergedRun,
    PhaseStats,
    PhaseTree,
    Profiler,
    merge_run,
    merge_trees,
    render,
    report_as_dict,
    write_report,
)
from lineprofiler.accounting._stats import CounterStats
from lineprofiler.errors import ProfileError, ProfileFormatError, ProfileStorageError, ProfileUsageError


@pytest.fixture
def recorded(run_dir: Path) -> Path:
    """Two roles, nesting, counters."""
    with Profiler(run_dir, "actor", "one") as profiler:
        for i in range(20):
            with profiler.phase("iteration"):
                with profiler.phase("select"):
                    profiler.count("depth", i % 4)
                with profiler.phase("expand"):
                    pass
        profiler.count("games", 2)
    with Profiler(run_dir, "learner", "one") as profiler:
        for _ in range(5):
            with profiler.phase("update"):
                pass
    return run_dir


# ---------------------------------------------------------------------------------------------------------- merge_run


def test_merged_run_has_roles_workers_and_trees(recorded: Path) -> None:
    run = merge_run(recorded)
    assert isinstance(run, MergedRun)
    assert run.run_id == "one"
    assert run.empty_reason == ""
    assert sorted(run.roles) == ["actor", "learner"]
    assert run.unreadable == [] and run.superseded == [] and run.missing_ranks == []
    assert len(run.hosts) == 1
    actor, learner = run.tree_of("actor"), run.tree_of("learner")
    assert actor[("iteration", "select")].counters == {"depth": 30}
    assert actor[()].counters == {"games": 2}
    assert learner[("update",)].calls == 5
    assert run.tree == merge_trees(actor, learner)
    assert run.tree_of("nosuch") == {}
    assert [worker.pid for worker in run.workers_of("actor")] == [os.getpid()]
    (worker,) = run.workers_of("learner")
    assert worker.tree == learner
    assert worker.run_id == "one"
    assert worker.host == run.hosts[0]
    assert worker.label in (f"{worker.host}:{worker.pid}", f"rank {worker.rank} ({worker.host})")
    assert worker.started_at is not None and worker.written_at is not None
    assert worker.started_at <= worker.written_at
    assert (recorded / worker.path).is_file()
    assert run.metadata["run_id"] == "one"
    assert run.imbalance >= 1.0


def test_times_of_a_tree_add_up(recorded: Path) -> None:
    tree = merge_run(recorded).tree
    for path, stats in tree.items():
        children = [child for key, child in tree.items() if key and key[:-1] == path and path]
        if children:
            taken = sum(child.wall_ns for child in children)
            assert stats.child_wall_ns == pytest.approx(taken, rel=1e-6, abs=len(children) * 2)
        if path:
            assert stats.self_ns + stats.child_wall_ns == stats.wall_ns
            assert stats.hist.count == stats.calls
            assert stats.min_ns is not None and stats.max_ns is not None
            assert stats.min_ns <= stats.quantile(0.5) <= stats.max_ns  # type: ignore[operator]
            assert stats.min_ns * stats.calls <= stats.wall_ns + stats.calls
            assert stats.wait_ns is not None and 0 <= stats.wait_ns <= stats.wall_ns


def test_selections(recorded: Path) -> None:
    assert merge_run(recorded, roles="learner").roles == ["learner"]
    assert merge_run(recorded, attempt="one").run_id == "one"
    assert merge_run(str(recorded), True, False, read_only=True, any_owner=True).run_id == "one"
    with pytest.raises(ProfileUsageError, match="one"):
        merge_run(recorded, attempt="nosuch")
    with pytest.raises(NotImplementedError, match="timeline"):
        merge_run(recorded, with_trace=True)


def test_parts_to_come_are_empty(recorded: Path) -> None:
    run = merge_run(recorded)
    assert run.samples_of("actor") == [] and run.backend_artifacts() == []
    assert run.samples_by_process() == {} and run.hardware_by_host == {}
    assert run.workers[0].samples == [] and run.workers[0].trace is None


def test_missing_and_empty_directories_say_which(tmp_path: Path) -> None:
    missing = merge_run(tmp_path / "nosuch")
    assert (missing.empty_reason, missing.roles, missing.tree, missing.workers) == ("missing", [], {}, [])
    (tmp_path / "empty").mkdir()
    (tmp_path / "empty" / "notes.txt").write_text("not ours")
    assert merge_run(tmp_path / "empty").empty_reason == "no_worker_files"
    assert missing.imbalance == 1.0 and missing.hosts == [] and missing.metadata == {}


def test_run_of_another_tool_is_refused_by_name(tmp_path: Path) -> None:
    workers = tmp_path / "other" / "workers" / "host"
    workers.mkdir(parents=True)
    (workers / "w_20260101T000000-abcdef_1_00000000.json").write_text('{"version": 1, "pid": 1}')
    (tmp_path / "other" / "metadata.json").write_text("{}")
    with pytest.raises(ProfileFormatError) as caught:
        merge_run(tmp_path / "other")
    assert caught.value.slug == "foreign-run"


def test_file_instead_of_a_directory(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(ProfileError):
        report_as_dict(tmp_path / "file")


def worker_file(run_dir: Path, role: str) -> Path:
    (worker,) = merge_run(run_dir).workers_of(role)
    return run_dir / worker.path


def test_bad_file_beside_a_good_one_costs_itself(recorded: Path) -> None:
    bad = worker_file(recorded, "learner")
    size = bad.stat().st_size
    bad.write_bytes(b"\xff" * size)
    run = merge_run(recorded)
    assert run.roles == ["actor"]
    assert run.tree_of("actor")[("iteration",)].calls == 20
    assert [entry["file"] for entry in run.unreadable] == [str(bad.relative_to(recorded))]
    assert bad.name in render(recorded)


def test_only_bad_files_still_give_a_report_that_names_each(recorded: Path) -> None:
    names = []
    for role in ("actor", "learner"):
        path = worker_file(recorded, role)
        names.append(path.name)
        path.write_bytes(b"not one of ours\n" * 100)
    run = merge_run(recorded)
    assert sorted(Path(entry["file"]).name for entry in run.unreadable) == sorted(names)
    text = render(recorded)
    assert all(name in text for name in names)


def test_file_cut_at_any_length_never_stops_the_others(recorded: Path) -> None:
    path = worker_file(recorded, "actor")
    whole = path.read_bytes()
    rng = random.Random(1)
    used = len(whole.rstrip(b"\0"))
    for length in [0, 1, 7, 8, 63, 64, 4095, *(rng.randrange(used) for _ in range(40))]:
        path.write_bytes(whole[:length])
        run = merge_run(recorded)
        assert run.tree_of("learner")[("update",)].calls == 5
        assert run.tree_of("actor").get(("iteration",), PhaseStats()).calls <= 20


def test_random_bytes_cost_at_most_their_file(recorded: Path) -> None:
    path = worker_file(recorded, "actor")
    whole = path.read_bytes()
    rng = random.Random(2)
    used = len(whole.rstrip(b"\0"))
    for _ in range(60):
        broken = bytearray(whole)
        for _ in range(rng.randrange(1, 30)):
            broken[rng.randrange(used)] = rng.randrange(256)
        path.write_bytes(broken)
        run = merge_run(recorded)
        assert run.tree_of("learner")[("update",)].calls == 5
        render(recorded)
        report_as_dict(recorded)


def test_pipe_link_and_device_are_not_followed(recorded: Path) -> None:
    folder = worker_file(recorded, "learner").parent
    name = worker_file(recorded, "learner").name
    stem, _, rest = name.partition("_")
    os.mkfifo(folder / name.replace("one", "fifo"))
    os.symlink("/dev/zero", folder / name.replace("one", "zero"))
    os.symlink("/etc/passwd", folder / name.replace("one", "link"))
    done: list[MergedRun] = []
    thread = threading.Thread(target=lambda: done.append(merge_run(recorded, attempt="one")), daemon=True)
    thread.start()
    thread.join(30)
    assert done and done[0].tree_of("learner")[("update",)].calls == 5


# ---------------------------------------------------------------------------------------------------------- reports


def test_text_json_and_tree_agree(recorded: Path) -> None:
    tree = merge_run(recorded).tree
    document = report_as_dict(merge_run(recorded))
    text = render(recorded)
    assert text.endswith("\n") and "ACTOR" in text and "LEARNER" in text
    rows = {tuple(row["path"]): row for role in document["roles"] for row in role["phases"]}
    for path, stats in tree.items():
        if path:
            row = rows[path]
            assert row["calls"] == stats.calls
            assert row["wall_ns"] == pytest.approx(stats.wall_ns, abs=1)
            assert row["self_ns"] == pytest.approx(stats.self_ns, abs=2)
            assert row["wait_ns"] == pytest.approx(stats.wait_ns, abs=2)
            assert row["p50_ns"] == pytest.approx(stats.quantile(0.5), abs=2)
            assert row["counters"] == stats.counters


def test_report_is_a_function(recorded: Path) -> None:
    assert accounting.report(recorded) == render(recorded)
    assert json.loads(accounting.report(recorded, "json")) == report_as_dict(recorded)
    with pytest.raises(ValueError, match="format"):
        accounting.report(recorded, "yaml")


def test_width_is_kept(recorded: Path) -> None:
    assert max(map(len, render(recorded, width=100).splitlines())) <= 100


def test_report_is_written_and_parents_are_made(recorded: Path, tmp_path: Path) -> None:
    target = tmp_path / "new" / "folder" / "report.txt"
    write_report(recorded, target)
    assert "ACTOR" in target.read_text()
    write_report(str(recorded), str(target), "json")
    assert json.loads(target.read_text())["schema"] == 1
    assert sorted(path.name for path in target.parent.iterdir()) == ["report.txt"]


@pytest.mark.parametrize(("format", "error"), [("yaml", ValueError), ("html", NotImplementedError)])
def test_other_formats_are_refused_and_nothing_is_made(recorded: Path, tmp_path: Path, format: str, error) -> None:
    with pytest.raises(error, match="format"):
        write_report(recorded, tmp_path / "new" / "r", format)
    assert not (tmp_path / "new").exists()


def test_no_run_means_no_file(tmp_path: Path) -> None:
    with pytest.raises(ProfileStorageError):
        write_report(tmp_path / "nosuch", tmp_path / "new" / "r")
    assert not (tmp_path / "new").exists()


def test_file_that_cannot_be_written_is_a_storage_error_with_its_name(recorded: Path, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(ProfileStorageError) as caught:
        write_report(recorded, tmp_path / "file" / "r")
    assert isinstance(caught.value, OSError)
    assert "file" in str(caught.value)


def test_link_is_refused_and_its_target_left_alone(recorded: Path, tmp_path: Path) -> None:
    (tmp_path / "precious").write_text("mine")
    (tmp_path / "link").symlink_to("precious")
    with pytest.raises(ProfileStorageError):
        write_report(recorded, tmp_path / "link")
    assert (tmp_path / "precious").read_text() == "mine"


def test_device_is_written_through(recorded: Path) -> None:
    write_report(recorded, "/dev/null")
    assert not os.path.isfile("/dev/null")


# ---------------------------------------------------------------------------------------------------------- errors


def test_error_carries_code_slug_and_offset(tmp_path: Path) -> None:
    with pytest.raises(ProfileStorageError) as caught:
        render(tmp_path / "nosuch")
    error = caught.value
    assert (error.slug, error.code < 0, error.offset) == ("not-found", True, 0)
    assert "nosuch" in str(error)
    assert "\n" not in str(error)


@pytest.mark.parametrize("wrong", [None, 3, b"\0", object()], ids=repr)
def test_wrong_type_of_directory(wrong: object) -> None:
    for call in (merge_run, render, report_as_dict):
        with pytest.raises((TypeError, ValueError)):
            call(wrong)  # type: ignore[operator]


# ------------------------------------------------------------------------------------------------- trees in memory


def naive_quantile(values: list[int], q: float) -> int:
    return sorted(values)[min(len(values) - 1, max(0, round(q * len(values)) - 1))]


def test_histogram_is_right_to_a_bucket() -> None:
    rng = random.Random(3)
    values = [int(rng.lognormvariate(9, 3)) for _ in range(5_000)]
    hist = DurationHistogram()
    for value in values:
        hist.record(value)
    assert hist.count == len(values)
    for q in (0.01, 0.25, 0.5, 0.9, 0.99):
        assert hist.quantile(q) == pytest.approx(naive_quantile(values, q), rel=1 / 16, abs=1)
    assert hist.min_bound is not None and hist.max_bound is not None
    assert hist.min_bound <= min(values) and max(values) <= hist.max_bound
    assert DurationHistogram.from_dict(json.loads(json.dumps(hist.to_dict()))) == hist
    assert pickle.loads(pickle.dumps(hist)) == hist


def test_small_values_are_exact_and_large_ones_fit() -> None:
    for value in (*range(16), 2**40, 2**63 - 1, 2**64 - 1):
        hist = DurationHistogram()
        hist.record(value)
        assert hist.min_bound is not None and hist.max_bound is not None
        assert hist.min_bound <= value <= hist.max_bound
        if value < 16:
            assert hist.min_bound == hist.max_bound == value
    assert DurationHistogram().quantile(0.5) is None


def test_difference_takes_back_what_merge_added() -> None:
    rng = random.Random(4)
    for _ in range(50):
        a, b = DurationHistogram(), DurationHistogram()
        for hist in (a, b):
            for _ in range(rng.randrange(40)):
                hist.record(rng.randrange(10_000))
        both = a.copy()
        both.merge(b)
        assert both.difference(a) == b
        assert both.count == a.count + b.count


def test_value_that_moved_to_the_next_bucket_is_no_difference() -> None:
    earlier, now = DurationHistogram(), DurationHistogram()
    earlier.record(1_023)
    now.record(1_024)
    now.record(5)
    change = now.difference(earlier)
    assert [(low, n) for low, _, n in change.buckets()] == [(5, 1)]


def test_merging_leaves_the_sources_alone_and_owns_its_result() -> None:
    source = PhaseTree({("a",): PhaseStats(calls=1, wall_ns=5)})
    source[("a",)].add_count("n", 3)
    before = pickle.loads(pickle.dumps(source))
    merged = merge_trees(source, source)
    assert merged[("a",)].calls == 2 and merged[("a",)].counters == {"n": 6}
    merged[("a",)].add_count("n", 100)
    merged[("a",)].hist.record(7)
    assert source == before
    assert merge_trees([source, source]) == merge_trees(source, source)
    assert merge_trees() == {}


def test_merge_in_any_order_gives_one_result() -> None:
    rng = random.Random(5)
    trees = []
    for _ in range(6):
        tree = PhaseTree()
        for name in rng.sample("abcd", 3):
            stats = tree[(name,)] = PhaseStats()
            for _ in range(rng.randrange(1, 9)):
                wall = rng.randrange(1_000)
                stats.record(wall, rng.randrange(wall + 1), rng.randrange(wall + 1))
                stats.add_count("n", rng.randrange(-5, 50))
        trees.append(tree)
    results = []
    for _ in range(5):
        rng.shuffle(trees)
        results.append(merge_trees(*trees))
    assert all(result == results[0] for result in results)


def test_recording_by_hand_equals_the_arguments() -> None:
    stats = PhaseStats()
    for wall, cpu in ((10, 4), (30, 30)):
        stats.record(wall, cpu, child_wall_ns=3)
    stats.add_count("n", 5)
    stats.add_count("n", -1)
    assert (stats.calls, stats.wall_ns, stats.cpu_ns, stats.child_wall_ns) == (2, 40, 34, 6)
    assert (stats.self_ns, stats.wait_ns, stats.min_ns, stats.max_ns) == (34, 6, 10, 30)
    assert (stats.counters, stats.counter_min, stats.counter_max) == ({"n": 4}, {"n": -1}, {"n": 5})
    given = PhaseStats(2, 40, 34, 6, stats.hist.copy(), {"n": 4}, 0, {"n": -1}, {"n": 5}, 0)
    assert (given.self_ns, given.wait_ns, given.counters) == (stats.self_ns, stats.wait_ns, stats.counters)


def test_unmeasured_is_never_zero() -> None:
    stats = PhaseStats()
    stats.record(10, None)
    stats.record(10, 5)
    assert stats.cpu_ns is None and stats.wait_ns is None
    other = PhaseStats()
    other.record(1, 1)
    other.merge(stats)
    assert other.cpu_ns is None and other.wait_ns is None


def test_stats_survive_json_and_pickle() -> None:
    stats = PhaseStats(open=1, open_ns=4, suspended_ns=2, async_entries=1, sample_stride=3)
    stats.record(100, 50)
    stats.add_count("n", 3)
    stats.add_count("n", 1_000)
    assert PhaseStats.from_dict(json.loads(json.dumps(stats.to_dict()))) == stats
    assert pickle.loads(pickle.dumps(stats)) == stats
    assert stats.copy() == stats and stats.copy() is not stats
    assert PhaseStats.from_dict({}) == PhaseStats()


COUNTER_CASES: list[tuple[list[int], list[int], tuple[int, int]]] = [
    ([1], [9], (9, 9)),
    ([-5, 3], [-2, 1], (-2, 1)),
    ([7, 7], [7], (7, 7)),
    ([0], [-3], (-3, -3)),
    ([-1, -9], [-4], (-4, -4)),
]


@pytest.mark.parametrize(("first", "second", "bounds"), COUNTER_CASES)
def test_difference_of_a_counter(first: list[int], second: list[int], bounds: tuple[int, int]) -> None:
    stats = PhaseStats()
    for n in first:
        stats.add_count("n", n)
    earlier = stats.copy()
    for n in second:
        stats.add_count("n", n)
    delta = stats.difference(earlier).counter_stats["n"]
    assert (delta.total, delta.adds) == (sum(second), len(second))
    assert (delta.min, delta.max) == bounds


def test_quantile_of_a_counter_crosses_zero() -> None:
    counter = CounterStats(-4, 1, -4, -4)
    for n in (-2, 0, 3, 8):
        counter.add(n)
    assert counter.quantile(0.0) == -4
    assert counter.quantile(1.0) == 8
    middle = counter.quantile(0.5)
    assert middle is not None and -2 <= middle <= 3


def test_sampled_phase_is_scaled_and_its_entries_exact(run_dir: Path) -> None:
    burn: Callable[[], int] = lambda: sum(range(50))  # noqa: E731
    with Profiler(run_dir) as profiler:
        for _ in range(4_000):
            with profiler.phase("s", sample=0.1):
                burn()
                with profiler.phase("below"):
                    profiler.count("n", 1)
    stats = merge_run(run_dir).tree
    row = next(
        row for role in report_as_dict(run_dir)["roles"] for row in role["phases"] if tuple(row["path"]) == ("s",)
    )
    assert stats[("s",)].calls == row["calls"] == 4_000
    assert stats[("s",)].sample_stride in range(8, 13)
    assert stats[("s",)].wall_ns == pytest.approx(row["wall_ns"], rel=1e-5)
    assert stats[("s", "below")].calls == pytest.approx(4_000, rel=0.25)
    assert stats[("s", "below")].counters["n"] == pytest.approx(4_000, rel=0.25)
    assert "~" in accounting.render(run_dir)
