# SPDX-License-Identifier: MIT
"""What a whole program costs: wall time, CPU time and peak memory of a child process, as the kernel accounts them."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

STARTER = Path(__file__).resolve().parent.parent / "build/bench/bin/spend"


@dataclass
class Spent:
    wall_s: float
    cpu_s: float
    peak_mb: float


def spend(command: Sequence[str], status: int = 0) -> Spent:
    """Runs it with its output thrown away; anything but the expected exit status ends the bench."""
    words = subprocess.run([str(STARTER), *command], check=True, capture_output=True, text=True).stdout.split()
    if int(words[0]) != status:
        raise SystemExit(f"{' '.join(command)}: exit {words[0]}")
    return Spent(float(words[1]), float(words[2]), int(words[3]) * 1024 / 1e6)
