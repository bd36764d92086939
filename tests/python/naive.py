"""A recorder of phases in plain Python, slow and simple, to compare with.  Used by test_against_naive.py."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import time
from collections import defaultdict
from types import TracebackType


class Naive:
    """One thread, one stack, two dictionaries."""

    def __init__(self) -> None:
        self.stack: list[str] = []
        self.wall_ns: dict[tuple[str, ...], list[int]] = defaultdict(list)
        self.cpu_ns: dict[tuple[str, ...], int] = defaultdict(int)
        self.amounts: dict[tuple[tuple[str, ...], str], list[int]] = defaultdict(list)

    def phase(self, name: str) -> NaivePhase:
        return NaivePhase(self, name)

    def count(self, name: str, n: int = 1) -> None:
        self.amounts[tuple(self.stack), name].append(n)


class NaivePhase:
    def __init__(self, recorder: Naive, name: str) -> None:
        self.recorder = recorder
        self.name = name

    def __enter__(self) -> None:
        self.recorder.stack.append(self.name)
        self.cpu = time.thread_time_ns()
        self.start = time.perf_counter_ns()

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        wall = time.perf_counter_ns() - self.start
        cpu = time.thread_time_ns() - self.cpu
        path = tuple(self.recorder.stack)
        self.recorder.wall_ns[path].append(wall)
        self.recorder.cpu_ns[path] += cpu
        self.recorder.stack.pop()
