# SPDX-License-Identifier: MIT
"""Writes the figures of build/bench.json into docs/bench.md, between its two marks: one column for each Python version
that `make bench` has measured. Nothing on that page between the marks is written by hand.

    python bench/page.py
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from run import GROUPS, shown
from targets import bound

ROOT = Path(__file__).resolve().parent.parent
PAGE, RESULTS = ROOT / "docs/bench.md", ROOT / "build/bench.json"
BEGIN, END = "<!-- figures: bench/page.py -->", "<!-- end of figures -->"
Row = dict[str, Any]


def cell(row: Row | None) -> str:
    if row is None:
        return ""
    value = row.get("ratio", row.get("value"))
    unit = "" if row.get("unit", "ratio") == "ratio" else f" {row['unit']}"
    mark = {"missed": "**", "ok": ""}.get(row["verdict"] or "", "")
    least = f" ({shown(row['least_ratio'])})" if "least_ratio" in row else ""
    return f"{mark}{shown(value)}{unit}{mark}{least}"


def table(group: str, runs: dict[str, dict[str, Row]]) -> list[str]:
    names = list(dict.fromkeys(n for rows in runs.values() for n, row in rows.items() if row["group"] == group))
    if not names:
        return []
    versions = list(runs)
    lines = [
        f"### {group}: {GROUPS[group][0]}",
        "",
        f"| | at most | {' | '.join(versions)} |",
        f"|---|---{'|---' * len(versions)}|",
    ]
    for name in names:
        target = bound(name, (3, 12))
        cells = " | ".join(cell(rows.get(name)) for rows in runs.values())
        lines.append(f"| {name} | {'' if target is None else shown(target)} | {cells} |")
    return [*lines, ""]


def facts(results: dict[str, Any]) -> list[str]:
    """Said once, and for each run what differs between them."""
    one = next(iter(results.values()))
    loads = ", ".join(f"{version}: {each['load']}" for version, each in results.items())
    revisions = ", ".join(dict.fromkeys(each for run in results.values() for each in run["revision"].split(", ")))
    return [
        f"{one['cpu']}, {one['cores']} cores, Linux {one['kernel']}; {one['build']}; revision {revisions}. "
        f"Load when the last run began: {loads}. In bold: more than the bound.",
        "",
    ]


def main() -> None:
    results = json.loads(RESULTS.read_text(encoding="utf-8"))["runs"]
    results = dict(sorted(results.items(), key=lambda item: tuple(map(int, item[0].split(".")))))
    runs = {version: {row["name"]: row for row in each["rows"]} for version, each in results.items()}
    lines = facts(results)
    for group in GROUPS:
        lines += table(group, runs)
    before, rest = PAGE.read_text(encoding="utf-8").split(BEGIN)
    after = rest.split(END)[1]
    PAGE.write_text(f"{before}{BEGIN}\n\n" + "\n".join(lines) + f"\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
