"""``%lprun`` and ``%%lprun`` for IPython and Jupyter: ``%load_ext lineprofiler``."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

from typing import Any

from lineprofiler._lines import _config, _results
from lineprofiler._lines._profiler import LineProfiler

FORM = "%lprun [-f FUNCTION]... [-m MODULE]... [-s] [-r] [-u UNIT] [-T TEXT] [-D LPROF] [-H HTML] STATEMENT"
_WITH_VALUE = "fmuTDH"
_FLAGS = "srz"


class Wrong(Exception):
    """One line: what is wrong, and the right form."""


def register(shell: Any) -> None:
    """Add the magics to an IPython shell."""

    def lprun(line: str, cell: str | None = None) -> LineProfiler | None:
        try:
            return run(shell, line, cell)
        except Wrong as wrong:
            raise _usage_error(str(wrong)) from None

    lprun.__doc__ = DOCUMENTATION
    shell.register_magic_function(lprun, "line_cell", "lprun")


DOCUMENTATION = f"""Run a statement, or as %%lprun the whole cell, and show its lines: hits, time, share.

    {FORM}

Without -f and -m, all code of the notebook and of the project (the folder of the working directory) is recorded.

-f FUNCTION   only this function and what is defined inside it; may be given again
-m MODULE     only the functions and classes that this module defines; may be given again
-s            by the time of the lines themselves, without callees
-r            give the profiler back
-u UNIT       ns, us, ms or s
-T, -D, -H    also write the tables, an .lprof file, a page to a file
"""


def _usage_error(text: str) -> Exception:
    from IPython.core.error import UsageError  # type: ignore[import-not-found,unused-ignore]

    error: Exception = UsageError(text)
    return error


def parse(line: str) -> tuple[dict[str, list[str]], str]:
    """Options by their letter, and the statement behind them."""
    found: dict[str, list[str]] = {}
    rest = line.strip()
    while rest.startswith("-") and len(rest) > 1 and not rest[1].isspace():
        word, _, rest = rest.partition(" ")
        rest = rest.lstrip()
        if word == "--":
            break
        letter, value = word[1], word[2:]
        if letter in _FLAGS and not value:
            found[letter] = []
        elif letter in _WITH_VALUE:
            if not value:
                value, _, rest = rest.partition(" ")
                rest = rest.lstrip()
            if not value:
                raise Wrong(f"-{letter} needs a value: {FORM}")
            found.setdefault(letter, []).append(value)
        else:
            raise Wrong(f"no option {word}: {FORM}")
    return found, rest


def run(shell: Any, line: str, cell: str | None) -> LineProfiler | None:
    """What the magic does."""
    options, statement = parse(line)
    if cell is None and not statement:
        raise Wrong(f"a statement is missing: {FORM}")
    if cell is not None and statement:
        raise Wrong("what is to run stands below %%lprun, not beside it: %%lprun [options], then the cell")
    unit = _unit(options)
    profiler = LineProfiler(_config.find_project_root(_config.working_folder()))
    only = _only(shell, options)
    if only is None:
        profiler.start()
    else:
        for each in only:
            profiler._record_only(each)
    try:
        _execute(shell, statement, cell)
    finally:
        profiler._halt()
        _show(profiler, options, unit)
    return profiler if "r" in options else None


def _only(shell: Any, options: dict[str, list[str]]) -> list[Any] | None:
    """What -f and -m name; None when they are not there."""
    if "f" not in options and "m" not in options:
        return None
    found = []
    for name in options.get("f", []):
        if "(" in name:
            plain = name.partition("(")[0]
            raise Wrong(f"-f takes a function, not a call: %lprun -f {plain} {name}")
        thing = _evaluate(shell, name)
        _check_code(name, thing)
        found.append(thing)
    for name in options.get("m", []):
        found += _members(_module(name))
    return found


def _check_code(name: str, thing: Any) -> None:
    from lineprofiler._lines import _decorator

    try:
        _decorator.codes_of(thing)
    except TypeError:
        raise Wrong(f"-f {name}: a {type(thing).__name__} has no Python lines; -f takes a function") from None


def _evaluate(shell: Any, name: str) -> Any:
    try:
        return eval(name, shell.user_global_ns, shell.user_ns)
    except Exception as error:
        raise Wrong(f"-f {name}: {type(error).__name__}: {error}") from None


def _module(name: str) -> Any:
    import importlib

    try:
        return importlib.import_module(name)
    except Exception as error:
        raise Wrong(f"-m {name}: {type(error).__name__}: {error}") from None


def _members(module: Any) -> list[Any]:
    from lineprofiler._lines import _decorator

    found = []
    for thing in vars(module).values():
        if getattr(thing, "__module__", None) == module.__name__:
            try:
                _decorator.codes_of(thing)
            except TypeError:
                continue
            found.append(thing)
    return found


def _unit(options: dict[str, list[str]]) -> str | None:
    if "u" not in options:
        return None
    value = options["u"][-1]
    try:
        return _results.unit_of(value if value.isalpha() else float(value))
    except ValueError:
        raise Wrong(f"-u takes ns, us, ms or s, or the seconds of one of them, not {value}") from None


def _execute(shell: Any, statement: str, cell: str | None) -> None:
    if cell is not None:
        shell.run_cell(cell)  # its syntax, its errors and what it shows are the shell's affair
        return
    code = compile(shell.transform_cell(statement), "<lprun>", "exec", dont_inherit=True)
    exec(code, shell.user_global_ns, shell.user_ns)


def _show(profiler: LineProfiler, options: dict[str, list[str]], unit: str | None) -> None:
    order = "self" if "s" in options else "time"
    profiler.print_stats(sort_by=order, output_unit=unit)
    for path in options.get("T", []):
        with open(path, "w", encoding="utf-8") as file:
            profiler.print_stats(sort_by=order, output_unit=unit, stream=file)
    for path in options.get("D", []):
        profiler.dump_stats(path)
    for path in options.get("H", []):
        profiler.to_html(path)
