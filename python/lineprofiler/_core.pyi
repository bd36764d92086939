"""The C extension: everything that happens per entry, and the doors to the C core's report side.

Types for mypy and readers.  The public API is in ``lineprofiler.accounting``; nothing here is promised to users.
"""
# SPDX-License-Identifier: MIT

from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager
from types import CodeType, TracebackType
from typing import Any, SupportsIndex, TypeVar, final, overload

_T = TypeVar("_T")
_F = TypeVar("_F", bound=Callable[..., Any])

version: str

@final
class phase:
    """Context manager, async context manager and decorator in one; may be kept and entered again."""

    name: str
    sample: float
    async_work: bool
    def __new__(
        cls,
        name: str | Callable[..., Any],
        io: bool = False,
        sync: bool = False,
        sample: float = 1.0,
        async_work: bool = False,
    ) -> phase: ...
    def __enter__(self) -> phase: ...
    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...
    async def __aenter__(self) -> None: ...
    async def __aexit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None, /
    ) -> None: ...
    # As a bare decorator `phase` gives the function, which a class cannot say: so it may be called with anything.
    @overload
    def __call__(self, function: _F, /) -> _F: ...
    @overload
    def __call__(self, /, *args: Any, **kwargs: Any) -> Any: ...

@final
class Token:
    """What ``begin`` returns.  An open token that dies ends its scope; the end is counted as left open."""

    name: str

def begin(name: str, /) -> Token: ...
def end(token: Token, /) -> None: ...
def count(name: str, n: SupportsIndex = 1) -> None: ...
def iterate(name: str, iterable: Iterable[_T], /) -> Iterator[_T]: ...
def current() -> tuple[str, ...]:
    """Path of the innermost running scope of this thread in the installed recording; () when there is none."""

@final
class Recording:
    """One recording of this process.  Closed by ``close`` or when the last reference dies."""

    run_dir: str
    role: str
    attempt: str
    path: str
    is_open: bool
    write_failures: int
    def __new__(
        cls,
        run_dir: str,
        role: str,
        attempt: str | None = None,
        *,
        store: str = "auto",
        measure_cpu: bool = True,
        strict_names: bool = False,
        thread_names: bool = False,
        share: str | None = None,
        max_paths: int = 0,
        facts: dict[str, str] | None = None,
        family: int = 0,
    ) -> Recording: ...
    @overload
    def phase(
        self, name: str, io: bool = False, sync: bool = False, sample: float = 1.0, async_work: bool = False
    ) -> phase: ...
    @overload
    def phase(self, name: Any, *args: Any, **kwargs: Any) -> phase: ...
    def begin(self, name: str, /) -> Token: ...
    def end(self, token: Token, /) -> None: ...
    def count(self, name: str, n: SupportsIndex = 1) -> None: ...
    def iterate(self, name: str, iterable: Iterable[_T], /) -> Iterator[_T]: ...
    def current(self) -> tuple[str, ...]: ...
    def install(self) -> None: ...
    def uninstall(self) -> None: ...
    def close(self) -> None: ...
    def snapshot(self) -> None: ...
    def fact(self, key: str, value: str, /) -> None: ...
    def dump(self) -> bytes:
        """This process's own tree so far, as the JSON of ``load_run``."""
    def swallowed_warning(self) -> None:
        """Counts a warning that the program's filters turned into an error."""
    def open_scopes(self) -> int: ...

def installed() -> Recording | None: ...
def unrecorded_uses() -> tuple[int, int]:
    """Uses of phases and counters while none was installed; functions left undecorated because the environment said
    off."""

def load_run(
    run_dir: str,
    *,
    attempt: str | None = None,
    ranks: str | None = None,
    roles: str | None = None,
    hosts: str | None = None,
    any_owner: bool = False,
    read_only: bool = False,
    process_trees: bool = True,
) -> bytes:
    """The merged run as JSON (``lp__render_run_json``).

    Raises
    ------
    ProfileError
        A subclass that fits the cause: see docs/errors.md.
    """

def report(run_dir: str, format: str = "text", *, attempt: str | None = None, width: int = 0) -> bytes:
    """What ``lineprofiler report`` prints, without colour."""

def lines_render(
    source: Recording | str,
    format: str,
    /,
    *,
    min_time_us: float = 0.0,
    top_n: int = 0,
    sort_by: str = "time",
    unit: str = "us",
    self: bool = False,
    raw: bool = False,
    utf8: bool = True,
    title: str | None = None,
    why: str | None = None,
    project: str | None = None,
    attempt: str | None = None,
    any_owner: bool = False,
) -> str:
    """Lines of a recording of this process, or of a run directory.

    ``format`` is ``functions``, ``top`` or ``regions`` (tables), ``json`` (docs/lines.schema.json), ``html``,
    ``collapsed`` or ``speedscope``.  ``top_n=0`` shows all rows; ``unit`` is ``us``, ``ns``, ``ms`` or ``s``; ``raw``
    leaves in what line events cost; ``why`` is printed by tables where there is nothing; files of rankings are shown
    relative to ``project``.

    Raises
    ------
    ProfileError
        A subclass that fits the cause: see docs/errors.md.
    """

def cli(arguments: list[str], /) -> int:
    """Runs the command line in this process and returns its exit status.  ``arguments`` without the program's name."""

def clock_facts() -> dict[str, Any]:
    """Clocks chosen, refused and their cost in ns, scope mechanism in use: for ``doctor``."""

@final
class LineSession:
    """One line profiler: counts lines of what is in its scope into a recording."""

    active: bool
    mechanism: str
    unobserved_threads: int
    event_cost_ns: float
    def __new__(
        cls,
        recording: Recording,
        *,
        admit_file: Callable[[str], int],
        admit_function: Callable[[str, str, int], bool],
        source: Callable[[str], str | None],
    ) -> LineSession:
        """``admit_file(co_filename)``: 0 out of scope, 1 in scope, 2 ask ``admit_function(co_filename, co_qualname,
        first_line)``.  ``source(co_filename)``: text of code that is not in a readable file."""
    def start(self) -> None: ...
    def stop(self) -> None: ...
    def settle(self) -> None: ...
    def clear(self) -> None: ...
    def add(self, code: CodeType, /) -> None: ...
    def region(self, name: str, /) -> AbstractContextManager[object]: ...
    def outside(self) -> dict[str, int]: ...
    def codes(self) -> list[CodeType]: ...
    def put_sums(self, code: CodeType, record: bytes, /) -> bool: ...

def code_places(
    code: bytes, lines: bytes, handlers: bytes, first_line: int, flags: int, python: int, opcodes: bytes, /
) -> tuple[bytes, bytes, bytes]:
    """Slots (``struct lp_place``), places of counted branches, and the branches (``struct lp_code_branch``).

    ``opcodes`` is ``lineprofiler._lines.shape.opcode_table()``.
    """

def statement_sums(
    code: bytes,
    lines: bytes,
    handlers: bytes,
    first_line: int,
    flags: int,
    python: int,
    opcodes: bytes,
    units: bytes,
    scopes: bytes,
    slots: bytes,
    branches: bytes,
    /,
) -> tuple[bytes, bytes, bool]:
    """Rows (``struct lp_sums_row``), terms (``struct lp_sums_term``), and whether a row is unproved for want of a
    counted branch.  See ``core/analyse/statements.h``."""

ProfileError: type[Exception]
ProfileFormatError: type[Exception]
ProfileStorageError: type[Exception]
ProfileUsageError: type[Exception]
ProfileVersionError: type[Exception]
