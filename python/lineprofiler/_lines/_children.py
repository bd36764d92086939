"""Recording whole processes: those that the environment asks for, and the one that ``lineprofiler run`` becomes.

The package installs one start-up line (``lineprofiler.pth``) that calls ``begin`` when LINEPROFILER_LINES is set.  The
variable is either a word for on or off, or what a recording process has put there for the processes it starts: fields
``key=value`` that say where to record and what is in scope, so that all processes of a run obey one rule.
"""
# SPDX-License-Identifier: MIT

import os
import sys

from lineprofiler.accounting import _settings
from lineprofiler.accounting._warn import warn

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from types import CodeType

    from lineprofiler._lines._profiler import LineProfiler
    from lineprofiler._lines._scope import Scope

ENV_LINES = "LINEPROFILER_LINES"

_PATTERNS = ("include", "exclude", "functions")
_SPECIAL = (("%", "%25"), (";", "%3B"), ("\n", "%0A"))

_profiler: "LineProfiler | None" = None  # of this whole process


# The variable.


def word_of(fields: "Iterable[tuple[str, str]]") -> str:
    """Fields as one word for the environment."""
    return ";".join(f"{key}={_escaped(value)}" for key, value in fields)


def fields_of(word: str) -> "dict[str, list[str]]":
    """The fields of such a word, by key."""
    found: dict[str, list[str]] = {}
    for part in word.split(";"):
        key, _, value = part.partition("=")
        found.setdefault(key, []).append(_unescaped(value))
    return found


def _escaped(value: str) -> str:
    for char, code in _SPECIAL:
        value = value.replace(char, code)
    return value


def _unescaped(value: str) -> str:
    for char, code in reversed(_SPECIAL):
        value = value.replace(code, char)
    return value


def word_for(scope: "Scope", run_dir: str, attempt: str, mechanism: "str | None") -> str:
    """What processes that are started from now on need to know."""
    fields = [("run_dir", run_dir), ("run_id", attempt), ("project", scope.root)]
    for name in _PATTERNS:
        fields += [(name, pattern) for pattern in getattr(scope.config, name)]
    if mechanism is not None:
        fields.append(("backend", mechanism))
    return word_of(fields)


# This process.


def begin() -> None:
    """Record this process from here to its end, as LINEPROFILER_LINES says.  Called once, before the program."""
    word = os.environ.get(ENV_LINES, "")
    if _profiler is not None:
        return
    fields: dict[str, list[str]] = {}
    if "=" in word:
        fields = fields_of(word)
    elif not _is_on(word):
        return
    try:
        _begin(fields)
    except Exception as error:  # the program runs, whatever is wrong with us
        warn(f"the lines of this process are not recorded: {type(error).__name__}: {error}")
        os.environ.pop(ENV_LINES, None)
        if "pid" in fields and "keep" not in fields and "run_dir" in fields:  # made for this run alone
            try:
                os.rmdir(fields["run_dir"][0])
            except OSError:
                pass


def _is_on(word: str) -> bool:
    on = _settings.parse_switch(word)
    if on is None:
        warn(f"{ENV_LINES}={word!r} is neither on nor off, so it stays off")
    return bool(on)


def _begin(fields: "dict[str, list[str]]") -> None:
    target = fields.get("pid") == [str(os.getpid())]  # exec keeps the number: this is what `lineprofiler run` became
    if sys.flags.isolated and not target:
        return
    if target:
        from lineprofiler._lines import _target

        _record(fields, _target.program_code(fields))
        _target.arrange(fields)
    else:
        _record(fields, None)


def _record(fields: "dict[str, list[str]]", program: "CodeType | None") -> None:
    global _profiler
    from lineprofiler._lines._config import ProfilerConfig, config_of
    from lineprofiler._lines._profiler import LineProfiler
    from lineprofiler._lines._scope import Scope

    project = _first(fields, "project") or _project_of_program()
    if "project" in fields and "pid" not in fields:  # a parent has read the project's file for all
        config = ProfilerConfig(False, *(fields.get(name, ()) for name in _PATTERNS))
    else:
        own = config_of(project)
        config = ProfilerConfig(False, *((*getattr(own, name), *fields.get(name, ())) for name in _PATTERNS))
    in_memory = fields.get("children") == ["0"]
    profiler = LineProfiler(
        project,
        config,
        backend=_first(fields, "backend"),
        run_dir=None if in_memory else _first(fields, "run_dir") or _settings.resolve_run_dir(None),
        run_id=_first(fields, "run_id"),
    )
    if program is not None:
        profiler._scope = Scope(project, config, program)
    profiler._is_program = "pid" in fields
    profiler._is_child = "project" in fields and "pid" not in fields
    os.environ.pop(ENV_LINES, None)
    profiler.start()  # puts the variable back, as children need it
    _profiler = profiler


def _first(fields: "dict[str, list[str]]", name: str) -> "str | None":
    return fields[name][0] if name in fields else None


def _project_of_program() -> str:
    """The project of the program that is about to run."""
    from lineprofiler._lines._config import find_project_root, working_folder

    script = sys.argv[0] if getattr(sys, "argv", None) else ""
    return find_project_root(script if script and os.path.exists(script) else working_folder())
