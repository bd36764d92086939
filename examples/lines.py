"""Which line of a function takes the time."""

from lineprofiler import LineProfiler


def slow_function():
    total = 0
    for i in range(1_000_000):
        total += i * i
    return total


profiler = LineProfiler()
with profiler:
    slow_function()
profiler.print_stats()
