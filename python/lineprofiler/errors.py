"""The exceptions that functions which read runs raise.

All derive from ``ProfileError``.  Each instance carries ``code`` (the number in the core's table of errors), ``slug``
(the name of its entry in ``docs/errors.md``) and ``offset`` (byte or line, 0 when there is none).  Recording never
raises them: a phase, a counter or a profiler can only raise TypeError, ValueError, OverflowError, RuntimeError or
NotImplementedError, and only for a wrong call.

``ProfileError``
    Base class, and what is left when nothing below fits (out of memory, a ceiling reached).
``ProfileFormatError``
    A file is not what it should be, or a run was written by another tool.
``ProfileStorageError``
    The system refused a file operation, or there is no run where one was expected.  Also an ``OSError`` with ``errno``
    and ``filename``.
``ProfileUsageError``
    A selection that cannot be met, such as an attempt that is not there.  Also a ``ValueError``.
``ProfileVersionError``
    A file was written by a newer version.
"""
# SPDX-License-Identifier: MIT

from lineprofiler._core import (
    ProfileError,
    ProfileFormatError,
    ProfileStorageError,
    ProfileUsageError,
    ProfileVersionError,
)

__all__ = [
    "ProfileError",
    "ProfileFormatError",
    "ProfileStorageError",
    "ProfileUsageError",
    "ProfileVersionError",
]
