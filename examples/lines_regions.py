"""Parts of a block, on two threads; a call line carries what it called."""

import threading
import time

from lineprofiler import LineProfiler, ProfilerConfig


def fetch(n):
    time.sleep(0.002 * n)
    return list(range(n))


def digest(rows):
    total = 0
    for row in rows:
        total += row * row
    return total


def work(n):
    rows = fetch(n)
    return digest(rows)


profiler = LineProfiler(config=ProfilerConfig(functions=["fetch", "digest", "work"]))
with profiler:
    with profiler.region("warm-up"):
        work(3)
    with profiler.region("steady"):
        thread = threading.Thread(target=work, args=(40,))
        thread.start()  # on a thread of its own: in no region
        for _ in range(5):
            work(10)
        thread.join()

profiler.print_global_top_stats(top_n=4)
profiler.print_regions(top_n=2)
print({name: region.entries for name, region in profiler.region_stats().items()})
