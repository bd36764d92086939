# SPDX-License-Identifier: MIT
"""A pool of three processes, forked or spawned, recorded into one run.

python examples/pool.py fork|spawn [RUN_DIR]     then: lineprofiler report RUN_DIR
"""

import multiprocessing
import sys
import time
from multiprocessing.synchronize import Barrier

from lineprofiler import accounting


def work(item: int) -> int:
    with accounting.phase("item"):
        time.sleep(0.005)
        accounting.count("value", item)
        return item * item


def begin_worker(everyone: Barrier) -> None:
    # A forked child goes on recording by itself; a spawned one begins here. Directory and attempt are inherited.
    accounting.start(role="worker")
    with accounting.phase("load"):
        time.sleep(0.001)
    everyone.wait()  # so that each gets some of the work


def main() -> None:
    method = sys.argv[1] if len(sys.argv) > 1 else "spawn"
    accounting.start(run_dir=sys.argv[2] if len(sys.argv) > 2 else "profile", role="boss")
    context = multiprocessing.get_context(method)
    with accounting.phase("map"), context.Pool(3, begin_worker, [context.Barrier(3)]) as pool:
        print(sum(pool.imap_unordered(work, range(60))))
        pool.close()
        pool.join()  # without these two the end of the `with` terminates the workers
    accounting.stop()


if __name__ == "__main__":
    main()
