# SPDX-License-Identifier: MIT
"""The demonstration behind `make demo`: four processes play by Monte-Carlo tree search, the last is killed in the
middle of a move, and the report shows all four, the killed one with everything it had recorded.

python examples/demo.py [RUN_DIR]     without RUN_DIR a temporary folder, removed afterwards
"""

from __future__ import annotations

import contextlib
import multiprocessing
import os
import signal
import subprocess
import sys
import tempfile
from multiprocessing.connection import Connection
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
import mcts
from lineprofiler import accounting

ACTORS = 4
GAMES = 10
ITERATIONS = 250


def actor(seed: int, games: int, run_dir: str, progress: Connection) -> None:
    accounting.start(run_dir=run_dir, role="actor")
    for game in range(games):
        mcts.play(ITERATIONS, seed=seed * 1000 + game, moves=2)
        progress.send(game)
    accounting.stop()


def record(run_dir: str) -> None:
    # The processes started from here inherit the run; each still says which role it plays.
    accounting.start(run_dir=run_dir, role="coach")
    context = multiprocessing.get_context("spawn")
    workers = []
    for seed in range(ACTORS):
        listener, progress = context.Pipe(duplex=False)
        games = sys.maxsize if seed == ACTORS - 1 else GAMES  # the last would play for ever
        worker = context.Process(target=actor, args=(seed, games, run_dir, progress))
        worker.start()
        progress.close()
        workers.append((worker, listener))

    victim, listener = workers[-1]
    with accounting.phase("wait for the victim"):
        while listener.recv() < 1:
            pass
    assert victim.pid is not None
    os.kill(victim.pid, signal.SIGKILL)
    for worker, listener in workers:
        with accounting.phase("wait for an actor"):
            # Reading to the end keeps a worker from waiting for room in its pipe.
            with contextlib.suppress(EOFError):
                while True:
                    listener.recv()
            worker.join()
    accounting.stop()


def main() -> int:
    with tempfile.TemporaryDirectory() as folder:
        run_dir = sys.argv[1] if len(sys.argv) > 1 else os.path.join(folder, "profile")
        print(f"{ACTORS} processes play; the last is killed while it plays ...", flush=True)
        record(run_dir)
        return subprocess.call([sys.executable, "-m", "lineprofiler", "report", run_dir])


if __name__ == "__main__":
    sys.exit(main())
