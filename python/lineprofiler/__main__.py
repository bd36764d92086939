"""``lineprofiler`` and ``python -m lineprofiler``: the C command line, in this process.

``run`` alone is Python's: it starts a Python program.
"""
# SPDX-License-Identifier: MIT

import sys

from lineprofiler import _core


def main() -> int:
    """Run the command line with the arguments of this process.

    Returns
    -------
    int
        The exit status that ``docs/report.md`` describes.
    """
    if sys.argv[1:2] == ["run"]:
        from lineprofiler._lines import _run

        return _run.main(sys.argv[2:])
    return _core.cli(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
