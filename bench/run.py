# SPDX-License-Identifier: MIT
"""`make bench`: every published number. One table on stdout, one JSON file.

    make bench [PY=3.12] [BENCH_ARGS='--quick --only phase,count']

Runs in the environment that bench/prepare made; what is measured runs in processes of its own. A row is a ratio to a
baseline of the same run, or a value in its unit. It ends with status 1 when a figure cannot be right (negative, or the
two runs of one baseline differ by a quarter); a missed target is printed, and is no error.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import in_c
from measure import figure, median, quartiles, ratios
from spawned import spend
from targets import bound

ROOT, HERE, BUILD = in_c.ROOT, Path(__file__).resolve().parent, in_c.BUILD
VERSION = f"{sys.version_info[0]}.{sys.version_info[1]}"
OTHERS = ROOT / f".venv/others-py{VERSION}/bin/python"
NEWER = ROOT / f".venv/newer-py{VERSION}/bin/python"
Row = dict[str, Any]

SMALL_RUN = """
import sys
from lineprofiler.accounting import phase, start, stop
start(run_dir=sys.argv[1], enabled=True)
with phase("x"):
    pass
stop()
"""


@contextlib.contextmanager
def scratch() -> Iterator[str]:
    """A folder on the disk that builds are on: recordings are measured where programs would make them."""
    (BUILD / "tmp").mkdir(parents=True, exist_ok=True)
    folder = tempfile.mkdtemp(dir=BUILD / "tmp")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def script(python: str | Path, name: str, *arguments: object, **environment: str) -> list[Row]:
    clean = {key: value for key, value in os.environ.items() if not key.startswith("LINEPROFILER_")}
    command = [str(python), str(HERE / name), *map(str, arguments)]
    done = subprocess.run(command, env={**clean, **environment}, stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: exit {done.returncode}")
    rows: list[Row] = json.loads(done.stdout.splitlines()[-1])
    return rows


def ours(name: str, *arguments: object, **environment: str) -> list[Row]:
    return script(sys.executable, name, *arguments, **environment)


def theirs(name: str, *arguments: object) -> list[Row]:
    return script(OTHERS, name, *arguments) if OTHERS.exists() else []


# -- groups of rows -------------------------------------------------------------------------------------------------


def calls(quick: bool) -> list[Row]:
    rounds, operations = (30, 500) if quick else (300, 1000)
    with scratch() as folder:
        rows = ours("calls.py", "ours", folder, rounds, operations)
        rows += ours("calls.py", "off", folder, rounds, operations // 5, LINEPROFILER_PROFILE="0")
    return rows


def others(quick: bool) -> list[Row]:
    if not OTHERS.exists():
        return []
    rounds, operations = (30, 50) if quick else (300, 50)
    with scratch() as folder:
        rows = theirs("calls.py", "others", folder, rounds, operations)
        rows += theirs("search.py", "others", folder, 20 if quick else 150, 5)
        rows += theirs("tasks.py", "others", folder, 20 if quick else 100, 400)
        rows += start_up(str(OTHERS), "with-line-profiler: ", 5 if quick else 15)
        spend([str(OTHERS), "-c", SMALL_RUN, f"{folder}/small"])
        times = [
            spend([str(OTHERS), str(OTHERS.with_name("lineprofiler")), "report", f"{folder}/small"]) for _ in range(5)
        ]
    return [
        *(each for each in rows if ":" in each["name"]),
        figure("with-line-profiler: report of one small run, CPU", median(t.cpu_s for t in times) * 1000, "ms"),
    ]


def tasks(quick: bool) -> list[Row]:
    with scratch() as folder:
        return ours("tasks.py", "ours", folder, 60 if quick else 600, 1000)


def search(quick: bool) -> list[Row]:
    with scratch() as folder:
        return ours("search.py", "ours", folder, 60 if quick else 500, 20)


def start_up(python: str, prefix: str, times: int) -> list[Row]:
    """CPU time of an import beside that of an interpreter that imports nothing more, in turn."""
    bare, imported = [], []
    for _ in range(times):
        bare.append(spend([python, "-c", "pass"]).cpu_s)
        imported.append(spend([python, "-c", "from lineprofiler import accounting"]).cpu_s)
    each = ratios(imported, bare)
    name = f"{prefix}import, CPU against python -c pass"
    return [figure(name, median(each), "ratio", spread=quartiles(each), bare_ms=median(bare) * 1000)]


def import_(quick: bool) -> list[Row]:
    return start_up(sys.executable, "", 7 if quick else 40)


def start(quick: bool) -> list[Row]:
    made: list[tuple[float, ...]] = []
    with scratch() as folder:
        for number in range(7 if quick else 40):
            command = [sys.executable, str(HERE / "first.py"), f"{folder}/{number}"]
            words = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
            made.append(tuple(int(word) / 1e6 for word in words))
    whole = [a + b for a, b, _ in made]
    return [
        figure("start to first phase", median(whole), "ms", spread=quartiles(whole)),
        figure("start to first phase: start", median(a for a, _, _ in made), "ms"),
        figure("start to first phase: the phase", median(b for _, b, _ in made), "ms"),
        figure("start to first phase, CPU", median(c for _, _, c in made), "ms"),
    ]


def in_scratch(measure: Callable[..., list[Row]], few: int, many: int) -> Callable[[bool], list[Row]]:
    def group(quick: bool) -> list[Row]:
        with scratch() as folder:
            return measure(folder, few if quick else many)

    return group


def lines(quick: bool) -> list[Row]:
    with scratch() as folder:
        rows = ours("lines.py", "ours", f"{folder}/lines", 5 if quick else 40, 0.2 if quick else 1.0)
        return rows + ours("lines_more.py", f"{folder}/more", 20 if quick else 100)


def lines_others(quick: bool) -> list[Row]:
    tools = {
        "line_profiler": OTHERS,
        "line_profiler-ctrace": OTHERS,
        "coverage": OTHERS,
        "reference": OTHERS,
        "reference of today": NEWER,
    }
    rows = []
    with scratch() as folder:
        for name, python in tools.items():
            if not python.exists():
                continue
            try:
                rows += script(python, "lines.py", name.split()[0], f"{folder}/{name}", 2 if quick else 9, 0.1)
            except SystemExit as failure:
                print(f"left out: {failure}", file=sys.stderr)
    return rows


def store(_: bool) -> list[Row]:
    with scratch() as folder:
        return in_c.store(folder)


GROUPS: dict[str, tuple[str, Callable[[bool], list[Row]]]] = {
    "calls": ("against `with Empty(): pass`, the loop subtracted", calls),
    "tasks": ("against the same generators and tasks without phases", tasks),
    "mcts": ("against the same search without phases", search),
    "c": ("in C, against two reads of the wall clock", in_scratch(in_c.parts, 40, 400)),
    "threads": ("threads of one process, against one thread", in_scratch(in_c.threads, 5, 40)),
    "tail": ("single entries in C, nobody else and with a neighbour that writes", in_scratch(in_c.tail, 200, 2000)),
    "store": ("size of a worker file", store),
    "import": ("interpreter start", import_),
    "start": ("start", start),
    "report": ("the native program `lineprofiler report`, warm", in_c.reports),
    "page": ("the page of a line report, in C", in_c.pages),
    "lines": ("lines watched, against the same code bare, by the CPU clock (in brackets: fastest tenths)", lines),
    "lines-others": ("other tools that watch lines, each against the same code bare in the same process", lines_others),
    "others": ("other tools, in an environment of their own, against the same baselines", others),
}
# Which group a word of --only may be found in, beside the names of the groups.
HOMES = {
    "calls": "phase kept count begin nothing installed decorated sample coroutine async iterate lock",
    "tasks": "generator asyncio step task",
    "others": "reference with-line-profiler scope-profiler nvtx",
    "mcts": "search",
    "lines": "loop fib library churn region block",
    "lines-others": "line_profiler coverage",
}


# -- the table ------------------------------------------------------------------------------------------------------


def shown(value: float) -> str:
    if value >= 1000:
        return f"{value:,.0f}"
    return f"{value:.3f}" if value < 10 else f"{value:.1f}"


def judge(row: Row) -> None:
    """Adds target and verdict."""
    value = row.get("ratio", row.get("value"))
    row["target"] = bound(row["name"], sys.version_info[:2])
    row["verdict"] = None if row["target"] is None else "ok" if value <= row["target"] else "missed"


def line(row: Row) -> str:
    if "ratio" in row:
        low, high = map(shown, row["quartiles"])
        ratio, by_cpu = shown(row["ratio"]), shown(row["cpu_ratio"])
        figures = f"{ratio:>9}        {low:>6} .. {high:<6}  {by_cpu:>7}  {row['ns']:>9,.1f} ns"
    else:
        unit = "" if row["unit"] == "ratio" else row["unit"]
        figures = f"{shown(row['value']):>9} {unit:<6}"
    verdict = "" if row["target"] is None else f"{shown(row['target']):>8}  {row['verdict']}"
    return f"  {row['name']:<58}{figures:<59}{verdict}".rstrip()


def impossible(rows: list[Row]) -> list[str]:
    """Figures that show that the measurement failed."""
    problems = []
    for row in rows:
        value = row.get("ratio", row.get("value"))
        if value < 0:
            problems.append(f"{row['name']} is negative: {value}")
        if row["name"].endswith("again") and not 0.75 <= value <= 1.25:
            problems.append(f"{row['name']}: the same code differs from itself by {abs(value - 1):.0%}")
    return problems


def machine() -> dict[str, Any]:
    with open("/proc/cpuinfo", encoding="ascii") as info:
        model = next((text.split(":")[1].strip() for text in info if text.startswith("model name")), platform.machine())
    revision = subprocess.run(["git", "rev-parse", "--short", "HEAD"], cwd=ROOT, capture_output=True, text=True).stdout
    return {
        "python": platform.python_version(),
        "build": "meson release (-O3 -DNDEBUG)",
        "cpu": model,
        "cores": len(os.sched_getaffinity(0)),
        "kernel": platform.release(),
        "load": round(os.getloadavg()[0], 1),
        "revision": revision.strip(),
        "date": time.strftime("%Y-%m-%dT%H:%M:%S"),
    }


def chosen(only: str) -> tuple[list[str], list[str]]:
    """The groups to run, and the words that their rows must hold."""
    words = [word for word in only.split(",") if word]
    unknown = [w for w in words if w not in GROUPS and not any(w in homes.split() for homes in HOMES.values())]
    if unknown:
        raise SystemExit(f"--only: no rows of that name: {', '.join(unknown)}; groups are {', '.join(GROUPS)}")
    groups = [g for g in GROUPS if not words or g in words or any(w in HOMES.get(g, "").split() for w in words)]
    return groups, words


def keep(results: dict[str, Any], partial: bool) -> Path:
    """One file for all versions of Python; groups that were measured whole replace what it held of them."""
    path = ROOT / ("build/bench-partial.json" if partial else "build/bench.json")
    everything: dict[str, Any] = {"schema": 1, "runs": {}}
    if path.exists() and not partial:
        everything = json.loads(path.read_text(encoding="utf-8"))
        measured = {row["group"] for row in results["rows"]}
        before = everything["runs"].get(VERSION, {"rows": []})["rows"]
        results["rows"] += [row for row in before if row["group"] not in measured]
        results["rows"].sort(key=lambda row: list(GROUPS).index(row["group"]))
    everything["runs"][VERSION] = results
    path.write_text(json.dumps(everything, indent=1) + "\n", encoding="utf-8")
    return path


def main() -> int:
    parser = argparse.ArgumentParser(prog="make bench BENCH_ARGS=...", description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="groups of rows, or words of their names, with commas")
    parser.add_argument("--quick", action="store_true", help="few rounds and small runs: to see that it works")
    options = parser.parse_args()
    groups, words = chosen(options.only)
    facts = machine()
    print(f"Python {facts['python']}, {facts['build']}, {facts['cpu']}, {facts['cores']} cores, load {facts['load']}")
    print(f"  {'':<58}{'ratio':>9}        {'quartiles':>16} {'CPU clock':>9}  {'wall':>9}{'':<5}{'at most':>8}")
    rows: list[Row] = []
    for group in groups:
        title, measure = GROUPS[group]
        print(f"{group}: {title}", flush=True)
        for row in measure(options.quick):
            if words and group not in words and not any(word in row["name"] for word in words):
                continue
            judge(row)
            row["group"] = group
            rows.append(row)
            print(line(row), flush=True)
    problems = impossible(rows)
    partial = options.quick or any(word not in GROUPS for word in words)
    path = keep({**facts, "rows": list(rows), "problems": problems}, partial)
    missed = [row["name"] for row in rows if row["verdict"] == "missed"]
    judged = sum(row["verdict"] is not None for row in rows)
    print(f"{judged - len(missed)} of {judged} targets met" + (f"; missed: {', '.join(missed)}" if missed else ""))
    print(f"written to {path.relative_to(ROOT)}")
    for problem in problems:
        print(f"bench: {problem}", file=sys.stderr)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
