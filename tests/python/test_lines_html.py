"""``to_html``: the block of data in the page holds what the JSON document says, to the nanosecond, and it is one file
that asks for nothing. How the page looks and answers to keys is tested in tests/web."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import base64
import json
import re
import subprocess
import sys
import textwrap
import zlib
from itertools import accumulate, islice
from pathlib import Path
from typing import Any

import pytest

PROGRAM = """
    import asyncio, math, sys
    from lineprofiler import LineProfiler

    class Model:
        def __init__(self, n):
            self.w = [math.sin(i) for i in range(n)]

        def forward(self, x):
            total = 0.0
            for w in self.w:
                total += w * x
            if total != total:
                raise ValueError("not a number")
            return total

        async def wait(self):
            await asyncio.sleep(0.01)

    # a comment
    def train(steps):
        model = Model(50)
        out = [model.forward(step) for step in range(steps)]
        asyncio.run(model.wait())
        return out

    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    with LineProfiler() as profiler:
        with profiler.region("training"):
            train(20)
            with profiler.region("</script><b>"):
                fib(10)
    profiler.to_html(sys.argv[1] + "/page.html", title="<i> & 'title'")
    profiler.to_json(sys.argv[1] + "/page.json")
"""


def block_of(page: str) -> Any:
    found = re.search('<script type="application/json" id="data" data-form="([a-z]+)">([^<]*)</script>', page)
    assert found
    text = found.group(2)
    return json.loads(zlib.decompress(base64.b64decode(text)) if found.group(1) == "deflate" else text)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Any, Any]:
    """The page, its block, and the JSON document of the same recording."""
    folder = tmp_path_factory.mktemp("html")
    (folder / ".git").mkdir()
    (folder / "prog.py").write_text(textwrap.dedent(PROGRAM))
    subprocess.run([sys.executable, folder / "prog.py", folder], check=True, cwd=folder, timeout=60)
    page = (folder / "page.html").read_text(encoding="utf-8")
    return page, block_of(page), json.loads((folder / "page.json").read_text(encoding="utf-8"))


def parts(columns: dict[str, list[Any]], counts: list[int]) -> list[list[dict[str, Any]]]:
    """Columns of all functions in a row as rows of each."""
    rows = iter([dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)])
    return [list(islice(rows, count)) for count in counts]


def test_every_row_is_the_document_s(written: tuple[str, Any, Any]) -> None:
    _, block, document = written
    functions = document["functions"]
    assert [block["strings"][name] for name in block["functions"]["name"]] == [f["name"] for f in functions]
    for function, rows in zip(functions, parts(block["rows"], block["functions"]["rows"]), strict=True):
        lines = accumulate((row["step"] for row in rows), initial=function["first_line"])
        next(lines)
        found = [
            {
                "line": line,
                "hits": row["hits"],
                "events": row["hits"] + row["more_events"],
                "self_ns": row["self"],
                "inclusive_ns": row["self"] + row["below"],
                "suspended_ns": row["suspended"],
                "corrected_self_ns": row["self"] - row["cost"],
                "corrected_inclusive_ns": row["self"] - row["cost"] + row["below"] - row["cost_below"],
                "mark": ["exact", "events", "part"][row["mark"]],
            }
            for line, row in zip(lines, rows, strict=True)
        ]
        assert found == [{key: row[key] for key in found[0]} for row in function["rows"]]


def test_functions_calls_and_regions_are_the_document_s(written: tuple[str, Any, Any]) -> None:
    _, block, document = written
    keys = {"calls": "calls", "self": "self_ns", "total": "total_ns", "corrected_total": "corrected_total_ns"}
    for column, key in keys.items():
        assert block["functions"][column] == [f[key] for f in document["functions"]]
    calls = sorted(zip(*(block["calls"][c] for c in ("caller", "line", "callee", "calls", "inclusive")), strict=True))
    assert calls == sorted(
        (index, call["line"], call["function"], call["calls"], call["inclusive_ns"])
        for index, function in enumerate(document["functions"])
        for call in function["callees"]
    )
    regions = block["regions"]
    assert [block["strings"][name] for name in regions["name"]] == ["training", "</script><b>"]
    for column, key in {"entries": "entries", "wall": "wall_ns", "self": "self_ns"}.items():
        assert regions[column] == [region[key] for region in document["regions"]]
    for region, rows in zip(document["regions"], parts(block["region_rows"], regions["rows"]), strict=True):
        assert [(row["function"], row["line"], row["hits"], row["self"]) for row in rows] == [
            (row["function"], row["line"], row["hits"], row["self_ns"]) for row in region["rows"]
        ]


def test_source_and_its_three_states(written: tuple[str, Any, Any]) -> None:
    """Comments and blank lines have no code; the line that raises has, and was not executed."""
    _, block, document = written
    source = textwrap.dedent(PROGRAM)
    assert block["files"]["text"][0] == source.splitlines()
    missed: set[int] = set()
    steps = iter(block["missed"])
    for first, count in zip(block["functions"]["first"], block["functions"]["missed"], strict=True):
        missed.update(islice(accumulate(islice(steps, count), initial=first), 1, None))
    executed = {row["line"] for function in document["functions"] for row in function["rows"]}
    lines = dict(enumerate(source.splitlines(), 1))
    raising = next(n for n, text in lines.items() if "raise ValueError" in text)
    assert raising in missed and raising not in executed
    for number, text in lines.items():
        if not text.strip() or text.strip().startswith("#"):
            assert number not in missed and number not in executed


def test_the_page_is_one_file_that_names_cannot_leave(written: tuple[str, Any, Any]) -> None:
    page, block, _ = written
    assert "<title>&lt;i&gt; &amp; 'title'</title>" in page
    assert page.count("<script") == page.count("</script>") == 2
    assert "http://" not in page and "https://" not in page
    assert re.search("default-src 'none'; script-src 'sha256-[^']+'; style-src 'sha256-[^']+'", page)
    assert block["run"]["commands"][0].endswith("prog.py " + block["run"]["folders"][0])


def test_an_empty_page_says_why(tmp_path: Path) -> None:
    code = f"from lineprofiler import LineProfiler; LineProfiler().to_html({str(tmp_path / 'deep' / 'empty.html')!r})"
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path, timeout=60)
    page = (tmp_path / "deep" / "empty.html").read_text(encoding="utf-8")
    assert "never entered" in page.lower()
