# SPDX-License-Identifier: MIT
"""What the checks of `make lint` share: which files there are, and C text without its comments and strings."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LAYERS = ["base", "os", "store", "collect", "merge", "analyse", "render", "cli"]

_NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def project_files(*folders: str, suffixes: tuple[str, ...]) -> list[Path]:
    """Files below `folders` that git knows or would add, sorted, as paths relative to the root."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", *folders]
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    wanted = {Path(name) for name in listed if name.endswith(suffixes)}
    return sorted(path for path in wanted if (ROOT / path).is_file())


def read(path: Path) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def code_only(text: str) -> str:
    """The same text with comments and literals blanked out; line numbers stay right."""

    def blank(match: re.Match[str]) -> str:
        found = match.group()
        if found.startswith("/"):
            return re.sub(r"[^\n]", " ", found)
        return found[0] + " " * (len(found) - 2) + found[-1]

    return _NOT_CODE.sub(blank, text)


def finish(problems: list[str]) -> None:
    """Prints one line per problem and ends with 1 if there are any."""
    for problem in problems:
        print(problem)
    sys.exit(1 if problems else 0)
