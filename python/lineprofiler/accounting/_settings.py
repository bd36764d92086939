"""What a profiler is asked to do: arguments first, then the environment, then defaults.

Everything is checked here before anything is created.  A wrong argument is an exception; a wrong value in the
environment is one warning, and what it would have switched on stays off.
"""
# SPDX-License-Identifier: MIT

import os
import sys

from lineprofiler.accounting._warn import warn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

ENV_PROFILE = "LINEPROFILER_PROFILE"
ENV_ROLE = "LINEPROFILER_ROLE"
ENV_RUN_DIR = "LINEPROFILER_RUN_DIR"
ENV_RUN_ID = "LINEPROFILER_RUN_ID"
ENV_TRACE = "LINEPROFILER_TRACE"

ON_WORDS = ("1", "true", "on", "yes")
OFF_WORDS = ("0", "false", "off", "no", "")
_ACCEPTED = "1 true on yes / 0 false off no, in any case"

DEFAULT_RUN_DIR = "profile"
DEFAULT_ROLE = "main"
STORES = ("auto", "run_dir", "shm", "memory")


def parse_switch(word: str) -> "bool | None":
    """True, False, or None for a word that is neither."""
    word = word.strip().lower()
    if word in ON_WORDS:
        return True
    return False if word in OFF_WORDS else None


def switch_argument(name: str, value: object) -> bool:
    """A switch given as an argument: a truth value, 0 or 1, or one of the words.

    Raises
    ------
    ValueError
        For anything else.
    """
    if isinstance(value, str):
        answer = parse_switch(value)
        if answer is not None:
            return answer
    elif value == 1:
        return True
    elif value == 0:
        return False
    raise ValueError(f"{name}={value!r} is neither on nor off: use True or False, or one of {_ACCEPTED}")


def switch_environment(name: str) -> bool:
    """A switch in the environment; a wrong value warns and means off."""
    word = os.environ.get(name, "")
    answer = parse_switch(word)
    if answer is None:
        warn(f"{name}={word!r} is neither on nor off, so it stays off: use one of {_ACCEPTED}")
        return False
    return answer


def resolve_enabled(enabled: object, run_dir: object) -> bool:
    """Whether to record: the argument, else a directory named in the call, else the environment."""
    if enabled is not None:
        return switch_argument("enabled", enabled)
    if run_dir is not None:
        return True
    return switch_environment(ENV_PROFILE)


def resolve_run_dir(run_dir: "str | os.PathLike[str] | None") -> str:
    """The absolute directory of the run; the working directory counts now, not later."""
    if run_dir is None:
        run_dir = os.environ.get(ENV_RUN_DIR) or DEFAULT_RUN_DIR
    text = os.fsdecode(os.fspath(run_dir))
    if not text or "\0" in text:
        raise ValueError(f"run_dir={text!r} names no directory")
    try:
        return os.path.abspath(text)
    except OSError:  # the working directory is gone: an unwritable place is counted later, not raised now
        return text


def resolve_role(role: "str | None") -> str:
    """The role: the argument, else the environment, else ``"main"``."""
    if role is None:
        return os.environ.get(ENV_ROLE) or DEFAULT_ROLE
    if not isinstance(role, str):
        raise TypeError(f"role must be a str, not {type(role).__name__}")
    return role


def resolve_run_id(run_id: "str | None") -> "str | None":
    """The attempt to join; None leaves it to the environment and the launcher."""
    if run_id is None:
        return None
    if not isinstance(run_id, str):
        raise TypeError(f"run_id must be a str, not {type(run_id).__name__}")
    if not run_id.strip() or "\0" in run_id or len(run_id) > 200:
        raise ValueError(f"run_id={run_id!r} must have 1 to 200 characters, and not only blanks")
    return run_id


def positive_interval(name: str, value: object) -> "float | None":
    """Seconds as a finite number above 0; None means never."""
    if value is None or value is False:
        return None
    if not isinstance(value, str):
        try:
            seconds = float(value)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            seconds = 0.0
        if 0.0 < seconds < float("inf"):
            return seconds
    raise ValueError(f"{name}={value!r} must be a number of seconds above 0, or None for never")


def choice(name: str, value: "str | None", accepted: "tuple[str | None, ...]") -> "str | None":
    """`value`, or ValueError unless it is one of `accepted`."""
    if value not in accepted:
        raise ValueError(f"{name}={value!r} must be one of {', '.join(repr(word) for word in accepted)}")
    return value


def path_ceiling(value: object) -> int:
    """The ceiling on distinct paths; 0 stands for the default."""
    if value is None:
        return 0
    if isinstance(value, bool) or not isinstance(value, int) or not 1 <= value < 2**31:
        raise ValueError(f"max_paths={value!r} must be a whole number of paths above 0, or None for the default")
    return value


def source_facts(source: object) -> dict[str, str]:
    """The facts that ``source=`` records about the program's revision."""
    facts = _program_folder()
    if source is None or source is False:
        return facts
    if not isinstance(source, dict) or not all(isinstance(key, str) for key in source):
        raise ValueError("source must be a dict with str keys, or None")
    return {**facts, **{_fact("source." + key): _fact(str(value)) for key, value in source.items()}}


def _fact(text: str) -> str:
    """Facts are UTF-8; what a str may hold beyond it is spelled out."""
    return text.replace("\0", "\\0").encode("utf-8", "backslashreplace").decode("utf-8")


def _program_folder() -> "dict[str, str]":
    """Where the program lies, whose revision is looked for there; nothing for ``-c`` and a terminal."""
    path = getattr(sys.modules.get("__main__"), "__file__", None)
    if not isinstance(path, str):
        return {}
    try:
        folder = os.path.dirname(os.path.abspath(path))
        folder.encode()
    except (OSError, UnicodeEncodeError):  # no working directory; a name that is no UTF-8 and cannot be written down
        return {}
    return {"source.folder": folder}


def _missing(what: str, part: str) -> NotImplementedError:
    from lineprofiler import _later

    return _later.missing(what, getattr(_later, part))


_TRACE_WORDS = ("phases", "auto", "functions")


def _refuse_trace(trace: object) -> None:
    if trace is None:
        return
    word = trace.strip().lower() if isinstance(trace, str) else trace
    if word in _TRACE_WORDS or switch_argument("trace", trace):
        raise _missing(f"trace={trace!r}", "TIMELINE")


def note_trace_environment() -> None:
    """Warn once when the environment asks for a timeline."""
    word = os.environ.get(ENV_TRACE, "")
    answer = parse_switch(word)
    if answer is False:
        return
    if answer or word.strip().lower() in _TRACE_WORDS:
        warn(f"{ENV_TRACE}={word!r} has no effect: {_missing('tracing', 'TIMELINE')}")
    else:
        warn(f"{ENV_TRACE}={word!r} is no way to trace, so it stays off: use phases, auto, or {_ACCEPTED}")


def _refuse_backend(backend: object) -> None:
    if backend is None or backend is False or backend == "none":
        return
    if backend in ("torch", "viztracer"):
        raise _missing(f"backend={backend!r}", "BACKENDS")
    raise ValueError(f"backend={backend!r} must be 'torch', 'viztracer', 'none' or None")


# Argument: the value that asks for nothing, and the part that any other value would need, by its name in _later.
_UNBUILT: "Mapping[str, tuple[object, str]]" = {
    "backend_window": (None, "BACKENDS"),
    "window_phase": ("iteration", "BACKENDS"),
    "annotate": (False, "BACKENDS"),
    "trace_capacity": (200_000, "TIMELINE"),
    "trace_functions": (None, "TIMELINE"),
    "cuda_sync": (None, "RESOURCES"),
}


def refuse_unbuilt(arguments: "dict[str, object]") -> None:
    """Raise for an argument that asks for a part that is not built yet.

    Parameters
    ----------
    arguments
        ``trace``, ``backend``, ``sample_interval_s`` and those of ``_UNBUILT``, by name.

    Raises
    ------
    ValueError
        For a value that the part would not accept either.
    NotImplementedError
        For one that it would; the message names the part.
    """
    capacity = arguments["trace_capacity"]
    if not (capacity is None or capacity is False) and (type(capacity) is not int or capacity <= 0):
        raise ValueError(f"trace_capacity={capacity!r} must be a whole number of spans above 0")
    if arguments["annotate"] is not None:
        switch_argument("annotate", arguments["annotate"])
    interval = positive_interval("sample_interval_s", arguments["sample_interval_s"])
    _refuse_backend(arguments["backend"])
    _refuse_trace(arguments["trace"])
    if interval not in (None, 1.0):
        raise _missing(f"sample_interval_s={interval!r}", "RESOURCES")
    for name, (default, part) in _UNBUILT.items():
        value = arguments[name]
        if not (value is None or value is False or value == default):
            raise _missing(f"{name}={value!r}", part)


class Exported:
    """Names that a profiler put into the environment for the processes it starts, to be taken out again."""

    __slots__ = ("_set",)

    def __init__(self, values: "dict[str, str]") -> None:
        self._set: dict[str, str] = {}
        for name, value in values.items():
            if name not in os.environ:
                os.environ[name] = value
                self._set[name] = value

    def remove(self) -> None:
        """Take out exactly what was put in, and leave what the program changed since."""
        while self._set:
            name, value = self._set.popitem()
            if os.environ.get(name) == value:
                del os.environ[name]
