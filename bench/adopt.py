# SPDX-License-Identifier: MIT
"""Adds what was measured on this tree elsewhere (`tools/matrix bench`) to build/bench.json, for bench/page.py: each
group of rows replaces what was known of it for that version.

python bench/adopt.py FILE X.Y ...
"""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

RESULTS = Path(__file__).resolve().parent.parent / "build/bench.json"


def main() -> None:
    measured = json.loads(Path(sys.argv[1]).read_text(encoding="utf-8"))["runs"]
    everything = json.loads(RESULTS.read_text(encoding="utf-8")) if RESULTS.exists() else {"schema": 1, "runs": {}}
    # The copy that was measured has no history to ask.
    revision = subprocess.run(["git", "rev-parse", "--short", "HEAD"], capture_output=True, text=True).stdout.strip()
    for version in sys.argv[2:]:
        if version in measured:
            rows = measured[version]["rows"]
            groups = {row["group"] for row in rows}
            before = everything["runs"].get(version, {"rows": [], "revision": ""})
            kept = [row for row in before["rows"] if row["group"] not in groups]
            revisions = [*(before["revision"].split(", ") if kept else []), revision]
            facts = {**measured[version], "revision": ", ".join(dict.fromkeys(revisions))}
            everything["runs"][version] = {**facts, "rows": rows + kept}
    RESULTS.write_text(json.dumps(everything, indent=1) + "\n", encoding="utf-8")


main()
