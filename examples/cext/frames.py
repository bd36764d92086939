# SPDX-License-Identifier: MIT
"""Uses the extension `stencil` inside Python phases, then checks who is below whom."""

import sys

sys.path.insert(0, ".")
import stencil

stencil.run(100, 1)  # before anything of lineprofiler is loaded for Python: does nothing

from lineprofiler.accounting import merge_run, phase, start, stop  # noqa: E402


def check() -> None:
    with phase("check"):
        pass


start(run_dir="profile", role="renderer")
for _ in range(20):
    with phase("frame"):
        stencil.run(10_000, 10)
        stencil.call(check)
stop()
stencil.run(100, 1)  # nothing records any more

tree = merge_run("profile").tree_of("renderer")
entries = {"/".join(path): stats.calls for path, stats in tree.items()}
assert entries == {"frame": 20, "frame/smooth": 20, "frame/call back": 20, "frame/call back/check": 20}, entries
assert tree["frame", "smooth"].counters == {"cells": 2_000_000}
