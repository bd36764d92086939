"""Results as plain objects: a snapshot that nothing changes any more."""
# SPDX-License-Identifier: MIT

from lineprofiler._lines import _source

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Key = tuple[str, str, int]


class _Record:
    """Equality and repr of objects that are their attributes."""

    __slots__: "tuple[str, ...]" = ()

    def __eq__(self, other: object) -> bool:
        if type(other) is not type(self):
            return NotImplemented
        return all(getattr(self, name) == getattr(other, name) for name in self.__slots__)

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{name}={getattr(self, name)!r}' for name in self.__slots__)})"


class LineStats(_Record):
    """One line of one function.  Times are seconds.

    Attributes
    ----------
    line_number : int
    hits : int
        Executions of the statement; where that cannot be proved, line events (see `exact`).
    total_time : float
        Time of the line with everything it called; a recursive call counts once.
    self_time : float
        Time of the line alone, with callees that are not recorded.
    suspended_time : float
        How long its frame stood still here: ``await``, ``yield``.  In no other time.
    events : int
        Line events as the interpreter sent them.
    exact : bool
        Whether `hits` is proved.
    """

    __slots__ = ("events", "exact", "hits", "line_number", "self_time", "suspended_time", "total_time")

    def __init__(
        self,
        line_number: int,
        hits: int = 0,
        total_time: float = 0.0,
        *,
        self_time: float = 0.0,
        suspended_time: float = 0.0,
        events: int = 0,
        exact: bool = True,
    ) -> None:
        self.line_number = line_number
        self.hits = hits
        self.total_time = total_time
        self.self_time = self_time
        self.suspended_time = suspended_time
        self.events = events
        self.exact = exact

    @property
    def average_time(self) -> float:
        """`total_time` of one execution; 0.0 when there was none."""
        return self.total_time / self.hits if self.hits else 0.0


class FunctionStats(_Record):
    """The lines of one function.  Times are seconds.

    Attributes
    ----------
    filename, function_name : str
    first_line : int
    line_stats : dict[int, LineStats]
        By line number.
    source_lines : dict[int, str]
        By line number, without the line end; one dict for all functions of a file.  Empty when there is no source.
    total_time : float
        Outermost calls, with what they called.
    self_time : float
        Its own lines.
    calls : int
    """

    __slots__ = (
        "calls",
        "filename",
        "first_line",
        "function_name",
        "line_stats",
        "self_time",
        "source_lines",
        "total_time",
    )

    def __init__(
        self,
        filename: str,
        function_name: str,
        first_line: int,
        line_stats: "dict[int, LineStats] | None" = None,
        source_lines: "dict[int, str] | None" = None,
        total_time: float = 0.0,
        *,
        self_time: float = 0.0,
        calls: int = 0,
    ) -> None:
        self.filename = filename
        self.function_name = function_name
        self.first_line = first_line
        self.line_stats = {} if line_stats is None else line_stats
        self.source_lines = {} if source_lines is None else source_lines
        self.total_time = total_time
        self.self_time = self_time
        self.calls = calls


class RegionStats(_Record):
    """One region, summed over threads.  Times are seconds.

    Attributes
    ----------
    name : str
    path : tuple[str, ...]
        The regions around it, and itself.
    entries : int
    wall_time : float
        From entry to exit, all entries.
    total_time : float
        Self times of all lines inside it.
    share : float or None
        Of all profiled time, 0 to 1; None when there was none.
    line_stats : dict[tuple[str, str, int], dict[int, LineStats]]
        By function, then by line: what happened inside.
    """

    __slots__ = ("entries", "line_stats", "name", "path", "share", "total_time", "wall_time")

    def __init__(
        self,
        name: str,
        path: "tuple[str, ...]",
        entries: int,
        wall_time: float,
        total_time: float,
        share: "float | None",
        line_stats: "dict[Key, dict[int, LineStats]]",
    ) -> None:
        self.name = name
        self.path = path
        self.entries = entries
        self.wall_time = wall_time
        self.total_time = total_time
        self.share = share
        self.line_stats = line_stats


def _seconds(row: "dict[str, Any]", name: str) -> float:
    return (row.get(name) or 0) / 1e9


def _line(row: "dict[str, Any]") -> LineStats:
    return LineStats(
        row["line"],
        row["hits"],
        _seconds(row, "inclusive_ns"),
        self_time=_seconds(row, "self_ns"),
        suspended_time=_seconds(row, "suspended_ns"),
        events=row["events"],
        exact=row["mark"] != "events",
    )


def _whole_text(file: "dict[str, Any]") -> "dict[int, str]":
    """All lines of a file that is still what ran; {} when it is not."""
    if file["source"] != "ok":
        return {}
    text = _source.text_of(file["path"]) or _source.read(file["path"])
    return dict(enumerate((text or "").splitlines(), 1))


def functions_of(document: "dict[str, Any]") -> "dict[Key, FunctionStats]":
    """By (filename, function_name, first_line), most time first."""
    texts: dict[int, dict[int, str]] = {}
    found: dict[Key, FunctionStats] = {}
    for each in document["functions"]:
        if not each["calls"] and not each["rows"]:  # nothing of it is left since clear()
            continue
        file = document["files"][each["file"]]
        text = texts.get(each["file"])
        if text is None:
            text = texts[each["file"]] = _whole_text(file)
        for row in each["rows"]:
            if row["source"] is not None:
                text.setdefault(row["line"], row["source"])
        found[file["path"], each["name"], each["first_line"]] = FunctionStats(
            file["path"],
            each["name"],
            each["first_line"],
            {row["line"]: _line(row) for row in each["rows"]},
            text,
            _seconds(each, "total_ns"),
            self_time=_seconds(each, "self_ns"),
            calls=each["calls"],
        )
    return found


def regions_of(document: "dict[str, Any]") -> "list[RegionStats]":
    """Outer regions before inner ones."""
    found: list[RegionStats] = []
    for each in document["regions"]:
        parent = each.get("parent")
        path = (each["name"],) if parent is None else (*found[parent].path, each["name"])
        lines: dict[Key, dict[int, LineStats]] = {}
        for row in each["rows"]:
            function = document["functions"][row["function"]]
            key = (document["files"][function["file"]]["path"], function["name"], function["first_line"])
            lines.setdefault(key, {})[row["line"]] = _line(row)
        found.append(
            RegionStats(
                each["name"],
                path,
                each["entries"],
                _seconds(each, "wall_ns"),
                _seconds(each, "self_ns"),
                each.get("share"),
                lines,
            )
        )
    return found
