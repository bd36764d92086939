"""``python -m linescope``, once it exists."""
# SPDX-License-Identifier: MIT

import sys

from lineprofiler._later import LINESCOPE, missing

if __name__ == "__main__":
    print(f"linescope: {missing('the command line', LINESCOPE)}", file=sys.stderr)
    sys.exit(2)
