# SPDX-License-Identifier: MIT
"""What else of the line profiler has a price: threads, code that is made anew again and again, the start of a block,
the boundary of a region. Prints JSON rows.

    lines_more.py FOLDER ROUNDS
"""

from __future__ import annotations

import gc
import sys
import threading
import time
from collections.abc import Callable, Iterable
from types import CodeType
from typing import Any

from calls import print_and_leave
from lineprofiler import LineProfiler, ProfilerConfig, accounting
from lines_code import FUNCTION, Project
from measure import Sample, Variant, fastest, figure, loop_of, median, quartiles, ratios, run_rounds, samples

Row = dict[str, Any]

FUNCTIONS = 600
ITERATIONS = 100_000  # of all threads together


def cpu_of(call: Callable[[], object]) -> float:
    """Of the whole process, in nanoseconds."""
    start = time.process_time_ns()
    call()
    return time.process_time_ns() - start


def ratio_of(name: str, above: list[float], below: list[float]) -> Row:
    each = ratios(above, below)
    return figure(name, median(each), "ratio", spread=quartiles(each), least_ratio=fastest(above) / fastest(below))


# -- threads --------------------------------------------------------------------------------------------------------


def in_threads(run: Callable[[int], object], count: int) -> float:
    """CPU time of the iterations, shared by so many threads that start together."""
    gate = threading.Barrier(count + 1)

    def work() -> None:
        gate.wait()
        run(ITERATIONS // count)

    threads = [threading.Thread(target=work) for _ in range(count)]
    for each in threads:
        each.start()

    def all_of_them() -> None:
        gate.wait()
        for each in threads:
            each.join()

    return cpu_of(all_of_them)


def threads(project: Project, profiler: LineProfiler, rounds: int) -> list[Row]:
    watched, bare = project.copy("loop", "watched").run, project.copy("loop", "bare").run
    cost: dict[tuple[str, int], list[float]] = {(what, n): [] for what in ("bare", "watched") for n in (1, 4)}
    for number in range(-1, rounds):
        for (what, count), found in cost.items():
            if what == "watched":
                profiler.start()
            spent = in_threads(watched if what == "watched" else bare, count)
            profiler.stop()
            if number >= 0:
                found.append(spent)

    def pairs(count: int) -> Iterable[tuple[float, float]]:
        return zip(cost["watched", count], cost["bare", count], strict=True)

    over = {n: [(a - b) / (2 * ITERATIONS) for a, b in pairs(n)] for n in (1, 4)}
    least = {n: (fastest(cost["watched", n]) - fastest(cost["bare", n])) / (2 * ITERATIONS) for n in (1, 4)}
    made = [ratio_of(f"lines: loop in {n} thread{'s' * (n > 1)}", cost["watched", n], cost["bare", n]) for n in (1, 4)]
    more = [
        figure(f"lines: loop in {n} thread{'s' * (n > 1)}, a line event", least[n], "ns", median=median(over[n]))
        for n in (1, 4)
    ]
    return [*made, *more, figure("lines: a line event in 4 threads against 1", least[4] / least[1], "ratio")]


# -- code made anew -------------------------------------------------------------------------------------------------


def fresh(project: Project, count: int, same: bool) -> list[CodeType]:
    """Modules of one small function each, compiled one by one; all at the same place, or each at its own."""
    file = f"{project.folder}/churn.py"
    text = FUNCTION + "f{0}(1)\n"
    return [
        compile("\n" * (0 if same else i % 250) + text.format(0 if same else i), file, "exec") for i in range(count)
    ]


def run_all(codes: list[CodeType]) -> None:
    for code in codes:
        exec(code, {})


def churn(project: Project, rounds: int) -> list[Row]:
    """Each round records into a profiler of its own, for which all code is new."""
    sizes = {"few": (1_000, False), "many": (10_000, False), "same": (10_000, True)}
    cost: dict[str, list[float]] = {name: [] for name in (*sizes, "bare")}
    for number in range(-1, rounds):
        for name, (count, same) in {**sizes, "bare": (10_000, False)}.items():
            codes = fresh(project, count, same)
            gc.collect()
            profiler = LineProfiler(project.folder, ProfilerConfig())
            if name != "bare":
                profiler.start()
            spent = cpu_of(lambda codes=codes: run_all(codes)) / count
            if name != "bare":
                profiler.stop()
            if number >= 0:
                cost[name].append(spent)
    return [
        figure(
            "lines: fresh function, made and called once", median(cost["many"]) / 1000, "us", bare=median(cost["bare"])
        ),
        figure("lines: fresh function, always the same one", median(cost["same"]) / 1000, "us"),
        figure("lines: fresh function, bare", median(cost["bare"]) / 1000, "us"),
        ratio_of("lines: fresh function, of 10,000 against of 1,000", cost["many"], cost["few"]),
    ]


# -- blocks and regions ---------------------------------------------------------------------------------------------


def blocks(project: Project, profiler: LineProfiler, rounds: int) -> list[Row]:
    """A profiler that has recorded all of them, and one that was given all of them as decorated functions."""
    functions = project.many(FUNCTIONS)

    def call_all() -> None:
        for function in functions:
            function(1)

    with profiler:
        call_all()
    decorator = LineProfiler(project.folder, ProfilerConfig())
    for function in project.many(FUNCTIONS, "decorated"):
        decorator(function)
    spent: dict[str, list[float]] = {"recorded": [], "decorated": [], "stop": [], "calls": []}
    for _ in range(rounds):
        spent["recorded"].append(cpu_of(profiler.start) / 1e6)
        spent["calls"].append(cpu_of(call_all) / 1e6)
        spent["stop"].append(cpu_of(profiler.stop) / 1e6)
        spent["decorated"].append(cpu_of(decorator.start) / 1e6)
        decorator.stop()
    names = {
        "recorded": f"lines: start of a block, {FUNCTIONS} functions recorded before",
        "decorated": f"lines: start of a block, {FUNCTIONS} functions decorated",
        "calls": f"lines: first calls of {FUNCTIONS} functions in a block",
        "stop": f"lines: end of a block, {FUNCTIONS} functions recorded",
    }
    return [
        figure(names[key], median(found), "ms", spread=quartiles(found), least=fastest(found))
        for key, found in spent.items()
    ]


def regions(profiler: LineProfiler, run_dir: str, rounds: int) -> list[Row]:
    """The loops are of no file of the project: what is timed must not be watched itself."""
    clocks = accounting.Profiler(run_dir, role="bench")
    with_region = loop_of('with profiler.region("x"): pass', profiler=profiler)
    variants = [
        Variant("loop", loop_of("pass")),
        Variant("phase", loop_of('with phase("x"): pass', phase=accounting.phase), "loop",
                lambda: accounting.install_profiler(clocks), accounting.uninstall_profiler),
        Variant("watched loop", loop_of("pass"), "", profiler.start, profiler.stop),
        Variant("region", with_region, "watched loop", profiler.start, profiler.stop),
    ]  # fmt: skip
    run_rounds(variants, rounds, 1000)
    costs: dict[str, Sample] = samples(variants)
    boundary, phase = costs["region"].cpu_ns, costs["phase"].cpu_ns
    return [
        ratio_of(f"lines: region against a phase, {FUNCTIONS} functions recorded", boundary, phase),
        figure("lines: region, both boundaries", median(boundary), "ns", spread=quartiles(boundary)),
    ]


def main() -> None:
    folder, rounds = sys.argv[1], int(sys.argv[2])
    project = Project(folder)
    profiler = LineProfiler(project.folder, ProfilerConfig())
    rows = threads(project, profiler, max(3, rounds // 4))
    rows += churn(project, max(2, rounds // 20))
    rows += blocks(project, profiler, rounds)
    rows += regions(profiler, f"{folder}/phases", rounds)
    print_and_leave(rows)


if __name__ == "__main__":
    main()
