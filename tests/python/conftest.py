"""What the Python tests share: a clean environment per test, programs run in processes of their own, runs read back."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import pytest
from lineprofiler import accounting
from lineprofiler.accounting import MergedRun, PhaseStats, merge_run
from watching import watch as watch

PROGRAM_TIMEOUT_S = 60

# A shell that starts us in the background has children ignore Ctrl-C; ours shall take it as a terminal's do.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def clean_state(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No variable of ours is set and nothing is installed, before and after."""
    for name in list(os.environ):
        if name.startswith("LINEPROFILER_"):
            monkeypatch.delenv(name)
    yield
    accounting.stop()


@pytest.fixture
def run_dir(tmp_path: Path) -> Path:
    """A run directory that does not exist yet."""
    return tmp_path / "run"


Program = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def program(tmp_path: Path) -> Program:
    """Runs code in a fresh interpreter, in `tmp_path`, as ``prog.py``; another exit status than `status` fails."""

    def run(
        code: str,
        *args: str,
        env: Mapping[str, str] | None = None,
        status: int | None = 0,
        flags: tuple[str, ...] = (),
        script: str = "prog.py",
    ) -> subprocess.CompletedProcess[str]:
        path = tmp_path / script
        path.write_text(textwrap.dedent(code))
        done = subprocess.run(
            [sys.executable, *flags, str(path), *args],
            cwd=tmp_path,
            env={**os.environ, **(env or {})},
            capture_output=True,
            text=True,
            timeout=PROGRAM_TIMEOUT_S,
        )
        if status is not None:
            assert done.returncode == status, f"status {done.returncode}\n{done.stdout}\n{done.stderr}"
        return done

    return run


@pytest.fixture
def read(run_dir: Path) -> Callable[..., MergedRun]:
    """Reads the run directory."""
    return lambda **options: merge_run(run_dir, **options)


def calls(tree: Mapping[tuple[str, ...], PhaseStats]) -> dict[str, int]:
    """Finished entries by joined path, phases only."""
    return {"/".join(path): stats.calls for path, stats in tree.items() if path}


@pytest.fixture(name="calls")
def calls_fixture() -> Callable[[Mapping[tuple[str, ...], PhaseStats]], dict[str, int]]:
    return calls
