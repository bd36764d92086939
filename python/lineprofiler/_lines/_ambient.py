"""The process-wide line profiler: ``start_profiling`` and ``stop_profiling``."""
# SPDX-License-Identifier: MIT

import sys

from lineprofiler._lines import _config
from lineprofiler._lines._profiler import LineProfiler, project_of
from lineprofiler.accounting import _settings
from lineprofiler.accounting._warn import warn

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os

_running: "LineProfiler | None" = None


def start_profiling(
    project_folder: "str | os.PathLike[str] | None" = None, *, enabled: "bool | str | None" = None
) -> LineProfiler:
    """Start the process-wide line profiler, where there is no block to put ``with`` around.

    Parameters
    ----------
    project_folder
        As for ``LineProfiler``.
    enabled
        Whether to start.  Default: the environment variable LINEPROFILER_ENABLED, else not.

    Returns
    -------
    LineProfiler
        The one that runs; one that was never entered when nothing was started.
    """
    global _running
    if _running is not None and _running.is_active:
        warn("start_profiling() was called again while the profiler runs: the running one goes on")
        return _running
    profiler = LineProfiler(project_of(project_folder, sys._getframe(1)))
    if enabled is None:
        enabled = _settings.switch_environment(_config.ENV_ENABLED)
    if _settings.switch_argument("enabled", enabled):
        profiler.start()
        _running = profiler
    return profiler


def stop_profiling(print_stats: bool = True) -> "LineProfiler | None":
    """Stop what ``start_profiling`` started.

    Parameters
    ----------
    print_stats
        Whether to print the lines that took most.

    Returns
    -------
    LineProfiler or None
        None when nothing was running.
    """
    global _running
    profiler, _running = _running, None
    if profiler is None:
        return None
    profiler.stop()
    if print_stats:
        profiler.print_global_top_stats()
    return profiler
