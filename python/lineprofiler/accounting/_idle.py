"""What a profiler that is switched off hands out: calls are checked, use is noticed, nothing is recorded."""
# SPDX-License-Identifier: MIT

from _operator import index

from lineprofiler import _later

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType
    from typing import Any, TypeVar

    from lineprofiler.accounting._profiler import Profiler

    _F = TypeVar("_F", bound=Callable[..., Any])


def check_name(name: object) -> None:
    """Raise TypeError unless `name` may be the name of a phase or counter."""
    if not isinstance(name, str):
        raise TypeError(f"a name must be a str, not {type(name).__name__}")


def check_amount(n: object) -> None:
    """Raise unless `n` may be added to a counter."""
    if not -(2**63) <= index(n) < 2**63:  # type: ignore[arg-type]
        raise OverflowError("a counter takes amounts of 64 bits")


class IdlePhase:
    """Behaves like a phase and records nothing."""

    __slots__ = ("_owner", "name", "options")

    def __init__(self, owner: "Profiler", name: str, io: bool, sync: bool, sample: float, async_work: bool) -> None:
        check_name(name)
        for option, asked in (("io", io), ("sync", sync)):
            if asked:
                raise _later.missing(f"{option}=True of a phase", _later.RESOURCES)
        if not 0.0 < sample <= 1.0:
            raise ValueError(f"sample={sample!r} must be above 0 and at most 1")
        self._owner = owner
        self.name = name
        self.options = (io, sync, sample, async_work)

    def __enter__(self) -> "IdlePhase":
        self._owner._used = True
        return self

    def __exit__(
        self, kind: "type[BaseException] | None", value: "BaseException | None", trace: "TracebackType | None"
    ) -> None:
        return None

    async def __aenter__(self) -> None:
        self._owner._used = True

    async def __aexit__(
        self, kind: "type[BaseException] | None", value: "BaseException | None", trace: "TracebackType | None"
    ) -> None:
        return None

    def __call__(self, function: "_F", /) -> "_F":
        from lineprofiler.accounting import _decorate

        wrapped: _F = _decorate.wrap_with(self._owner._idle_phase, (self.name, *self.options), function)
        return wrapped


class IdleToken:
    """What ``begin`` of a profiler that is switched off returns."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        check_name(name)
        self.name = name
