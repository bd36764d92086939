"""Source text as units: what can be executed once more or once less, with the rows it stands on.

A unit is a statement, a handler, a case, the body of a lambda, or a part of a comprehension (its element, one `for`,
one `if`). Units nest by their spans and lie in scopes (module, class, function, lambda); comprehensions belong to the
scope around them, whether or not they have a code object of their own. The C core (core/analyse/statement_units.h)
reads them packed, in the order in which they start.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import ast
import re
from array import array
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

# enum lp_unit_kind
SIMPLE, COMPOUND, LOOP_FOR, LOOP_WHILE, LOOP_ASYNC, HANDLER, CASE, LAMBDA = range(8)
ELEMENT, COMP_FOR, COMP_ASYNC, COMP_IF = range(8, 12)
# enum lp_unit_flags
NO_CODE, ONE_LINE, BRANCHING_TEST = 0x100, 0x200, 0x400
# enum lp_scope_kind
LOGICAL, COMPREHENSION, CLASS = range(3)

MAGIC = 0x3154494E  # "NIT1"
NONE = 0xFFFFFFFF

_WORDS = re.compile(rb"(?:lambda|for)\b")
_FIRST_TOKEN = re.compile(rb"[ \t\f]*((?:(?:(?:for|if|async|else|and|or)\b|[(\[{*])[ \t\f]*)*)")
_NAMES = {
    ast.ListComp: "<listcomp>",
    ast.SetComp: "<setcomp>",
    ast.DictComp: "<dictcomp>",
    ast.GeneratorExp: "<genexpr>",
}
_BRANCHING = (ast.BoolOp, ast.IfExp, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.Await)
_Try: tuple[type, ...] = (ast.Try, ast.TryStar) if hasattr(ast, "TryStar") else (ast.Try,)
_LEAVES = (ast.Name, ast.Constant, ast.expr_context, ast.operator, ast.boolop, ast.unaryop, ast.cmpop)


class Units(NamedTuple):
    """`packed` for the core, and the scopes by the name and the lines that a code object may know them by."""

    packed: bytes
    scopes: dict[tuple[str, int], list[int]]


class _Unit(NamedTuple):
    start: tuple[int, int]
    back: tuple[int, int]  # minus the end, so that the outer of two that start together sorts first
    number: int  # in order of discovery: outer before inner
    parent: int  # number
    scope: int
    kind: int


class _Scope(NamedTuple):
    kind: int
    logical: int  # the scope that its units say they are in
    first: int  # number of the first and the last unit that stand for it
    last: int
    span: tuple[int, int, int, int]


def _span(node: ast.AST) -> tuple[int, int, int, int]:
    return node.lineno, node.col_offset, node.end_lineno, node.end_col_offset  # type: ignore[attr-defined]


class _Builder:
    def __init__(self, lines: list[bytes]) -> None:
        self.units: list[_Unit] = []
        self.scopes: list[_Scope] = []
        self.names: dict[tuple[str, int], list[int]] = {}
        # How many rows before each one hold a word that may begin a lambda or a comprehension.
        self.words = [0, 0]
        count = 0
        for line in lines:
            count += _WORDS.search(line) is not None
            self.words.append(count)

    def unit(self, kind: int, start: ast.AST, end: ast.AST, parent: int, scope: int) -> int:
        number = len(self.units)
        first, last = (start.lineno, start.col_offset), (-end.end_lineno, -end.end_col_offset)  # type: ignore[attr-defined]
        self.units.append(_Unit(first, last, number, parent, scope, kind))
        return number

    def scope(self, name: str, lines: Iterable[int], scope: _Scope) -> int:
        number = len(self.scopes)
        self.scopes.append(scope)
        for line in lines:
            self.names.setdefault((name, line), []).append(number)
        return number

    # -- statements

    def module(self, tree: ast.Module, row_count: int) -> None:
        scope = self.scope("<module>", (0, 1), _Scope(LOGICAL, 0, NONE, NONE, (0, 0, row_count + 1, 0)))
        self.body(tree.body, NONE, scope)

    def body(self, statements: Iterable[ast.stmt], parent: int, scope: int) -> None:
        for statement in statements:
            _STATEMENTS.get(type(statement), _Builder.simple)(self, statement, parent, scope)

    def simple(self, node: ast.stmt, parent: int, scope: int) -> None:
        kind = SIMPLE
        if isinstance(node, (ast.Pass, ast.Global, ast.Nonlocal)) or (
            isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        ):
            kind |= NO_CODE
        unit = self.unit(kind, node, node, parent, scope)
        if self.words[node.end_lineno + 1] != self.words[node.lineno]:  # type: ignore[operator]
            self.parts(node, unit, scope)

    def definition(self, node: ast.FunctionDef | ast.ClassDef, parent: int, scope: int) -> None:
        start: ast.AST = node.decorator_list[0] if node.decorator_list else node
        unit = self.unit(SIMPLE, start, node, parent, scope)
        for name, value in ast.iter_fields(node):
            if name != "body":
                self.all_parts(value, unit, scope)
        first: int = start.lineno  # type: ignore[attr-defined]
        span = (first, start.col_offset, node.end_lineno or 0, node.end_col_offset or 0)  # type: ignore[attr-defined]
        own = len(self.scopes)
        kind = CLASS if isinstance(node, ast.ClassDef) else LOGICAL
        self.scope(node.name, {first, node.lineno}, _Scope(kind, own, unit, unit, span))
        self.body(node.body, unit, own)

    def conditional(self, node: ast.If, parent: int, scope: int) -> None:
        unit = self.unit(COMPOUND, node, node, parent, scope)
        self.parts_of(node.test, unit, scope)
        self.body(node.body, unit, scope)
        self.body(node.orelse, unit, scope)

    def loop(self, node: ast.For | ast.AsyncFor, parent: int, scope: int) -> None:
        kind = LOOP_ASYNC if isinstance(node, ast.AsyncFor) else LOOP_FOR
        if node.body[0].lineno <= node.iter.end_lineno:  # type: ignore[operator]
            kind |= ONE_LINE
        unit = self.unit(kind, node, node, parent, scope)
        self.parts_of(node.target, unit, scope)
        self.parts_of(node.iter, unit, scope)
        self.body(node.body, unit, scope)
        self.body(node.orelse, unit, scope)

    def while_loop(self, node: ast.While, parent: int, scope: int) -> None:
        kind = LOOP_WHILE
        if node.body[0].lineno <= node.test.end_lineno:  # type: ignore[operator]
            kind |= ONE_LINE
        if any(
            isinstance(inner, _BRANCHING) or (isinstance(inner, ast.Compare) and len(inner.ops) > 1)
            for inner in ast.walk(node.test)
        ):
            kind |= BRANCHING_TEST
        unit = self.unit(kind, node, node, parent, scope)
        self.parts_of(node.test, unit, scope)
        self.body(node.body, unit, scope)
        self.body(node.orelse, unit, scope)

    def with_block(self, node: ast.With | ast.AsyncWith, parent: int, scope: int) -> None:
        unit = self.unit(COMPOUND, node, node, parent, scope)
        self.all_parts(node.items, unit, scope)
        self.body(node.body, unit, scope)

    def attempt(self, node: ast.Try, parent: int, scope: int) -> None:
        unit = self.unit(COMPOUND, node, node, parent, scope)
        self.body(node.body, unit, scope)
        for handler in node.handlers:
            inner = self.unit(HANDLER, handler, handler, unit, scope)
            if handler.type is not None:
                self.parts_of(handler.type, inner, scope)
            self.body(handler.body, inner, scope)
        self.body(node.orelse, unit, scope)
        self.body(node.finalbody, unit, scope)

    def match(self, node: ast.Match, parent: int, scope: int) -> None:
        unit = self.unit(COMPOUND, node, node, parent, scope)
        self.parts_of(node.subject, unit, scope)
        for case in node.cases:
            inner = self.unit(CASE, case.pattern, case.guard or case.pattern, unit, scope)
            self.all_parts((case.pattern, case.guard), inner, scope)
            self.body(case.body, unit, scope)

    # -- expressions: lambdas and comprehensions

    def parts_of(self, node: ast.AST, unit: int, scope: int) -> None:
        """The parts in an expression, which costs nothing where no row of it holds a word that begins one."""
        if self.words[node.end_lineno + 1] != self.words[node.lineno]:  # type: ignore[attr-defined]
            self.found(node, unit, scope)

    def all_parts(self, value: object, unit: int, scope: int) -> None:
        if isinstance(value, (list, tuple)):
            for item in value:
                self.all_parts(item, unit, scope)
        elif isinstance(value, ast.AST):
            self.found(value, unit, scope)

    def found(self, node: ast.AST, unit: int, scope: int) -> None:
        if isinstance(node, _LEAVES):
            return
        if isinstance(node, ast.Lambda):
            self.function(node, unit, scope)
        elif type(node) in _NAMES:
            self.comprehension(node, unit, scope)  # type: ignore[arg-type]
        else:
            self.parts(node, unit, scope)

    def parts(self, node: ast.AST, unit: int, scope: int) -> None:
        for field in node._fields:
            value = getattr(node, field, None)
            if isinstance(value, ast.AST):
                self.found(value, unit, scope)
            elif isinstance(value, list):
                for item in value:
                    if isinstance(item, ast.AST):
                        self.found(item, unit, scope)

    def function(self, node: ast.Lambda, unit: int, scope: int) -> None:
        self.parts(node.args, unit, scope)
        own = len(self.scopes)
        inner = self.unit(LAMBDA, node.body, node.body, unit, own)
        self.scope("<lambda>", (node.lineno,), _Scope(LOGICAL, own, inner, inner, _span(node)))
        self.found(node.body, inner, own)

    def comprehension(
        self, node: ast.ListComp | ast.SetComp | ast.DictComp | ast.GeneratorExp, unit: int, scope: int
    ) -> None:
        if isinstance(node, ast.DictComp):
            key, value = node.key, node.value or node.key
        else:
            key = value = node.elt
        first = last = self.unit(ELEMENT, key, value, unit, scope)
        self.found(key, first, scope)
        if value is not key:
            self.found(value, first, scope)
        for clause in node.generators:
            last = self.unit(COMP_ASYNC if clause.is_async else COMP_FOR, clause.target, clause.iter, unit, scope)
            self.found(clause.target, last, scope)
            self.found(clause.iter, last, scope)
            for test in clause.ifs:
                last = self.unit(COMP_IF, test, test, unit, scope)
                self.found(test, last, scope)
        self.scope(_NAMES[type(node)], (node.lineno,), _Scope(COMPREHENSION, scope, first, last, _span(node)))


_STATEMENTS: dict[type, Callable[[_Builder, Any, int, int], None]] = {
    ast.FunctionDef: _Builder.definition,
    ast.AsyncFunctionDef: _Builder.definition,
    ast.ClassDef: _Builder.definition,
    ast.If: _Builder.conditional,
    ast.For: _Builder.loop,
    ast.AsyncFor: _Builder.loop,
    ast.While: _Builder.while_loop,
    ast.With: _Builder.with_block,
    ast.AsyncWith: _Builder.with_block,
    ast.Match: _Builder.match,
    **dict.fromkeys(_Try, _Builder.attempt),
}


def first_tokens(lines: list[bytes]) -> list[int]:
    """For each row the first column that is not blank, and that of the first token past what only leads to it."""
    columns = []
    for line in lines:
        match = _FIRST_TOKEN.match(line)
        first, token = match.span(1)  # type: ignore[union-attr]
        columns.append(first)
        columns.append(token if token < len(line) else max(len(line) - 1, 0))
    return columns


def _pack(builder: _Builder, lines: list[bytes]) -> bytes:
    units = sorted(builder.units)
    place = {unit.number: index for index, unit in enumerate(units)}
    place[NONE] = NONE
    words = array("I", (MAGIC, len(units), len(builder.scopes), len(lines)))
    for unit in units:
        (line, column), (end_line, end_column) = unit.start, unit.back
        words.extend((line, column, -end_line, -end_column, place[unit.parent], unit.scope, unit.kind))
    for scope in builder.scopes:
        words.extend((scope.kind, scope.logical, place[scope.first], place[scope.last], *scope.span))
    words.extend(first_tokens(lines))
    return words.tobytes()


def units_of(source: str | bytes) -> Units:
    """The units of a file, cell or exec text. SyntaxError, ValueError, RecursionError: as the parser."""
    tree = ast.parse(source)
    text = source.encode("utf-8", "surrogatepass") if isinstance(source, str) else source
    lines = text.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n")
    builder = _Builder(lines)
    # A statement may end on a row that the parser counts and the split does not: a form feed never does.
    builder.words.extend([builder.words[-1]] * 2)
    builder.module(tree, len(lines))
    return Units(_pack(builder, lines), builder.names)
