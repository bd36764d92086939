"""The thread that calls the program back at an interval.  It exists only once a callback is registered."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import threading
import weakref
from collections.abc import Callable
from typing import Any

from lineprofiler.accounting._stats import PhaseTree

_LEAVE_S = 2.0  # how long closing waits for a callback that is running


class Snapshots:
    """Callbacks of one profiler, and their thread.

    Neither keeps the profiler alive.  An exception of a callback is counted in ``failures`` and goes no further.
    """

    def __init__(self, profiler: Any, interval_s: float) -> None:
        self._profiler = weakref.ref(profiler)
        self._interval_s = interval_s
        self._callbacks: list[Callable[[PhaseTree], object]] = []
        self.failures = 0
        self._begin()
        _all.add(self)

    def add(self, callback: Callable[[PhaseTree], object]) -> None:
        """Register one more; it is called from the next interval on."""
        self._callbacks.append(callback)

    def stop(self) -> None:
        """End the thread.  Safe from inside a callback."""
        self._done.set()
        if self._pid == os.getpid() and threading.current_thread() is not self._thread:
            self._thread.join(_LEAVE_S)

    def _begin(self) -> None:
        self._pid = os.getpid()
        self._done = threading.Event()
        self._thread = threading.Thread(target=_run, args=(self, self._done), name="lineprofiler-snapshot", daemon=True)
        self._thread.start()

    def _resume_in_child(self) -> None:
        """A fork leaves threads behind; a live profiler goes on in the child."""
        profiler = self._profiler()
        if profiler is not None and not profiler.closed and not self._done.is_set():
            self._begin()

    def _tick(self) -> bool:
        profiler = self._profiler()
        if profiler is None or profiler.closed:
            return False
        try:
            profiler.snapshot()
            tree = profiler.merged_tree()
        except Exception:
            self.failures += 1
            return True
        for callback in tuple(self._callbacks):
            try:
                callback(tree)
            except Exception:
                self.failures += 1
        return True


def _run(snapshots: Snapshots, done: threading.Event) -> None:
    while not done.wait(snapshots._interval_s):
        if not snapshots._tick():
            return


_all: weakref.WeakSet[Snapshots] = weakref.WeakSet()


def _after_fork_in_child() -> None:
    for snapshots in list(_all):
        snapshots._resume_in_child()


os.register_at_fork(after_in_child=_after_fork_in_child)
