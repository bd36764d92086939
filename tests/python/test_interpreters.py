"""Interpreters beside the main one, each with a lock of its own: every one records what it starts itself."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from lineprofiler import accounting
from lineprofiler.accounting import merge_run, phase

if sys.version_info < (3, 12):
    pytest.skip("interpreters share one lock before 3.12", allow_module_level=True)

Program = Callable[..., "subprocess.CompletedProcess[str]"]

# What runs code in a new interpreter; an exception there is one here. Public from 3.14 on.
NEW = """
def run_in_another(code):
    import sys
    if sys.version_info >= (3, 14):
        from concurrent import interpreters
        other = interpreters.create()
        try:
            other.exec(code)
        finally:
            other.close()
    elif sys.version_info >= (3, 13):
        import _interpreters
        other = _interpreters.create("isolated")
        failed = _interpreters.exec(other, code)
        _interpreters.destroy(other)
        if failed: raise RuntimeError(failed.formatted)
    else:
        import _xxsubinterpreters
        other = _xxsubinterpreters.create(isolated=True)
        _xxsubinterpreters.run_string(other, code)
        _xxsubinterpreters.destroy(other)
"""
exec(NEW)
run_in_another: Callable[[str], None] = globals()["run_in_another"]


def counted(run_dir: Path) -> dict[str, int]:
    return {"/".join(path): stats.calls for path, stats in merge_run(run_dir).tree.items() if path}


def test_another_interpreter_records_by_itself(run_dir: Path) -> None:
    run_in_another(f"""
from lineprofiler.accounting import begin, count, current, end, iterate, phase, start, stop
start({str(run_dir)!r})
with phase("x"):
    count("n", 3)
    assert current() == "x"
    end(begin("y"))
    for _ in iterate("z", [1]): pass
phase("f")(print)(end="")
stop()
with phase("x"): pass
""")
    assert counted(run_dir) == {"x": 1, "x/y": 1, "x/z": 2, "f": 1}
    assert merge_run(run_dir).tree[("x",)].counters == {"n": 3}


def test_what_is_installed_is_each_interpreters_own(tmp_path: Path) -> None:
    accounting.start(tmp_path / "main")
    with phase("here"):
        run_in_another("""
from lineprofiler.accounting import current, phase
with phase("nowhere"):
    assert current() == ""
""")
        run_in_another(f"""
from lineprofiler.accounting import phase, start, stop
start({str(tmp_path / "other")!r})
with phase("there"): pass
stop()
""")
        assert accounting.current() == "here"
    accounting.stop()
    assert counted(tmp_path / "main") == {"here": 1}
    assert counted(tmp_path / "other") == {"there": 1}


def test_an_interpreter_that_goes_has_closed_its_file(run_dir: Path, tmp_path: Path) -> None:
    run_in_another(f"""
from lineprofiler.accounting import phase, start
start({str(run_dir)!r})
with phase("x"): pass
""")
    accounting.write_report(run_dir, tmp_path / "report.json", format="json")
    (worker,) = json.loads((tmp_path / "report.json").read_text())["workers"]
    assert worker["verdict"] == "finished"


def test_interpreters_at_once_hold_phases_in_generators(program: Program, tmp_path: Path) -> None:
    """Their tables are their own: three threads, none of which waits for another's lock."""
    work = """
from lineprofiler.accounting import phase, start, stop
def items(n):
    for _ in range(n):
        with phase("held"):
            yield
start({folder!r})
for _ in range(300):
    for _ in items(20):
        with phase("body"): pass
    exec("def f():\\\\n with phase('made'): yield\\\\nfor _ in f(): pass")
stop()
"""
    program(
        NEW
        + f"""
import threading
WORK = '''{work}'''
threads = [threading.Thread(target=run_in_another, args=(WORK.format(folder=name),)) for name in "ab"]
for thread in threads: thread.start()
exec(WORK.format(folder="main"))
for thread in threads: thread.join()
"""
    )
    for name in ("main", "a", "b"):
        assert counted(tmp_path / name) == {"held": 6000, "body": 6000, "made": 300}


def test_doctor_in_another_interpreter(program: Program) -> None:
    done = program(NEW + "run_in_another('from lineprofiler import _core; _core.cli([\"doctor\"])')\n")
    assert "interpreter" in done.stdout
