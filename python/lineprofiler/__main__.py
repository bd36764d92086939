"""``lineprofiler`` and ``python -m lineprofiler``: the C command line, in this process."""
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
    return _core.cli(sys.argv[1:])


if __name__ == "__main__":
    sys.exit(main())
