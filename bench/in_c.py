# SPDX-License-Identifier: MIT
"""The rows that need no Python in what is measured: the core in C, threads, the tail, the store, reports."""

from __future__ import annotations

import hashlib
import os
import shutil
import struct
import subprocess
from pathlib import Path
from typing import Any

from measure import Sample, figure, median, over_rows, quartiles, ratios, row
from spawned import spend

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/bench"
PROGRAM = str(BUILD / "native/native/lineprofiler")

Row = dict[str, Any]


def program(name: str, *arguments: object) -> list[str]:
    command = [str(BUILD / "bin" / name), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}: exit {done.returncode}: {done.stderr.strip()}")
    return done.stdout.splitlines()


def rounds_of(lines: list[str]) -> dict[str, Sample]:
    found: dict[str, Sample] = {}
    for line in lines:
        words = line.split()
        if len(words) == 4:
            sample = found.setdefault(words[0], Sample([], []))
            sample.wall_ns.append(float(words[2]))
            sample.cpu_ns.append(float(words[3]))
    return found


PARTS = [  # name of the row, what was run, what of it is something else
    ("C wall clock, two reads", "wall_twice", "loop"),
    ("C wall and CPU clock, two reads of each", "clocks_twice", "loop"),
    ("C CPU clock of the kernel, two reads", "thread_clock_twice", "loop"),
    ("C thread state and tree, same path", "tree_same", "loop"),
    ("C thread state and tree, other path", "tree_other", "loop"),
    ("C histogram", "histogram", "random"),
    ("C stack and books with histogram", "books", "loop"),
    ("C begin and end, inlined", "entry", "loop"),
    ("C begin and end, by the library", "public", "loop"),
    ("C begin and end, two paths in turn", "public_other", "loop"),
    ("C begin and end, nothing installed", "public_off", "loop"),
    ("C count", "count", "loop"),
    ("C count, amounts differ", "count_varying", "loop"),
]


def parts(scratch: str, rounds: int) -> list[Row]:
    """The parts of an entry, as ratios to two reads of the wall clock."""
    samples = rounds_of(program("parts", scratch, rounds))
    base = Sample.less(samples["wall_twice"], samples["loop"])
    rows = [row(name, Sample.less(samples[run], samples[part]), base) for name, run, part in PARTS]
    again = Sample.less(samples["loop_again"], samples["loop"])
    rows += over_rows("C begin and end, over two clock reads", samples["public"], samples["wall_twice"])
    rows.append(figure("C loop, its twin's distance", abs(median(again.wall_ns)), "ns"))
    return rows


def threads(scratch: str, rounds: int) -> list[Row]:
    """CPU time of an entry with 1, 2 and 4 threads; wall time says nothing where threads outnumber cores."""
    samples = rounds_of(program("threads", scratch, rounds))
    rows = []
    for count in (1, 2, 4):
        mine, base = samples[f"threads_{count}"], samples["threads_1"]
        by_cpu = Sample(mine.cpu_ns, mine.cpu_ns)
        rows.append(row(f"threads: {count}, CPU of an entry", by_cpu, Sample(base.cpu_ns, base.cpu_ns)))
    return rows


def tail(scratch: str, megabytes: int) -> list[Row]:
    columns = ("p50", "p99", "p99.9", "p99.99", "p99.999", "max")
    rows = []
    for label, size in (("quiet", 0), ("tail", megabytes)):
        places = {}
        for line in program("tail", scratch, size):
            name, count, *values = line.split()
            places[name] = {"entries": int(count), **dict(zip(columns, map(float, values), strict=True))}
        for name, place in places.items():
            facts = {**place, "neighbour_megabytes": size}
            rows.append(figure(f"{label}: p99.99 of an entry, {name}", place["p99.99"] / 1000, "us", **facts))
        for name, words in (("run_dir", "in the run directory"), ("shm", "in tmpfs")):
            over = max(0.0, places[name]["p99.99"] - places["memory"]["p99.99"]) / 1000
            rows.append(figure(f"{label}: p99.99 {words}, over memory", over, "us"))
    return rows


# -- the store ------------------------------------------------------------------------------------------------------


def worker_files(run_dir: Path) -> list[Path]:
    return sorted(run_dir.glob("workers/*/*.lpw"))


def used_bytes(path: Path) -> int:
    """Of all records in a worker file: what its segments say they use (docs/format.md)."""
    data = path.read_bytes()
    (end,) = struct.unpack_from("<Q", data, 104)
    at, total = 512, 0
    while at + 64 <= end:
        capacity, used = struct.unpack_from("<Q", data, at + 24)[0], struct.unpack_from("<Q", data, at + 40)[0]
        total += used
        at += capacity
    return total


def store(scratch: str) -> list[Row]:
    sizes = {}
    for paths in (50, 200, 2000, 10000):
        run_dir = Path(scratch) / f"store-{paths}"
        program("make_run", run_dir, 1, paths)
        (file,) = worker_files(run_dir)
        sizes[paths] = (used_bytes(file), file.stat().st_size)
    per_path = (sizes[2000][0] - sizes[200][0]) / 1800
    return [
        figure("store: bytes of a path", per_path, "B"),
        figure("store: bytes of a path, unused room included", sizes[10000][1] / 10000, "B"),
        figure("store: a process with 50 paths", sizes[50][1], "B", used=sizes[50][0]),
        figure("store: a process with 200 paths", sizes[200][1], "B", used=sizes[200][0]),
        figure("store: a process with 2,000 paths", sizes[2000][1], "B", used=sizes[2000][0]),
    ]


# -- reports --------------------------------------------------------------------------------------------------------


def made_run(processes: int, paths: int) -> Path:
    """A run of that size, made by bench/c/make_run.c and kept until that program changes."""
    stamp_of = hashlib.sha256((BUILD / "bin/make_run").read_bytes()).hexdigest()
    run_dir = BUILD / f"runs/{processes}x{paths}"
    stamp = run_dir.with_suffix(".made")
    if stamp.exists() and stamp.read_text() == stamp_of:
        return run_dir
    shutil.rmtree(run_dir, ignore_errors=True)
    run_dir.parent.mkdir(parents=True, exist_ok=True)
    program("make_run", run_dir, processes, paths)
    stamp.write_text(stamp_of)
    return run_dir


def report_row(name: str, command: list[str], times: int) -> tuple[list[float], list[Row]]:
    spent = [spend(command) for _ in range(times + 1)][1:]  # the first one warms the cache
    cpu = [each.cpu_s for each in spent]
    return cpu, [
        figure(f"{name}, CPU", median(cpu), "s", spread=quartiles(cpu)),
        figure(f"{name}, wall", median(each.wall_s for each in spent), "s"),
        figure(f"{name}, memory", median(each.peak_mb for each in spent), "MB"),
    ]


def reports(quick: bool) -> list[Row]:
    small = str(made_run(1, 20))
    nothing = [shutil.which("true") or "/bin/true"]
    pairs = [(spend(nothing), spend([PROGRAM, "report", small])) for _ in range(7 if quick else 31)]
    rows = [
        figure("report of one small run", median(b.wall_s for _, b in pairs) * 1000, "ms"),
        figure("report of one small run, CPU", median(b.cpu_s for _, b in pairs) * 1000, "ms"),
        figure(
            "report of one small run, CPU against a program that does nothing",
            median(ratios([b.cpu_s for _, b in pairs], [a.cpu_s for a, _ in pairs])),
            "ratio",
        ),
    ]
    sizes = [(10, 200), (100, 200)] if quick else [(10, 200), (100, 200), (1000, 200), (10000, 100)]
    per_file = {}
    for processes, paths in sizes:
        run_dir = made_run(processes, paths)
        name = f"report of {processes:,} processes x {paths} paths"
        cpu, more = report_row(name, [PROGRAM, "report", str(run_dir)], 3 if processes > 1000 else 7)
        per_file[processes] = median(cpu) / processes
        rows += more
        megabytes = sum(os.stat(file).st_size for file in worker_files(run_dir)) / 1e6
        rows.append(figure(f"{name}, size of the files", megabytes, "MB"))
    rows += [
        figure(f"report: CPU of a file, {count:,} against 10", cost / per_file[10], "ratio")
        for count, cost in per_file.items()
        if count > 10
    ]
    return rows


def pages(quick: bool) -> list[Row]:
    lines = 20_000
    printed = program("lines_page", lines, 3 if quick else 15)
    sample = rounds_of(printed)["page"]
    page, bare, source = (int(word) for word in printed[-1].split()[1:])
    name = f"page of {lines:,} source lines"
    return [
        figure(f"{name}, CPU", median(sample.cpu_ns) / 1e9, "s", spread=quartiles([ns / 1e9 for ns in sample.cpu_ns])),
        figure(f"{name}, size", page / 1e6, "MB"),
        figure(f"{name}, size against the source's", page / source, "ratio"),
        figure(f"{name}, bytes a line beyond the source", (page - bare) / lines, "B"),
    ]
