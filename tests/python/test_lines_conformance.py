"""The right hits of every construct, by the profiler that users have: in a block, in a thread, in a child process."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import contextlib
import importlib.util
import json
import multiprocessing
import os
import sys
import threading
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from lineprofiler import LineProfiler

OWN = Path(__file__).parent / "data" / "statement_constructs.json"
SHARED = Path(os.environ.get("LP_SHARED", "/nonexistent")) / "data" / "hits_conformance.json"
VERSION = sys.version_info[:2]


def entries() -> list[Any]:
    found = []
    for path in (SHARED, OWN):
        if path.exists():
            found += json.loads(path.read_text(encoding="utf-8"))
    return [entry for entry in found if tuple(map(int, entry["min_python"].split("."))) <= VERSION]


def execute(path: str) -> None:
    """The file as a module of its own."""
    spec = importlib.util.spec_from_file_location("construct", path)
    assert spec is not None and spec.loader is not None
    with contextlib.suppress(Exception):
        spec.loader.exec_module(importlib.util.module_from_spec(spec))


def hits_of(document: dict[str, Any]) -> tuple[Counter[int], set[int]]:
    hits: Counter[int] = Counter()
    marked: set[int] = set()
    for function in document["functions"]:
        for row in function["rows"]:
            hits[row["line"]] += row["hits"]
            if row["mark"] == "events":
                marked.add(row["line"])
    return hits, marked


def check(entry: dict[str, Any], document: dict[str, Any]) -> None:
    hits, marked = hits_of(document)
    wanted = {int(row): count for row, count in entry["expected"].items()}
    right = {row: count for row, count in wanted.items() if row not in marked}
    assert {row: hits[row] for row in right} == right
    unproved = {row for row in marked & wanted.keys() if hits[row] != wanted[row]}
    assert len(unproved) <= (1 if "one_row" in entry["name"] else 0)


@pytest.fixture
def program(tmp_path: Path) -> Path:
    (tmp_path / ".git").mkdir()
    return tmp_path / "construct.py"


@pytest.mark.parametrize("entry", entries(), ids=lambda entry: entry["name"])
@pytest.mark.parametrize("where", ["here", "thread"])
def test_constructs(entry: dict[str, Any], where: str, program: Path) -> None:
    program.write_text(entry["source"], encoding="utf-8")
    profiler = LineProfiler(project_folder=program.parent)
    with profiler:
        if where == "here":
            execute(str(program))
        else:
            thread = threading.Thread(target=execute, args=(str(program),))
            thread.start()
            thread.join()
    check(entry, json.loads(profiler.to_json() or ""))


def test_constructs_in_a_child_process(tmp_path: Path) -> None:
    """All of them in one forked child, each a file of its own, merged by the run directory."""
    (tmp_path / ".git").mkdir()
    known = entries()
    for number, entry in enumerate(known):
        (tmp_path / f"construct{number}.py").write_text(entry["source"], encoding="utf-8")
    profiler = LineProfiler(project_folder=tmp_path, run_dir=tmp_path / "run")
    with profiler:
        child = multiprocessing.get_context("fork").Process(target=execute_all, args=(str(tmp_path), len(known)))
        child.start()
        child.join(60)
    assert child.exitcode == 0
    document = json.loads(profiler.to_json() or "")
    for number, entry in enumerate(known):
        (file,) = [i for i, file in enumerate(document["files"]) if file["path"].endswith(f"construct{number}.py")]
        check(entry, {"functions": [function for function in document["functions"] if function["file"] == file]})


def execute_all(folder: str, count: int) -> None:
    for number in range(count):
        execute(f"{folder}/construct{number}.py")
