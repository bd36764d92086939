"""What the tests of scopes share: an installed recording that can be watched, and work of a known length."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import contextlib
import json
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from lineprofiler import _core
from lineprofiler._core import phase

MODES = ("default", "exact") if sys.version_info[:2] == (3, 11) else ("default",)
HAVE_EVENTS = sys.version_info >= (3, 12)
Path_ = tuple[str, ...]


class Times(NamedTuple):
    """Of one path, in seconds; None where it was not measured."""

    calls: int
    wall: float
    active: float | None
    cpu: float | None
    suspended: float | None


class Watch:
    """An installed recording and what it holds so far."""

    def __init__(self, run_dir: Path) -> None:
        self.recording = _core.Recording(str(run_dir), "main")
        self.recording.install()

    def run(self) -> dict[str, Any]:
        return json.loads(self.recording.dump() or b"{}")

    def nodes(self) -> dict[Path_, dict[str, Any]]:
        found = {}
        for role in self.run().get("roles", ()):
            for node in role["tree"]:
                if node["path"] and node["calls"]:
                    found[tuple(node["path"])] = node
        return found

    def times(self) -> dict[Path_, Times]:
        times = {}
        for path, node in self.nodes().items():
            wall = node["wall_ns"] / 1e9
            if node["unmeasured"]:
                times[path] = Times(node["calls"], wall, None, None, None)
            else:
                suspended = node["suspended_ns"] / 1e9
                times[path] = Times(node["calls"], wall, wall - suspended, node["cpu_ns"] / 1e9, suspended)
        return times

    def calls(self) -> dict[str, int]:
        return {"/".join(path): node["calls"] for path, node in self.nodes().items()}

    def drops(self) -> dict[str, int]:
        return {name: count for name, count in self.run()["workers"][0]["drops"].items() if count}

    def open_scopes(self) -> int:
        return self.recording.open_scopes()

    def is_exact(self) -> bool:
        return not _core.clock_facts()["scopes"].startswith("inferred")


@pytest.fixture(params=MODES)
def watch(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Watch]:
    if request.param == "exact":
        monkeypatch.setenv("LINEPROFILER_EXACT_ASYNC", "1")
    watch = Watch(tmp_path / "run")
    yield watch
    watch.recording.close()


def burn(seconds: float) -> None:
    """Uses this much of the thread's CPU."""
    until = time.thread_time() + seconds
    while time.thread_time() < until:
        pass


# -- the shared scenarios ---------------------------------------------------------------------------------------------


@contextlib.contextmanager
def managed(name: str) -> Iterator[None]:
    with phase(name):
        yield


def hold_and_yield(items: int) -> Iterator[int]:
    with phase("held"):
        yield 0
    yield from range(items)
