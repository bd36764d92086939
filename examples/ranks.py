# SPDX-License-Identifier: MIT
"""What torchrun does, in small: ranks are started with RANK and WORLD_SIZE, and one of them never starts.

python examples/ranks.py [RUN_DIR]     then: lineprofiler report RUN_DIR
"""

import os
import subprocess
import sys
import time

from lineprofiler import accounting


def train(run_dir: str) -> None:
    rank = int(os.environ["RANK"])
    accounting.start(run_dir=run_dir, role="trainer")
    for _ in range(10):
        with accounting.phase("step"):
            time.sleep(0.010 + 0.020 * rank)
    accounting.stop()


def launch(run_dir: str) -> None:
    job = {
        "TORCHELASTIC_RUN_ID": f"example{os.getpid()}",
        "MASTER_ADDR": "127.0.0.1",
        "MASTER_PORT": "29500",
        "WORLD_SIZE": "4",
    }
    ranks = [
        subprocess.Popen([sys.executable, __file__, run_dir], env={**os.environ, **job, "RANK": str(rank)})
        for rank in (0, 1, 3)
    ]
    for rank in ranks:
        rank.wait()


if __name__ == "__main__":
    directory = sys.argv[1] if len(sys.argv) > 1 else "profile"
    train(directory) if "RANK" in os.environ else launch(directory)
