"""Phases and counters as the user sees them in the report: nothing doubled, nothing lost, nothing above its whole."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import gc
import json
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from lineprofiler import accounting
from lineprofiler.accounting import Profiler, count, merge_run, phase, report_as_dict

LIMIT_S = 60


def text_of(run_dir: Path, *args: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "lineprofiler", "report", str(run_dir), *args],
        env={**os.environ, "LC_ALL": "C.UTF-8"},
        capture_output=True,
        encoding="utf-8",
        timeout=LIMIT_S,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def report(run_dir: Path, *args: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(text_of(run_dir, "--format", "json", "--top", "all", *args))
    return document


def phases_of(document: Mapping[str, Any], role: str | None = None) -> dict[tuple[str, ...], dict[str, Any]]:
    (found,) = [entry for entry in document["roles"] if role in (None, entry["role"])]
    return {tuple(row["path"]): row for row in found["phases"]}


def shares(document: Any, key: str = "") -> Iterator[tuple[str, float]]:
    """Every number that the document calls a share."""
    if isinstance(document, dict):
        for name, value in document.items():
            yield from shares(value, f"{key}/{name}" if name != "share" else f"{key}/share")
    elif isinstance(document, list):
        for value in document:
            yield from shares(value, key)
    elif isinstance(document, (int, float)) and key.rpartition("/")[2] in ("share", "wait_share", "other_share"):
        yield key, document


def assert_no_share_above_all(run_dir: Path) -> None:
    found = dict(shares(report(run_dir, "--workers")))
    assert len(found) >= 3
    assert {key: value for key, value in found.items() if not 0 <= value <= 1} == {}
    percents = [float(value) for value in re.findall(r"([\d.]+)%", text_of(run_dir, "--top", "all", "--wide"))]
    assert len(percents) >= 3
    assert max(percents) <= 100.0


def burn(ms: float) -> None:
    end = time.thread_time_ns() + int(ms * 1e6)
    while time.thread_time_ns() < end:
        pass


def retried(measure: Callable[[Path], list[str]], tmp_path: Path) -> None:
    """A busy machine may stop us between two readings of a clock; it does not do so three times in one place."""
    found = measure(tmp_path / "0")
    for attempt in range(1, 3):
        if found:
            found = measure(tmp_path / str(attempt))
    assert found == []


# -------------------------------------------------------------------------------------------------------- switching on


def test_timeline_word_of_the_environment_leaves_nothing_behind(program, tmp_path: Path) -> None:
    """What cannot be had is known before anything is set up, and never ends the program."""
    done = program(
        """
        import os
        before = dict(os.environ)
        from lineprofiler.accounting import Profiler, phase
        p = Profiler("run")
        with p.phase("x"): pass
        p.close()
        assert dict(os.environ) == before
        print("end")
        """,
        env={"LINEPROFILER_TRACE": "auto"},
        flags=("-W", "error"),
    )
    assert (done.stdout, done.stderr) == ("end\n", "")
    assert merge_run(tmp_path / "run").tree[("x",)].calls == 1


@pytest.mark.parametrize("word", ["off", "no", "FALSE", "0", "", "Off", "nO"])
@pytest.mark.parametrize("switch", ["LINEPROFILER_PROFILE", "LINEPROFILER_TRACE", "LINEPROFILER_EXACT_ASYNC"])
def test_words_for_off_switch_nothing_on(program, tmp_path: Path, switch: str, word: str) -> None:
    done = program(
        """
        from lineprofiler.accounting import Profiler, phase
        with Profiler() as p:
            print(p.enabled)
        """,
        env={switch: word},
        flags=("-W", "error"),
    )
    assert (done.stdout, done.stderr) == ("False\n", "")
    assert [path.name for path in tmp_path.iterdir()] == ["prog.py"]


def test_report_is_made_from_a_run_without_the_command_line(run_dir: Path, tmp_path: Path) -> None:
    with Profiler(run_dir) as profiler, profiler.phase("x"):
        pass
    accounting.write_report(run_dir, tmp_path / "r.txt")
    accounting.write_report(run_dir, tmp_path / "r.json", "json")
    assert (tmp_path / "r.txt").read_text() == accounting.render(run_dir)
    assert json.loads((tmp_path / "r.json").read_text())["roles"][0]["phases"][0]["path"] == ["x"]
    assert not hasattr(accounting, "report") or callable(accounting.report)


# -------------------------------------------------------------------------------------------------------------- names


def test_slash_in_a_name_and_nesting_are_two_phases_in_the_report(run_dir: Path) -> None:
    with Profiler(run_dir) as profiler:
        for _ in range(3):
            with profiler.phase("a/b"):
                pass
        with profiler.phase("a"):
            for _ in range(5):
                with profiler.phase("b"):
                    pass
        with profiler.phase(""):
            profiler.count("in the empty one", 4)
        profiler.count("outside", 6)
    document = report(run_dir)
    phases = phases_of(document)
    assert {path: row["calls"] for path, row in phases.items()} == {("a/b",): 3, ("a",): 1, ("a", "b"): 5, ("",): 1}
    assert phases[("",)]["counters"] == {"in the empty one": 4}
    assert document["roles"][0]["outside"]["counters"] == {"outside": 6}
    text = text_of(run_dir, "--top", "all")
    table = text[text.index("DOMINANT") :].split("\n\n")[0].splitlines()[1:]
    rows = [re.split("  +", line) for line in table if not line.startswith("  ")]
    assert sorted(row[1] for row in rows) == ["1", "1", "3", "5"]
    assert sorted(row[0] for row in rows) == ['""', '"a/b"', "a", "a/b"]


def test_slash_without_a_parent_keeps_its_role(run_dir: Path) -> None:
    with Profiler(run_dir, "actor") as profiler, profiler.phase("never/entered"):
        pass
    assert re.search(r"^ACTOR ", text_of(run_dir), re.M)
    assert phases_of(report(run_dir))[("never/entered",)]["calls"] == 1


def test_name_that_is_no_str_costs_only_its_call(program, run_dir: Path) -> None:
    done = program(
        """
        from lineprofiler.accounting import phase, start, stop
        start("run")
        for wrong in (3, None, b"x", 1.5, ("a",)):
            try:
                with phase(wrong): pass
            except TypeError as error:
                print(type(error).__name__)
        with phase("good"): pass
        stop()
        """
    )
    assert done.stdout == "TypeError\n" * 5
    assert {path: row["calls"] for path, row in phases_of(report(run_dir)).items()} == {("good",): 1}


def test_more_names_than_the_ceiling_are_one_visible_phase(run_dir: Path) -> None:
    with Profiler(run_dir, max_paths=50) as profiler:
        with profiler.phase("parent"):
            for i in range(300):
                with profiler.phase(chr(0x4E00 + i)):
                    profiler.count("n")
    document = report(run_dir)
    phases = phases_of(document)
    below = {path: row for path, row in phases.items() if len(path) == 2}
    assert sum(row["calls"] for row in below.values()) == 300
    folded = below[("parent", "(folded)")]
    assert 240 <= folded["calls"] < 300
    assert folded["wall_ns"] > 0
    assert folded["counters"] == {"n": folded["calls"]}
    assert document["roles"][0]["drops"]["folded"] == folded["calls"]
    assert "(folded)" in text_of(run_dir)


# ----------------------------------------------------------------------------------------------------------- counters


def test_count_outside_any_phase_is_shown_by_every_view(run_dir: Path) -> None:
    with Profiler(run_dir, "actor") as profiler:
        profiler.count("lonely", 5)
    (role,) = report(run_dir)["roles"]
    assert role["outside"]["counters"] == {"lonely": 5}
    outside = text_of(run_dir)
    outside = outside[outside.index("OUTSIDE ANY PHASE") :]
    assert re.search(r"^ +\+ lonely +5 .*always 5$", outside, re.M)


def test_huge_count_is_written_out_and_moves_no_column(run_dir: Path) -> None:
    with Profiler(run_dir) as profiler, profiler.phase("p"):
        for _ in range(8):
            profiler.count("big", 2**62)
        profiler.count("small", 3)
    total = 8 * 2**62
    (row,) = phases_of(report(run_dir)).values()
    assert row["counters"] == {"big": total, "small": 3}
    lines = text_of(run_dir, "--width", "80").splitlines()
    (huge,) = [line for line in lines if f"{total:,}" in line]  # a count is never shortened
    rate = re.search(rf" {total:,} +(\S+)/s ", huge)
    assert rate and len(rate[1]) <= 10  # what is derived from it is
    assert max(len(line) for line in lines if line != huge) <= 80
    (small,) = [line for line in lines if re.match(r" +\+ small ", line)]
    assert re.search(r" 3 +\S+/s +\S+/ea +always 3$", small)
    with Profiler(enabled=False) as profiler, pytest.raises(OverflowError):
        profiler.count("big", 2**70)


def test_bursts_and_a_steady_stream_of_one_mean_look_different(run_dir: Path) -> None:
    with Profiler(run_dir) as profiler, profiler.phase("p"):
        for i in range(100):
            profiler.count("steady", 4 + i % 2)
            profiler.count("bursts", 1 if i % 2 else 8)
    details = {entry["name"]: entry for entry in phases_of(report(run_dir))[("p",)]["counter_details"]}
    assert details["steady"]["mean"] == details["bursts"]["mean"] == 4.5
    assert (details["steady"]["min"], details["steady"]["max"]) == (4, 5)
    assert (details["bursts"]["min"], details["bursts"]["max"]) == (1, 8)
    assert details["steady"]["p95"] == pytest.approx(5, rel=0.04)
    assert details["bursts"]["p95"] == pytest.approx(8, rel=0.04)
    text = text_of(run_dir)
    assert re.search(r"\+ steady .* 4\.\.5$", text, re.M)
    assert re.search(r"\+ bursts .* 1\.\.8$", text, re.M)


# ----------------------------------------------------------------------------------------------------------- sampling


def test_sampling_every_second_entry_of_alternating_work_counts_right(run_dir: Path) -> None:
    """A fixed stride of two would give 0 or twice as much."""
    with Profiler(run_dir) as profiler:
        for i in range(6_000):
            with profiler.phase("s", sample=0.5):
                profiler.count("odd", i % 2)
    row = phases_of(report(run_dir))[("s",)]
    assert row["calls"] == 6_000
    assert row["sampled"]["skipped"] + row["measured"] == 6_000
    assert row["counters"]["odd"] == pytest.approx(3_000, rel=0.1)


def test_sampled_figures_are_marked_in_text_and_json(run_dir: Path) -> None:
    with Profiler(run_dir) as profiler:
        for _ in range(1_000):
            with profiler.phase("often", sample=0.1):
                with profiler.phase("below"):
                    pass
            with profiler.phase("always"):
                pass
    phases = phases_of(report(run_dir))
    assert phases[("often",)]["calls"] == 1_000
    assert phases[("often",)]["sampled"]["calls_estimated"] is False
    assert phases[("often", "below")]["sampled"]["calls_estimated"] is True
    assert phases[("always",)]["sampled"] is None
    text = text_of(run_dir, "--top", "all")
    marked = {name: bool(re.search(rf"^\s*~\S*{name}\b", text, re.M)) for name in ("often", "below", "always")}
    assert marked == {"often": True, "below": True, "always": False}


# -------------------------------------------------------------------------------------------------------------- threads


def test_loop_below_a_thread_name_has_its_iterations(run_dir: Path) -> None:
    def collect() -> None:
        for _ in range(40):
            with phase("batch"):
                burn(0.01)

    with Profiler(run_dir, install=True, thread_names=True):
        thread = threading.Thread(target=collect, name="collector")
        thread.start()
        thread.join()
        with phase("train"):
            for _ in range(100):
                with phase("iteration"):
                    with phase("forward"):
                        burn(0.1)
    (role,) = report(run_dir)["roles"]
    assert role["iterations"]["path"] == ["MainThread", "train", "iteration"]
    assert role["iterations"]["calls"] == 100
    assert role["iterations"]["p50_ns"] > 0
    assert phases_of(report(run_dir))[("collector", "batch")]["calls"] == 40
    assert re.search(r"^ITERATIONS  \(100 entries\)$.*^  train/iteration is ", text_of(run_dir), re.M | re.S)


def test_entries_of_many_threads_are_exact_while_a_callback_reads_them(run_dir: Path) -> None:
    with Profiler(run_dir, install=True, snapshot_interval_s=0.01) as profiler:
        seen: list[int] = []
        profiler.on_snapshot(lambda tree: seen.append(sum(stats.calls for stats in tree.values())))

        def work() -> None:
            while len(seen) < 3:  # at least while three snapshots are made
                entered(1_000)

        done = [0, 0, 0, 0]

        def entered(n: int) -> None:
            for _ in range(n):
                with phase("x"):
                    count("n")
            done[int(threading.current_thread().name)] += n

        threads = [threading.Thread(target=work, name=str(i)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert seen == sorted(seen)
    row = phases_of(report(run_dir))[("x",)]
    assert row["calls"] == row["counters"]["n"] == sum(done)
    assert sum(report(run_dir)["roles"][0]["drops"].values()) == 0


# ------------------------------------------------------------------------------------------- times, recursion, percent


@pytest.mark.parametrize("depth", [1, 10, 500])
def test_recursion_counts_each_moment_once(run_dir: Path, depth: int) -> None:
    def down(n: int) -> None:
        with phase("r"):
            if n > 1:
                down(n - 1)
            else:
                burn(5)

    with Profiler(run_dir, install=True):
        begun = time.perf_counter_ns()
        down(depth)
        elapsed = time.perf_counter_ns() - begun
    phases = phases_of(report(run_dir))
    assert {path: row["calls"] for path, row in phases.items()} == {("r",) * (i + 1): 1 for i in range(depth)}
    top = phases[("r",)]["wall_ns"]
    assert 5_000_000 <= top <= elapsed
    assert sum(row["self_ns"] for row in phases.values()) == pytest.approx(top, abs=2 * depth)
    assert_no_share_above_all(run_dir)


def test_doubly_recursive_function_stays_below_all(run_dir: Path) -> None:
    def fib(n: int) -> int:
        with phase("fib"):
            return n if n < 2 else fib(n - 1) + fib(n - 2)

    with Profiler(run_dir, install=True):
        assert fib(18) == 2_584
    phases = phases_of(report(run_dir))
    assert sum(row["calls"] for row in phases.values()) == 8_361
    assert len(phases) == 18  # one path per depth
    walls = [phases[("fib",) * (depth + 1)]["wall_ns"] for depth in range(18)]
    assert walls == sorted(walls, reverse=True)
    assert_no_share_above_all(run_dir)


def test_times_of_a_recursive_callee_are_not_added_up_twice(run_dir: Path) -> None:
    def g(n: int) -> None:
        with phase("g"):
            if n:
                time.sleep(0.02)
                g(n - 1)

    with Profiler(run_dir, install=True):
        begun = time.perf_counter_ns()
        with phase("f"):
            time.sleep(0.02)
            for n in (1, 2, 3):
                g(n)
        elapsed = time.perf_counter_ns() - begun
    phases = phases_of(report(run_dir))
    g_calls = {path: row["calls"] for path, row in phases.items() if path[-1] == "g"}
    assert g_calls == {("f", "g"): 3, ("f", "g", "g"): 3, ("f", "g", "g", "g"): 2, ("f", "g", "g", "g", "g"): 1}
    g_self = sum(row["self_ns"] for path, row in phases.items() if path[-1] == "g")
    assert g_self == pytest.approx(phases[("f", "g")]["wall_ns"], abs=20)  # each moment once
    assert g_self >= 6 * 20_000_000
    assert phases[("f",)]["self_ns"] >= 20_000_000
    assert phases[("f",)]["self_ns"] + g_self == pytest.approx(phases[("f",)]["wall_ns"], abs=20)
    assert 7 * 20_000_000 <= phases[("f",)]["wall_ns"] <= elapsed


def test_caller_has_its_own_time_and_the_callees_beside_it(run_dir: Path) -> None:
    with Profiler(run_dir, install=True):
        with phase("b"):
            time.sleep(0.05)
            with phase("a"):
                time.sleep(0.05)
    phases = phases_of(report(run_dir))
    a, b = phases[("b", "a")], phases[("b",)]
    assert a["wall_ns"] == a["self_ns"] >= 50_000_000
    assert b["self_ns"] >= 50_000_000
    assert b["wall_ns"] == pytest.approx(b["self_ns"] + a["wall_ns"], abs=2)


def test_phases_and_the_time_outside_them_are_the_elapsed_time(tmp_path: Path) -> None:
    def measure(directory: Path) -> list[str]:
        with Profiler(directory, install=True) as profiler:
            profiler.count("first record")
            begun = time.perf_counter_ns()
            gap = 0
            for name in ("load", "train", "save"):
                with phase(name):
                    burn(20)
                gap_begun = time.perf_counter_ns()
                time.sleep(0.02)
                gap += time.perf_counter_ns() - gap_begun
            with phase("end"):
                pass
            elapsed = time.perf_counter_ns() - begun
        (role,) = report(directory)["roles"]
        inside = sum(row["self_ns"] for row in role["phases"])
        assert inside + role["outside"]["ns"] == pytest.approx(role["elapsed_ns"], abs=10)
        assert role["outside"]["share"] == pytest.approx(role["outside"]["ns"] / role["elapsed_ns"], abs=1e-5)
        found = []
        if abs(role["elapsed_ns"] - elapsed) > 0.02 * elapsed + 1_000_000:
            found.append(f"elapsed {role['elapsed_ns']} against {elapsed}")
        if abs(role["outside"]["ns"] - gap) > 0.02 * gap + 1_000_000:
            found.append(f"outside {role['outside']['ns']} against {gap}")
        assert role["outside"]["ns"] >= 60_000_000
        return found

    retried(measure, tmp_path)


@pytest.mark.parametrize("annotated", [1, 2, 3])
def test_region_costs_the_same_whatever_follows_it(tmp_path: Path, annotated: int) -> None:
    """The recorder's own work is not charged to the last region."""

    def measure(directory: Path) -> list[str]:
        with Profiler(directory, install=True) as profiler:
            profiler.count("first record")
            walls = []
            for i in range(3):
                begun = time.perf_counter_ns()
                if i < annotated:
                    with phase(f"region {i}"):
                        burn(10)
                else:
                    burn(10)
                walls.append(time.perf_counter_ns() - begun)
        phases = phases_of(report(directory))
        assert len(phases) == annotated
        found = []
        for i in range(annotated):
            wall = phases[(f"region {i}",)]["wall_ns"]
            assert 10_000_000 <= wall <= walls[i]
            if wall < walls[i] * 0.99:
                found.append(f"region {i}: {wall} against {walls[i]}")
        return found

    retried(measure, tmp_path)


def test_known_shares_are_what_the_thread_clock_says(tmp_path: Path) -> None:
    def measure(directory: Path) -> list[str]:
        spent = {"a": 0, "b": 0, "c": 0}
        with Profiler(directory, install=True):
            for _ in range(20):
                for name, ms in (("a", 5), ("b", 3), ("c", 2)):
                    begun = time.perf_counter_ns()
                    with phase(name):
                        burn(ms)
                    spent[name] += time.perf_counter_ns() - begun
        (role,) = report(directory)["roles"]
        rows = {row["phase"]: row["active_ns"] for row in role["breakdown"]["rows"]}
        assert rows.keys() == spent.keys()
        ours, theirs = sum(rows.values()), sum(spent.values())
        distance = sum(abs(rows[name] / ours - spent[name] / theirs) for name in spent) / 2
        return [] if distance <= 0.005 else [f"{rows} against {spent}"]

    retried(measure, tmp_path)


def test_slow_phase_between_two_cheap_ones_has_the_time(run_dir: Path) -> None:
    with Profiler(run_dir, install=True):
        for _ in range(10):
            with phase("before"):
                pass
            with phase("slow"):
                time.sleep(0.005)
            with phase("after"):
                pass
    phases = phases_of(report(run_dir))
    assert phases[("slow",)]["min_ns"] >= 5_000_000
    # medians: a busy machine may stop the thread anywhere
    medians = {path: row["p50_ns"] for path, row in phases.items()}
    assert medians[("slow",)] >= 0.95 * sum(medians.values())


@pytest.mark.parametrize("end", ["close", "drop", "exhaust", "throw"])
def test_abandoned_generator_is_in_balance(run_dir: Path, end: str) -> None:
    def generator() -> Iterator[int]:
        with phase("g"):
            with phase("inner"):
                yield 1
                yield 2

    with Profiler(run_dir, install=True):
        made = generator()
        next(made)
        if end == "close":
            made.close()
        elif end == "exhaust":
            list(made)
        elif end == "throw":
            with pytest.raises(KeyError):
                made.throw(KeyError("mine"))
        del made
        gc.collect()
        with phase("after"):
            pass
    phases = phases_of(report(run_dir))
    calls = {path: (row["calls"], row["open"]) for path, row in phases.items()}
    assert calls == {("g",): (1, 0), ("g", "inner"): (1, 0), ("after",): (1, 0)}
    assert phases[("g",)]["wall_ns"] >= phases[("g", "inner")]["wall_ns"]


def test_bases_of_shares_do_not_change_with_a_selection(run_dir: Path) -> None:
    for role in ("actor", "learner"):
        with Profiler(run_dir, role, "one", install=True):
            for name, ms in (("one", 4), ("two", 2), ("three", 1)):
                with phase(name):
                    burn(ms)
    whole = report(run_dir)
    actor = next(role for role in whole["roles"] if role["role"] == "actor")
    (alone,) = report(run_dir, "--roles", "actor")["roles"]
    for role in (actor, alone):
        del role["spread"]  # indices into a list of workers, which is shorter now
    assert alone == actor
    block = text_of(run_dir)
    block = block[block.index("ACTOR") :]
    for selection in (("--roles", "actor"), ("--role", "actor"), ("--top", "1")):
        chosen = text_of(run_dir, *selection)
        chosen = chosen[chosen.index("ACTOR") :]
        assert chosen.split("DOMINANT")[0] == block.split("DOMINANT")[0]
    assert re.search(r"% of phase wall time", block)


def test_what_was_not_measured_is_absent_never_zero(run_dir: Path) -> None:
    with Profiler(run_dir, install=True, measure_cpu=False), phase("x"):
        pass
    document = report(run_dir, "--workers")
    row = phases_of(document)[("x",)]
    assert (row["cpu_ns"], row["wait_ns"], row["wait_share"]) == (None, None, None)
    assert document["workers"][0]["rank"] in (None, 0)
    text = text_of(run_dir, "--wide", "--width", "200")
    assert re.search(r"^x +1 .* n/a ", text, re.M)
    assert "GPU" not in text  # a column without a source
    assert document["resources"] is None and document["findings"] is None


def test_cost_of_measuring_is_stated_with_its_share(run_dir: Path) -> None:
    with Profiler(run_dir, install=True):
        for _ in range(2_000):
            with phase("empty"):
                pass
    document = report(run_dir, "--workers")
    measuring, (clock,) = document["run"]["measuring"], document["run"]["clocks"]
    assert measuring["entries"] == 2_000
    assert clock["entry_cost_ns"] > 0
    assert measuring["cost_ns"] == pytest.approx(2_000 * document["workers"][0]["clock"]["entry_cost_ns"], rel=0.01)
    assert re.search(r"^Measuring 2,000 entries took about ", text_of(run_dir), re.M)
    # An empty phase is charged at most what a whole entry takes, seen from outside.
    assert phases_of(document)[("empty",)]["wall_ns"] <= document["roles"][0]["elapsed_ns"]


def test_run_and_its_dictionary_and_its_page_give_the_same_figures(run_dir: Path) -> None:
    with Profiler(run_dir, install=True):
        for i in range(50):
            with phase("outer"):
                count("n", i)
                with phase("inner"):
                    burn(0.1)
    assert report_as_dict(run_dir)["roles"] == report(run_dir)["roles"]
    tree = merge_run(run_dir).tree
    for path, row in phases_of(report(run_dir)).items():
        assert row["calls"] == tree[path].calls
        assert row["wall_ns"] == pytest.approx(tree[path].wall_ns, abs=1)
        assert row["counters"] == tree[path].counters
