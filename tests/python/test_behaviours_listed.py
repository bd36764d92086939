"""behaviours.md says which test holds which behaviour; every test that it names is there."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import re
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parents[1]
PAGE = (TESTS / "behaviours.md").read_text("utf-8")
NAMED = sorted(set(re.findall(r"`([\w/]+)::(\w+)`", PAGE)))


@pytest.mark.parametrize("file", sorted({file for file, _ in NAMED}))
def test_named_tests_exist(file: str) -> None:
    in_c = "/" in file and not file.startswith("web/")
    path = TESTS / "unit" / f"{file}.c" if in_c else TESTS / ("" if "/" in file else "python") / f"{file}.py"
    begin = r"static void " if in_c else r"^(?:    )?(?:async )?def "
    defined = set(re.findall(rf"{begin}(\w+)\(", path.read_text("utf-8"), re.M))
    assert {name for named_in, name in NAMED if named_in == file} - defined == set()


def test_every_row_says_something() -> None:
    rows = [line for line in PAGE.splitlines() if line.startswith("|") and not line.startswith("|---")]
    assert len(NAMED) > 100
    for row in rows:
        assert all(cell.strip() for cell in row.strip("|").split("|")), row


def test_every_test_of_these_files_is_listed() -> None:
    named = {name for _, name in NAMED}
    for path in sorted((TESTS / "python").glob("test_behaviours_*.py")):
        if path != Path(__file__).resolve():
            names = set(re.findall(r"^def (test_\w+)", path.read_text("utf-8"), re.M))
            assert names - named == set(), path.name
