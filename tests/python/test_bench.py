"""The frame of `make bench`: what it calls a target, a problem and a cell of the page.  Its figures are no test."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

BENCH = Path(__file__).resolve().parents[2] / "bench"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> Any:
    """Imports a module of the bench as its scripts do, and forgets all of them afterwards."""
    before = set(sys.modules)
    monkeypatch.syspath_prepend(str(BENCH))

    def module(name: str) -> Any:
        return __import__(name)

    yield module
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", "")).startswith(str(BENCH)):
            del sys.modules[name]


def test_figures_that_cannot_be_right_are_problems(bench: Any) -> None:
    rows = [
        {"name": "a boundary", "value": -3.0, "unit": "ns"},
        {"name": "a loop, bare again", "ratio": 1.3},
        {"name": "a good one", "ratio": 1.3},
        {"name": "a good twin again", "ratio": 1.1},
    ]
    problems = bench("run").impossible(rows)
    assert len(problems) == 2
    assert "a boundary is negative" in problems[0] and "bare again" in problems[1]


@pytest.mark.parametrize(
    ("version", "loop", "library"),
    [((3, 10), 3.2, None), ((3, 11), 3.2, None), ((3, 12), 2.2, 1.03), ((3, 15), 2.2, 1.03)],
)
def test_bounds_are_those_of_the_mechanism(
    bench: Any, version: tuple[int, int], loop: float, library: float | None
) -> None:
    bound = bench("targets").bound
    assert bound("lines: loop", version) == loop
    assert bound("lines: library", version) == library
    assert bound("no such row", version) is None


def test_a_missed_bound_is_bold_and_the_fastest_tenths_stand_beside(bench: Any) -> None:
    cell = bench("page").cell
    row = {"name": "lines: loop", "ratio": 2.5, "least_ratio": 1.75, "verdict": "missed"}
    assert cell(row) == "**2.500** (1.750)"
    assert cell({**row, "verdict": "ok"}) == "2.500 (1.750)"
    assert cell(None) == ""


def test_one_stalled_reading_makes_no_figure(bench: Any) -> None:
    measure = bench("measure")
    assert measure.fastest([1.0, *[10.0] * 40]) == 10.0
    assert measure.fastest([3.0, 2.0]) == 2.0
    assert measure.ratios([2.0, 9.0], [1.0, 0.0]) == [2.0]


def test_a_copy_is_a_program_of_its_own(bench: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    project = bench("lines_code").Project(str(tmp_path / "folder"))
    watched, bare = project.copy("deep", "watched"), project.copy("deep", "bare")
    assert watched.run(10) == bare.run(10) == 285
    assert watched.run.__code__ is not bare.run.__code__
    assert watched.run.__code__.co_firstlineno > 256
    assert watched.__file__.startswith(project.folder) and not bare.__file__.startswith(project.folder)


def test_the_slow_json_has_nothing_in_c(bench: Any) -> None:
    slow = bench("lines_code").slow_json("json_without_c")
    assert slow.encoder.c_make_encoder is None
    assert slow.dumps({"a": [1, "ü"]}) == '{"a": [1, "\\u00fc"]}'
