"""Names that programs may already import, of parts that are not built yet.

Each raises NotImplementedError when it is called or constructed, names its part, and creates nothing.  A part that gets
built takes its names out of this file.
"""
# SPDX-License-Identifier: MIT

from lineprofiler._core import version

TIMELINE = "the timeline"
RESOURCES = "resource sampling"
COMPARE = "the comparison of runs"
BACKENDS = "the heavy backends"
PAGES = "HTML pages"
LINESCOPE = "linescope"


def missing(what: str, part: str) -> NotImplementedError:
    """The exception for `what`, a thing that belongs to `part`."""
    return NotImplementedError(f"{what} belongs to {part}, which lineprofiler {version} does not have yet")


class _Later:
    """A class of a part that is not built."""

    _part = ""

    def __new__(cls, *args: object, **kwargs: object) -> "_Later":
        raise missing(cls.__name__, cls._part)


class Backend(_Later):
    """A heavy tracer that runs for a window of entries."""

    _part = BACKENDS


class ResourceSampler(_Later):
    """Reads CPU, memory, I/O and GPU at a fixed interval."""

    _part = RESOURCES


class Sample(_Later):
    """One reading of a sampler."""

    _part = RESOURCES


class SampleAnalysis(_Later):
    """What the samples of one process come to."""

    _part = RESOURCES


class Span(_Later):
    """One entry on the timeline."""

    _part = TIMELINE


class TraceBuffer(_Later):
    """The spans of one process, newest kept."""

    _part = TIMELINE


class WorkerTrace(_Later):
    """The spans of one worker, read back."""

    _part = TIMELINE


def analyse(*args: object, **kwargs: object) -> None:
    """Derive figures from the samples of one process."""
    raise missing("analyse()", RESOURCES)


def compare(*args: object, **kwargs: object) -> None:
    """Compare two runs, per entry."""
    raise missing("compare()", COMPARE)


def render_comparison(*args: object, **kwargs: object) -> None:
    """The comparison of two runs as text."""
    raise missing("render_comparison()", COMPARE)


def lifecycle_segments(*args: object, **kwargs: object) -> None:
    """How long requests took between the points that were marked."""
    raise missing("lifecycle_segments()", TIMELINE)


def overlap_ns(*args: object, **kwargs: object) -> None:
    """Time that two lists of intervals have in common."""
    raise missing("overlap_ns()", TIMELINE)


def write_trace(*args: object, **kwargs: object) -> None:
    """Write the timeline of a run to a file."""
    raise missing("write_trace()", TIMELINE)
