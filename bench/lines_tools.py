# SPDX-License-Identifier: MIT
"""The tools that watch lines, each switched on and off, and asked whether it has seen what was run."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from importlib.metadata import version
from types import ModuleType
from typing import Any


class Tool:
    """Between `start` and `stop` it watches the modules it was made for."""

    label = ""

    def start(self) -> None:
        raise NotImplementedError

    def stop(self) -> None:
        raise NotImplementedError

    def hits(self, file: str, line: int) -> int:
        """Executions of a line so far; 1 for a tool that only knows that there were some."""
        raise NotImplementedError


class Ours(Tool):
    def __init__(self, folder: str, _: Sequence[ModuleType]) -> None:
        from lineprofiler import LineProfiler, ProfilerConfig

        self.profiler = LineProfiler(folder, ProfilerConfig())
        self.start, self.stop = self.profiler.start, self.profiler.stop

    def hits(self, file: str, line: int) -> int:
        found = [
            f.line_stats[line].hits
            for f in self.profiler.get_stats().values()
            if f.filename == file and line in f.line_stats
        ]
        return sum(found)


class Reference(Tool):
    """with-line-profiler, which has the import name that we have: in an environment without us."""

    def __init__(self, folder: str, _: Sequence[ModuleType]) -> None:
        from lineprofiler import LineProfiler

        self.label = f"with-line-profiler {version('with-line-profiler')}"
        self.profiler: Any = LineProfiler(project_folder=folder)

    def start(self) -> None:
        self.profiler.__enter__()

    def stop(self) -> None:
        self.profiler.__exit__(None, None, None)

    def hits(self, file: str, line: int) -> int:
        found = [
            f.line_stats[line].hits
            for f in self.profiler.get_stats().values()
            if f.filename == file and line in f.line_stats
        ]
        return sum(found)


class LineProfilerItself(Tool):
    """line_profiler by the means that it takes by itself, or by its tracing core; all functions of the programs."""

    core = ""

    def __init__(self, _: str, modules: Sequence[ModuleType]) -> None:
        if self.core:
            os.environ["LINE_PROFILER_CORE"] = self.core
        from line_profiler import LineProfiler

        self.label = f"line_profiler {version('line_profiler')}" + (f", {self.core}" if self.core else "")
        self.profiler: Any = LineProfiler()
        for module in modules:
            for each in vars(module).values():
                if getattr(each, "__module__", "") == module.__name__:
                    self.profiler.add_function(each)
        self.start, self.stop = self.profiler.enable_by_count, self.profiler.disable_by_count

    def hits(self, file: str, line: int) -> int:
        timings = self.profiler.get_stats().timings
        return sum(row[1] for (name, _, _), rows in timings.items() if name == file for row in rows if row[0] == line)


class LineProfilerTracing(LineProfilerItself):
    core = "ctrace"


class Coverage(Tool):
    """No hits and no times: what one C call for each line costs."""

    def __init__(self, folder: str, _: Sequence[ModuleType]) -> None:
        os.environ["COVERAGE_CORE"] = "ctrace"
        from coverage import Coverage as Measured

        self.label = f"coverage {version('coverage')}, ctrace"
        self.coverage: Any = Measured(data_file=None, source=[folder], config_file=False)
        self.start, self.stop = self.coverage.start, self.coverage.stop

    def hits(self, file: str, line: int) -> int:
        return int(line in (self.coverage.get_data().lines(file) or ()))


TOOLS: dict[str, Callable[[str, Sequence[ModuleType]], Tool]] = {
    "ours": Ours,
    "reference": Reference,
    "line_profiler": LineProfilerItself,
    "line_profiler-ctrace": LineProfilerTracing,
    "coverage": Coverage,
}
