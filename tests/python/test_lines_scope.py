"""Which files are recorded, and the reason that is given: the rule, as ``profiler.scope()`` tells it."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import json
import linecache
import os
import subprocess
import sys
import sysconfig
from pathlib import Path

import lineprofiler
import pytest
from lineprofiler import LineProfiler, ProfilerConfig


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """A project with a checkout's mark and one module."""
    root = tmp_path / "project"
    (root / ".git").mkdir(parents=True)
    write(root / "app.py")
    return root


def write(path: Path, text: str = "def f():\n    return 1\n") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def in_scope(root: Path, file: Path | str, **patterns: list[str]) -> bool:
    return LineProfiler(root, ProfilerConfig(**patterns)).scope().in_scope(file)  # type: ignore[arg-type]


def why(root: Path, file: Path | str, **patterns: list[str]) -> str:
    return LineProfiler(root, ProfilerConfig(**patterns)).scope().why(file)  # type: ignore[arg-type]


# The project folder.


def test_checkout_is_the_project(project: Path) -> None:
    module = write(project / "deep" / "er" / "m.py")
    write(project / "deep" / "pyproject.toml", "")
    assert lineprofiler.config.find_project_root(module) == str(project)


def test_without_a_checkout_the_project_file_is_the_mark(tmp_path: Path) -> None:
    write(tmp_path / "pyproject.toml", "")
    module = write(tmp_path / "src" / "m.py")
    assert lineprofiler.config.find_project_root(module) == str(tmp_path)


def test_without_any_mark_it_is_the_folder_of_the_calling_file(tmp_path: Path) -> None:
    write(
        tmp_path / "here" / "tool.py", "from lineprofiler import LineProfiler\nprint(LineProfiler().project_folder)\n"
    )
    done = subprocess.run(
        [sys.executable, str(tmp_path / "here" / "tool.py")], cwd="/", capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == str(tmp_path / "here")


def test_code_without_a_file_means_the_working_directory(tmp_path: Path) -> None:
    code = "from lineprofiler import LineProfiler\nprint(LineProfiler().project_folder)"
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == str(tmp_path)


def test_project_folder_may_be_given_as_a_file(project: Path) -> None:
    assert LineProfiler(project / "app.py").project_folder == str(project)


@pytest.mark.parametrize("wrong", ["", "a\0b"])
def test_project_folder_that_is_none_is_refused(wrong: str) -> None:
    with pytest.raises(ValueError, match="project_folder"):
        LineProfiler(wrong)


# What is in, what is out.


def test_file_of_the_project_is_recorded(project: Path) -> None:
    assert in_scope(project, project / "app.py")
    assert in_scope(project, write(project / "pkg" / "sub" / "m.py"))
    assert why(project, project / "app.py") == "is in the project"


@pytest.mark.parametrize(
    "folder",
    [
        ".venv/lib/python3/site-packages/pkg",
        ".venv/x",
        "venv/x",
        "env/lib/python3/site-packages/pkg",
        "libs/dist-packages/pkg",
        "web/node_modules/gyp",
        ".tox/py312/lib",
        ".nox/tests",
        "build/lib/pkg",
        "sub/build/lib",
    ],
)
def test_folder_of_dependencies_is_left_out(project: Path, folder: str) -> None:
    file = write(project / folder / "dep.py")
    assert not in_scope(project, file)
    assert "a folder of dependencies" in why(project, file)


@pytest.mark.parametrize("folder", ["env", "build", "lib", "build/library", "site", "venvs", "dist"])
def test_folder_with_a_similar_name_is_recorded(project: Path, folder: str) -> None:
    assert in_scope(project, write(project / folder / "mine.py"))


def test_virtual_environment_of_any_name_is_left_out(project: Path) -> None:
    write(project / "py312" / "pyvenv.cfg", "")
    file = write(project / "py312" / "lib" / "thing.py")
    assert why(project, file) == "is in py312, a virtual environment"
    assert not in_scope(project, file)


def test_file_outside_the_project_is_left_out(project: Path, tmp_path: Path) -> None:
    file = write(tmp_path / "elsewhere.py")
    assert why(project, file) == "is outside the project folder"


def test_folder_that_begins_like_the_project_is_another_one(project: Path, tmp_path: Path) -> None:
    assert not in_scope(project, write(tmp_path / "project2" / "m.py"))


def test_standard_library_is_left_out_even_below_the_project(project: Path) -> None:
    assert why(project, json.__file__) == "is in the standard library"
    for name in ("stdlib", "platstdlib"):
        assert not in_scope(Path("/"), os.path.join(sysconfig.get_path(name), "json", "decoder.py"))


def test_installed_packages_are_left_out_even_below_the_project() -> None:
    for name in ("purelib", "platlib"):
        assert not in_scope(Path("/"), os.path.join(sysconfig.get_path(name), "pkg", "m.py"))
    assert not in_scope(Path("/"), pytest.__file__)


def test_prefix_of_the_interpreter_alone_blocks_nothing(project: Path) -> None:
    # Debian's prefix is /usr: code in /usr/local/myapp or /usr/src is not the standard library.
    assert in_scope(Path(sys.base_prefix), os.path.join(sys.base_prefix, "myapp", "m.py"))


def test_own_package_is_left_out() -> None:
    assert why(Path("/"), lineprofiler.__file__) in ("is lineprofiler itself", "is an installed package")


def test_project_inside_an_installed_folder_is_recorded_when_asked_for(tmp_path: Path) -> None:
    root = tmp_path / "site-packages" / "pkg"
    assert in_scope(root, write(root / "m.py"))


def test_link_into_the_project_and_out_of_it_count_as_inside(project: Path, tmp_path: Path) -> None:
    real = tmp_path / "shared"
    write(real / "m.py")
    (project / "linked").symlink_to(real)
    (tmp_path / "other-name").symlink_to(project)
    assert in_scope(project, project / "linked" / "m.py")
    assert in_scope(project, tmp_path / "other-name" / "app.py")
    assert in_scope(tmp_path / "other-name", project / "app.py")


def test_relative_name_is_one_of_the_working_directory(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(project)
    scope = LineProfiler(project, ProfilerConfig()).scope()
    monkeypatch.chdir("/")
    assert scope.in_scope("app.py")


# Patterns.


def test_exclude_wins_over_include(project: Path) -> None:
    file = write(project / "gen" / "m.py")
    assert not in_scope(project, file, exclude=["gen/*"])
    assert not in_scope(project, file, include=["gen/*"], exclude=["*/m.py"])
    assert why(project, file, exclude=["gen/*"]) == "matches exclude 'gen/*'"


def test_include_leaves_out_what_it_does_not_name(project: Path) -> None:
    inside, beside = write(project / "src" / "a.py"), project / "app.py"
    assert in_scope(project, inside, include=["src/*"])
    assert why(project, beside, include=["src/*"]) == "matches no include"


def test_explicit_include_beats_the_built_in_blocks(project: Path) -> None:
    file = write(project / ".venv" / "lib" / "site-packages" / "pkg" / "m.py")
    assert in_scope(project, file, include=[".venv/lib/site-packages/pkg/*"])
    assert in_scope(project, json.__file__, include=[os.path.dirname(json.__file__) + "/*"])


def test_patterns_may_have_classes_and_question_marks(project: Path) -> None:
    assert in_scope(project, write(project / "a1.py"), include=["a[0-9].py"])
    assert not in_scope(project, write(project / "ab.py"), include=["a[!a-z].py"])
    assert in_scope(project, write(project / "xy.py"), include=["x?.py"])


# Code without a file.


def test_string_is_recorded_only_when_asked_for(project: Path) -> None:
    assert not in_scope(project, "<string>")
    assert in_scope(project, "<string>", include=["<string>"])
    assert in_scope(project, project / "app.py", include=["<string>"]), "such a pattern only adds"


def test_code_with_an_entry_in_linecache_is_recorded(project: Path) -> None:
    name = "<made for this test>"
    assert not in_scope(project, name)
    linecache.cache[name] = (3, None, ["x\n"], name)
    try:
        assert why(project, name) == "comes from no file but has a source"
        assert not in_scope(project, name, exclude=["<made*"])
    finally:
        del linecache.cache[name]


def test_notebook_cell_is_recorded(project: Path) -> None:
    name = "/tmp/ipykernel_99999999/123.py"
    assert not in_scope(project, name)
    linecache.cache[name] = (3, None, ["x\n"], name)
    try:
        assert why(project, name) == "is a notebook cell"
    finally:
        del linecache.cache[name]


@pytest.mark.parametrize("name", ["<frozen importlib._bootstrap>", "<attrs generated init a.B>", "<stdin>"])
def test_code_that_libraries_make_up_is_left_out(project: Path, name: str) -> None:
    assert not in_scope(project, name)


# The three ways of starting obey the project's file.


def test_file_of_the_project_is_read_by_a_profiler_made_directly(project: Path) -> None:
    write(project / "pyproject.toml", '[tool.lineprofiler]\nexclude = ["gen/*"]\nfunctions = ["keep*"]\n')
    profiler = LineProfiler(project)
    assert profiler.config == ProfilerConfig(exclude=["gen/*"], functions=["keep*"])
    assert not profiler.scope().in_scope(write(project / "gen" / "m.py"))


# The table.


def test_table_lists_files_and_folders_with_reasons(project: Path) -> None:
    write(project / ".venv" / "lib" / "m.py")
    write(project / "gen" / "m.py")
    table = LineProfiler(project, ProfilerConfig(exclude=["gen/*"])).scope()
    rows = {row.path: (row.recorded, row.reason) for row in table}
    assert rows[str(project / "app.py")] == (True, "is in the project")
    assert rows[str(project / "gen" / "m.py")] == (False, "matches exclude 'gen/*'")
    assert rows[str(project / ".venv") + os.sep] == (False, "is in .venv, a folder of dependencies")
    assert len(table) == len(table.rows)
    text = str(table).splitlines()
    assert text[0] == f"Scope of {project}"
    assert text.index("Recorded:") < text.index("  app.py is in the project") < text.index("Left out:")


def test_names_in_the_table_stay_on_their_line(project: Path) -> None:
    write(project / "evil\n\x1b[31m.py")
    text = str(LineProfiler(project, ProfilerConfig()).scope())
    assert "evil\\n\\x1b[31m.py is in the project" in text


@pytest.mark.parametrize("name", ["", "a\0b.py", "x" * 5000, "\udcff.py", "no/such/file", "<", "<>", "\n.py"])
def test_no_name_is_too_strange(project: Path, name: str) -> None:
    scope = LineProfiler(project, ProfilerConfig()).scope()
    assert scope.in_scope(name) in (True, False)
    assert scope.why(name)
    assert str(scope)
