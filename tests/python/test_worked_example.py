"""The Monte-Carlo tree search of the reference's documentation runs as it stands there, and its report adds up.

The code is read from the folder that LP_SHARED names, and completed by what the document leaves out: the game, the node
and three of the four phases' bodies.  Without the variable the tests are skipped.
"""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from lineprofiler.accounting import merge_run, report_as_dict

ITERATIONS = 2_000

GAME = '''
import math
import random


class Game:
    """Five moves, eight choices each; whoever has the larger sum wins."""

    def __init__(self, board=()):
        self.board = board

    def play(self, move):
        return Game((*self.board, move))

    def moves(self):
        return list(range(8))

    def is_terminal(self):
        return len(self.board) >= 5

    def reward(self):
        return float(sum(self.board[::2]) > sum(self.board[1::2]))


class Node:
    def __init__(self, state, parent=None):
        self.state = state
        self.parent = parent
        self.children = []
        self.untried = [] if state.is_terminal() else state.moves()
        self.visits = 0
        self.value = 0.0
'''

BODIES = """
def expand(node, state):
    if node.untried:
        move = node.untried.pop(random.randrange(len(node.untried)))
        state = state.play(move)
        child = Node(state, node)
        node.children.append(child)
        node = child
    return node, state


def rollout(state):
    plies = 0
    while not state.is_terminal():
        state = state.play(random.choice(state.moves()))
        plies += 1
    accounting.count("rollout_plies", plies)
    return state.reward()


def backpropagate(node, reward):
    while node is not None:
        node.visits += 1
        node.value += reward
        node = node.parent
"""


@pytest.fixture(scope="session")
def document() -> str:
    shared = os.environ.get("LP_SHARED")
    if not shared:
        pytest.skip("LP_SHARED names no folder with the reference")
    return (Path(shared) / "reference" / "with-line-profiler-readme.txt").read_text()


def block(document: str, first: str, last: str) -> str:
    start = document.index(first)
    return document[start : document.index(last, start) + len(last)] + "\n"


def plain(document: str) -> str:
    return block(document, "def uct_search(root_state, iterations=2000, c=1.4):", "key=lambda n: n.visits)")


def phases(document: str) -> str:
    return block(
        document,
        "from lineprofiler import accounting\nfrom lineprofiler.accounting import Profiler\n",
        "key=lambda n: n.visits)",
    )


def select(document: str) -> str:
    return block(document, "def select(root, root_state, c=1.4):\n    node, state", "return node, state")


Run = Callable[..., Path]


@pytest.fixture
def run_program(tmp_path: Path) -> Run:
    def run(code: str) -> Path:
        (tmp_path / "mcts.py").write_text(code)
        done = subprocess.run(
            [sys.executable, "-W", "error", "mcts.py"], cwd=tmp_path, capture_output=True, text=True, timeout=150
        )
        assert (done.returncode, done.stderr) == (0, ""), done.stderr
        return tmp_path / "profile"

    return run


START = f"\n\nif __name__ == '__main__':\n    random.seed(1)\n    uct_search(Game(), iterations={ITERATIONS})\n"


def test_search_without_us_runs(document: str, run_program: Run) -> None:
    run_program(GAME + plain(document) + START)


def test_four_phases_run_as_written(document: str, run_program: Run) -> None:
    code = phases(document)
    assert code.count("...") == 4, "the document's four bodies are left out"
    profile = run_program(GAME + code + "\n" + BODIES + select_without_phases() + START)
    tree = merge_run(profile).tree_of("actor")
    assert {path: stats.calls for path, stats in tree.items()} == {
        ("iteration",): ITERATIONS,
        **{("iteration", name): ITERATIONS for name in ("select", "expand", "rollout", "backpropagate")},
    }


def select_without_phases() -> str:
    return """
def select(root, root_state, c=1.4):
    node, state = root, root_state
    while not node.untried and node.children:
        log = math.log(node.visits)
        node = max(node.children, key=lambda n: n.value / n.visits + c * math.sqrt(log / n.visits))
        state = state.play(node.state.board[-1])
    return node, state
"""


@pytest.fixture
def nested(document: str, run_program: Run) -> Path:
    return run_program(GAME + phases(document) + "\n" + BODIES + select(document) + START)


def test_nested_phases_and_counters_prove_the_shape_of_the_search(nested: Path) -> None:
    tree = merge_run(nested).tree_of("actor")
    descents = tree[("iteration", "select", "descend")].calls
    scored = tree[("iteration", "select", "score_children")]
    assert tree[("iteration",)].calls == ITERATIONS
    assert scored.calls == descents
    assert scored.counters == {"children_scored": 8 * descents}
    assert (scored.counter_min, scored.counter_max) == ({"children_scored": 8}, {"children_scored": 8})
    assert tree[("iteration", "select")].counters == {"tree_depth": descents}
    assert tree[("iteration", "select")].counter_min == {"tree_depth": 0}
    assert tree[("iteration", "rollout")].counter_stats["rollout_plies"].adds == ITERATIONS


def report(profile: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-m", "lineprofiler", "report", str(profile)],
        capture_output=True,
        timeout=60,
        check=True,
        env={**os.environ, "PYTHONIOENCODING": "utf-8", "LC_ALL": "C.UTF-8"},
    )
    return done.stdout.decode()


DURATION = r"(?:\d+h \d\dm|\d+m \d\ds|[\d.]+(?:s|ms|us|ns))"


def test_report_has_the_sections_columns_and_formats_of_the_document(nested: Path) -> None:
    text = report(nested)
    for line in (
        r"^ACTOR  \(1 process, imbalance 1\.00\)$",
        r"^  % of phase wall time at the first branching level$",
        r"^(─{62})$",
        rf"^select +\d+\.\d% +{DURATION}$",
        rf"^Other +\d+\.\d% +{DURATION}$",
        r"^DOMINANT PHASES +entries +self +wait +p50 +p99$",
        rf"^iteration/select +2,000 +{DURATION} +\d+% +{DURATION} +{DURATION}$",
        rf"^select/score_children +[\d,]+ +{DURATION} +\d+% +{DURATION} +{DURATION}$",
        rf"^    \+ children_scored +[\d,]+ +[\d,.]+/s +{DURATION}/ea  always 8$",
        rf"^    \+ tree_depth +[\d,]+ +[\d,.]+/s +{DURATION}/ea  0\.\.\d$",
        r"^ITERATIONS  \(2,?000 entries",
        rf"^  mean +{DURATION} +p50 +{DURATION} +p95 +{DURATION} +p99 +{DURATION}",
    ):
        assert re.search(line, text, re.MULTILINE), f"{line}\n{text}"


UNITS = {"ns": 1.0, "us": 1e3, "ms": 1e6, "s": 1e9}


def nanoseconds(word: str) -> tuple[float, float]:
    """A printed duration and how far it may be off by rounding."""
    match = re.fullmatch(r"([\d.]+)(ns|us|ms|s)", word)
    assert match, word
    digits = len(match[1].partition(".")[2])
    return float(match[1]) * UNITS[match[2]], 0.51 * 10**-digits * UNITS[match[2]]


def dominant(text: str) -> dict[str, tuple[int, str, int, str, str]]:
    rows = re.findall(rf"^(\S+) +([\d,]+) +({DURATION}) +(\d+)% +({DURATION}) +({DURATION})$", text, re.MULTILINE)
    return {
        label: (int(entries.replace(",", "")), own, int(wait), p50, p99) for label, entries, own, wait, p50, p99 in rows
    }


def rows_of(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    (role,) = document["roles"]
    return {"/".join(row["path"][-2:]): row for row in role["phases"]}


def test_page_adds_up_to_its_json(nested: Path) -> None:
    text, rows = report(nested), rows_of(report_as_dict(nested))
    printed = dominant(text)
    assert len(printed) == 6
    for label, (entries, own, wait, p50, p99) in printed.items():
        row = rows[label]
        assert row["calls"] == entries
        for word, value in ((own, row["self_ns"]), (p50, row["p50_ns"]), (p99, row["p99_ns"])):
            shown, rounding = nanoseconds(word)
            assert abs(shown - value) <= rounding, (label, word, value)
        assert abs(wait - 100 * row["wait_ns"] / row["wall_ns"]) <= 0.51
    counters = re.findall(rf"^    \+ (\S+) +([\d,]+) +([\d,.]+)/s +({DURATION})/ea", text, re.MULTILINE)
    details = {c["name"]: (c, row) for row in rows.values() for c in row["counter_details"]}
    # which six of the seven phases are the page's depends on what else the machine does
    expected = {c["name"] for label in printed for c in rows[label]["counter_details"]}
    assert {name for name, *_ in counters} == expected
    assert expected
    for name, total, rate, each in counters:
        counter, row = details[name]
        assert int(total.replace(",", "")) == counter["total"]
        per_second = counter["total"] / row["wall_ns"] * 1e9
        assert float(rate.replace(",", "")) == pytest.approx(per_second, rel=1e-3, abs=0.06)
        shown, rounding = nanoseconds(each)
        assert abs(shown - row["wall_ns"] / counter["total"]) <= rounding


def test_wall_of_a_phase_is_its_own_and_its_childrens(nested: Path) -> None:
    rows = rows_of(report_as_dict(nested))
    select_row = rows["iteration/select"]
    below = rows["select/score_children"]["wall_ns"] + rows["select/descend"]["wall_ns"]
    assert select_row["self_ns"] == pytest.approx(select_row["wall_ns"] - below, abs=3)
    text = report(nested)
    breakdown = text[text.index("ACTOR") : text.index("DOMINANT")]
    shares = re.findall(r"^(\w+) +(\d+\.\d)% ", breakdown, re.MULTILINE)
    assert {name for name, _ in shares} == {"select", "rollout", "expand", "backpropagate", "Other"}
    assert sum(float(share) for _, share in shares) == pytest.approx(100, abs=0.3)
    base = sum(rows[f"iteration/{name}"]["wall_ns"] for name in ("select", "rollout", "expand", "backpropagate"))
    base += rows["iteration"]["self_ns"]
    for name, share in shares:
        value = rows["iteration"]["self_ns"] if name == "Other" else rows[f"iteration/{name}"]["wall_ns"]
        assert float(share) == pytest.approx(100 * value / base, abs=0.06)
