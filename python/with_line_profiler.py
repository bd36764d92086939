"""The other name under which programs import this package: the same objects as ``lineprofiler``."""
# SPDX-License-Identifier: MIT

from lineprofiler import (
    FunctionStats,
    LineProfiler,
    LineStats,
    ProfilerConfig,
    __version__,
    accounting,
    start_profiling,
    stop_profiling,
)

__all__ = [
    "FunctionStats",
    "LineProfiler",
    "LineStats",
    "ProfilerConfig",
    "__version__",
    "accounting",
    "start_profiling",
    "stop_profiling",
]
