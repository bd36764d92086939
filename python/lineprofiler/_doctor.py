"""What `lineprofiler doctor` says about this interpreter's installation; loaded by that command alone."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from importlib import metadata
from pathlib import Path

import lineprofiler

# Distributions that install packages of the same names.
RIVALS = ("with-line-profiler", "linescope")

Line = tuple[str, str, str, int]


def lines() -> list[Line]:
    """Name, value, meaning, and 1 for a check that passed, 0 for one that failed, -1 for a fact."""
    here = str(Path(lineprofiler.__file__).parent)
    found: list[Line] = [("package", here, "", -1)]
    for rival in RIVALS:
        try:
            version = metadata.version(rival)
        except metadata.PackageNotFoundError:
            continue
        meaning = (
            f"also installed, into the same folder; what is imported is ours ({lineprofiler.__version__}): "
            "uninstall one of the two"
        )
        found.append(("other package", f"{rival} {version}", meaning, 0))
    return found
