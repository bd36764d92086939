# SPDX-License-Identifier: MIT
"""The search of game.py, bare and measured, against the bare one of the same round. Prints JSON rows.

search.py ours|others RUN_DIR ROUNDS ITERATIONS
"""

from __future__ import annotations

import json
import os
import sys

import game
from measure import Variant, row, run_rounds, samples

GROWN = 1000  # iterations before the first round: the tree is as deep as it will be for long


def main() -> None:
    which, run_dir, rounds, iterations = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    from lineprofiler import accounting

    accounting.start(run_dir=run_dir, role="search", enabled=True)
    prefix = "MCTS" if which == "ours" else "with-line-profiler: MCTS"
    phase, count = accounting.phase, accounting.count
    variants = [
        Variant("bare", game.Search(game.bare)),
        Variant("MCTS, bare again", game.Search(game.bare)),
        Variant(f"{prefix}, four phases", game.Search(game.with_phases, phase=phase)),
        Variant(f"{prefix}, nested with counters", game.Search(game.nested, phase=phase, count=count)),
    ]
    for variant in variants:
        variant.loop(GROWN)
    run_rounds(variants, rounds, iterations)
    costs = samples(variants)
    rows = [row(v.name, costs[v.name], costs["bare"]) for v in variants[1 if which == "ours" else 2 :]]
    sys.stdout.write("\n" + json.dumps(rows) + "\n")
    sys.stdout.flush()
    os._exit(0)


if __name__ == "__main__":
    main()
