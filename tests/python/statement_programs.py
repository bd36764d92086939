"""Random programs that end: nested loops, handlers, comprehensions, lambdas, generators, on one row and over several.

Exceptions are part of it (`risky` raises every so often); the driver catches what gets out.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import random
from collections.abc import Callable

PRELUDE = """\
from contextlib import suppress, nullcontext
class State:
    calls = 0
    fuel = 3000
def same(value, *more, **named):
    State.fuel -= 1
    if State.fuel < 0:
        raise RuntimeError('out of fuel')
    return value
def risky(value):
    State.calls += 1
    if State.calls % 5 == 3:
        raise ValueError(value)
    return value
"""

Lines = list[str]


class Programs:
    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.functions = 0
        self.in_function = False
        self.is_generator = False
        self.loops = 0
        self.names = 0

    def pick(self, *choices: str) -> str:
        return self.random.choice(choices)

    def chance(self, share: float) -> bool:
        return self.random.random() < share

    # -- expressions

    def atom(self) -> str:
        return self.pick("a", "b", "c", "1", "2", "0", "same(a)", "risky(b)")

    def expression(self, depth: int = 2) -> str:
        if depth == 0:
            return self.atom()
        sub = lambda: self.expression(depth - 1)
        kind = self.random.randrange(11)
        if kind < 3:
            return self.atom()
        if kind == 3:
            return f"({sub()} + {sub()})"
        if kind == 4:
            return f"same({sub()}, {sub()})"
        if kind == 5:
            return f"({sub()} if {sub()} else {sub()})"
        if kind == 6:
            return f"({sub()} {self.pick('and', 'or')} {sub()})"
        if kind == 7:
            return f"len([{sub()} for i in range({self.pick('0', '1', '3')})])"
        if kind == 8:
            return f"sum(a + i for i in range(3) if {sub()})"
        if kind == 9:
            return f"(lambda z: {sub()})({sub()})"
        return f"(not {sub()})"

    def rows(self, indent: str) -> Lines:
        """A simple statement over several rows."""
        sub = lambda: self.expression(1)
        inner = indent + "    "
        kind = self.random.randrange(7)
        if kind == 0:
            return [f"{indent}a = same({sub()},", f"{inner}{sub()},", f"{inner}{sub()})"]
        if kind == 1:
            return [f"{indent}b = ({sub()} +", f"{inner}{sub()} +", f"{inner}{sub()})"]
        if kind == 2:
            test = [f"{inner}if {sub()}"] if self.chance(0.5) else []
            return [f"{indent}c = len([", f"{inner}{sub()}", f"{inner}for i in range(3)", *test, f"{indent}])"]
        if kind == 3:
            test = [f"{inner}if {sub()}"] if self.chance(0.5) else []
            return [f"{indent}c = sum(", f"{inner}{sub()}", f"{inner}for i in range(3)", *test, f"{indent})"]
        if kind == 4:
            return [f"{indent}a = len({{", f"{inner}'x': {sub()},", f"{inner}'y': {sub()},", f"{indent}}})"]
        if kind == 5:
            return [f"{indent}a = same(", f"{inner}{sub()}", f"{indent})"]
        return [f"{indent}a = same({sub()}, lambda:", f"{inner}{sub()}", f"{indent})"]

    # -- statements

    def simple(self) -> str:
        kinds = ["a = {}", "b = {}", "c = {}", "same({})", "assert {} or True", "a = {}; b = {}", "pass", "risky({})"]
        if self.functions:
            kinds += [f"list(f{self.random.randrange(self.functions)}({{}}) or ())"] * 2
        if self.is_generator:
            kinds += ["yield {}", "a = yield {}", "yield from (1, {})"]
        if self.in_function:
            kinds += ["return {}"] if not self.is_generator and self.chance(0.3) else []
        if self.loops and self.chance(0.4):
            kinds += ["break", "continue"]
        text = self.random.choice(kinds)
        while "{}" in text:
            text = text.replace("{}", self.expression(), 1)
        return text

    def block(self, indent: str, depth: int) -> Lines:
        lines: Lines = []
        for _ in range(self.random.randint(1, 3)):
            lines += self.statement(indent, depth)
        return lines

    def body(self, head: str, indent: str, depth: int) -> Lines:
        """A header with its block, now and then on the same row."""
        if self.chance(0.25):
            return [f"{indent}{head} {self.simple()}"]
        return [f"{indent}{head}", *self.block(indent + "    ", depth - 1)]

    def statement(self, indent: str, depth: int) -> Lines:
        if depth == 0 or self.chance(0.35):
            return self.rows(indent) if self.chance(0.3) else [indent + self.simple()]
        kinds: list[Callable[[str, int], Lines]] = [
            self.if_block, self.if_block, self.for_block, self.for_block, self.while_block, self.while_true,
            self.try_block, self.try_block, self.with_block, self.match_block, self.class_block, self.def_block,
        ]  # fmt: skip
        return self.random.choice(kinds)(indent, depth)

    def if_block(self, indent: str, depth: int) -> Lines:
        lines = self.body(f"if {self.expression()}:", indent, depth)
        if self.chance(0.3):
            lines += self.body(f"elif {self.expression()}:", indent, depth)
        if self.chance(0.4):
            lines += self.body("else:", indent, depth)
        return lines

    def loop(self, head: str, indent: str, depth: int) -> Lines:
        self.loops += 1
        lines = self.body(head, indent, depth)
        self.loops -= 1
        if self.chance(0.2):
            lines += self.body("else:", indent, depth)
        return lines

    def for_block(self, indent: str, depth: int) -> Lines:
        return self.loop(f"for i in range({self.pick('0', '1', '2', '3')}):", indent, depth)

    def while_block(self, indent: str, depth: int) -> Lines:
        name = f"n{self.names}"
        self.names += 1
        test = f"({name} := {name} - 1)"
        if self.chance(0.4):
            test += f" {self.pick('and', 'or')} {self.pick('0', 'a', 'b')} and {name} > 0"
        return [
            f"{indent}{name} = {self.pick('1', '3', '4')}",
            *self.loop(f"while {test} and {name} > 0:", indent, depth),
        ]

    def while_true(self, indent: str, depth: int) -> Lines:
        name = f"n{self.names}"
        self.names += 1
        self.loops += 1
        lines = [f"{indent}{name} = 3", f"{indent}while True:", f"{indent}    {name} -= 1"]
        lines += [f"{indent}    if {name} < 0: break", *self.block(indent + "    ", depth - 1)]
        self.loops -= 1
        return lines

    def try_block(self, indent: str, depth: int) -> Lines:
        lines = self.body("try:", indent, depth)
        handlers = self.random.randint(0, 2)
        for kind in ("KeyError", "ValueError as error")[2 - handlers :]:
            lines += self.body(f"except {kind}:", indent, depth)
        if handlers and self.chance(0.3):
            lines += self.body("else:", indent, depth)
        if not handlers or self.chance(0.3):
            loops, self.loops = self.loops, 0  # leaving a finally by break is a warning one day
            inside, self.in_function = self.in_function, False
            lines += self.body("finally:", indent, depth)
            self.loops, self.in_function = loops, inside
        return lines

    def with_block(self, indent: str, depth: int) -> Lines:
        kind = self.pick("suppress(ValueError)", "nullcontext(a)", "suppress(KeyError), nullcontext()")
        return self.body(f"with {kind}:", indent, depth)

    def match_block(self, indent: str, depth: int) -> Lines:
        lines = [f"{indent}match {self.expression()}:"]
        for pattern in ("0", "1 | 2", "int() if a"):
            lines += self.body(f"case {pattern}:", indent + "    ", depth)
        return lines

    def class_block(self, indent: str, depth: int) -> Lines:
        inside, self.in_function, generator, self.is_generator = self.in_function, False, self.is_generator, False
        loops, self.loops = self.loops, 0
        lines = [f"{indent}class A:", f"{indent}    b = {self.pick('1', '2')}"]
        lines += [f"{indent}    def m(self, a=1, b=2, c=3):", f"{indent}        return {self.expression()}"]
        self.in_function, self.is_generator, self.loops = inside, generator, loops
        return [*lines, f"{indent}A().m()"]

    def def_block(self, indent: str, depth: int) -> Lines:
        saved = self.in_function, self.is_generator, self.loops
        self.in_function, self.is_generator, self.loops = True, self.chance(0.3), 0
        name = f"g{self.names}"
        self.names += 1
        decorator = [f"{indent}@same"] if self.chance(0.3) else []
        lines = [*decorator, *self.body(f"def {name}(a=1, b=2, c=3):", indent, depth)]
        self.in_function, self.is_generator, self.loops = saved
        return [
            *lines,
            f"{indent}{self.pick('list', 'len', 'bool')}({name}() or ())" if decorator else f"{indent}{name}()",
        ]

    def program(self) -> str:
        lines = PRELUDE.split("\n")[:-1]
        for _ in range(self.random.randint(2, 4)):
            self.in_function, self.is_generator = True, self.chance(0.3)
            body = self.block("    ", 3)
            lines += [f"def f{self.functions}(a=1, b=2, c=3):", *body]
            self.functions += 1
        self.in_function = self.is_generator = False
        lines += ["a, b, c = 1, 2, 3"]
        for number in range(self.functions):
            lines += ["for round in range(3):", "    try:", f"        list(f{number}(round) or ())"]
            lines += ["    except Exception as error:", "        a = 1"]
        lines += ["try:", *self.block("    ", 2), "except Exception as error:", "    a = 1"]
        return "\n".join(lines) + "\n"


def program(seed: int) -> str:
    """The program of a seed."""
    return Programs(seed).program()
