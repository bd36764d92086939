"""``%lprun`` and ``%%lprun``, in a real kernel and in plain IPython."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import queue
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from lineprofiler._lines import _magics

LIMIT_S = 90
Cell = Callable[[str], tuple[str, str]]

DEFINE = """\
def square(n):
    total = 0
    for i in range(n):
        total += i * i
    return total
"""


@pytest.fixture(scope="module")
def kernel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    pytest.importorskip("ipykernel")
    manager_of = pytest.importorskip("jupyter_client.manager")
    folder = tmp_path_factory.mktemp("notebook")
    manager = manager_of.KernelManager()
    manager.start_kernel(cwd=str(folder))
    client = manager.client()
    client.start_channels()
    client.wait_for_ready(timeout=LIMIT_S)
    yield client
    client.stop_channels()
    manager.shutdown_kernel(now=True)


@pytest.fixture
def cell(kernel: Any) -> Cell:
    """Runs a cell in the kernel: what it printed, and its error."""

    def run(code: str) -> tuple[str, str]:
        message = kernel.execute(code)
        text = error = ""
        while True:
            try:
                answer = kernel.get_iopub_msg(timeout=LIMIT_S)
            except queue.Empty:
                pytest.fail(f"no answer to {code!r}")
            if answer["parent_header"].get("msg_id") != message:
                continue
            content = answer["content"]
            if answer["msg_type"] == "stream":
                text += content["text"]
            if answer["msg_type"] in ("execute_result", "display_data"):
                text += content["data"].get("text/plain", "")
            if answer["msg_type"] == "error":
                error = content["ename"] + ": " + content["evalue"]
            if answer["msg_type"] == "status" and content["execution_state"] == "idle":
                return text, error

    run("%load_ext lineprofiler")
    return run


def row(text: str, source: str) -> list[str]:
    """The columns of the row that shows a line of source."""
    return next(line.split() for line in text.splitlines() if line.rstrip().endswith(source))


def test_function_of_an_earlier_cell_is_shown_with_its_source(cell: Cell) -> None:
    cell(DEFINE)
    text, error = cell("%lprun -f square square(50)")
    assert error == ""
    assert row(text, "total += i * i")[1] == "50"
    assert row(text, "for i in range(n):")[1] == "51"


def test_whole_cell_is_shown(cell: Cell) -> None:
    cell(DEFINE)
    text, error = cell("%%lprun\nx = square(20)\ny = [square(2) for _ in range(3)]\nprint('sum', x + sum(y))")
    assert error == ""
    assert "sum " in text
    assert row(text, "x = square(20)")[1] == "1"
    assert row(text, "total += i * i")[1] == "26"
    assert cell("x")[0].strip() == "2470", "the cell ran in the notebook"


def test_edited_function_is_the_one_that_is_shown(cell: Cell) -> None:
    cell(DEFINE)
    cell("%lprun -f square square(5)")
    cell(DEFINE.replace("i * i", "i + 1"))
    text, _ = cell("%lprun -f square square(7)")
    assert row(text, "total += i + 1")[1] == "7"
    assert "i * i" not in text


def test_cells_with_other_magics_are_profiled(cell: Cell) -> None:
    cell(DEFINE)
    text, error = cell("%%lprun\n%time square(3)\n!echo from the shell\nfiles = !ls\nsquare(4)\n")
    assert error == ""
    assert "from the shell" in text
    assert row(text, "total += i * i")[1] == "7"


def test_error_in_the_cell_is_shown_and_so_are_the_lines(cell: Cell) -> None:
    cell(DEFINE)
    text, error = cell("%%lprun\nsquare(4)\n1 / 0\n")
    assert "ZeroDivisionError" in error or "ZeroDivisionError" in text
    assert row(text, "total += i * i")[1] == "4"


def test_profiler_and_files_are_given_on_demand(cell: Cell) -> None:
    cell(DEFINE)
    text, error = cell(
        "p = %lprun -r -T t.txt -D d.lprof -H h.html -u ms -f square square(9)\n"
        "import os\nprint(type(p).__name__, [os.path.getsize(f) > 0 for f in ('t.txt', 'd.lprof', 'h.html')])"
    )
    assert error == ""
    assert "Time (ms)" in text
    assert "LineProfiler [True, True, True]" in text


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("%lprun -f square(3) square(3)", "-f takes a function, not a call: %lprun -f square square(3)"),
        ("%lprun", "a statement is missing: %lprun"),
        ("%lprun -f nosuch 1", "-f nosuch: NameError"),
        ("%lprun -f len len('')", "-f takes a function"),
        ("%lprun -q x", "no option -q"),
        ("%lprun -u week square(1)", "-u takes ns, us, ms or s"),
        ("%lprun -m nosuch_module 1", "-m nosuch_module: ModuleNotFoundError"),
        ("%%lprun square(1)\nsquare(2)", "what is to run stands below"),
    ],
)
def test_wrong_use_is_one_line_with_the_right_form(cell: Cell, line: str, message: str) -> None:
    cell(DEFINE)
    text, error = cell(line)
    said = error + text
    assert message in said
    assert "Traceback" not in said


def test_module_is_recorded_whole(cell: Cell) -> None:
    cell("%%writefile helper.py\ndef triple(n):\n    return [n] * 3\n")
    text, error = cell("import helper\n%lprun -m helper helper.triple(1)")
    assert error == ""
    assert row(text, "return [n] * 3")[1] == "1"


def test_plain_ipython_shows_the_source_too(tmp_path: Path) -> None:
    pytest.importorskip("IPython")
    code = "\n".join(
        (
            "from IPython.core.interactiveshell import InteractiveShell",
            "shell = InteractiveShell.instance()",
            "shell.run_line_magic('load_ext', 'lineprofiler')",
            f"shell.run_cell({DEFINE!r})",
            "shell.run_line_magic('lprun', '-f square square(5)')",
            "shell.run_cell('%%lprun\\nz = square(3)')",
        )
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        env={"HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
    )
    assert done.returncode == 0, done.stderr
    assert row(done.stdout, "total += i * i")[1] == "5"
    assert row(done.stdout, "z = square(3)")[1] == "1"


# Taking a line apart needs no kernel.


def test_options_end_where_the_statement_begins() -> None:
    assert _magics.parse("-f a -f b.c -s x = -1") == ({"f": ["a", "b.c"], "s": []}, "x = -1")
    assert _magics.parse("-fa  f(-1, '-f')") == ({"f": ["a"]}, "f(-1, '-f')")
    assert _magics.parse("-- -x") == ({}, "-x")
    assert _magics.parse("- 1") == ({}, "- 1")


@pytest.mark.parametrize("line", ["-f", "-q x", "-sx y"])
def test_wrong_options_are_refused(line: str) -> None:
    with pytest.raises(_magics.Wrong):
        _magics.parse(line)
