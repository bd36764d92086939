"""``phase`` as a decorator for everything that is not a plain function.

The extension wraps plain functions itself.  What comes here keeps its kind: a coroutine function stays one, a
generator function too, a classmethod, a property, a partial stay what they are, with name, signature and attributes.
The extension imports this module when it first needs it.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import functools
import inspect
import sys
import types
from collections.abc import Callable, Sequence
from typing import Any

from lineprofiler import _core

_MakePhase = Callable[..., Any]
_Decorate = Callable[[Any], Any]


def _is_coroutine_function(function: Any) -> bool:
    """Also for what carries the mark that asyncio used before 3.12, when ``inspect`` got one of its own."""
    if inspect.iscoroutinefunction(function):
        return True
    mark = getattr(sys.modules.get("asyncio.coroutines"), "_is_coroutine", None)
    return mark is not None and getattr(function, "_is_coroutine", None) is mark


def wrap(phase_args: Sequence[Any], recording: _core.Recording | None, function: Any) -> Any:
    """`function`, measured: each call is one entry of a phase.

    Parameters
    ----------
    phase_args
        The arguments of ``phase``: name, io, sync, sample, async_work.
    recording
        Where to record; None for the installed one at the time of each call.
    function
        Anything that can be called, or a descriptor that gives something that can.

    Raises
    ------
    TypeError
        For a class, and for what cannot be called.
    """
    return wrap_with(_core.phase if recording is None else recording.phase, tuple(phase_args), function)


def wrap_with(make: _MakePhase, args: Sequence[Any], function: Any) -> Any:
    """The same with a function that makes the phase."""
    for kind, rebuild in _KINDS:
        if isinstance(function, kind):
            return rebuild(lambda inner: wrap_with(make, args, inner), function)
    if isinstance(function, type):
        raise TypeError(f"a phase decorates functions, not the class {function.__name__}: decorate its methods")
    if not callable(function):
        raise TypeError(f"a phase decorates functions, not {type(function).__name__} objects")
    if isinstance(function, types.FunctionType):
        return _function(make, args, function)
    return MeasuredCallable(make, args, function)


def name_of(function: Any) -> str:
    """What a bare decorator calls the phase: the qualified name of what runs in the end."""
    for attribute in ("__qualname__", "__name__"):
        name = getattr(function, attribute, None)
        if isinstance(name, str):
            return name
    for attribute in ("__func__", "fget", "func"):
        inner = getattr(function, attribute, None)
        if inner is not None:
            return name_of(inner)
    return type(function).__qualname__


# Functions, by kind.  Each wrapper is a real function of the kind of what it wraps.


def _function(make: _MakePhase, args: Sequence[Any], function: Any) -> Any:
    if inspect.isasyncgenfunction(function):
        wrapper = _async_generator(make, args, function)
    elif _is_coroutine_function(function):
        wrapper = _coroutine(make, args, function)
    elif inspect.isgeneratorfunction(function):
        wrapper = _generator(make, args, function)
        if function.__code__.co_flags & inspect.CO_ITERABLE_COROUTINE:
            wrapper = types.coroutine(wrapper)
    else:
        wrapper = _plain(make, args, function)
    return functools.update_wrapper(wrapper, function)


def _plain(make: _MakePhase, args: Sequence[Any], function: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(*pos: Any, **named: Any) -> Any:
        with make(*args):
            return function(*pos, **named)

    return wrapper


def _coroutine(make: _MakePhase, args: Sequence[Any], function: Callable[..., Any]) -> Callable[..., Any]:
    async def wrapper(*pos: Any, **named: Any) -> Any:
        with make(*args):
            return await function(*pos, **named)

    return wrapper


def _generator(make: _MakePhase, args: Sequence[Any], function: Callable[..., Any]) -> Callable[..., Any]:
    def wrapper(*pos: Any, **named: Any) -> Any:
        with make(*args):
            return (yield from function(*pos, **named))

    return wrapper


def _async_generator(make: _MakePhase, args: Sequence[Any], function: Callable[..., Any]) -> Callable[..., Any]:
    async def wrapper(*pos: Any, **named: Any) -> Any:
        with make(*args):
            inner = function(*pos, **named)
            step = _first_step(inner)
            try:
                while True:
                    try:
                        value = await step
                    except StopAsyncIteration:
                        return
                    thrown: BaseException | None = None
                    sent = None
                    try:
                        sent = yield value
                    except GeneratorExit:
                        raise
                    except BaseException as error:  # handed on, so that the inner generator may catch it
                        thrown = error
                    step = inner.asend(sent) if thrown is None else inner.athrow(thrown)
                    del thrown
            finally:
                await inner.aclose()

    return wrapper


def _first_step(inner: Any) -> Any:
    """Start the inner generator without telling the event loop: only the outer one is the loop's to close."""
    hooks = sys.get_asyncgen_hooks()
    sys.set_asyncgen_hooks(None, None)
    try:
        return inner.__anext__()
    finally:
        sys.set_asyncgen_hooks(*hooks)


# Descriptors and other things that hold a function.  Each is built anew around the measured function.


def _rebuild_classmethod(decorate: _Decorate, old: Any) -> Any:
    return type(old)(decorate(old.__func__))


def _rebuild_property(decorate: _Decorate, old: property) -> property:
    parts = [None if part is None else decorate(part) for part in (old.fget, old.fset, old.fdel)]
    own_doc = old.__doc__ if old.fget is None or old.__doc__ != old.fget.__doc__ else None
    return type(old)(parts[0], parts[1], parts[2], own_doc)


def _rebuild_cached_property(decorate: _Decorate, old: Any) -> Any:
    new = type(old)(decorate(old.func))
    new.attrname = old.attrname
    new.__doc__ = old.__doc__
    return new


def _rebuild_partial(decorate: _Decorate, old: Any) -> Any:
    new = type(old)(decorate(old.func), *old.args, **old.keywords)
    new.__dict__.update(old.__dict__)
    return new


def _rebuild_partialmethod(decorate: _Decorate, old: Any) -> Any:
    return type(old)(decorate(old.func), *old.args, **old.keywords)


def _rebuild_method(decorate: _Decorate, old: types.MethodType) -> types.MethodType:
    return types.MethodType(decorate(old.__func__), old.__self__)


class MeasuredDispatch(functools.singledispatchmethod):  # type: ignore[type-arg]
    """A ``singledispatchmethod`` whose calls are measured, whichever function they reach."""

    def __init__(self, decorate: _Decorate, old: functools.singledispatchmethod[Any]) -> None:
        super().__init__(old.func)
        self.dispatcher = old.dispatcher
        self._decorate = decorate

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        method = super().__get__(instance, owner)
        measured = self._decorate(method)
        measured.register = self.register
        return measured


_KINDS: tuple[tuple[Any, Callable[[_Decorate, Any], Any]], ...] = (
    (classmethod, _rebuild_classmethod),
    (staticmethod, _rebuild_classmethod),
    (property, _rebuild_property),
    (functools.cached_property, _rebuild_cached_property),
    (functools.partialmethod, _rebuild_partialmethod),
    (functools.singledispatchmethod, MeasuredDispatch),
    (functools.partial, _rebuild_partial),
    (types.MethodType, _rebuild_method),
)


class MeasuredCallable:
    """Stands for a callable object (a cached function, a builtin, an instance with ``__call__``), measuring its calls.

    Attributes are those of the object, ``isinstance`` sees the object's class, and it binds to instances as the object
    does.
    """

    __slots__ = ("__dict__", "__weakref__", "__wrapped__", "_args", "_call", "_make")

    def __init__(self, make: _MakePhase, args: Sequence[Any], function: Any) -> None:
        self._make = make
        self._args = tuple(args)
        self.__wrapped__ = function
        self.__dict__["__module__"] = getattr(function, "__module__", None)
        call = type(function).__call__
        bound = call.__get__(function) if isinstance(call, types.FunctionType) else function
        kind = inspect.unwrap(call) if isinstance(call, types.FunctionType) else None
        if kind is not None and inspect.isasyncgenfunction(kind):
            self._call = _async_generator(make, args, bound)
        elif _is_coroutine_function(function) or (kind is not None and inspect.iscoroutinefunction(kind)):
            self._call = _coroutine(make, args, bound)
        elif kind is not None and inspect.isgeneratorfunction(kind):
            self._call = _generator(make, args, bound)
        else:
            self._call = _plain(make, args, function)

    def __call__(self, *pos: Any, **named: Any) -> Any:
        return self._call(*pos, **named)

    def __getattr__(self, name: str) -> Any:
        if name in MeasuredCallable.__slots__:
            raise AttributeError(name)
        return getattr(self.__wrapped__, name)

    @property  # type: ignore[misc]
    def __class__(self) -> Any:
        return type(self.__wrapped__)

    @property
    def __doc__(self) -> Any:  # type: ignore[override]
        return self.__wrapped__.__doc__

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        if instance is None or not hasattr(type(self.__wrapped__), "__get__"):
            return self
        return types.MethodType(self, instance)

    def __reduce__(self) -> Any:
        name = getattr(self.__wrapped__, "__qualname__", None)
        module = getattr(self.__wrapped__, "__module__", None)
        if isinstance(name, str) and _find(module, name) is self:
            return name  # as functions do: by reference
        return (_rebuild_callable, (self._make, self._args, self.__wrapped__))

    def __repr__(self) -> str:
        return repr(self.__wrapped__)


def _find(module: Any, qualified: str) -> Any:
    found: Any = sys.modules.get(module)
    for name in qualified.split("."):
        found = getattr(found, name, None)
    return found


def _rebuild_callable(make: _MakePhase, args: Sequence[Any], function: Any) -> MeasuredCallable:
    return MeasuredCallable(make, args, function)
