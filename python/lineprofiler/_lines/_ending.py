"""What is done when the interpreter ends, without changing how it ends."""
# SPDX-License-Identifier: MIT

import atexit
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable


def call_last(function: "Callable[[], object]") -> None:
    """Have `function` called at exit, after everything that is registered later; in this process only."""
    pid = os.getpid()

    def at_exit() -> None:
        if os.getpid() != pid:  # a fork that leaves by the front door
            return
        try:
            function()
        finally:
            _stay_interrupted()

    atexit.register(at_exit)


def _stay_interrupted() -> None:
    """Leave the interpreter's note of an unhandled Ctrl-C as it was.

    Any `eval` of a text wipes it, and modules that we need at the end use that to make classes; the process would end
    with 1 instead of with the signal.  Raising one more in a text puts it back.
    """
    if getattr(sys, "last_type", None) is KeyboardInterrupt:
        try:
            exec("raise KeyboardInterrupt")
        except KeyboardInterrupt:
            pass
