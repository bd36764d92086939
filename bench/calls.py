# SPDX-License-Identifier: MIT
"""What one call costs in Python, all against `with Empty(): pass`. Prints JSON rows.

calls.py ours RUN_DIR ROUNDS OPERATIONS      in an environment with only our package
calls.py off RUN_DIR ROUNDS OPERATIONS       the same with LINEPROFILER_PROFILE=0 at import
calls.py others RUN_DIR ROUNDS OPERATIONS    in an environment with only the other tools
"""

from __future__ import annotations

import itertools
import json
import os
import sys
import threading
from collections.abc import Callable
from typing import NoReturn

from measure import Loop, Variant, driven, figure, loop_of, median, over_rows, row, run_rounds, samples


class Empty:
    def __enter__(self):
        return self

    def __exit__(self, *a):
        return None


def plain() -> None:
    pass


def baselines() -> list[Variant]:
    """The bare loop and the baseline, each twice: what the twins differ by is the noise of all other rows."""
    return [
        Variant("loop", loop_of("pass")),
        Variant("loop again", loop_of("pass"), "loop"),
        Variant("empty", loop_of("with Empty(): pass", Empty=Empty), "loop"),
        Variant("empty again", loop_of("with Empty(): pass", Empty=Empty), "loop"),
        Variant("C lock, made anew", loop_of("with Lock(): pass", Lock=threading.Lock), "loop"),
        Variant("C lock, kept", loop_of("with lock: pass", lock=threading.Lock()), "loop"),
        Variant("plain call", loop_of("f()", f=plain), "loop"),
    ]


def amounts_loop(count: Callable[[str, int], object] | None) -> Loop:
    amounts = itertools.cycle(range(64))
    statement = 'count("amounts", next(amounts))' if count else "next(amounts)"
    return loop_of(statement, count=count, amounts=amounts, next=next)


def our_variants(run_dir: str) -> list[Variant]:
    from lineprofiler import accounting

    profiler = accounting.Profiler(run_dir, role="bench")
    outer = accounting.phase("outer")
    names = {name: getattr(accounting, name) for name in ("phase", "count", "begin", "end", "iterate")}
    names["kept"] = accounting.phase("kept")

    def install() -> None:
        accounting.install_profiler(profiler)

    def enter_outer() -> None:
        install()
        outer.__enter__()

    def leave_outer() -> None:
        outer.__exit__(None, None, None)
        accounting.uninstall_profiler()

    def on(name: str, loop: Loop, less: str = "loop") -> Variant:
        return Variant(name, loop, less, install, accounting.uninstall_profiler)

    def inside(name: str, loop: Loop, less: str = "loop") -> Variant:
        return Variant(name, loop, less, enter_outer, leave_outer)

    def in_coroutine(statement: str) -> Loop:
        return driven(loop_of(statement, "async def", **names))

    def iterate(n: int) -> None:
        for _ in accounting.iterate("items", itertools.repeat(None, n)):
            pass

    decorated = accounting.phase("decorated")(plain)
    one_phase = 'with phase("x"): pass'
    sampled = 'with phase("sampled", sample=0.01): pass'
    return [
        Variant("bare coroutine", in_coroutine("pass")),
        Variant("bare amounts", amounts_loop(None)),
        on("phase", loop_of(one_phase, **names)),
        on("phase, kept", loop_of("with kept: pass", **names)),
        on("begin, end", loop_of('end(begin("x"))', **names)),
        on("phase in a coroutine", in_coroutine(one_phase), "bare coroutine"),
        on("async with phase", in_coroutine('async with phase("x"): pass'), "bare coroutine"),
        on("decorated call", loop_of("f()", f=decorated), "plain call"),
        on("iterate", iterate, "loop"),
        on("sample=0.01", loop_of(sampled, **names)),
        inside("phase below a phase", loop_of(one_phase, **names)),
        inside("count", loop_of('count("things", 3)', **names)),
        inside("count, amounts differ", amounts_loop(accounting.count), "bare amounts"),
        Variant("nothing installed", loop_of(one_phase, **names), "loop"),
        Variant("nothing installed, kept", loop_of("with kept: pass", **names), "loop"),
        Variant("nothing installed, sample=0.01", loop_of(sampled, **names), "loop"),
        Variant("nothing installed, count", loop_of('count("things", 3)', **names), "loop"),
        Variant("nothing installed, decorated", loop_of("f()", f=decorated), "plain call"),
    ]


def off_variants(_: str) -> list[Variant]:
    from lineprofiler import accounting

    decorated = accounting.phase("decorated")(plain)
    if decorated is not plain:
        print("switched off, the decorator still returns something else", file=sys.stderr)
    calls = "\n".join(["f()"] * 10)
    return [
        Variant("ten plain calls", loop_of(calls, f=plain), "loop"),
        Variant("decorated, switched off", loop_of(calls, f=decorated), "loop"),
    ]


def reference_variants(run_dir: str) -> list[Variant]:
    """with-line-profiler's layer of the same name, recording from here on."""
    from lineprofiler import accounting

    accounting.start(run_dir=run_dir, role="bench", enabled=True)
    names = {"phase": accounting.phase, "count": accounting.count}
    outer = accounting.phase("outer")

    def leave_outer() -> None:
        outer.__exit__(None, None, None)

    def enter_outer() -> None:
        nonlocal outer
        outer = accounting.phase("outer")
        outer.__enter__()

    return [
        Variant("with-line-profiler: phase", loop_of('with phase("x"): pass', **names), "loop"),
        Variant("with-line-profiler: sample=0.01", loop_of('with phase("s", sample=0.01): pass', **names), "loop"),
        Variant("with-line-profiler: count", loop_of('count("things", 3)', **names), "loop", enter_outer, leave_outer),
    ]


def scope_profiler_variants(run_dir: str) -> list[Variant]:
    from scope_profiler import ProfileManager

    ProfileManager.setup(file_path=os.path.join(run_dir, "scopes.h5"), deactivate_file_output=True)
    region = ProfileManager.profile_region
    return [Variant("scope-profiler: profile_region", loop_of('with region("x"): pass', region=region), "loop")]


def nvtx_variants(_: str) -> list[Variant]:
    import nvtx

    return [Variant("nvtx: annotate", loop_of('with annotate("x"): pass', annotate=nvtx.annotate), "loop")]


def other_variants(run_dir: str) -> list[Variant]:
    found: list[Variant] = []
    for make in (reference_variants, scope_profiler_variants, nvtx_variants):
        try:
            found += make(run_dir)
        except Exception as error:  # whatever a tool that is not ours raises: its rows are left out, and said
            print(f"left out: {make.__name__}: {type(error).__name__}: {error}", file=sys.stderr)
    return found


def print_and_leave(rows: list[dict[str, object]]) -> NoReturn:
    sys.stdout.write("\n" + json.dumps(rows) + "\n")
    sys.stdout.flush()
    os._exit(0)  # what the tools do at an exit is not part of the rows, and one of them may print


def main() -> None:
    which, run_dir, rounds, operations = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
    make = {"ours": our_variants, "off": off_variants, "others": other_variants}[which]
    variants = baselines() + make(run_dir)
    run_rounds(variants, rounds, operations)
    costs = samples(variants)
    if which == "off":
        print_and_leave([row("decorated, switched off", costs["decorated, switched off"], costs["ten plain calls"])])
    hidden = {"loop again", "bare coroutine", "bare amounts"}
    rows = [row(v.name, costs[v.name], costs["empty"]) for v in variants if v.name not in hidden]
    rows.append(figure("loop, its twin's distance", abs(median(costs["loop again"].wall_ns)), "ns"))
    if which == "ours":
        name = "sample=0.01, skipped entry over nothing installed"
        rows += over_rows(name, costs["sample=0.01"], costs["nothing installed, sample=0.01"])
    print_and_leave(rows)


if __name__ == "__main__":
    main()
