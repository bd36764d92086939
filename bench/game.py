# SPDX-License-Identifier: MIT
"""A Monte-Carlo tree search over a small game: eight moves in each position, descents of about three plies, playouts of
about two, so that an iteration takes ten to twenty microseconds of plain Python. Three forms of the same search: bare,
with its four steps as phases, and with phases inside the steps and counters. `phase` and `count` come in as arguments,
so that any tool with that interface will do. A search goes on where the call before it stopped: equal searches stay
equal round by round, and a round may be short.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

HEAP, MOST = 24, 8  # take 1 to 8 stones of 24; who takes the last one wins


class State:
    """A position; a move makes a new one."""

    __slots__ = ("left", "moved", "plies")

    def __init__(self, left: int, plies: int, moved: int) -> None:
        self.left, self.plies, self.moved = left, plies, moved

    def moves(self) -> list[int]:
        return list(range(1, min(MOST, self.left) + 1))

    def play(self, stones: int) -> State:
        return State(self.left - stones, self.plies + 1, stones)

    def is_over(self) -> bool:
        return self.left == 0


class Node:
    __slots__ = ("above", "below", "gain", "state", "untried", "visits")

    def __init__(self, state: State, above: Node | None) -> None:
        self.state, self.above = state, above
        self.untried = state.moves()
        self.below: list[Node] = []
        self.visits, self.gain = 0, 0.0


def value(node: Node, breadth: float) -> float:
    return node.gain / node.visits + math.sqrt(breadth / node.visits)


def pick(node: Node) -> Node:
    breadth = 2.0 * math.log(node.visits)
    best, best_value = node, -1.0
    for child in node.below:
        this = value(child, breadth)
        if this > best_value:
            best, best_value = child, this
    return best


def playout(state: State, dice: Callable[[], float]) -> State:
    while not state.is_over():
        moves = state.moves()
        state = state.play(moves[int(dice() * len(moves))])
    return state


class Search:
    """Called with a number of iterations, done by `steps` with the calls of a tool."""

    def __init__(self, steps: Callable[..., None], **tool: Callable[..., Any]) -> None:
        self.steps, self.tool = steps, tool
        self.root, self.dice = Node(State(HEAP, 0, 0), None), random.Random(7).random

    def __call__(self, iterations: int) -> None:
        self.steps(self.root, self.dice, iterations, **self.tool)


def bare(root: Node, dice: Callable[[], float], iterations: int) -> None:
    for _ in range(iterations):
        node, state = root, root.state
        while not node.untried and node.below:
            node = pick(node)
            state = state.play(node.state.moved)
        if node.untried:
            state = state.play(node.untried.pop())
            child = Node(state, node)
            node.below.append(child)
            node = child
        gain = float(playout(state, dice).plies % 2)
        up: Node | None = node
        while up is not None:
            up.visits += 1
            up.gain += gain
            gain = 1.0 - gain
            up = up.above


def with_phases(root: Node, dice: Callable[[], float], iterations: int, phase: Callable[..., Any]) -> None:
    for _ in range(iterations):
        node, state = root, root.state
        with phase("select"):
            while not node.untried and node.below:
                node = pick(node)
                state = state.play(node.state.moved)
        with phase("expand"):
            if node.untried:
                state = state.play(node.untried.pop())
                child = Node(state, node)
                node.below.append(child)
                node = child
        with phase("simulate"):
            gain = float(playout(state, dice).plies % 2)
        with phase("back up"):
            up: Node | None = node
            while up is not None:
                up.visits += 1
                up.gain += gain
                gain = 1.0 - gain
                up = up.above


def nested(
    root: Node, dice: Callable[[], float], iterations: int, phase: Callable[..., Any], count: Callable[..., Any]
) -> None:
    """About eight phases and five counts in an iteration."""
    for _ in range(iterations):
        with phase("iteration"):
            node, state = root, root.state
            depth = 0
            with phase("select"):
                while not node.untried and node.below:
                    with phase("pick"):
                        count("children scored", len(node.below))
                        node = pick(node)
                        state = state.play(node.state.moved)
                    depth += 1
                count("depth", depth)
            with phase("expand"):
                if node.untried:
                    state = state.play(node.untried.pop())
                    child = Node(state, node)
                    node.below.append(child)
                    node = child
            with phase("simulate"):
                end = playout(state, dice)
                count("plies", end.plies - state.plies)
                gain = float(end.plies % 2)
            with phase("back up"):
                up: Node | None = node
                while up is not None:
                    up.visits += 1
                    up.gain += gain
                    gain = 1.0 - gain
                    up = up.above
