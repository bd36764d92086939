"""The text report as a page: labels that break nothing, figures that stay apart, words that are true."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import textwrap
import threading
import time
import unicodedata
from pathlib import Path
from typing import Any

import pytest
from lineprofiler.accounting import Profiler, phase

LIMIT_S = 60
HOSTILE = {
    "long": "n" * 10_000,
    "newline": "a\nb",
    "NUL": "a\0b",
    "carriage return": "a\rb",
    "escape": "a\x1b[2Jb",
    "tab": "a\tb",
    "bell": "a\x07b",
    "line separator": "a\u2028b",
    "bidi": "a\u202eb",
    "lone surrogate": "a\ud800b",
    "wide": "漢字" * 40,
    "combining": "e\u0301" * 60,
    "markup": "<b>&amp;",
}


def text_of(run_dir: Path, *args: str, **env: str) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "lineprofiler", "report", str(run_dir), *args],
        env={**os.environ, "LC_ALL": "C.UTF-8", **env},
        capture_output=True,
        timeout=LIMIT_S,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.decode("utf-8")  # strict: what cannot be printed was replaced


def report(run_dir: Path, *args: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads(text_of(run_dir, "--format", "json", "--top", "all", *args))
    return document


def columns(line: str) -> int:
    """What a terminal shows of it."""
    wide = sum(unicodedata.east_asian_width(c) in "WF" for c in line)
    return len(line) + wide - sum(unicodedata.combining(c) != 0 for c in line)


def table(text: str, title: str = "DOMINANT PHASES") -> list[str]:
    lines = text[text.index(title) :].split("\n\n")[0].splitlines()
    return [line for line in lines[1:] if not line.startswith(("  ", "─"))]


def spin(us: int) -> None:
    deadline = time.perf_counter_ns() + us * 1_000
    while time.perf_counter_ns() < deadline:
        pass


def figures(line: str) -> list[str]:
    """Columns after the label: entries, self, wait, p50, p99."""
    return re.split(r" +", line.strip())[-5:]


# -------------------------------------------------------------------------------------------------------------- labels


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE.keys())
def test_name_of_any_kind_keeps_to_its_row(run_dir: Path, name: str) -> None:
    with Profiler(run_dir, install=True) as profiler:
        for _ in range(123):
            with phase(name):
                profiler.count(name, 7)
                with phase("tail"):
                    pass
            with phase("plain"):
                pass
    text = text_of(run_dir, "--top", "all", "--workers")
    for width in (80, 120):
        for line in text_of(run_dir, "--top", "all", "--workers", "--width", str(width)).split("\n"):
            assert columns(line) <= width, line
    bad = {c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") and c != "\n"}
    assert bad == set()
    rows = table(text)
    assert len(rows) == 3
    assert {columns(row) for row in rows} == {max(map(columns, rows))}  # one right edge
    assert {figures(row)[0] for row in rows} == {"123"}
    assert sum("tail" in row for row in rows) == 1  # the end of a path is what tells it from others
    assert re.search(r"^    \+ .* 861 .*always 7$", text, re.M)


@pytest.mark.parametrize("name", HOSTILE.values(), ids=HOSTILE.keys())
def test_role_of_any_kind_keeps_to_its_line(run_dir: Path, name: str) -> None:
    for i in range(2):
        with Profiler(run_dir, name, "one", install=True), phase("x"):
            pass
    text = text_of(run_dir, "--workers")
    assert max(map(columns, text.split("\n"))) <= 80
    bad = {c for c in text if unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") and c != "\n"}
    assert bad == set()
    assert len(table(text)) == 1
    (role,) = json.loads(text_of(run_dir, "--json"))["roles"]
    assert role["processes"] == 2


def test_newline_in_a_role_and_names_of_threads_keep_the_loop(run_dir: Path) -> None:
    with Profiler(run_dir, "ac\ntor", install=True, thread_names=True), phase("train"):
        for _ in range(100):
            with phase("iteration"), phase("work"):
                spin(100)
    text = text_of(run_dir)
    assert re.search(r"^ITERATIONS  \(100 entries", text, re.M)
    assert re.search(r"^AC.TOR  \(1 process", text, re.M)


def test_long_path_shows_its_end_and_where_it_was_cut(run_dir: Path) -> None:
    with Profiler(run_dir, install=True):
        with phase("train_step_of_the_very_long_outer_loop"), phase("forward_backward_and_reduce"):
            time.sleep(0.001)
    row = next(row for row in table(text_of(run_dir, "--top", "all")) if "reduce" in row)
    label = re.match(r"(…\S+)  +1  ", row)  # the cut is marked, and a gap comes before the figures
    assert label, row
    assert ("train_step_of_the_very_long_outer_loop/forward_backward_and_reduce").endswith(label[1][1:])
    assert len(label[1]) > 15


def test_figures_never_run_into_each_other(run_dir: Path) -> None:
    with Profiler(run_dir, install=True) as profiler:
        with phase("p" * 30):
            for amount in (19_161_676, 10**12, 2**62, 64):
                profiler.count(f"c{amount}" * 6, amount)
    text = text_of(run_dir)
    rows = [line for line in text.splitlines() if line.startswith("    + ")]
    assert len(rows) == 4
    for amount in (19_161_676, 10**12, 2**62, 64):
        (line,) = [row for row in rows if f" {amount:,} " in row]
        assert re.search(rf" {amount:,} +\S+/s +\S+/ea +always {amount}$", line), line


def test_page_is_readable_in_ascii(run_dir: Path) -> None:
    for _ in range(2):
        with Profiler(run_dir, "Größe", "one", install=True) as profiler, phase("é"):
            profiler.count("Σ", 2)
    for env in ({"PYTHONIOENCODING": "ascii"}, {"PYTHONIOENCODING": "latin-1"}):
        done = subprocess.run(
            [sys.executable, "-m", "lineprofiler", "report", str(run_dir), "--workers", "--wide"],
            env={**os.environ, **env},
            capture_output=True,
            timeout=LIMIT_S,
        )
        assert done.returncode == 0
        text = done.stdout.decode("ascii")
        assert "DOMINANT PHASES" in text and "---" in text


# ------------------------------------------------------------------------------------------------------- what it says


def test_single_waiting_process_is_not_told_of_a_queue_or_a_stall(run_dir: Path) -> None:
    with Profiler(run_dir, install=True), phase("sleep"):
        time.sleep(0.05)
    text = text_of(run_dir, "--wide", "--workers").lower()
    for word in ("stall", "queue", "bottleneck", "overlap", "nan", "inf"):
        assert not re.search(rf"\b{word}", text), word
    assert float(report(run_dir)["roles"][0]["phases"][0]["wait_share"]) > 0.9


def test_sums_over_processes_are_marked_and_their_base_named(run_dir: Path) -> None:
    for _ in range(3):
        with Profiler(run_dir, "actor", "one", install=True), phase("x"), phase("y"):
            pass
    with Profiler(run_dir, "learner", "one", install=True), phase("x"):
        pass
    text = text_of(run_dir)
    blocks = re.split(r"\n(?=ACTOR  \(|LEARNER  \(|DOMINANT)", text)  # whichever took longer comes first
    (actor,) = [block for block in blocks if block.startswith("ACTOR  (3")]
    (learner,) = [block for block in blocks if block.startswith("LEARNER  (1")]
    assert "summed over 3 processes" in actor and "Σ3 proc" in actor
    assert "Σ" not in learner and "summed" not in learner


def test_loop_is_found_below_an_outer_phase_and_labelled_as_named(run_dir: Path) -> None:
    with Profiler(run_dir, install=True), phase("train"):
        with phase("setup"):
            pass
        for _ in range(100):
            with phase("episode"), phase("move"):
                spin(100)
    (role,) = report(run_dir)["roles"]
    assert role["iterations"]["path"] == ["train", "episode"]
    assert role["iterations"]["calls"] == 100
    assert role["iterations"]["p50_ns"] <= role["iterations"]["p95_ns"] <= role["iterations"]["p99_ns"]
    text = text_of(run_dir)
    assert re.search(r"^ITERATIONS  \(100 entries of train/episode\)$", text, re.M)
    assert "EPISODES" not in text and "episodes" not in text


def test_the_loop_has_a_trend_from_its_first_tenth_to_its_last(run_dir: Path) -> None:
    inside, around = [], []
    with Profiler(run_dir, install=True):
        for step in range(80):
            before = time.perf_counter_ns()
            with phase("step"):
                start = time.perf_counter_ns()
                spin(1000 if step < 40 else 3000)
                inside.append(time.perf_counter_ns() - start)
            around.append(time.perf_counter_ns() - before)
    trend = report(run_dir)["roles"][0]["iterations"]["trend"]
    assert trend["calls"] == 80
    for key, part in (("first_tenth_ns", slice(8)), ("last_tenth_ns", slice(-8, None))):
        assert 0.999 * sum(inside[part]) / 8 <= trend[key] <= 1.001 * sum(around[part]) / 8
    assert trend["change"] == pytest.approx(trend["last_tenth_ns"] / trend["first_tenth_ns"] - 1, abs=1e-5)
    assert re.search(r"^  first tenth .* last tenth .* [+-][\d.]+%$", text_of(run_dir), re.M)


def test_a_loop_of_few_entries_has_no_trend(run_dir: Path) -> None:
    with Profiler(run_dir, install=True):
        for _ in range(20):
            with phase("step"):
                spin(1)
    assert report(run_dir)["roles"][0]["iterations"]["trend"] is None
    assert "tenth" not in text_of(run_dir)


def test_run_of_one_entry_has_no_iterations(run_dir: Path) -> None:
    with Profiler(run_dir, install=True), phase("once"):
        pass
    assert report(run_dir)["roles"][0]["iterations"] is None
    assert "ITERATIONS" not in text_of(run_dir)


SELECTED = [f"phase{i:02d}" for i in range(20)]


@pytest.fixture
def many_phases(run_dir: Path) -> Path:
    with Profiler(run_dir, "actor", install=True):
        for i, name in enumerate(SELECTED):
            for _ in range(20 - i):
                with phase(name):
                    spin(10 * (i + 1))
    return run_dir


def names_in(lines: list[str]) -> list[str]:
    return [found[0] for line in lines if (found := re.search(r"phase\d\d", line))]


def test_every_phase_can_be_reached_in_the_text(many_phases: Path) -> None:
    few = table(text_of(many_phases))
    assert len(few) < 20
    assert re.search(rf"^  {20 - len(few)} more phases with .* of the self time: --top all", text_of(many_phases), re.M)
    assert sorted(names_in(table(text_of(many_phases, "--top", "all")))) == SELECTED
    assert len(table(text_of(many_phases, "--top", "13"))) == 13
    assert table(text_of(many_phases, "--role", "actor", "--top", "all"))


@pytest.mark.parametrize(
    ("key", "column"),
    [("entries", "calls"), ("self", "self_ns"), ("wall", "wall_ns"), ("wait", "wait_ns"), ("p99", "p99_ns")],
)
def test_rows_are_in_the_order_that_was_asked_for(many_phases: Path, key: str, column: str) -> None:
    rows = {row["phase"]: row[column] for row in report(many_phases)["roles"][0]["phases"]}
    listed = names_in(table(text_of(many_phases, "--sort", key, "--top", "all")))
    assert len(listed) == 20
    assert [rows[name] for name in listed] == sorted(rows.values(), reverse=True)
    document = report(many_phases, "--sort", key)
    assert document["sort"] == key
    assert [row["phase"] for row in document["roles"][0]["phases"]] == listed


def test_wide_page_has_tail_and_maximum(many_phases: Path) -> None:
    wide = text_of(many_phases, "--wide", "--width", "140")
    head = next(line for line in wide.splitlines() if line.startswith("DOMINANT PHASES"))
    assert head.split()[2:] == ["entries", "self", "wait", "p50", "p95", "p99", "max"]


def test_caveat_stands_beside_the_number_it_concerns(run_dir: Path, tmp_path: Path) -> None:
    code = """
        import os
        from lineprofiler.accounting import begin, end, phase, start
        start("run", "actor", max_paths=6)
        for i in range(10):
            with phase("ab"[i % 2] + "x" * i): pass
        token = begin("t"); end(token); end(token)
        with phase("open"):
            os.kill(os.getpid(), 9)
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(code)], cwd=tmp_path, timeout=LIMIT_S)
    text = text_of(run_dir, "--top", "all")
    block = text[text.index("ACTOR  (") : text.index("WORKERS")]
    assert "1 end" in block  # the end without a begin
    assert re.search(r"\(folded\)", block)
    assert "1 killed" in text.split("\n\n")[0]
    document = report(run_dir)
    drops = document["roles"][0]["drops"]
    assert drops["end_without_begin"] == 1
    folded = [row for row in document["roles"][0]["phases"] if row["path"][-1] == "(folded)"]
    assert drops["folded"] == sum(row["calls"] + row["open"] for row in folded) > 0


def test_unknown_runtime_and_unknown_host_are_told_apart(run_dir: Path) -> None:
    """A run of which nothing could be read states what is not known in words, not in one mark for both."""
    with Profiler(run_dir, install=True), phase("x"):
        pass
    (path,) = run_dir.rglob("*.lpw")
    path.write_bytes(b"\xff" * 4096)
    text = text_of(run_dir)
    assert path.name in text
    assert "?" not in text.split("\n\n")[0]
    assert "0ns" not in text.split("\n\n")[0]
    document = report(run_dir)
    assert document["run"]["runtime_s"] is None
    assert document["roles"] == []


def test_json_carries_every_qualifier_of_the_text(run_dir: Path) -> None:
    with Profiler(run_dir, install=True) as profiler:
        for _ in range(200):
            with phase("sampled", sample=0.2):
                pass
            with phase("submitted", async_work=True):
                profiler.count("n", 3)
        with phase("still"):
            document = report(run_dir)
    phases = {row["phase"]: row for row in document["roles"][0]["phases"]}
    assert phases["sampled"]["sampled"]["scale"] > 1
    assert phases["submitted"]["async_entries"] == 200
    assert phases["still"]["open"] == 1 and phases["still"]["open_ns"] > 0
    for key in ("p50_ns", "p95_ns", "p99_ns", "min_ns", "max_ns", "stddev_ns", "mean_ns"):
        assert phases["submitted"][key] is not None, key
    assert phases["submitted"]["counter_details"][0]["min"] == 3
    assert document["workers"][0]["verdict"] == "running"


def test_revision_is_of_the_program_not_of_the_current_directory(tmp_path: Path) -> None:
    git = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    revisions = {}
    for name in ("code", "elsewhere"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "prog.py").write_text(
            "from lineprofiler.accounting import start, phase\nimport sys\nstart(sys.argv[1])\nwith phase('x'): pass\n"
        )
        for command in (
            ["init", "-q", "-b", f"branch-{name}"],
            ["add", "."],
            ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "-m", name],
        ):
            try:
                subprocess.run(["git", "-C", str(folder), *command], env=git, check=True, timeout=LIMIT_S)
            except FileNotFoundError:
                pytest.skip("no git here")
        head = subprocess.run(
            ["git", "-C", str(folder), "rev-parse", "HEAD"], capture_output=True, text=True, check=True
        )
        revisions[name] = head.stdout.strip()
    run_dir = tmp_path / "run"
    subprocess.run(
        [sys.executable, str(tmp_path / "code" / "prog.py"), str(run_dir)],
        cwd=tmp_path / "elsewhere",
        check=True,
        timeout=LIMIT_S,
    )
    source = report(run_dir)["run"]["source"]
    assert source["revision"] == revisions["code"]
    assert source["branch"] == "branch-code"
    assert revisions["code"][:7] in text_of(run_dir).split("\n\n")[0]


def test_other_threads_do_not_widen_the_runtime(run_dir: Path) -> None:
    """Thread time is more than the runtime when threads run beside each other, and the page says whose time it is."""
    barrier = threading.Barrier(3)

    def work() -> None:
        barrier.wait(30)
        with phase("x"):
            time.sleep(0.05)

    with Profiler(run_dir, install=True):
        threads = [threading.Thread(target=work) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    document = report(run_dir)
    assert document["roles"][0]["phases"][0]["wall_ns"] >= 150_000_000
    assert document["roles"][0]["elapsed_ns"] >= document["roles"][0]["phases"][0]["wall_ns"]
    assert document["run"]["threads"] == 3
    assert document["roles"][0]["breakdown"]["rows"][0]["share"] <= 1
    assert "threads" in text_of(run_dir)[text_of(run_dir).index("OUTSIDE ANY PHASE") :]
