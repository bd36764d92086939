"""What the line profiler needs of Python: source text, settings, names."""
# SPDX-License-Identifier: MIT
