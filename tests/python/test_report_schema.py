"""The published schema of the JSON report: closed, complete, and true of the reports in tests/golden."""

# SPDX-License-Identifier: MIT

from __future__ import annotations

import copy
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

jsonschema = pytest.importorskip("jsonschema")

ROOT = Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "docs" / "report.schema.json").read_text("utf-8"))
REPORTS = ["mcts.json", "roles.json", "trouble.json", "empty.json"]


def report(name: str) -> dict[str, Any]:
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


@pytest.mark.parametrize("name", REPORTS)
def test_report_follows_the_schema(name: str) -> None:
    jsonschema.Draft202012Validator(SCHEMA).validate(report(name))


def test_schema_is_valid_and_requires_every_key() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    found = list(objects(SCHEMA))
    assert len(found) > 15
    for schema in found:
        assert schema["additionalProperties"] is False
        assert schema["required"] == list(schema["properties"])


@pytest.mark.parametrize("change", ["missing", "extra", "unmeasured as text", "share above one"])
def test_a_report_that_breaks_the_contract_is_refused(change: str) -> None:
    broken = copy.deepcopy(report("trouble.json"))
    phase = broken["roles"][0]["phases"][0]
    if change == "missing":
        del phase["p95_ns"]
    elif change == "extra":
        phase["surprise"] = 1
    elif change == "unmeasured as text":
        phase["cpu_ns"] = "n/a"
    else:
        phase["wait_share"] = 1.5
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.Draft202012Validator(SCHEMA).validate(broken)


@pytest.mark.parametrize("name", ["mcts.json", "roles.json"])
def test_self_times_and_outside_are_the_elapsed_time(name: str) -> None:
    for role in report(name)["roles"]:
        total = sum(phase["self_ns"] for phase in role["phases"]) + role["outside"]["ns"]
        assert total == pytest.approx(role["elapsed_ns"], rel=1e-9)


def test_qualifiers_are_in_the_document() -> None:
    phases = {tuple(phase["path"]): phase for phase in report("trouble.json")["roles"][0]["phases"]}
    assert phases["train",]["open"] == 1
    assert phases["train",]["p50_ns"] is None
    assert phases["train", "step", "load"]["cpu_ns"] is None
    assert phases["train", "step", "load"]["unmeasured"] == 12
    assert phases["train", "step", "forward"]["async_entries"] == 4000
    assert phases["train", "step", "rare"]["sampled"] == {"scale": 1, "skipped": 3, "calls_estimated": False}
    assert phases["train", "step", "rare"]["self_ns"] is None
    assert phases["train", "step", "forward"]["counters"]["huge"] == 8 * (2**63 - 1)
    assert phases["request",]["suspended_ns"] == 64 * 49_000_000
