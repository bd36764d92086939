# SPDX-License-Identifier: MIT
"""A run as Python objects.

python examples/read_back.py RUN_DIR
"""

import sys

from lineprofiler.accounting import merge_run, write_report

run = merge_run(sys.argv[1])
for worker in run.workers:
    print(worker.role, worker.rank, worker.verdict, worker.killed_in or "-")

for role in run.roles:
    for path, stats in run.tree_of(role).items():
        wait = stats.wait_ns
        print(
            f"{role}: {'/'.join(path) or '(outside any phase)'}: {stats.calls} entries,",
            f"{stats.self_ns / 1e6:.1f}ms self, {(stats.quantile(0.5) or 0) / 1e6:.1f}ms p50,",
            "wait not measured" if wait is None else f"{wait / 1e6:.1f}ms wait",
        )

print("missing ranks:", run.missing_ranks, "unreadable files:", len(run.unreadable))
write_report(sys.argv[1], "reports/run.json", format="json")
