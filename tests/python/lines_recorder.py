"""A slow and simple recorder of line, call and branch events per code object: what the sums of the static pass are
checked with, independent of the engine.

3.12 and later: callbacks of sys.monitoring in Python. Before: sys.settrace with f_trace_opcodes, where the side of a
branch is told by the opcode that follows it in the same frame.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import struct
import sys
import threading
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import CodeType, FrameType
from typing import Any

from lineprofiler import _core
from lineprofiler._lines.shape import opcode_table
from lineprofiler._lines.sums import ROW_EVENTS, raw_code, statement_rows

MONITORING = sys.version_info >= (3, 12)


class Counts:
    """What one code object did."""

    def __init__(self, code: CodeType) -> None:
        self.code = code
        self.raw = raw_code(code)
        tables = (code.co_code, code.co_linetable, getattr(code, "co_exceptiontable", b""))
        branches = _core.code_places(*tables, code.co_firstlineno, code.co_flags, sys.hexversion, opcode_table())[2]
        self.slots = list(struct.iter_unpack("=II", self.raw.slots))
        self.branches = list(struct.iter_unpack("=III", branches))
        self.offsets = [offset for offset, _ in self.slots]
        self.places = [place for place, _, _ in self.branches]
        self.events: Counter[int] = Counter()
        self.sides: Counter[tuple[int, int]] = Counter()
        self.calls = 0
        self.lost: list[tuple[int, int]] = []  # line events where no slot is
        self.raw_lines: Counter[int] = Counter()

    def line(self, unit: int, line: int) -> None:
        self.raw_lines[line] += 1
        slot = bisect_right(self.offsets, unit) - 1
        if slot < 0 or self.slots[slot][1] != line:
            self.lost.append((unit, line))
        else:
            self.events[slot] += 1

    def branch_at(self, unit: int) -> int:
        branch = bisect_right(self.places, unit) - 1
        return branch if branch >= 0 and unit < self.branches[branch][1] else -1

    def side(self, branch: int, destination: int) -> None:
        _, following, target = self.branches[branch]
        self.sides[branch, int(abs(destination - target) < abs(destination - following))] += 1

    def value(self, counter: int) -> int:
        if counter < len(self.slots):
            return self.events[counter]
        counter -= len(self.slots) + 1
        return self.calls if counter < 0 else self.sides[divmod(counter, 2)]  # type: ignore[index]


class Recorder:
    """Records what runs of one file, in all threads, inside ``with recorder:``."""

    def __init__(self, filename: str) -> None:
        self.filename = filename
        self.codes: dict[int, Counts] = {}
        self.lock = threading.Lock()

    def counts(self, code: CodeType) -> Counts:
        found = self.codes.get(id(code))
        if found is None:
            with self.lock:
                found = self.codes.setdefault(id(code), Counts(code))
        return found

    # -- 3.12 and later

    def _callbacks(self) -> dict[int, Callable[..., Any]]:
        monitoring = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
        events, disable, name = monitoring.events, monitoring.DISABLE, self.filename

        def line(code: CodeType, number: int) -> Any:
            if code.co_filename != name:
                return disable
            self.counts(code).line(sys._getframe(1).f_lasti // 2, number)
            return None

        def start(code: CodeType, offset: int) -> Any:
            if code.co_filename != name:
                return disable
            self.counts(code).calls += 1
            return None

        def branch(code: CodeType, offset: int, destination: int) -> Any:
            if code.co_filename != name:
                return disable
            counts = self.counts(code)
            number = counts.branch_at(offset // 2)
            if number >= 0:
                counts.side(number, destination // 2)
            return None

        callbacks = {events.LINE: line, events.PY_START: start}
        if sys.version_info >= (3, 14):
            callbacks.update({events.BRANCH_LEFT: branch, events.BRANCH_RIGHT: branch})
        else:
            callbacks[events.BRANCH] = branch
        return callbacks

    def _monitor(self) -> Iterator[None]:
        monitoring = sys.monitoring  # type: ignore[attr-defined,unused-ignore]
        monitoring.use_tool_id(4, "lines_recorder")
        events = 0
        for event, callback in self._callbacks().items():
            monitoring.register_callback(4, event, callback)
            events |= event
        monitoring.set_events(4, events)
        monitoring.restart_events()
        try:
            yield
        finally:
            monitoring.set_events(4, 0)
            for event in self._callbacks():
                monitoring.register_callback(4, event, None)
            monitoring.free_tool_id(4)

    # -- 3.10 and 3.11

    def _call(self, frame: FrameType, event: str, arg: object) -> Any:
        code = frame.f_code
        if code.co_filename != self.filename:
            return None
        counts = self.counts(code)
        if _is_fresh(frame):
            counts.calls += 1
        frame.f_trace_opcodes = bool(counts.branches)
        waiting = -1

        def local(frame: FrameType, event: str, arg: object) -> Any:
            nonlocal waiting
            if event == "line":
                counts.line(frame.f_lasti // 2, frame.f_lineno)
            elif event == "opcode":
                unit = frame.f_lasti // 2
                if waiting >= 0:
                    counts.side(waiting, unit)
                waiting = counts.branch_at(unit)
            else:
                waiting = -1
            return local

        return local

    def _trace(self) -> Iterator[None]:
        before = sys.gettrace()
        threading.settrace(self._call)
        sys.settrace(self._call)
        try:
            yield
        finally:
            sys.settrace(before)
            threading.settrace(before)  # type: ignore[arg-type]

    @contextmanager
    def __call__(self) -> Iterator[Recorder]:
        for _ in self._monitor() if MONITORING else self._trace():
            yield self

    # -- afterwards

    def hits(self, source: str) -> tuple[dict[int, int], set[int], dict[int, int]]:
        """Hits by row, the rows that are marked, and line events by row."""
        hits: Counter[int] = Counter()
        marked: set[int] = set()
        raw: Counter[int] = Counter()
        for counts in self.codes.values():
            assert not counts.lost, (counts.code, counts.lost)
            raw.update(counts.raw_lines)
            rows = statement_rows(counts.raw, source)
            assert rows is not None
            for row in rows:
                hits[row.line] += sum(factor * counts.value(counter) for factor, counter in row.terms)
                if row.mark == ROW_EVENTS:
                    marked.add(row.line)
        return dict(hits), marked, dict(raw)


def _is_fresh(frame: FrameType) -> bool:
    """Whether a call event is for a call: a generator's frame is "called" each time it goes on."""
    if not frame.f_code.co_flags & 0x2A0:  # generator, coroutine, asynchronous generator
        return True
    if sys.version_info >= (3, 11):
        return frame.f_code.co_code[frame.f_lasti + 1] & 3 == 0  # RESUME 0: the first one
    return frame.f_lasti == -1
