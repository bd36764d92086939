# SPDX-License-Identifier: MIT
"""From nothing to the first phase that is recorded, in a fresh process: prints the nanoseconds of both steps, and the
CPU time of both together (of the whole process, so with that of the background thread's start).

first.py RUN_DIR
"""

import sys
import time

from lineprofiler import accounting

cpu = time.process_time_ns()
began = time.perf_counter_ns()
accounting.start(run_dir=sys.argv[1], role="first")
started = time.perf_counter_ns()
with accounting.phase("first"):
    pass
done = time.perf_counter_ns()
print(started - began, done - started, time.process_time_ns() - cpu)
