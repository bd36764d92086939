# SPDX-License-Identifier: MIT
"""A Monte-Carlo tree search over a game so small that an iteration takes a few microseconds: the hardest case for
anything that is added to it. Three forms of the same search: bare, with its four steps as phases, and with phases
inside the steps and counters. `phase` and `count` come in as arguments, so that any tool with that interface will do.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from typing import Any

HEAP, MOST = 6, 3  # take 1 to 3 stones of 6; who takes the last one wins


class Node:
    __slots__ = ("above", "below", "gain", "left", "untried", "visits")

    def __init__(self, left: int, above: Node | None) -> None:
        self.left, self.above = left, above
        self.untried = list(range(1, min(MOST, left) + 1))
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


def playout(left: int, dice: Callable[[], float]) -> int:
    """How many moves until the heap is empty."""
    plies = 0
    while left > 0:
        left -= 1 + int(dice() * min(MOST, left))
        plies += 1
    return plies


def bare(iterations: int) -> Node:
    dice = random.Random(7).random
    root = Node(HEAP, None)
    for _ in range(iterations):
        node = root
        while not node.untried and node.below:
            node = pick(node)
        if node.untried:
            child = Node(node.left - node.untried.pop(), node)
            node.below.append(child)
            node = child
        gain = float(playout(node.left, dice) % 2)
        up: Node | None = node
        while up is not None:
            up.visits += 1
            up.gain += gain
            gain = 1.0 - gain
            up = up.above
    return root


def with_phases(iterations: int, phase: Callable[..., Any]) -> Node:
    dice = random.Random(7).random
    root = Node(HEAP, None)
    for _ in range(iterations):
        node = root
        with phase("select"):
            while not node.untried and node.below:
                node = pick(node)
        with phase("expand"):
            if node.untried:
                child = Node(node.left - node.untried.pop(), node)
                node.below.append(child)
                node = child
        with phase("simulate"):
            gain = float(playout(node.left, dice) % 2)
        with phase("back up"):
            up: Node | None = node
            while up is not None:
                up.visits += 1
                up.gain += gain
                gain = 1.0 - gain
                up = up.above
    return root


def nested(iterations: int, phase: Callable[..., Any], count: Callable[..., Any]) -> Node:
    """Nine phases and five counters in an iteration of the depth that this game has."""
    dice = random.Random(7).random
    root = Node(HEAP, None)
    for _ in range(iterations):
        with phase("iteration"):
            node = root
            depth = 0
            with phase("select"):
                while not node.untried and node.below:
                    with phase("pick"):
                        count("children scored", len(node.below))
                        node = pick(node)
                    depth += 1
                count("depth", depth)
            with phase("expand"):
                if node.untried:
                    child = Node(node.left - node.untried.pop(), node)
                    node.below.append(child)
                    node = child
            with phase("simulate"):
                plies = playout(node.left, dice)
                count("plies", plies)
                gain = float(plies % 2)
            with phase("back up"):
                up: Node | None = node
                while up is not None:
                    up.visits += 1
                    up.gain += gain
                    gain = 1.0 - gain
                    up = up.above
    return root
