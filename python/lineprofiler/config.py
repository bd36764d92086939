"""What ``[tool.lineprofiler]`` of a project's ``pyproject.toml`` says about its line profiles."""
# SPDX-License-Identifier: MIT

from lineprofiler._lines._config import ProfilerConfig, find_project_root, get_config

__all__ = ["ProfilerConfig", "find_project_root", "get_config"]
