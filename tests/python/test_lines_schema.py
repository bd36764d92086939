"""The published schema of the document of lines: closed, complete, and true of the documents in tests/golden."""

# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

jsonschema = pytest.importorskip("jsonschema")

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "docs" / "lines.schema.json").read_text("utf-8"))
DOCUMENTS = ["lines.json", "lines-mixed.json"]


def document(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((ROOT / "tests" / "golden" / name).read_bytes())
    return loaded


def objects(schema: Any) -> Iterator[dict[str, Any]]:
    if isinstance(schema, dict):
        if "properties" in schema:
            yield schema
        for value in schema.values():
            yield from objects(value)
    elif isinstance(schema, list):
        for value in schema:
            yield from objects(value)


@pytest.mark.parametrize("name", DOCUMENTS)
def test_document_follows_the_schema(name: str) -> None:
    jsonschema.Draft202012Validator(SCHEMA).validate(document(name))


def test_schema_is_closed_and_requires_every_key() -> None:
    for schema in objects(SCHEMA):
        assert schema["additionalProperties"] is False
        assert schema["required"] == list(schema["properties"])


def test_indexes_point_into_their_lists() -> None:
    for name in DOCUMENTS:
        lines = document(name)
        functions = len(lines["functions"])
        for function in lines["functions"]:
            assert 0 <= function["file"] < len(lines["files"])
            for call in function["callers"] + function["callees"]:
                assert 0 <= call["function"] < functions
            assert {row["line"] for row in function["rows"]} <= set(function["code_lines"])
        for index, region in enumerate(lines["regions"]):
            assert region["parent"] is None or region["parent"] < index


def test_self_times_add_up_in_whole_nanoseconds() -> None:
    for name in DOCUMENTS:
        lines = document(name)
        assert sum(each["self_ns"] for each in lines["files"]) == lines["profiled_ns"]
        for file in lines["files"]:
            assert sum(lines["functions"][each]["self_ns"] for each in file["functions"]) == file["self_ns"]
        for function in lines["functions"]:
            assert sum(row["self_ns"] for row in function["rows"]) == function["self_ns"]


def test_speedscope_events_are_balanced() -> None:
    for name in ("lines.speedscope.json", "lines-mixed.speedscope.json"):
        profile = document(name)["profiles"][0]
        stack: list[int] = []
        at = profile["startValue"]
        for event in profile["events"]:
            assert event["at"] >= at
            at = event["at"]
            if event["type"] == "O":
                stack.append(event["frame"])
            else:
                assert stack.pop() == event["frame"]
        assert not stack
        assert at == profile["endValue"]
