"""Lines of a pool: with a run directory, processes that start inside the block are recorded and added up."""

import multiprocessing
import sys

from lineprofiler import LineProfiler


def add(numbers):
    total = 0
    for number in numbers:
        total += number
    return total


if __name__ == "__main__":
    context = multiprocessing.get_context(sys.argv[1] if len(sys.argv) > 1 else "spawn")
    profiler = LineProfiler(run_dir="lines")
    with profiler:
        with context.Pool(3) as pool:
            parts = pool.map(add, [range(1, 334), range(334, 667), range(667, 1001)])
        print(add(parts))
    for (_, name, _), stats in profiler.get_stats().items():
        if name == "add":
            print({stats.source_lines[line].strip(): found.hits for line, found in sorted(stats.line_stats.items())})
