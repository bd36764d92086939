"""``lineprofiler run``: a program exactly as Python runs it, with its lines recorded.

The program is not run by us but by a fresh Python that takes this process's place, with the same interpreter options:
so ``sys.argv``, ``sys.path``, ``__main__``, tracebacks and exit status are Python's own.  What to record and show goes
along in the environment; the package's start-up line picks it up (``_children``) and ``_target`` prints the tables.
"""
# SPDX-License-Identifier: MIT

import os
import sys

from lineprofiler import _core
from lineprofiler._lines import _children

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import NoReturn

USAGE = 2
STARTUP_FILE = "lineprofiler.pth"

# Options with a value; what may be left out is the value of --top.
_FLAGS = ("functions", "regions", "self", "explain-scope", "children", "no-children")
_VALUES = ("top", "html", "json", "output-unit", "run-dir", "project", "include", "exclude")


class Usage(Exception):
    """What is wrong with the command line, and what to do."""


class Request:
    """A command line, taken apart."""

    def __init__(self, words: "list[str]") -> None:
        self.words = words
        self.at = 0
        self.flags: set[str] = set()
        self.values: dict[str, list[str]] = {}
        self.kind = ""
        self.target: list[str] = []  # the words for Python: script or -m, -c, -, and the program's own
        self._options()
        self._target()

    def _options(self) -> None:
        while self.at < len(self.words):
            word = self.words[self.at]
            if word == "--":
                self.at += 1
                return
            if not word.startswith("-") or word == "-" or word[:2] in ("-m", "-c"):
                return
            self.at += 1
            if word in ("-h", "--help"):
                self.flags.add("help")
            elif word.startswith("--"):
                self._option(*word[2:].partition("="))
            else:
                raise Usage(
                    f"no option '{word}'; options of Python itself stand before: python -X dev -m lineprofiler run ..."
                )

    def _option(self, name: str, given: str, value: str) -> None:
        if name in _FLAGS and not given:
            self.flags.add(name)
        elif name in _FLAGS:
            raise Usage(f"--{name} takes no value")
        elif name not in _VALUES:
            raise Usage(f"no option '--{name}' (lineprofiler run --help lists them)")
        elif name == "top" and not given:
            following = self.words[self.at] if self.at < len(self.words) else ""
            counted = following.isdecimal() or following == "all"
            self.at += counted
            self._value(name, following if counted else "10")
        elif given:
            self._value(name, value)
        elif self.at < len(self.words):
            self.at += 1
            self._value(name, self.words[self.at - 1])
        else:
            raise Usage(f"--{name} needs a value")

    def _value(self, name: str, value: str) -> None:
        if not value:
            raise Usage(f"--{name} needs a value")
        if name == "top" and value != "all" and not (value.isdecimal() and 0 < int(value) <= 1_000_000):
            raise Usage(f"--top takes a number of lines from 1 to 1000000, or all, not '{value}'")
        if name == "output-unit":
            value = _unit(value)
        if name in ("html", "json"):
            _check_output(name, value)
        if name in ("include", "exclude"):
            self.values.setdefault(name, []).append(value)
        else:
            self.values[name] = [value]

    def _target(self) -> None:
        if "help" in self.flags:
            return
        rest = self.words[self.at :]
        if not rest:
            raise Usage("a script, -m MODULE, -c CODE or - comes after the options (lineprofiler run --help)")
        first = rest[0]
        if first[:2] in ("-m", "-c"):
            if len(first) == 2 and len(rest) == 1:
                raise Usage(f"{first} needs {'a module' if first == '-m' else 'some code'} after it")
            self.kind = first[1]
        elif first == "-":
            self.kind = "stdin"
        elif first.startswith("-"):
            raise Usage(f"after -- comes a script, -m, -c or -, not '{first}'")
        elif not os.path.exists(first):
            raise Usage(f"there is no script '{first}'")
        else:
            self.kind = "script"
        self.target = rest


def _unit(value: str) -> str:
    from lineprofiler._lines import _results

    try:
        return _results.unit_of(value if value.strip().isalpha() else float(value))
    except ValueError:
        raise Usage(f"--output-unit takes ns, us, ms or s, not '{value}'") from None


def _check_output(name: str, path: str) -> None:
    if os.path.isdir(path):
        raise Usage(f"--{name} takes a file to write, and '{path}' is a folder")
    if path.endswith((".py", ".pyz")):
        raise Usage(f"--{name} takes a file to write, and '{path}' looks like the program: name another file before it")


def main(words: "list[str]") -> int:
    """Become the program.  Returns only when that is not possible: the exit status."""
    try:
        request = Request(words)
        if "help" in request.flags:
            return _core.cli(["run", "--help"])
        check_startup()
        _become(request)
    except Usage as error:
        return _refuse(str(error))
    except OSError as error:
        return _refuse(f"cannot start: {error.strerror}{f': {error.filename}' if error.filename else ''}")


def _refuse(what: str) -> int:
    text = f"lineprofiler: run: {what}\n"
    encoding = getattr(sys.stderr, "encoding", None) or "ascii"
    if sys.stderr is not None:
        sys.stderr.write(text.replace("…", "...").encode(encoding, "backslashreplace").decode(encoding))
    return USAGE


def check_startup() -> None:
    """The program's interpreter will find our start-up line where this one does."""
    if not sys.executable:
        raise Usage("this interpreter does not know its own program, so it cannot start another one")
    site = sys.modules.get("site")
    folders: list[str] = []
    if site is not None:
        folders = [*site.getsitepackages(), *([site.getusersitepackages()] if site.ENABLE_USER_SITE else [])]
    if not any(os.path.exists(os.path.join(folder, STARTUP_FILE)) for folder in folders):
        why = "this Python reads no start-up files (-S)" if site is None else f"{STARTUP_FILE} is in no site folder"
        raise Usage(f"the package is not fully installed here: {why}; install it with pip into this Python")


def _become(request: Request) -> "NoReturn":
    flags = interpreter_options(sys.orig_argv, sys.argv)
    argv = [sys.executable, *flags, *request.target]
    fields = [("pid", str(os.getpid())), ("kind", request.kind), ("project", _project(request))]
    if request.kind == "c":
        apart = request.target[0] == "-c"
        fields.append(("text_at", f"{len(flags) + 2}:0" if apart else f"{len(flags) + 1}:2"))
    made = None
    if "no-children" in request.flags:
        fields.append(("children", "0"))
    elif "run-dir" in request.values:
        fields += [("run_dir", os.path.abspath(request.values["run-dir"][0])), ("keep", "1")]
    else:
        made = _make_folder()
        fields.append(("run_dir", made))
    fields += [(f"show-{name}", "1") for name in _FLAGS[:4] if name in request.flags]
    for name in ("top", "html", "json", "output-unit", "include", "exclude"):
        fields += [(name, _absolute(name, value)) for value in request.values.get(name, ())]
    os.environ[_children.ENV_LINES] = _children.word_of(fields)
    try:
        if request.kind == "stdin":
            _keep_standard_input()
        sys.stdout.flush()
        os.execve(sys.executable, argv, os.environ)
    except BaseException:
        if made is not None:
            os.rmdir(made)
        raise


def _absolute(name: str, value: str) -> str:
    """Files are meant relative to where we were started, wherever the program goes."""
    return os.path.abspath(value) if name in ("html", "json") else value


def _project(request: Request) -> str:
    from lineprofiler._lines._config import find_project_root, working_folder

    if "project" in request.values:
        folder = os.path.abspath(request.values["project"][0])
        if not os.path.isdir(folder):
            raise Usage(f"--project takes a folder, and '{request.values['project'][0]}' is none")
        return folder
    return find_project_root(request.target[0] if request.kind == "script" else working_folder())


def interpreter_options(original: "list[str]", argv: "list[str]") -> "list[str]":
    """The options that Python itself was started with, so that the program gets the same ones.

    Parameters
    ----------
    original
        ``sys.orig_argv``.
    argv
        ``sys.argv``: what follows is the same at the end of both.
    """
    own = len(argv) - 1
    if own < 1 or original[-own:] != argv[1:]:
        return []
    head = original[1:-own]
    if head[-1:] == ["lineprofiler"] and head[-2:-1] and head[-2].startswith("-") and head[-2].endswith("m"):
        cluster = head[-2][:-1]  # -Im lineprofiler
        return head[:-2] + ([cluster] if len(cluster) > 1 else [])
    return head[:-1]  # the script that pip made, or -mlineprofiler


def _make_folder() -> str:
    """A new folder for this run alone, as ``tempfile`` would make it."""
    parent = os.environ.get("TMPDIR") or "/tmp"
    for _ in range(100):
        folder = os.path.join(parent, f"lineprofiler-{os.getpid()}-{os.urandom(4).hex()}")
        try:
            os.mkdir(folder, 0o700)
        except FileExistsError:
            continue
        return folder
    raise FileExistsError(17, os.strerror(17), parent)


def _keep_standard_input() -> None:
    """Put standard input into a file without a name, so that its text can be shown; a terminal stays."""
    if os.isatty(0):
        return
    copy = os.memfd_create("stdin") if hasattr(os, "memfd_create") else -1
    if copy < 0:
        return
    while True:
        part = os.read(0, 1 << 16)
        if not part:
            break
        while part:
            part = part[os.write(copy, part) :]
    os.lseek(copy, 0, os.SEEK_SET)
    os.dup2(copy, 0)
    os.close(copy)
