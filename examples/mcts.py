# SPDX-License-Identifier: MIT
"""Monte-Carlo tree search for a small game of four in a row, its four steps named as phases.

python examples/mcts.py [RUN_DIR]     one process; then: lineprofiler report RUN_DIR
"""

from __future__ import annotations

import math
import random
import sys

from lineprofiler import accounting

COLUMNS, ROWS = 6, 5
DIRECTIONS = ((1, 0), (0, 1), (1, 1), (1, -1))


class Board:
    """Two players, 1 and -1, drop pieces into columns; four in a row win."""

    def __init__(self) -> None:
        self.columns: list[list[int]] = [[] for _ in range(COLUMNS)]
        self.to_move = 1
        self.winner = 0

    def copy(self) -> Board:
        twin = Board()
        twin.columns = [list(column) for column in self.columns]
        twin.to_move, twin.winner = self.to_move, self.winner
        return twin

    def moves(self) -> list[int]:
        if self.winner:
            return []
        return [x for x, column in enumerate(self.columns) if len(column) < ROWS]

    def at(self, x: int, y: int) -> int:
        return self.columns[x][y] if 0 <= x < COLUMNS and 0 <= y < len(self.columns[x]) else 0

    def drop(self, x: int) -> None:
        self.columns[x].append(self.to_move)
        y = len(self.columns[x]) - 1
        if any(1 + self._run(x, y, dx, dy) + self._run(x, y, -dx, -dy) >= 4 for dx, dy in DIRECTIONS):
            self.winner = self.to_move
        self.to_move = -self.to_move

    def _run(self, x: int, y: int, dx: int, dy: int) -> int:
        length = 0
        while self.at(x + dx * (length + 1), y + dy * (length + 1)) == self.to_move:
            length += 1
        return length


class Place:
    """One position in the search tree; `gain` is counted for the player who moved into it."""

    __slots__ = ("above", "below", "gain", "move", "mover", "open_moves", "visits")

    def __init__(self, board: Board, move: int, above: Place | None) -> None:
        self.move, self.mover, self.above = move, -board.to_move, above
        self.open_moves = board.moves()
        self.below: list[Place] = []
        self.visits, self.gain = 0, 0.0

    def favourite(self) -> Place:
        breadth = 2.0 * math.log(self.visits)
        return max(self.below, key=lambda place: place.gain / place.visits + math.sqrt(breadth / place.visits))


def select(place: Place, board: Board) -> Place:
    depth = 0
    while not place.open_moves and place.below:
        accounting.count("children scored", len(place.below))
        place = place.favourite()
        board.drop(place.move)
        depth += 1
    accounting.count("depth", depth)
    return place


def expand(place: Place, board: Board, dice: random.Random) -> Place:
    if not place.open_moves:
        return place
    move = place.open_moves.pop(dice.randrange(len(place.open_moves)))
    board.drop(move)
    child = Place(board, move, place)
    place.below.append(child)
    return child


def simulate(board: Board, dice: random.Random) -> int:
    plies = 0
    while moves := board.moves():
        board.drop(dice.choice(moves))
        plies += 1
    accounting.count("plies", plies)
    return board.winner


def back_up(place: Place | None, winner: int) -> None:
    while place is not None:
        place.visits += 1
        place.gain += 0.5 if winner == 0 else float(winner == place.mover)
        place = place.above


def search(board: Board, iterations: int, dice: random.Random) -> int:
    """The move that was tried most often after `iterations` playouts."""
    root = Place(board, -1, None)
    for _ in range(iterations):
        scratch = board.copy()
        with accounting.phase("select"):
            place = select(root, scratch)
        with accounting.phase("expand"):
            place = expand(place, scratch, dice)
        with accounting.phase("simulate"):
            winner = simulate(scratch, dice)
        with accounting.phase("back up"):
            back_up(place, winner)
    return max(root.below, key=lambda place: place.visits).move


def play(iterations: int, seed: int, moves: int = COLUMNS * ROWS) -> Board:
    """One game of the search against itself."""
    board, dice = Board(), random.Random(seed)
    while board.moves() and moves > 0:
        with accounting.phase("move"):
            board.drop(search(board, iterations, dice))
        moves -= 1
    return board


if __name__ == "__main__":
    run_dir = sys.argv[1] if len(sys.argv) > 1 else "profile"
    accounting.start(run_dir=run_dir, role="actor")
    final = play(iterations=200, seed=1, moves=12)
    accounting.stop()
    print(f"winner: {final.winner}; now: lineprofiler report {run_dir}")
