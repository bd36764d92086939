"""Entries: kept phases, tokens, iterators, sampling, ``async with``, and ends that come out of order."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import asyncio
import contextlib
import copy
import gc
import pickle
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lineprofiler import accounting
from lineprofiler.accounting import MergedRun, PhaseTree, Profiler, begin, count, end, iterate, merge_run, phase


@pytest.fixture
def profiler(run_dir: Path) -> Iterator[Profiler]:
    with Profiler(run_dir, install=True) as profiler:
        yield profiler


def entries(tree: PhaseTree) -> dict[str, int]:
    return {"/".join(path): stats.calls for path, stats in tree.items() if path}


def drops(run: MergedRun) -> dict[str, int]:
    found: dict[str, int] = {}
    for worker in run.workers:
        for reason, n in worker.facts["drops"].items():
            found[reason] = found.get(reason, 0) + n
    return {reason: n for reason, n in found.items() if n}


# ------------------------------------------------------------------------------------------------------ kept phases


def test_kept_phase_may_be_entered_again_and_in_itself(profiler: Profiler) -> None:
    kept = phase("k")
    for _ in range(3):
        with kept:
            pass
    with kept, kept:
        with kept:
            pass
    assert entries(profiler.merged_tree()) == {"k": 4, "k/k": 1, "k/k/k": 1}


def test_kept_phase_in_several_threads(profiler: Profiler) -> None:
    kept = phase("k")
    barrier = threading.Barrier(4)

    def work() -> None:
        barrier.wait(30)
        for _ in range(200):
            with kept:
                with kept:
                    pass

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert entries(profiler.merged_tree()) == {"k": 800, "k/k": 800}


def test_kept_phase_in_many_tasks(profiler: Profiler) -> None:
    kept = phase("k")

    async def work() -> None:
        async with kept:
            await asyncio.sleep(0.001)
        with kept:
            await asyncio.sleep(0)

    async def main() -> None:
        await asyncio.gather(*(work() for _ in range(64)))

    asyncio.run(main())
    assert entries(profiler.merged_tree()) == {"k": 128}


def test_kept_phase_follows_what_is_installed(tmp_path: Path) -> None:
    kept = phase("k")
    with kept:
        pass
    for name in ("a", "b"):
        with Profiler(tmp_path / name, install=True), kept:
            pass
    assert [entries(merge_run(tmp_path / name).tree) for name in ("a", "b")] == [{"k": 1}, {"k": 1}]


def test_with_gives_the_phase(profiler: Profiler) -> None:
    with phase("named") as entered:
        assert isinstance(entered, phase)
        assert entered.name == "named"


def test_phases_on_an_exit_stack_and_by_hand(profiler: Profiler) -> None:
    with contextlib.ExitStack() as stack:
        stack.enter_context(phase("a"))
        stack.enter_context(phase("b"))
        count("n", 1)
    by_hand = phase("c")
    by_hand.__enter__()
    count("n", 2)
    by_hand.__exit__(None, None, None)
    type(by_hand).__enter__(by_hand)
    type(by_hand).__exit__(by_hand, None, None, None)
    tree = profiler.merged_tree()
    assert entries(tree) == {"a": 1, "a/b": 1, "c": 2}
    assert tree[("a", "b")].counters == {"n": 1}
    assert tree[("c",)].counters == {"n": 2}


def test_exception_is_neither_swallowed_nor_changed(profiler: Profiler) -> None:
    error = KeyError("mine")
    with pytest.raises(KeyError) as caught:
        with phase("a"), phase("b"):
            raise error
    assert caught.value is error
    assert error.__context__ is None and error.__cause__ is None
    assert entries(profiler.merged_tree()) == {"a": 1, "a/b": 1}


def test_pending_exception_survives_whatever_ends_meanwhile(profiler: Profiler) -> None:
    class Ender:
        def __del__(self) -> None:
            with phase("in a finaliser"):
                count("n")

    with pytest.raises(ZeroDivisionError):
        holder = Ender()
        with phase("a"):
            del holder
            1 / 0  # noqa: B018
    assert entries(profiler.merged_tree()) == {"a": 1, "a/in a finaliser": 1}


# ------------------------------------------------------------------------------------------------------ out of order


def test_ends_out_of_order_end_their_own_phase(profiler: Profiler, run_dir: Path) -> None:
    a, b = phase("a"), phase("b")
    a.__enter__()
    b.__enter__()
    a.__exit__(None, None, None)
    with phase("c"):
        pass
    b.__exit__(None, None, None)
    with phase("d"):
        pass
    profiler.close()
    run = merge_run(run_dir)
    assert entries(run.tree) == {"a": 1, "a/b": 1, "a/b/c": 1, "d": 1}
    assert drops(run) == {"end_out_of_order": 1}


def test_exit_without_enter_is_counted_never_raised(profiler: Profiler, run_dir: Path) -> None:
    phase("a").__exit__(None, None, None)
    kept = phase("b")
    with kept:
        pass
    kept.__exit__(None, None, None)
    profiler.close()
    assert entries(merge_run(run_dir).tree) == {"b": 1}


def test_exit_on_another_thread_ends_the_phase(profiler: Profiler, run_dir: Path) -> None:
    opened = phase("a")
    opened.__enter__()
    thread = threading.Thread(target=opened.__exit__, args=(None, None, None))
    thread.start()
    thread.join()
    with phase("b"):
        pass
    profiler.close()
    tree = merge_run(run_dir).tree
    assert tree[("a",)].calls == 1 and tree[("a",)].open == 0
    assert entries(tree) == {"a": 1, "b": 1}


def test_consumer_of_a_generator_with_an_open_phase(profiler: Profiler) -> None:
    def generator() -> Iterator[int]:
        with phase("g"):
            yield 1
            yield 2

    made = generator()
    next(made)
    with phase("consumer"):
        next(made)
        with phase("inner"):
            pass
    with phase("after"):
        pass
    made.close()
    assert entries(profiler.merged_tree()) == {"g": 1, "consumer": 1, "consumer/inner": 1, "after": 1}


# ------------------------------------------------------------------------------------------------------ begin and end


def test_token_begins_and_ends(profiler: Profiler) -> None:
    token = begin("a")
    assert token.name == "a"
    count("n", 2)
    assert accounting.current() == "a"
    inner = begin("b")
    assert accounting.current() == "a/b"
    end(inner)
    end(token)
    assert accounting.current() == ""
    tree = profiler.merged_tree()
    assert entries(tree) == {"a": 1, "a/b": 1}
    assert tree[("a",)].counters == {"n": 2}


def test_second_end_is_counted_never_raised(profiler: Profiler, run_dir: Path) -> None:
    token = begin("a")
    end(token)
    end(token)
    end(token)
    profiler.close()
    run = merge_run(run_dir)
    assert entries(run.tree) == {"a": 1}
    assert drops(run) == {"end_without_begin": 2}
    assert "2" in accounting.render(run)


def test_token_that_nobody_keeps_ends_its_phase(profiler: Profiler, run_dir: Path) -> None:
    begin("a")
    gc.collect()
    with phase("b"):
        pass
    profiler.close()
    run = merge_run(run_dir)
    assert entries(run.tree) == {"a": 1, "b": 1}
    assert drops(run) == {"left_open": 1}


def test_end_takes_only_tokens(profiler: Profiler) -> None:
    for wrong in (None, 3, "a", phase("a")):
        with pytest.raises(TypeError):
            end(wrong)  # type: ignore[arg-type]


def test_token_of_one_profiler_ends_there_whatever_is_installed(tmp_path: Path) -> None:
    with Profiler(tmp_path / "a") as a, Profiler(tmp_path / "b", install=True) as b:
        token = a.begin("x")
        end(token)
        other = begin("y")
        a.end(other)
        b.end(token)
    assert entries(merge_run(tmp_path / "a").tree) == {"x": 1}
    assert entries(merge_run(tmp_path / "b").tree) == {"y": 1}


# ------------------------------------------------------------------------------------------------------ iterate


def test_iterate_measures_the_iterator_and_not_the_body(profiler: Profiler) -> None:
    def slow() -> Iterator[int]:
        for i in range(3):
            time.sleep(0.01)
            yield i

    for i in iterate("load", slow()):
        time.sleep(0.02)
        count("items", i)
    tree = profiler.merged_tree()
    assert tree[()].counters == {"items": 3}
    load = tree[("load",)]
    assert load.calls in (3, 4)
    assert 30_000_000 <= load.wall_ns < 60_000_000 + 30_000_000


def test_iterate_gives_what_the_iterable_gives(profiler: Profiler) -> None:
    assert list(iterate("x", [1, "two", None])) == [1, "two", None]
    assert list(iterate("x", [])) == []
    assert dict(iterate("x", {"a": 1}.items())) == {"a": 1}
    made = iterate("x", iter("ab"))
    assert iter(made) is made
    assert (next(made), next(made), next(made, "end")) == ("a", "b", "end")


def test_iterate_passes_exceptions(profiler: Profiler) -> None:
    def broken() -> Iterator[int]:
        yield 1
        raise LookupError("mine")

    made = iterate("x", broken())
    assert next(made) == 1
    with pytest.raises(LookupError, match="mine"):
        next(made)
    with pytest.raises(TypeError):
        iterate("x", 3)  # type: ignore[arg-type]
    with phase("after"):
        pass
    assert entries(profiler.merged_tree())["after"] == 1


def test_phases_inside_the_iterator_are_below_it(profiler: Profiler) -> None:
    def loader() -> Iterator[int]:
        for i in range(2):
            with phase("read"):
                pass
            yield i

    for _ in iterate("load", loader()):
        with phase("train"):
            pass
    found = entries(profiler.merged_tree())
    assert (found["load/read"], found["train"]) == (2, 2)


# ------------------------------------------------------------------------------------------------------ async with


def test_async_with(profiler: Profiler) -> None:
    async def main() -> None:
        async with phase("outer"):
            count("n", 1)
            async with phase("inner"):
                await asyncio.sleep(0)
        with pytest.raises(KeyError):
            async with phase("fails"):
                raise KeyError

    asyncio.run(main())
    tree = profiler.merged_tree()
    assert entries(tree) == {"outer": 1, "outer/inner": 1, "fails": 1}
    assert tree[("outer",)].counters == {"n": 1}


def test_children_of_a_batch_are_beside_it(profiler: Profiler) -> None:
    async def work() -> None:
        with phase("item"):
            await asyncio.sleep(0.001)

    async def main() -> None:
        async with phase("batch"):
            await asyncio.gather(*(work() for _ in range(5)))

    asyncio.run(main())
    assert entries(profiler.merged_tree()) == {"batch": 1, "item": 5}


@pytest.mark.skipif(sys.version_info[:2] == (3, 11), reason="3.11 does not measure it unless asked")
def test_suspended_time_is_told_from_active(profiler: Profiler) -> None:
    async def work() -> None:
        with phase("a"):
            await asyncio.sleep(0.05)

    asyncio.run(work())
    stats = profiler.merged_tree()[("a",)]
    assert stats.wall_ns >= 50_000_000
    if not stats.unmeasured:
        assert stats.suspended_ns >= 40_000_000
        assert stats.active_ns <= stats.wall_ns - stats.suspended_ns + 1
    else:
        assert stats.cpu_ns is None


# ------------------------------------------------------------------------------------------------------ sampling


def test_dropped_sampled_phase_suppresses_nothing(profiler: Profiler) -> None:
    for _ in range(50):
        phase("s", sample=0.01)
    with phase("x"):
        count("n")
    assert entries(profiler.merged_tree()) == {"x": 1}


def test_skipped_entries_are_counted_exactly(profiler: Profiler) -> None:
    for _ in range(10_000):
        with phase("s", sample=0.01):
            pass
    stats = profiler.merged_tree()[("s",)]
    assert stats.calls == 10_000
    assert 50 <= 10_000 / stats.sample_stride <= 200


def test_sampling_does_not_beat_with_the_program(profiler: Profiler) -> None:
    def work(n: int) -> None:
        end_ns = time.thread_time_ns() + n
        while time.thread_time_ns() < end_ns:
            pass

    total = 0
    for i in range(3_000):
        length = 100_000 if i % 2 else 20_000
        total += length
        with phase("s", sample=0.5):
            work(length)
    stats = profiler.merged_tree()[("s",)]
    assert stats.calls == 3_000
    assert stats.cpu_ns == pytest.approx(total, rel=0.12)


@pytest.mark.parametrize("wrong", [0, -0.5, 1.5, float("nan"), float("inf")])
def test_share_to_sample_is_above_0_and_at_most_1(wrong: float, profiler: Profiler) -> None:
    for make in (phase, profiler.phase):
        with pytest.raises(ValueError):
            make("s", sample=wrong)


@pytest.mark.parametrize("option", ["io", "sync"])
def test_option_of_a_part_to_come_is_refused_by_name(option: str, profiler: Profiler) -> None:
    options: dict[str, Any] = {option: True}
    for make in (phase, profiler.phase, Profiler(enabled=False).phase):
        with pytest.raises(NotImplementedError, match=option):
            make("s", **options)


# ------------------------------------------------------------------------------------------------------ live data


def test_tree_is_whole_while_others_count(profiler: Profiler) -> None:
    stop = threading.Event()

    def work() -> None:
        i = 0
        while not stop.is_set():
            with phase(f"p{i % 50}"):
                count(f"c{i % 7}", i % 1_000)
            i += 1

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    last = 0
    for _ in range(30):
        tree = profiler.merged_tree()
        total = sum(stats.calls for stats in tree.values())
        assert total >= last
        last = total
    stop.set()
    for thread in threads:
        thread.join()
    tree = profiler.merged_tree()
    for stats in tree.values():
        assert sum(counter.adds for counter in stats.counter_stats.values()) == stats.calls


def test_phases_are_neither_copied_nor_pickled() -> None:
    for wrong in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError):
            wrong(phase("x"))


def test_phase_holds_nothing_back(profiler: Profiler) -> None:
    """Reference counts of names and phases are as before after many entries."""
    name = "".join(["some ", "name"])
    with phase(name):
        pass
    before = sys.getrefcount(name)
    for _ in range(1_000):
        with phase(name):
            count(name)
        end(begin(name))
        list(iterate(name, [1]))
    assert sys.getrefcount(name) <= before + 2
    gc.collect()
    objects = len(gc.get_objects())
    for _ in range(1_000):
        with phase(name):
            pass
    gc.collect()
    assert len(gc.get_objects()) <= objects + 20
