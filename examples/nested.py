# SPDX-License-Identifier: MIT
"""Phases inside phases, and counters.

python examples/nested.py [RUN_DIR]     then: lineprofiler report RUN_DIR
"""

import sys
import time

from lineprofiler.accounting import count, phase, start, stop


def read(step: int) -> list[int]:
    time.sleep(0.004)  # stands for a disk
    return list(range(100 + step % 3))


def digest(rows: list[int]) -> int:
    return sum(value * value for value in rows for _ in range(20))


start(run_dir=sys.argv[1] if len(sys.argv) > 1 else "profile", role="feeder")
total = 0
for step in range(40):
    with phase("step"):
        with phase("read"):
            rows = read(step)
            count("rows", len(rows))
        with phase("digest"):
            total += digest(rows)
        total += sum(range(10_000))  # in no phase inside "step": its own time
count("files", 2)  # outside any phase
stop()
