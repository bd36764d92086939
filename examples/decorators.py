# SPDX-License-Identifier: MIT
"""`phase` as a decorator, on every kind of function, and `begin` and `end` where `with` does not fit.

python examples/decorators.py [RUN_DIR]     then: lineprofiler report RUN_DIR
"""

import asyncio
import sys
from collections.abc import Iterator

from lineprofiler.accounting import begin, end, phase, start, stop


@phase("parse")
def parse(text: str) -> list[str]:
    return text.split()


@phase  # without a name: the function's qualified name
def checksum(words: list[str]) -> int:
    return sum(len(word) for word in words)


class Store:
    def __init__(self) -> None:
        self.words: list[str] = []

    @phase("store")
    def add(self, words: list[str]) -> None:
        self.words += words

    @classmethod
    @phase("make")
    def of(cls, text: str) -> "Store":
        store = cls()
        store.add(parse(text))
        return store


@phase("lines")
def lines() -> Iterator[str]:
    yield "to be"
    yield "or not to be"


@phase("ask")
async def ask() -> str:
    await asyncio.sleep(0.001)
    return "that is the question"


class Connection:
    """Opened in one place and closed in another."""

    def open(self) -> None:
        self.token = begin("connected")

    def close(self) -> None:
        end(self.token)


start(run_dir=sys.argv[1] if len(sys.argv) > 1 else "profile", role="poet")
connection = Connection()
connection.open()
for line in lines():
    checksum(Store.of(line).words)
checksum(parse(asyncio.run(ask())))
connection.close()
stop()
