"""Reads TOML 1.0 without importing anything.

The standard library has a reader from 3.11 on only, and importing it would load half a dozen modules into the program
that is being looked at.  Dates and times come back as the text they were written as: nothing here needs them.
"""
# SPDX-License-Identifier: MIT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_BARE = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
_SCALAR = _BARE | frozenset("+.:")
_DIGITS = {"0x": "0123456789abcdefABCDEF", "0o": "01234567", "0b": "01", "": "0123456789"}
_ESCAPES = {"b": "\b", "t": "\t", "n": "\n", "f": "\f", "r": "\r", '"': '"', "\\": "\\"}
_CONTROLS = frozenset(chr(code) for code in range(32) if code != 9) | {"\x7f"}
_DEPTH = 100


class TomlError(ValueError):
    """What is wrong, and in which line."""


class _Table(dict):  # type: ignore[type-arg]
    """A table, and how it came to be: `defined` by a header of its own, `closed` for additions (inline, dotted)."""

    __slots__ = ("closed", "defined")

    def __init__(self) -> None:
        super().__init__()
        self.defined = self.closed = False


class _Tables(list):  # type: ignore[type-arg]
    """An array of tables, which grows by headers; a plain list does not."""


def loads(text: str) -> "dict[str, Any]":
    """The document as nested dicts.

    Raises
    ------
    TomlError
        When `text` is not TOML.
    """
    return _Reader(text.replace("\r\n", "\n")).document()


class _Reader:
    def __init__(self, text: str) -> None:
        self.text = text
        self.at = 0

    # Documents and tables.

    def document(self) -> "dict[str, Any]":
        root = current = _Table()
        while True:
            self.blank_lines()
            if self.at >= len(self.text):
                return root
            if self.peek() == "[":
                current = self.header(root)
            else:
                self.pair(current)
            self.end_of_line()

    def header(self, root: _Table) -> _Table:
        many = self.text.startswith("[[", self.at)
        self.at += 2 if many else 1
        self.spaces()
        path = self.key_path()
        self.expect("]]" if many else "]")
        parent = self.descend(root, path[:-1], dotted=False)
        return self.append_table(parent, path[-1]) if many else self.open_table(parent, path[-1])

    def append_table(self, parent: _Table, key: str) -> _Table:
        array = parent.setdefault(key, _Tables())
        if not isinstance(array, _Tables):
            raise self.error(f"{key!r} is already something else")
        table = _Table()
        table.defined = True
        array.append(table)
        return table

    def open_table(self, parent: _Table, key: str) -> _Table:
        table = parent.setdefault(key, _Table())
        if not isinstance(table, _Table) or table.defined or table.closed:
            raise self.error(f"{key!r} is defined twice")
        table.defined = True
        return table

    def descend(self, table: _Table, path: "list[str]", dotted: bool) -> _Table:
        for key in path:
            fresh = key not in table
            inner = table.setdefault(key, _Table())
            if isinstance(inner, _Tables) and not dotted:
                inner = inner[-1]
            if not isinstance(inner, _Table) or (dotted and inner.defined) or (inner.closed and not dotted):
                raise self.error(f"{key!r} is already something else")
            if dotted and fresh:
                inner.closed = True
            elif dotted and not inner.closed:
                raise self.error(f"{key!r} is already a table of its own")
            table = inner
        return table

    def pair(self, table: _Table) -> None:
        path = self.key_path()
        self.expect("=")
        self.spaces()
        owner = self.descend(table, path[:-1], dotted=True)
        if path[-1] in owner:
            raise self.error(f"{path[-1]!r} is there twice")
        owner[path[-1]] = self.value(0)

    def key_path(self) -> "list[str]":
        path = []
        while True:
            path.append(self.key())
            self.spaces()
            if self.peek() != ".":
                return path
            self.at += 1
            self.spaces()

    def key(self) -> str:
        mark = self.peek()
        if mark in ('"', "'") and mark:
            return self.one_line_string(mark)
        start = self.at
        while self.peek() in _BARE and self.peek():
            self.at += 1
        if start == self.at:
            raise self.error("a key was expected")
        return self.text[start : self.at]

    # Values.

    def value(self, depth: int) -> "Any":
        mark = self.peek()
        if depth > _DEPTH:
            raise self.error("nested too deeply")
        if mark == "[":
            return self.array(depth)
        if mark == "{":
            return self.inline_table(depth)
        if mark in ('"', "'") and mark:
            return self.long_string(mark) if self.text.startswith(mark * 3, self.at) else self.one_line_string(mark)
        return self.scalar()

    def array(self, depth: int) -> "list[Any]":
        items: list[Any] = []
        self.at += 1
        while True:
            self.blank_lines()
            if self.peek() == "]":
                self.at += 1
                return items
            items.append(self.value(depth + 1))
            self.blank_lines()
            if self.peek() == ",":
                self.at += 1
            elif self.peek() != "]":
                raise self.error("an array needs , or ] here")

    def inline_table(self, depth: int) -> _Table:
        table = _Table()
        self.at += 1
        self.spaces()
        while self.peek() != "}":
            path = self.key_path()
            self.expect("=")
            self.spaces()
            owner = self.descend(table, path[:-1], dotted=True)
            if path[-1] in owner:
                raise self.error(f"{path[-1]!r} is there twice")
            owner[path[-1]] = self.value(depth + 1)
            self.spaces()
            if self.peek() == ",":
                self.at += 1
                self.spaces()
                if self.peek() == "}":
                    raise self.error("a comma before } is not allowed")
            elif self.peek() != "}":
                raise self.error("an inline table needs , or } here")
        self.at += 1
        table.closed = table.defined = True
        return table

    def scalar(self) -> "Any":
        start = self.at
        while self.peek() in _SCALAR and self.peek():
            self.at += 1
        word = self.text[start : self.at]
        if word in ("true", "false"):
            return word == "true"
        if _is_date(word) and self.text[self.at : self.at + 1] == " ":
            rest = self.text[self.at + 1 : self.at + 9]
            if _is_time(rest):
                self.at += 1
                return word + " " + self.scalar_word()
        number = _number(word)
        if number is not None:
            return number
        if _is_time(word[:8]) or (_is_date(word[:10]) and (word[10:] == "" or _is_time(word[11:19]))):
            return word
        raise self.error(f"{word[:40]!r} is no value" if word else "a value was expected")

    def scalar_word(self) -> str:
        start = self.at
        while self.peek() in _SCALAR and self.peek():
            self.at += 1
        return self.text[start : self.at]

    # Strings.

    def one_line_string(self, mark: str) -> str:
        self.at += 1
        parts: list[str] = []
        while True:
            char = self.peek()
            if not char or char in _CONTROLS:
                raise self.error("a string does not end on its line")
            self.at += 1
            if char == mark:
                return "".join(parts)
            parts.append(self.escape() if char == "\\" and mark == '"' else char)

    def long_string(self, mark: str) -> str:
        self.at += 3
        if self.peek() == "\n":
            self.at += 1
        parts: list[str] = []
        while True:
            if self.text.startswith(mark * 3, self.at):
                extra = 0
                while extra < 2 and self.text.startswith(mark, self.at + 3 + extra):
                    extra += 1
                self.at += 3 + extra
                return "".join(parts) + mark * extra
            char = self.peek()
            if not char or (char in _CONTROLS and char != "\n"):
                raise self.error("a string does not end")
            self.at += 1
            if char == "\\" and mark == '"':
                parts.append("" if self.line_continues() else self.escape())
            else:
                parts.append(char)

    def line_continues(self) -> bool:
        end = self.at
        while self.text[end : end + 1] in (" ", "\t"):
            end += 1
        if self.text[end : end + 1] != "\n":
            return False
        while self.text[end : end + 1] in (" ", "\t", "\n"):
            end += 1
        self.at = end
        return True

    def escape(self) -> str:
        letter = self.peek()
        self.at += 1
        if letter in _ESCAPES:
            return _ESCAPES[letter]
        length = {"u": 4, "U": 8}.get(letter, 0)
        digits = self.text[self.at : self.at + length]
        if not length or len(digits) < length or not all(digit in _DIGITS["0x"] for digit in digits):
            raise self.error("a backslash means nothing here")
        code = int(digits, 16)
        if code > 0x10FFFF or 0xD800 <= code < 0xE000:
            raise self.error("no such character")
        self.at += length
        return chr(code)

    # Space between.

    def peek(self) -> str:
        return self.text[self.at : self.at + 1]

    def spaces(self) -> None:
        while self.peek() in (" ", "\t"):
            self.at += 1

    def comment(self) -> None:
        if self.peek() != "#":
            return
        while self.peek() not in ("\n", ""):
            if self.peek() in _CONTROLS:
                raise self.error("a control character in a comment")
            self.at += 1

    def blank_lines(self) -> None:
        while True:
            self.spaces()
            self.comment()
            if self.peek() != "\n":
                return
            self.at += 1

    def end_of_line(self) -> None:
        self.spaces()
        self.comment()
        if self.peek() not in ("\n", ""):
            raise self.error("the line should end here")

    def expect(self, mark: str) -> None:
        self.spaces()
        if not self.text.startswith(mark, self.at):
            raise self.error(f"{mark} was expected")
        self.at += len(mark)

    def error(self, what: str) -> TomlError:
        return TomlError(f"line {self.text.count(chr(10), 0, self.at) + 1}: {what}")


def _number(word: str) -> "int | float | None":
    sign, body = (word[0], word[1:]) if word[:1] in ("+", "-") else ("", word)
    if body in ("inf", "nan"):
        return float(sign + body)
    prefix = body[:2] if body[:2] in ("0x", "0o", "0b") else ""
    if prefix:
        return int(body, 0) if not sign and _digits(body[2:], _DIGITS[prefix]) else None
    mantissa, _, exponent = body.replace("E", "e").partition("e")
    whole, dot, fraction = mantissa.partition(".")
    if not _digits(whole, _DIGITS[""]) or (len(whole) > 1 and whole[0] == "0"):
        return None
    if dot and not _digits(fraction, _DIGITS[""]):
        return None
    if "e" in body.lower() and not _digits(exponent[1:] if exponent[:1] in ("+", "-") else exponent, _DIGITS[""]):
        return None
    return float(word) if dot or "e" in body.lower() else int(word)


def _digits(text: str, accepted: str) -> bool:
    """Digits, with single underscores between them."""
    return bool(text) and all(part and all(char in accepted for char in part) for part in text.split("_"))


def _shaped(text: str, shape: str) -> bool:
    return len(text) == len(shape) and all(
        char in _DIGITS[""] if wanted == "0" else char == wanted for char, wanted in zip(text, shape, strict=True)
    )


def _is_date(text: str) -> bool:
    return _shaped(text, "0000-00-00")


def _is_time(text: str) -> bool:
    return _shaped(text, "00:00:00")
