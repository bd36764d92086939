# SPDX-License-Identifier: MIT
"""64 tasks at once, each with a phase that is held over its awaits.

python examples/asyncio_tasks.py [RUN_DIR]     then: lineprofiler report RUN_DIR
"""

import asyncio
import sys
import time

from lineprofiler.accounting import count, phase, start, stop


async def fetch(number: int) -> int:
    with phase("fetch"):
        await asyncio.sleep(0.05)  # other tasks run meanwhile; this entry is suspended
        with phase("decode"):
            time.sleep(0.001)  # this one keeps the thread
        count("bytes", 1000 + number)
        return number


async def main() -> None:
    async with phase("batch"):
        await asyncio.gather(*(fetch(number) for number in range(64)))


start(run_dir=sys.argv[1] if len(sys.argv) > 1 else "profile", role="client")
asyncio.run(main())
stop()
