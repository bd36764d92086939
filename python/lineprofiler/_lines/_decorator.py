"""Finds the code behind whatever a decorator may be put on.

Nothing is wrapped: recording a function means that the extension knows its code object, so the decorated thing stays
the very object that it was.
"""
# SPDX-License-Identifier: MIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import CodeType
    from typing import Any

_CODE = type((lambda: None).__code__)
_LIMIT = 10_000

# Where things that hold functions keep them: classmethod, staticmethod and bound methods, property, partial,
# partialmethod, cached_property and singledispatchmethod; in this order.
_HOLDERS = ("__func__", "fget", "fset", "fdel", "func")


def codes_of(thing: "Any") -> "list[CodeType]":
    """The code objects that run when `thing` is used, and those of the functions defined inside them.

    Wrappers are looked through: of a function that carries ``__wrapped__`` it is the innermost one that counts.  Of a
    class it is what its body defines.

    Raises
    ------
    TypeError
        When there is no Python code behind it.
    """
    found: dict[int, CodeType] = {}
    _collect(thing, found, set())
    if not found:
        kind = type(thing).__name__
        raise TypeError(f"there is no Python function behind this {kind} object, so it has no lines to profile")
    return list(found.values())


def _collect(thing: "Any", found: "dict[int, CodeType]", seen: "set[int]") -> None:
    if id(thing) in seen or len(seen) > _LIMIT:
        return
    seen.add(id(thing))
    if isinstance(thing, type):
        for member in vars(thing).values():
            if _holds_code(member):
                _collect(member, found, seen)
        return
    inner = _inner(thing)
    if inner:
        for each in inner:
            _collect(each, found, seen)
        return
    code = _get(thing, "__code__")
    if code is None:
        code = _get(_get(type(thing), "__call__"), "__code__")
    if isinstance(code, _CODE):
        _add(code, found)


def _inner(thing: "Any") -> "list[Any]":
    """What `thing` is a wrapper or holder of; empty when it is neither."""
    wrapped = _get(thing, "__wrapped__")
    if wrapped is not None:
        return [wrapped, *_dispatched(thing)]
    held = [_get(thing, name) for name in _HOLDERS]
    return [each for each in held if each is not None] + _dispatched(_get(thing, "dispatcher"))


def _dispatched(thing: "Any") -> "list[Any]":
    """The implementations of a generic function that are registered so far."""
    registry = _get(thing, "registry")
    return list(registry.values()) if hasattr(registry, "values") else []


def _holds_code(member: "Any") -> bool:
    return isinstance(_get(member, "__code__"), _CODE) or bool(_inner(member)) or isinstance(member, type)


def _get(thing: "Any", name: str) -> "Any":
    """An attribute without trusting whose it is: a mock has every name, a proxy may raise anything."""
    try:
        value = getattr(thing, name, None)
    except Exception:
        return None
    return value if name == "registry" or name in _HOLDERS or _plausible(name, value) else None


def _plausible(name: str, value: "Any") -> bool:
    return isinstance(value, _CODE) if name == "__code__" else value is not None


def _add(code: "CodeType", found: "dict[int, CodeType]") -> None:
    if id(code) in found:
        return
    found[id(code)] = code
    for constant in code.co_consts:
        if isinstance(constant, _CODE):
            _add(constant, found)
