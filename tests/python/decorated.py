"""Decorated things at module level, for pickling and for the type checker.  test_decorators.py imports it."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator

from lineprofiler.accounting import phase


@phase("plain")
def plain(a: int, b: str = "x", *rest: int, key: bool = False, **more: int) -> tuple[object, ...]:
    """Plain docs."""
    return (a, b, rest, key, more)


@phase
def bare(a: int) -> int:
    return a + 1


@phase("coroutine")
async def coroutine(a: int) -> int:
    """Coroutine docs."""
    return a


@phase("generator")
def generator(n: int) -> Iterator[int]:
    """Generator docs."""
    yield from range(n)


@phase("async generator")
async def async_generator(n: int) -> AsyncIterator[int]:
    """Async generator docs."""
    for i in range(n):
        yield i


class Base:
    @phase("method")
    def method(self, a: int) -> Base:
        return self

    @phase("above")
    @classmethod
    def class_above(cls) -> type[Base]:
        return cls

    @classmethod
    @phase("below")
    def class_below(cls) -> type[Base]:
        return cls

    @phase("static above")
    @staticmethod
    def static_above(a: int) -> int:
        return a

    @staticmethod
    @phase("static below")
    def static_below(a: int) -> int:
        return a

    @phase("property above")
    @property
    def property_above(self) -> int:
        """Property docs."""
        return 1

    @property
    @phase("property below")
    def property_below(self) -> int:
        return 2


class Derived(Base):
    pass
