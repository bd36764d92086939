# SPDX-License-Identifier: MIT
"""Two workers; one is killed with SIGKILL in the middle of a phase. Nothing it had recorded is lost.

python examples/killed.py [RUN_DIR]     then: lineprofiler report RUN_DIR
"""

import multiprocessing
import os
import signal
import sys
import time
from multiprocessing.connection import Connection

from lineprofiler import accounting

context = multiprocessing.get_context("spawn")


def work(items: int, progress: Connection) -> None:
    accounting.start(role="worker")  # the environment of a child names the run
    for _ in range(items):
        with accounting.phase("item"):
            time.sleep(0.005)
    with accounting.phase("wait for more"):
        progress.send("all done")
        progress.recv()
    accounting.stop()


def main() -> None:
    accounting.start(run_dir=sys.argv[1] if len(sys.argv) > 1 else "profile", role="boss")
    workers = []
    for items in (20, 40):
        mine, theirs = context.Pipe()
        worker = context.Process(target=work, args=(items, theirs))
        worker.start()
        workers.append((worker, mine))
    for worker, connection in workers:
        with accounting.phase("wait for a worker"):
            connection.recv()

    victim, connection = workers.pop()
    assert victim.pid is not None
    os.kill(victim.pid, signal.SIGKILL)
    for worker, connection in workers:
        connection.send("no more")
        worker.join()
    accounting.stop()


if __name__ == "__main__":
    main()
