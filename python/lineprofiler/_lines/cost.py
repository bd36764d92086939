"""What one line event costs here: a loop timed bare and under a session of its own."""
# SPDX-License-Identifier: MIT

from lineprofiler import _core

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

_NAME = "<lineprofiler: cost of a line event>"
_ROUNDS = 2_000
_TRIES = 5
_TEXT = """\
def loop(rounds):
    total = 0
    for i in range(rounds):
        total += i
    return total
"""
_EVENTS = 2 * _ROUNDS  # two lines a round


def _make_loop() -> "Callable[[int], int]":
    scope: dict[str, Callable[[int], int]] = {}
    exec(compile(_TEXT, _NAME, "exec", dont_inherit=True), scope)
    return scope["loop"]


def _fastest(loop: "Callable[[int], int]") -> int:
    from time import perf_counter_ns

    best = 1 << 62
    for _ in range(_TRIES):
        begin = perf_counter_ns()
        loop(_ROUNDS)
        best = min(best, perf_counter_ns() - begin)
    return best


def measure() -> float:
    """Nanoseconds that a line event adds, the least of a few tries; 0 when the clock sees no difference."""
    recording = _core.Recording("/dev/null/lineprofiler", "cost", store="private", facts={"collector": "lines"})
    session = _core.LineSession(
        recording,
        admit_file=lambda name: int(name == _NAME),
        admit_function=lambda name, function, line: False,
        source=lambda name: None,
    )
    bare = _fastest(_make_loop())
    watched = _make_loop()
    session.start()
    try:
        best = _fastest(watched)
    finally:
        session.stop()
        recording.close()
    return max(0.0, (best - bare) / _EVENTS)
