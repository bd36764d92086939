# SPDX-License-Identifier: MIT
"""Figures while the program runs: what each interval added, and a callback at an interval.

python examples/snapshots.py [RUN_DIR]
"""

import sys
import threading
import time

from lineprofiler.accounting import PhaseTree, Profiler

profiler = Profiler(
    run_dir=sys.argv[1] if len(sys.argv) > 1 else "profile",
    role="server",
    snapshot_interval_s=0.05,
)
seen = threading.Event()


@profiler.on_snapshot
def log(tree: PhaseTree) -> None:
    """Called on a thread of its own with everything so far."""
    if ("request",) in tree:
        seen.set()


def serve(requests: int) -> None:
    for number in range(requests):
        with profiler.phase("request"):
            time.sleep(0.001)
            profiler.count("bytes", 10 + number)


for requests in (20, 5, 0):
    serve(requests)
    for path, delta in profiler.deltas().items():
        bytes_ = delta.counter_stats["bytes"]
        print("/".join(path), delta.calls, "entries", bytes_.total, "bytes", f"{bytes_.min}..{bytes_.max}")

print("called back:", seen.wait(60))
profiler.close()
