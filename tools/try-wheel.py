# SPDX-License-Identifier: MIT
"""What a freshly installed wheel must do: import both packages, record, report by both programs, know its version."""

import importlib.metadata
import os
import shutil
import subprocess
import sys
import tempfile

import linescope  # noqa: F401
from lineprofiler import accounting

with tempfile.TemporaryDirectory() as folder:
    run_dir = os.path.join(folder, "run")
    accounting.start(run_dir=run_dir, role="tried")
    with accounting.phase("a phase"):
        accounting.count("things", 3)
    accounting.stop()
    script = shutil.which("lineprofiler")
    assert script, "no lineprofiler program was installed"
    for command in ([script], [sys.executable, "-m", "lineprofiler"]):
        report = subprocess.run([*command, "report", run_dir], check=True, capture_output=True, text=True).stdout
        assert "a phase" in report and "things" in report, report
        version = subprocess.run([*command, "--version"], check=True, capture_output=True, text=True).stdout
        assert importlib.metadata.version("lineprofiler") in version, version
