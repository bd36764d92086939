"""What hits should be, counted without any event: the source is rewritten so that it counts for itself.

Counters are put before each statement, around iterators and tests of loops, into parts of comprehensions, bodies of
lambdas and types of handlers; the rewritten program runs without any tool. It shares with the pass only the rule who
owns a row, not the counting.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import ast
import sys
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Iterable, Iterator
from typing import Any

from lineprofiler._lines.units import first_tokens

COUNT, ITEMS, ASYNC_ITEMS = "_lp_count", "_lp_items", "_lp_async_items"
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)


class _Start:
    """Something that starts on a row."""

    def __init__(self, column: int, key: int, part: bool, silent: bool) -> None:
        self.column, self.key, self.part, self.silent = column, key, part, silent


def _is_silent(node: ast.stmt) -> bool:
    if isinstance(node, ast.AnnAssign):
        return node.value is None
    return isinstance(node, (ast.Pass, ast.Global, ast.Nonlocal)) or (
        isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    )


class _Rewriter:
    def __init__(self) -> None:
        self.keys = 0
        self.goes_on: list[tuple[int, int]] = []  # scope around it, row
        self.starts: dict[tuple[int, int], list[_Start]] = defaultdict(list)
        self.scopes = 1
        self.scope = 0
        self.headers: dict[int, int] = {}  # class scope: its header's row
        self.matches: list[tuple[int, list[tuple[int, int]]]] = []  # subject's key, (tries, body) of each case

    def key(self, node: ast.AST, part: bool = False, silent: bool = False) -> int:
        start = _Start(node.col_offset, self.keys, part, silent)  # type: ignore[attr-defined]
        self.starts[self.scope, node.lineno].append(start)  # type: ignore[attr-defined]
        self.keys += 1
        return start.key

    # -- pieces of code

    def call(self, name: str, *args: ast.expr) -> ast.Call:
        return ast.Call(func=ast.Name(id=name, ctx=ast.Load()), args=list(args), keywords=[])

    def count(self, key: int) -> ast.Call:
        return self.call(COUNT, ast.Constant(value=key))

    def counted(self, key: int, value: ast.expr) -> ast.expr:
        pair = ast.Tuple(elts=[self.count(key), value], ctx=ast.Load())
        return ast.Subscript(value=pair, slice=ast.Constant(value=1), ctx=ast.Load())

    # -- statements

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        done: list[ast.stmt] = []
        for statement in statements:
            first = not done
            future = isinstance(statement, ast.ImportFrom) and statement.module == "__future__"
            docstring = first and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
            if future or docstring:
                self.key(statement, silent=True)
                done.append(statement)
            else:
                done += self.statement(statement)
        return done

    def statement(self, node: ast.stmt) -> list[ast.stmt]:
        method = getattr(self, "do_" + type(node).__name__, None)
        if method is not None:
            return list(method(node))
        key = self.key(node, silent=_is_silent(node))
        self.expressions(node)
        return [ast.Expr(value=self.count(key)), node]

    def definition(self, node: Any) -> list[ast.stmt]:
        start = node.decorator_list[0] if node.decorator_list else node
        key = self.key(start)
        for field, value in ast.iter_fields(node):
            if field != "body":
                setattr(node, field, self.value(value))
        if start is not node:  # its own row is one on which it goes on
            self.goes_on.append((self.scope, node.lineno))
        outer, self.scope = self.scope, self.scopes
        self.scopes += 1
        if isinstance(node, ast.ClassDef):
            self.headers[self.scope] = start.lineno
        node.body = self.block(node.body)
        self.scope = outer
        return [ast.Expr(value=self.count(key)), node]

    do_FunctionDef = do_AsyncFunctionDef = do_ClassDef = definition

    def do_If(self, node: ast.If) -> list[ast.stmt]:
        key = self.key(node)
        node.test = self.expression(node.test)
        node.body, node.orelse = self.block(node.body), self.block(node.orelse)
        return [ast.Expr(value=self.count(key)), node]

    def do_For(self, node: Any) -> list[ast.stmt]:
        key = self.key(node)
        name = ASYNC_ITEMS if isinstance(node, ast.AsyncFor) else ITEMS
        # The header is begun even when its iterable raises; each further item, or the end, is one more. Where the body
        # is on its row, only what is asked for counts.
        begun = int(node.body[0].lineno > node.iter.end_lineno)
        node.iter = self.call(name, ast.Constant(value=key), self.expression(node.iter), ast.Constant(value=begun))
        node.body, node.orelse = self.block(node.body), self.block(node.orelse)
        return [*([ast.Expr(value=self.count(key))] if begun else []), node]

    do_AsyncFor = do_For

    def do_While(self, node: ast.While) -> list[ast.stmt]:
        key = self.key(node)
        node.test = self.counted(key, self.expression(node.test))
        node.body, node.orelse = self.block(node.body), self.block(node.orelse)
        return [node]

    def do_With(self, node: Any) -> list[ast.stmt]:
        key = self.key(node)
        node.items = self.value(node.items)
        node.body = self.block(node.body)
        return [ast.Expr(value=self.count(key)), node]

    do_AsyncWith = do_With

    def do_Try(self, node: Any) -> list[ast.stmt]:
        key = self.key(node)
        node.body = self.block(node.body)
        for handler in node.handlers:
            inner = self.key(handler)
            body = []
            if handler.type is None:
                body = [ast.Expr(value=self.count(inner))]
            else:
                handler.type = self.counted(inner, self.expression(handler.type))
            handler.body = body + self.block(handler.body)
        node.orelse, node.finalbody = self.block(node.orelse), self.block(node.finalbody)
        return [ast.Expr(value=self.count(key)), node]

    do_TryStar = do_Try

    def do_Match(self, node: ast.Match) -> list[ast.stmt]:
        key, subject = self.key(node), self.keys
        self.keys += 1
        pair = ast.Tuple(elts=[self.expression(node.subject), self.count(subject)], ctx=ast.Load())
        node.subject = ast.Subscript(value=pair, slice=ast.Constant(value=0), ctx=ast.Load())
        cases = []
        for case in node.cases:
            tries, self.keys = self.key(case.pattern, silent=_catches_all(case)), self.keys + 1
            body = self.keys - 1
            if case.guard is not None:
                case.guard = self.expression(case.guard)
            case.body = [ast.Expr(value=self.count(body)), *self.block(case.body)]
            cases.append((tries, body))
        self.matches.append((subject, cases))
        return [ast.Expr(value=self.count(key)), node]

    # -- expressions

    def value(self, value: Any) -> Any:
        if isinstance(value, list):
            return [self.value(item) for item in value]
        if isinstance(value, ast.expr):
            return self.expression(value)
        if isinstance(value, ast.AST):
            self.expressions(value)
        return value

    def expressions(self, node: ast.AST) -> None:
        for field, value in ast.iter_fields(node):
            setattr(node, field, self.value(value))

    def expression(self, node: Any) -> Any:
        if isinstance(node, ast.Lambda):
            node.args = self.value(node.args)
            outer, self.scope = self.scope, self.scopes
            self.scopes += 1
            self.goes_on.append((outer, node.body.lineno))
            key = self.key(node.body)
            node.body = self.counted(key, self.expression(node.body))
            self.scope = outer
        elif isinstance(node, COMPREHENSIONS):
            self.comprehension(node)
        else:
            self.expressions(node)
        return node

    def comprehension(self, node: Any) -> None:
        if isinstance(node, ast.DictComp):
            node.key = self.counted(self.key(node.key, part=True), self.expression(node.key))
            node.value = self.expression(node.value)
        else:
            node.elt = self.counted(self.key(node.elt, part=True), self.expression(node.elt))
        for clause in node.generators:
            key = self.key(clause.target, part=True)
            name = ASYNC_ITEMS if clause.is_async else ITEMS
            clause.iter = self.call(name, ast.Constant(value=key), self.expression(clause.iter))
            tests = []
            for test in clause.ifs:
                key = self.key(test, part=True)
                tests.append(self.counted(key, self.expression(test)))
            clause.ifs = tests


def _catches_all(case: ast.match_case) -> bool:
    pattern = case.pattern
    return isinstance(pattern, ast.MatchAs) and pattern.pattern is None and case.guard is None


class Expected:
    """Hits by row as they should be, of rows on which a statement or a comprehension's part starts."""

    def __init__(self, source: str) -> None:
        self.counts: Counter[int] = Counter()
        self._lines = source.encode().split(b"\n")
        self._rewriter = _Rewriter()
        tree = ast.parse(source)
        tree.body = self._rewriter.block(tree.body)
        self.tree = ast.fix_missing_locations(tree)

    def names(self) -> dict[str, Any]:
        """What the rewritten program needs as globals (or builtins)."""
        counts = self.counts

        def count(key: int) -> None:
            counts[key] += 1

        def items(key: int, iterable: Iterable[Any], begun: int = 0) -> Iterator[Any]:
            iterator = iter(iterable)
            return _Items(counts, key, iterator, begun)

        async def async_items(key: int, iterable: Any, begun: int = 0) -> AsyncIterator[Any]:
            counts[key] += 1 - begun
            async for item in iterable:
                yield item
                counts[key] += 1

        return {COUNT: count, ITEMS: items, ASYNC_ITEMS: async_items}

    def run(self, filename: str, **names: Any) -> dict[str, Any]:
        namespace = {"__name__": "oracle", **self.names(), **names}
        exec(compile(self.tree, filename, "exec"), namespace)
        return namespace

    def rows(self) -> dict[int, int]:
        rewriter = self._rewriter
        for subject, cases in rewriter.matches:
            tried = self.counts[subject]
            for tries, body in cases:
                self.counts[tries] = tried
                tried -= self.counts[body]
        first = first_tokens(self._lines)
        rows: dict[int, int] = {}
        # On these rows a statement that began earlier goes on: no opinion how often.
        shared = {row for scope, row in rewriter.goes_on if not rewriter.starts.get((scope, row))}
        for (scope, row), starts in list(rewriter.starts.items()):
            if rewriter.headers.get(scope) == row or row in shared:
                continue
            owner = _owner(starts, first[2 * row - 2], first[2 * row - 1])
            if owner is not None:
                rows[row] = rows.get(row, 0) + self.counts[owner.key]
                if owner.silent:
                    shared.add(row)
        return {row: hits for row, hits in rows.items() if row not in shared}


def _owner(starts: list[_Start], column: int, token: int) -> _Start | None:
    whole = sorted((start for start in starts if not start.part), key=lambda start: (start.silent, start.column))
    if whole:
        return whole[0]
    return next((start for start in starts if column <= start.column <= token), None)


class _Items:
    """An iterator that counts how often it is asked, past the times that are counted already."""

    def __init__(self, counts: Counter[int], key: int, iterator: Iterator[Any], begun: int) -> None:
        self.counts, self.key, self.iterator, self.begun = counts, key, iterator, begun

    def __iter__(self) -> _Items:
        return self

    def __next__(self) -> Any:
        self.counts[self.key] += 1 - self.begun
        self.begun = 0
        return next(self.iterator)


assert sys.version_info >= (3, 10)
