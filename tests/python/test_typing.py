"""Decorated functions keep their types, checked by mypy where it is installed."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent


def test_decorated_functions_keep_their_types(tmp_path: Path) -> None:
    pytest.importorskip("mypy")
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "mypy",
            "--strict",
            "--cache-dir",
            str(tmp_path),
            "--config-file",
            "",
            "typing_check.py",
        ],
        cwd=HERE,
        capture_output=True,
        text=True,
        timeout=170,
    )
    assert done.returncode == 0, done.stdout + done.stderr
