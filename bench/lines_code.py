# SPDX-License-Identifier: MIT
"""The programs whose lines are watched: each variant has its own copy, so that nothing which one tool did to a code
object is met by another."""

from __future__ import annotations

import importlib
import importlib.util
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

PADDING = 300  # rows: the interpreter keeps ints up to 256 ready and makes greater line numbers anew for each event

LOOP = """\
def run(n):
    total = 0
    for i in range(n):
        total += i * i
    return total
"""

FIB = """\
def fib(n):
    if n < 2:
        return n
    return fib(n - 1) + fib(n - 2)


def run(n):
    for _ in range(n):
        fib(22)
"""

LIBRARY = """\
def run(n):
    for _ in range(n):
        dumps(data)
"""

FUNCTION = """\
def f{0}(n):
    total = n
    total += {0}
    return total


"""

TEXTS = {"loop": LOOP, "deep": "\n" * PADDING + LOOP, "fib": FIB, "library": LIBRARY}


def nested(depth: int = 4, width: int = 5) -> Any:
    if depth == 0:
        return [1, 2.5, "three", None, True]
    return {f"key {i}": nested(depth - 1, width) for i in range(width)} if depth % 2 else [nested(depth - 1, width)] * 3


def slow_json(name: str) -> ModuleType:
    """A copy of the standard library's json that has no encoder in C."""
    package = Path(json.__file__)
    spec = importlib.util.spec_from_file_location(name, package, submodule_search_locations=[str(package.parent)])
    assert spec is not None and spec.loader is not None
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    encoder: Any = sys.modules[f"{name}.encoder"]
    encoder.c_make_encoder = None
    encoder.encode_basestring_ascii = encoder.py_encode_basestring_ascii
    return module


class Project:
    """A folder of programs to watch, and one beside it for copies that are not: a tool may take functions of the same
    instructions for one."""

    def __init__(self, folder: str) -> None:
        self.folder, self.beside = (str(Path(folder).resolve() / name) for name in ("project", "beside"))
        for each in (self.folder, self.beside):
            Path(each).mkdir(parents=True)
            sys.path.insert(0, each)

    def module(self, name: str, text: str, watched: bool = True) -> ModuleType:
        Path(self.folder if watched else self.beside, f"{name}.py").write_text(text, encoding="utf-8")
        importlib.invalidate_caches()
        return importlib.import_module(name)

    def copy(self, kind: str, of: str) -> ModuleType:
        """The program `kind` for the variant `of`; "watched" is one."""
        module: Any = self.module(f"{kind}_{of}", TEXTS[kind], of == "watched")
        if kind == "library":
            module.dumps, module.data = slow_json(f"json_{of}").dumps, nested()
        return module  # type: ignore[no-any-return]

    def many(self, count: int, name: str = "many") -> list[Callable[[int], int]]:
        module = self.module(name, "".join(FUNCTION.format(i) for i in range(count)))
        return [getattr(module, f"f{i}") for i in range(count)]
