# SPDX-License-Identifier: MIT
"""A program that leaves it to the environment whether it is measured.

LINEPROFILER_PROFILE=1 LINEPROFILER_RUN_DIR=RUN_DIR python examples/switched.py
"""

from lineprofiler.accounting import count, phase, start, stop

start(role="actor")
with phase("work"):
    count("items", 3)
profiler = stop()
print("recording:", profiler is not None and profiler.enabled)
