"""Any str is a name, and comes back as it went in."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
from lineprofiler import accounting
from lineprofiler.accounting import Profiler, merge_run, report_as_dict

ODD = {
    "slash": "a/b",
    "only a slash": "/",
    "empty": "",
    "NUL": "a\0b",
    "only NUL": "\0",
    "newline": "a\nb",
    "escape": "\x1b[31mred",
    "lone surrogate": "a\ud800b",
    "lone low surrogate": "\udc80",
    "emoji": "🦊",
    "combining": "e\u0301",
    "bidi": "\u202eabc",
    "line separator": "a\u2028b",
    "markup": "</script><!--&\"'",
    "backslash": "\\u0041",
    "folded": "(folded)",
    "long": "x" * 10_000,
    "long and wide": "é" * 10_000,
    "latin": "café",
    "maximum": "\U0010ffff",
    "noncharacter": "\ufffe",
}


@pytest.mark.parametrize("name", ODD.values(), ids=ODD.keys())
def test_phase_name_comes_back(name: str, run_dir: Path) -> None:
    with Profiler(run_dir) as profiler:
        with profiler.phase(name):
            with profiler.phase(name):
                pass
        live = profiler.merged_tree()
    for tree in (live, merge_run(run_dir).tree):
        assert {path: stats.calls for path, stats in tree.items()} == {(name,): 1, (name, name): 1}


@pytest.mark.parametrize("name", ODD.values(), ids=ODD.keys())
def test_counter_name_comes_back(name: str, run_dir: Path) -> None:
    with Profiler(run_dir) as profiler:
        profiler.count(name, 3)
        with profiler.phase("p"):
            profiler.count(name, 4)
    tree = merge_run(run_dir).tree
    assert tree[()].counters == {name: 3}
    assert tree[("p",)].counters == {name: 4}


@pytest.mark.parametrize("role", ["a/b", "a\nb", "🦊", "\x1b[0m", "r" * 300, "\ud800"])
def test_role_comes_back(role: str, run_dir: Path) -> None:
    with Profiler(run_dir, role) as profiler, profiler.phase("x"):
        pass
    run = merge_run(run_dir)
    assert run.roles == [role]
    assert run.workers[0].role == role
    assert run.tree_of(role)[("x",)].calls == 1


def test_joined_name_and_nesting_are_kept_apart(run_dir: Path) -> None:
    with Profiler(run_dir) as profiler:
        with profiler.phase("a/b"):
            pass
        with profiler.phase("a"):
            for _ in range(2):
                with profiler.phase("b"):
                    pass
    tree = merge_run(run_dir).tree
    assert {path: stats.calls for path, stats in tree.items()} == {("a/b",): 1, ("a",): 1, ("a", "b"): 2}
    paths = [tuple(row["path"]) for role in report_as_dict(run_dir)["roles"] for row in role["phases"]]
    assert sorted(paths) == [("a",), ("a", "b"), ("a/b",)]


def test_subclass_of_str_is_a_name_by_its_characters(run_dir: Path) -> None:
    class Name(str):
        def __str__(self) -> str:
            return "other"

        def __hash__(self) -> int:
            return 1

        def __eq__(self, other: object) -> bool:
            raise AssertionError("compared")

    with Profiler(run_dir) as profiler:
        with profiler.phase(Name("x")):
            profiler.count(Name("n"), 2)
        with profiler.phase("x"):
            pass
    tree = merge_run(run_dir).tree
    assert tree[("x",)].calls == 2
    assert tree[("x",)].counters == {"n": 2}


def test_equal_texts_in_different_objects_are_one_name(run_dir: Path) -> None:
    with Profiler(run_dir) as profiler:
        for i in range(100):
            with profiler.phase("".join(["st", "ep", str(i % 2)])):
                pass
    assert {path: s.calls for path, s in merge_run(run_dir).tree.items()} == {("step0",): 50, ("step1",): 50}


@pytest.mark.parametrize("wrong", [3, 1.5, None, b"x", ["x"], object()], ids=repr)
def test_other_types_are_refused_at_the_call(wrong: object, run_dir: Path) -> None:
    with Profiler(run_dir, install=True) as profiler:
        for source in (accounting, profiler):
            for call in (source.phase, source.begin, source.count, lambda n, s=source: s.iterate(n, [])):
                with pytest.raises(TypeError):
                    call(wrong)  # type: ignore[operator]
        with profiler.phase("good"):
            pass
    assert {path: s.calls for path, s in merge_run(run_dir).tree.items()} == {("good",): 1}


def test_generated_names_warn_once_with_an_example(run_dir: Path) -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with Profiler(run_dir) as profiler:
            for i in range(127):
                with profiler.phase(f"episode_{i}"):
                    pass
            assert caught == []
            for i in range(127, 600):
                with profiler.phase(f"episode_{i}"):
                    pass
    assert [w.category for w in caught] == [RuntimeWarning]
    assert "episode_" in str(caught[0].message)
    assert len(merge_run(run_dir).tree) == 600


def test_generated_names_are_refused_when_names_are_strict(run_dir: Path) -> None:
    with Profiler(run_dir, strict_names=True) as profiler:
        for _ in range(2):
            with profiler.phase("episode_1"):
                pass
        with profiler.phase("other"):
            pass
        with pytest.raises(ValueError, match="episode_2"):
            with profiler.phase("episode_2"):
                pass
    assert {path: s.calls for path, s in merge_run(run_dir).tree.items()} == {("episode_1",): 2, ("other",): 1}


def test_more_names_than_the_ceiling_are_folded_and_counted(run_dir: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with Profiler(run_dir, max_paths=100) as profiler:
            for i in range(5_000):
                with profiler.phase(f"name {i}"):
                    pass
    tree = merge_run(run_dir).tree
    assert sum(stats.calls for stats in tree.values()) == 5_000
    folded = tree[("(folded)",)]
    assert 4_800 < folded.calls < 5_000
    assert folded.wall_ns > 0


def test_depth_has_no_limit(run_dir: Path) -> None:
    def down(n: int) -> None:
        with profiler.phase("r"):
            if n:
                down(n - 1)

    with Profiler(run_dir) as profiler:
        down(199)
    assert merge_run(run_dir).tree[("r",) * 200].calls == 1


def test_name_beyond_the_ceiling_is_a_wrong_call(run_dir: Path) -> None:
    accounting.start(run_dir=run_dir)
    with pytest.raises(ValueError, match="at most"), accounting.phase("x" * (1 << 21)):
        pass
    with pytest.raises(ValueError, match="at most"):
        accounting.count("x" * (1 << 21))
