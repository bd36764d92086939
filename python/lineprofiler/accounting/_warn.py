"""The one way this package warns."""
# SPDX-License-Identifier: MIT

import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    from lineprofiler._core import Recording

_PACKAGE = "lineprofiler"


def warn(message: str, recording: "Recording | None" = None) -> None:
    """Issue a RuntimeWarning at the line of the program that called into this package.

    Where the program's filters turn it into an error, the error is swallowed and counted in `recording`, so that the
    report can say it: the program must run the same with and without us.
    """
    import warnings

    try:
        warnings.warn(message, RuntimeWarning, stacklevel=_caller_level())
    except Exception:
        if recording is not None:
            recording.swallowed_warning()


def _caller_level() -> int:
    """The ``stacklevel`` of the innermost frame that is not ours, as seen from ``warn``."""
    level = 1
    frame = sys._getframe(1)
    while frame.f_back is not None and _is_ours(frame.f_globals.get("__name__")):
        frame = frame.f_back
        level += 1
    return level


def _is_ours(module: object) -> bool:
    return isinstance(module, str) and (module == _PACKAGE or module.startswith(_PACKAGE + "."))
