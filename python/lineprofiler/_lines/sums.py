"""From a source text and raw code objects to the sums of counters that stand for executions of statements.

The core does the work (core/analyse/statements.h). Here: which scopes of the source a code object may be, what is kept
between two calls, and the records that the store keeps (struct lp_sums_record).
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import struct
import sys
from array import array
from functools import lru_cache
from types import CodeType
from typing import NamedTuple

from lineprofiler import _core

from .shape import opcode_table
from .units import Units, units_of

# layout.h
KIND_SUMS = 3
ROW_EXACT, ROW_EVENTS, ROW_PART = range(3)
PASS = 1

_RECORD = struct.Struct("=IIQQIIII")
_ROW = struct.Struct("=IHH")
_TERM = struct.Struct("=iI")


class RawCode(NamedTuple):
    """A code object as the store keeps it: struct lp_code_record."""

    name: str  # qualified or not
    first_line: int
    flags: int
    python: int  # sys.hexversion of the interpreter that compiled it
    code: bytes
    lines: bytes
    handlers: bytes
    slots: bytes  # struct lp_place each
    branches: bytes


class Row(NamedTuple):
    """One row: a mark, and the counters that add up to its hits, as (factor, counter)."""

    line: int
    mark: int
    terms: tuple[tuple[int, int], ...]


def raw_code(code: CodeType) -> RawCode:
    """A live code object, with the places that a line table of it counts."""
    handlers = getattr(code, "co_exceptiontable", b"")
    tables = (code.co_code, code.co_linetable, handlers)
    slots, branches, _ = _core.code_places(*tables, code.co_firstlineno, code.co_flags, sys.hexversion, opcode_table())
    return RawCode(code.co_name, code.co_firstlineno, code.co_flags, sys.hexversion, *tables, slots, branches)


@lru_cache(maxsize=8)
def _units(source: str | bytes) -> Units | None:
    try:
        return units_of(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


@lru_cache(maxsize=4096)
def _sums(raw: RawCode, source: str | bytes) -> tuple[bytes, bytes, bool] | None:
    units = _units(source)
    if units is None:
        return None
    name = raw.name.rpartition(".")[2]
    scopes = array("I", units.scopes.get((name, raw.first_line), ()))
    try:
        return _core.statement_sums(
            raw.code, raw.lines, raw.handlers, raw.first_line, raw.flags, raw.python,
            opcode_table(), units.packed, scopes.tobytes(), raw.slots, raw.branches,
        )  # fmt: skip
    except (_core.ProfileError, NotImplementedError, MemoryError):
        return None


def sums_record(raw: RawCode, code_hash: int, source: str | bytes, source_hash: int) -> bytes | None:
    """A LP_CODE_SUMS record; None where nothing can be said: another Python's code, a text that does not parse."""
    sums = _sums(raw, source)
    if sums is None:
        return None
    rows, terms, _ = sums
    size = _RECORD.size + len(rows) + len(terms)
    head = (size, KIND_SUMS, code_hash, source_hash, len(rows) // _ROW.size, len(terms) // _TERM.size, PASS, 0)
    return _RECORD.pack(*head) + rows + terms


def statement_rows(raw: RawCode, source: str | bytes) -> list[Row] | None:
    """The same, taken apart."""
    sums = _sums(raw, source)
    if sums is None:
        return None
    terms = _TERM.iter_unpack(sums[1])
    return [
        Row(line, mark, tuple(next(terms) for _ in range(count))) for line, mark, count in _ROW.iter_unpack(sums[0])
    ]
