"""Imported by the start-up line where LINEPROFILER_LINES is set, before the program; there is nothing else to it.

That line is compiled and run by every interpreter that finds it, so it is as short as can be.
"""
# SPDX-License-Identifier: MIT

from lineprofiler._lines import _children

_children.begin()
