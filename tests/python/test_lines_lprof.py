"""``dump_stats``: what line_profiler's own loader makes of the file; written without that package."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import pickle
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from lineprofiler import LineProfiler


def count(n: int) -> int:
    total = 0
    for i in range(n):
        total += i
    return total


@pytest.fixture
def dumped(tmp_path: Path) -> tuple[Path, LineProfiler]:
    profiler = LineProfiler()
    with profiler:
        count(10)
    profiler.dump_stats(tmp_path / "deep" / "x.lprof")
    return tmp_path / "deep" / "x.lprof", profiler


class StandIn:
    """What the file names, for a reader without line_profiler."""

    def __init__(self, timings: Any, unit: float) -> None:
        self.timings, self.unit = timings, unit


class Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        assert (module, name) == ("line_profiler._line_profiler", "LineStats")
        return StandIn


def check(timings: Any, unit: float, profiler: LineProfiler) -> None:
    first = count.__code__.co_firstlineno
    rows = timings[__file__, first, "count"]
    assert unit == 1e-9
    assert [(line, hits) for line, hits, _ in rows] == [
        (first + 1, 1),
        (first + 2, 11),
        (first + 3, 10),
        (first + 4, 1),
    ]
    stats = profiler.get_stats()[__file__, "count", first]
    assert [time for _, _, time in rows] == [
        round(line.total_time * 1e9) for _, line in sorted(stats.line_stats.items())
    ]


def test_file_holds_lines_hits_and_nanoseconds(dumped: tuple[Path, LineProfiler]) -> None:
    path, profiler = dumped
    with path.open("rb") as file:
        stats = Reader(file).load()
    check(stats.timings, stats.unit, profiler)


def test_line_profiler_loads_it(dumped: tuple[Path, LineProfiler]) -> None:
    line_profiler = pytest.importorskip("line_profiler")
    path, profiler = dumped
    stats = line_profiler.load_stats(str(path))
    check(stats.timings, stats.unit, profiler)


def test_line_profiler_shows_it(dumped: tuple[Path, LineProfiler]) -> None:
    pytest.importorskip("line_profiler")
    done = subprocess.run(
        [sys.executable, "-m", "line_profiler", str(dumped[0])], capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0 and "total += i" in done.stdout and "Function: count" in done.stdout
