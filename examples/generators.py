# SPDX-License-Identifier: MIT
"""A generator that holds a phase while its consumer opens others: each pays for its own.

python examples/generators.py [RUN_DIR]     then: lineprofiler report RUN_DIR
"""

import sys
import time
from collections.abc import Iterator

from lineprofiler.accounting import iterate, phase, start, stop


def batches(count: int) -> Iterator[list[int]]:
    with phase("produce"):  # held over every yield
        for number in range(count):
            time.sleep(0.002)
            yield list(range(number))


start(run_dir=sys.argv[1] if len(sys.argv) > 1 else "profile", role="reader")

for _ in batches(10):
    with phase("consume"):
        time.sleep(0.004)

# The other way round: time in the iterator is one phase, and the body of the loop is none of it.
for _ in iterate("next batch", batches(10)):
    time.sleep(0.001)

stop()
