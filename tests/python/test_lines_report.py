"""Lines in a run's report: beside phases, alone, from several processes, and as other programs read them."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from conftest import Program
from lineprofiler import _core

ROOT = Path(__file__).resolve().parents[2]

WORK = """
    def inner(n):
        total = 0
        for i in range(n):
            total += i
        return total

    def outer():
        for k in range(50):
            inner(k)
"""

LINES_ALONE = (
    WORK
    + """
    import sys
    from lineprofiler import LineProfiler

    profiler = LineProfiler(run_dir=sys.argv[1])
    with profiler:
        with profiler.region("hot"):
            outer()
    """
)

WITH_PHASES = (
    WORK
    + """
    import sys
    from lineprofiler import LineProfiler, accounting

    accounting.start(run_dir=sys.argv[1], role="main")
    profiler = LineProfiler(run_dir=sys.argv[1])
    with accounting.phase("work"), profiler:
        outer()
    accounting.stop()
    """
)


def document(run_dir: Path) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads(_core.report(str(run_dir), "json"))
    return loaded


def hits(lines: dict[str, Any], name: str) -> dict[str, int]:
    """Executions by the text of the line."""
    (function,) = [each for each in lines["functions"] if each["name"] == name]
    return {row["source"].strip(): row["hits"] for row in function["rows"]}


def test_run_of_lines_alone_shows_lines_alone(program: Program, run_dir: Path) -> None:
    program(LINES_ALONE, str(run_dir))
    text = _core.report(str(run_dir)).decode()
    assert text.startswith("FUNCTIONS")
    assert "\nLINES " in text
    assert "CAVEATS" not in text and "Runtime" not in text
    found = document(run_dir)
    assert found["empty"] is None
    assert found["workers"] == []
    assert hits(found["lines"], "inner") == {
        "total = 0": 50,
        "for i in range(n):": 50 + sum(range(50)),
        "total += i": sum(range(50)),
        "return total": 50,
    }


def test_lines_change_nothing_of_the_accounting(program: Program, run_dir: Path) -> None:
    program(WITH_PHASES, str(run_dir))
    text = _core.report(str(run_dir)).decode()
    assert text.startswith("Runtime")
    assert "Processes 1 " in text
    assert text.index("DOMINANT PHASES") < text.index("FUNCTIONS") < text.index("\nLINES ")
    found = document(run_dir)
    assert len(found["workers"]) == 1
    assert [role["processes"] for role in found["roles"]] == [1]
    assert hits(found["lines"], "outer") == {"for k in range(50):": 51, "inner(k)": 50}


def test_documents_follow_their_schemas(program: Program, run_dir: Path) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    program(WITH_PHASES, str(run_dir))
    found = document(run_dir)
    for name, value in (("report", found), ("lines", found["lines"])):
        schema = json.loads((ROOT / "docs" / f"{name}.schema.json").read_text("utf-8"))
        jsonschema.Draft202012Validator(schema).validate(value)
    assert json.loads(_core.lines_render(str(run_dir), "json")) == found["lines"]


def test_exports_hold_all_of_the_time(program: Program, run_dir: Path) -> None:
    program(LINES_ALONE, str(run_dir))
    lines = document(run_dir)["lines"]
    collapsed = _core.lines_render(str(run_dir), "collapsed").splitlines()
    assert abs(sum(int(line.rsplit(" ", 1)[1]) for line in collapsed) - lines["profiled_ns"]) <= 1
    assert any("outer (" in line and ";inner (" in line for line in collapsed)
    profile = json.loads(_core.lines_render(str(run_dir), "speedscope"))["profiles"][0]
    assert profile["unit"] == "nanoseconds"
    assert abs(profile["endValue"] - lines["profiled_ns"]) <= 1


def test_region_has_the_lines_inside_it(program: Program, run_dir: Path) -> None:
    program(LINES_ALONE, str(run_dir))
    lines = document(run_dir)["lines"]
    (region,) = lines["regions"]
    assert region["entries"] == 1
    outer = [each["name"] for each in lines["functions"]].index("outer")
    assert {row["function"] for row in region["rows"]} >= {outer}
    assert region["self_ns"] <= lines["profiled_ns"]
    assert abs(region["share"] - region["self_ns"] / lines["profiled_ns"]) < 1e-3


def test_an_edited_source_is_not_shown(program: Program, run_dir: Path, tmp_path: Path) -> None:
    program(LINES_ALONE, str(run_dir))
    script = tmp_path / "prog.py"
    script.write_text(script.read_text("utf-8").replace("total", "total2"), "utf-8")
    lines = document(run_dir)["lines"]
    assert [each["source"] for each in lines["files"]] == ["changed"]
    assert all(row["source"] is None for each in lines["functions"] for row in each["rows"])
    assert "changed since it ran" in _core.lines_render(str(run_dir), "functions")


@pytest.mark.parametrize(
    "arguments", [{"format": "pictures"}, {"sort_by": "speed"}, {"unit": "weeks"}, {"top_n": -1}, {"why": 7}]
)
def test_wrong_arguments_are_refused(run_dir: Path, arguments: dict[str, Any]) -> None:
    with pytest.raises((ValueError, TypeError, OverflowError)):
        _core.lines_render(str(run_dir), arguments.pop("format", "top"), **arguments)


def test_a_directory_that_is_not_there_is_said(run_dir: Path) -> None:
    with pytest.raises(_core.ProfileStorageError):
        _core.lines_render(str(run_dir), "top")
