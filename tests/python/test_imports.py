"""What importing costs and changes, the aliases, and the names of parts to come."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import re
import subprocess
import sys

import lineprofiler
import pytest
from lineprofiler import accounting, errors

# By the surface that programs already use.
EXPORTED = [
    "Backend",
    "DurationHistogram",
    "MergedRun",
    "PhaseDelta",
    "PhaseStats",
    "PhaseTree",
    "Profiler",
    "ResourceSampler",
    "Sample",
    "SampleAnalysis",
    "Span",
    "TraceBuffer",
    "WorkerSnapshot",
    "WorkerTrace",
    "analyse",
    "compare",
    "count",
    "current",
    "install_profiler",
    "installed_profiler",
    "lifecycle_segments",
    "merge_run",
    "merge_trees",
    "overlap_ns",
    "phase",
    "render",
    "render_comparison",
    "report_as_dict",
    "signal_ready",
    "start",
    "stop",
    "trace_begin",
    "trace_end",
    "trace_mark",
    "uninstall_profiler",
    "wait_on",
    "write_report",
    "write_trace",
]

TO_COME = [
    "Backend",
    "ResourceSampler",
    "Sample",
    "SampleAnalysis",
    "Span",
    "TraceBuffer",
    "WorkerTrace",
    "analyse",
    "compare",
    "lifecycle_segments",
    "overlap_ns",
    "render_comparison",
    "write_trace",
]

HEAVY = [
    "dataclasses",
    "typing",
    "enum",
    "json",
    "inspect",
    "functools",
    "contextlib",
    "re",
    "collections",
    "threading",
    "weakref",
    "warnings",
    "tempfile",
    "subprocess",
    "logging",
    "asyncio",
    "ctypes",
    "pickle",
    "argparse",
    "signal",
    "socket",
    "platform",
]


@pytest.mark.parametrize("name", EXPORTED)
def test_name_is_there(name: str) -> None:
    assert name in accounting.__all__
    assert name in dir(accounting)
    assert getattr(accounting, name) is getattr(accounting, name)


def test_star_import_gives_every_name() -> None:
    namespace: dict[str, object] = {}
    exec("from lineprofiler.accounting import *", namespace)
    assert set(accounting.__all__) <= set(namespace)


def test_unknown_name_is_an_attribute_error() -> None:
    for module in (lineprofiler, accounting):
        with pytest.raises(AttributeError, match="nosuch"):
            module.nosuch
    with pytest.raises(ImportError):
        exec("from lineprofiler.accounting import nosuch")


@pytest.mark.parametrize("name", TO_COME)
def test_part_to_come_names_itself_when_used(name: str) -> None:
    with pytest.raises(NotImplementedError, match=name) as caught:
        getattr(accounting, name)("a", "b", option=1)
    assert re.search("timeline|resource sampling|comparison|backends", str(caught.value))


def test_timeline_calls_do_nothing_until_there_is_one() -> None:
    accounting.signal_ready("channel", 1)
    accounting.wait_on("channel", ("any", "key"))
    accounting.trace_begin("channel", "k")
    accounting.trace_mark("channel", "k", "name", sample=0.5)
    accounting.trace_end("channel", "k")


def test_linescope_is_a_placeholder() -> None:
    import linescope

    assert linescope.__version__ == lineprofiler.__version__
    for use in (linescope.profile, linescope.Session, linescope.load_ipython_extension):
        with pytest.raises(NotImplementedError, match="linescope"):
            use()
    with pytest.raises(NotImplementedError, match="linescope"):
        linescope.Backend.TRACE
    with pytest.raises(AttributeError):
        linescope.nosuch


def test_other_name_of_the_package() -> None:
    import with_line_profiler

    for name in with_line_profiler.__all__:
        assert getattr(with_line_profiler, name) is getattr(lineprofiler, name)
    assert set(with_line_profiler.__all__) == {
        "FunctionStats",
        "LineProfiler",
        "LineStats",
        "ProfilerConfig",
        "__version__",
        "accounting",
        "start_profiling",
        "stop_profiling",
    }


def test_versions_agree() -> None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        assert lineprofiler.__version__ == version("lineprofiler")
    except PackageNotFoundError:  # run from a staged tree
        pass
    printed = subprocess.run(
        [sys.executable, "-m", "lineprofiler", "--version"], capture_output=True, text=True, check=True
    )
    assert lineprofiler.__version__ in printed.stdout


def test_errors_form_a_family() -> None:
    for name in errors.__all__:
        error = getattr(errors, name)
        assert issubclass(error, errors.ProfileError)
        assert error.__doc__
    assert issubclass(errors.ProfileStorageError, OSError)
    assert issubclass(errors.ProfileUsageError, ValueError)


def modules_after(code: str) -> set[str]:
    done = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys\nprint('\\n'.join(sys.modules))"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(done.stdout.split())


def test_import_loads_nothing_heavy() -> None:
    added = modules_after("from lineprofiler import accounting") - modules_after("pass")
    assert added == {"lineprofiler", "lineprofiler._core", "lineprofiler.accounting"}


def test_recording_loads_little() -> None:
    added = modules_after(
        "from lineprofiler.accounting import Profiler, count, phase\n"
        "p = Profiler('/nonexistent/run', install=True)\n"
        "with phase('x'): count('n')\n"
        "p.close()"
    ) - modules_after("pass")
    assert not added & set(HEAVY), added & set(HEAVY)


STUBS = ("torch", "numpy", "psutil", "pynvml", "nvtx", "viztracer")


def test_optional_packages_are_never_imported(program, tmp_path, run_dir) -> None:
    for name in STUBS:
        (tmp_path / f"{name}.py").write_text("raise SystemExit('imported')")
    done = program(
        f"""
        import asyncio, json, sys
        from lineprofiler import accounting
        from lineprofiler.accounting import *

        with Profiler("run", install=True, snapshot_interval_s=0.01) as p:
            p.on_snapshot(lambda tree: None)

            @phase("f")
            async def f(): count("n")

            asyncio.run(f())
            p.deltas(); p.merged_tree(); p.snapshot(); p.current_phase()
        merge_run("run"); render("run"); write_report("run", "r.json", "json")
        print(json.dumps(sorted(set({STUBS!r}) & set(sys.modules))))
        """
    )
    assert json.loads(done.stdout) == []
