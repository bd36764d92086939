# SPDX-License-Identifier: MIT
"""What a whole program costs: wall time, CPU time and peak memory of a child process, as the kernel accounts them."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass
class Spent:
    wall_s: float
    cpu_s: float
    peak_mb: float  # never below what this process had when it started the child: the kernel carries that over


def spend(command: Sequence[str], status: int = 0) -> Spent:
    """Runs it with its output thrown away; anything but the expected exit status ends the bench."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    try:
        actions = [(os.POSIX_SPAWN_DUP2, nowhere, fd) for fd in (0, 1, 2)]
        start = time.perf_counter()
        pid = os.posix_spawn(command[0], list(command), os.environ, file_actions=actions)
        _, code, usage = os.wait4(pid, 0)
        wall = time.perf_counter() - start
    finally:
        os.close(nowhere)
    if os.waitstatus_to_exitcode(code) != status:
        raise SystemExit(f"{' '.join(command)}: exit {os.waitstatus_to_exitcode(code)}")
    return Spent(wall, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000)
