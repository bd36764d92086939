"""What the opcodes of the running interpreter are, as the table that the C core decodes code objects with.

The only place that knows instructions by name. A version that is not known here is refused, because a wrong table
would give wrong numbers; code objects of another version are refused by the core.
"""
# SPDX-License-Identifier: MIT

import opcode
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# enum lp_opcode_class of core/collect/code_shape.h
PREFIX, FORWARD, BACK, TO, CONDITIONAL, ENDS, FOR_ITER, SILENT = (1 << n for n in range(8))
RESUME, SEND, HANDLER, BLOCK_END, CATCH_END, GLUE, STEADY, INVALID = (1 << n for n in range(8, 16))
CATCH, RAISE_ON, CALL = 1 << 16, 1 << 17, 1 << 18

OLDEST, NEWEST = (3, 10), (3, 15)

_ENDS = {
    "RETURN_VALUE", "RETURN_CONST", "RAISE_VARARGS", "RERAISE", "JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_ABSOLUTE",
    "JUMP_BACKWARD_NO_INTERRUPT", "INTERPRETER_EXIT",
}  # fmt: skip
_GLUE = {
    "END_FOR", "POP_ITER", "NOT_TAKEN", "SWAP", "POP_TOP", "LIST_APPEND", "SET_ADD", "MAP_ADD", "RETURN_VALUE",
    "YIELD_VALUE", "ASYNC_GEN_WRAP", "PUSH_EXC_INFO", "POP_EXCEPT", "RERAISE",
}  # fmt: skip
_STEADY = {
    "NOP", "LOAD_CONST", "LOAD_SMALL_INT", "STORE_FAST", "POP_TOP", "COPY", "SWAP", "PUSH_NULL", "PUSH_EXC_INFO",
    "POP_EXCEPT", "END_FOR", "END_SEND", "POP_ITER", "NOT_TAKEN", "MAKE_CELL", "COPY_FREE_VARS", "KW_NAMES", "PRECALL",
    "RETURN_VALUE", "RETURN_CONST", "RETURN_GENERATOR", "ROT_TWO", "ROT_THREE", "ROT_FOUR", "ROT_N", "DUP_TOP",
    "DUP_TOP_TWO", "POP_BLOCK", "SETUP_FINALLY", "SETUP_WITH", "SETUP_ASYNC_WITH", "GEN_START", "RESUME",
    "JUMP_FORWARD", "JUMP_BACKWARD", "JUMP_ABSOLUTE", "JUMP_BACKWARD_NO_INTERRUPT", "LOAD_CLOSURE",
}  # fmt: skip
_STEADY_WITH_CHECKED_LOADS = {
    "LOAD_FAST", "LOAD_FAST_LOAD_FAST", "STORE_FAST_LOAD_FAST", "STORE_FAST_STORE_FAST", "LOAD_FAST_BORROW",
    "LOAD_FAST_BORROW_LOAD_FAST_BORROW", "LOAD_FAST_AND_CLEAR",
}  # fmt: skip
_SETUPS = {"SETUP_FINALLY", "SETUP_WITH", "SETUP_ASYNC_WITH"}
_SILENT = {"RESUME", "END_FOR", "END_SEND", "END_ASYNC_FOR"}
_NAMED = {"EXTENDED_ARG": PREFIX, "FOR_ITER": FOR_ITER, "RESUME": RESUME, "SEND": SEND,
          "JUMP_BACKWARD_NO_INTERRUPT": SEND, "POP_BLOCK": BLOCK_END, "POP_EXCEPT": CATCH_END,
          "RERAISE": RAISE_ON,
          "PUSH_EXC_INFO": CATCH}  # fmt: skip


def _jump(name: str, code: int) -> int:
    if name == "END_ASYNC_FOR":  # from 3.14 on its argument says where its loop is; it does not go there
        return 0
    if code in opcode.hasjabs:
        return TO
    if code not in opcode.hasjrel:
        return 0
    return BACK if "BACKWARD" in name else FORWARD


def _classes(name: str, code: int, version: tuple[int, int]) -> int:
    jump = _jump(name, code)
    classes = jump | _NAMED.get(name, 0)
    if name in _SETUPS:
        return classes | HANDLER | STEADY
    if name == "END_ASYNC_FOR" and version == (3, 10):
        classes |= CATCH_END
    if jump and name not in _ENDS and name != "SEND":
        classes |= CONDITIONAL
    if name in _ENDS:
        classes |= ENDS
    if jump or name in _GLUE:
        classes |= GLUE
    if name in _STEADY or (version >= (3, 12) and name in _STEADY_WITH_CHECKED_LOADS):
        classes |= STEADY
    if name in ("SEND", "YIELD_FROM") or (name.startswith("CALL") and not name.startswith("CALL_INTRINSIC")):
        classes |= CALL
    if name in _SILENT and (version >= (3, 12) or name == "RESUME"):
        classes |= SILENT
    return classes


def _cache_units(name: str, code: int) -> int:
    entries: Any = getattr(opcode, "_inline_cache_entries", None)
    if entries is None:  # 3.10
        return 0
    if isinstance(entries, list):  # 3.11, 3.12
        return int(entries[code])
    return int(entries.get(name, 0))


_table: "bytes | None" = None


def opcode_table() -> bytes:
    """struct lp_code_opcodes of this interpreter; NotImplementedError where its bytecode is not known."""
    global _table
    if _table is None:
        _table = _made_table()
    return _table


# Called before the program runs, so it imports nothing that the program may not want.
def _made_table() -> bytes:
    version = sys.version_info[:2]
    if not OLDEST <= version <= NEWEST or sys.implementation.name != "cpython":
        raise NotImplementedError(f"the bytecode of {sys.implementation.name} {version[0]}.{version[1]} is not known")
    classes, caches = [INVALID] * 256, [0] * 256
    for name, code in opcode.opmap.items():
        if code < 256 and name not in ("CACHE", "RESERVED", "ENTER_EXECUTOR") and not name.startswith("INSTRUMENTED_"):
            classes[code] = _classes(name, code, version)
            caches[code] = _cache_units(name, code)
    skip = {(3, 10): 0, (3, 11): 0, (3, 13): 2}.get(version, 1)
    words = b"".join(word.to_bytes(4, sys.byteorder) for word in (sys.hexversion, *classes))
    return words[:4] + bytes((skip, version < (3, 12), 0, 0)) + words[4:] + bytes(caches)
