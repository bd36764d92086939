"""``[tool.lineprofiler]``: what is read, what a broken file costs, and the reader itself."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import fnmatch
import pickle
import random
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from lineprofiler import LineProfiler, ProfilerConfig, start_profiling, stop_profiling
from lineprofiler._lines import _config, _globs, _toml
from lineprofiler.config import find_project_root, get_config


@pytest.fixture(autouse=True)
def nothing_read_yet() -> Iterator[None]:
    """The configuration is kept per project; each test begins without."""
    _config._read.clear()
    yield
    _config._read.clear()


def configured(tmp_path: Path, text: str) -> ProfilerConfig:
    (tmp_path / "pyproject.toml").write_text(text, encoding="utf-8")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return get_config(tmp_path)


def test_patterns_of_the_project_are_read(tmp_path: Path) -> None:
    text = """
        [project]
        name = "x"
        dependencies = ["a>=1", # comment
                        'b']
        [tool.other.deep]
        date = 2024-01-01T00:00:00Z
        [tool.lineprofiler]
        include = ["src/*", 'lib/*']
        exclude = [
            "gen/*",
        ]
        functions = ["Core.*"]
    """
    assert configured(tmp_path, text) == ProfilerConfig(
        include=["src/*", "lib/*"], exclude=["gen/*"], functions=["Core.*"]
    )


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[tool]\n",
        "[tool.lineprofiler]\n",
        "tool = 3\n",
        "[tool]\nlineprofiler = true\n",
        '[tool.lineprofiler]\ninclude = "src"\nexclude = 3\nfunctions = {a = 1}\nnosuch = [1]\n',
    ],
)
def test_values_of_another_kind_are_ignored(tmp_path: Path, text: str) -> None:
    assert configured(tmp_path, text) == ProfilerConfig()


def test_members_that_are_no_text_are_ignored(tmp_path: Path) -> None:
    text = '[tool.lineprofiler]\ninclude = ["a/*", 3, ["b"], "c/*"]\n'
    assert configured(tmp_path, text).include == ("a/*", "c/*")


@pytest.mark.parametrize("form", ["tool.lineprofiler.include = ['a']", "[tool]\nlineprofiler = {include = ['a']}"])
def test_other_spellings_of_the_same(tmp_path: Path, form: str) -> None:
    assert configured(tmp_path, form).include == ("a",)


@pytest.mark.parametrize(
    "raw", [b"[tool.lineprofiler\n", b"a = = 1\n", b"x = '\n", b"\xff\xfe[tool]\n", b"a = 1\na = 2\n"]
)
def test_broken_file_is_one_warning_and_the_defaults(tmp_path: Path, raw: bytes) -> None:
    (tmp_path / "pyproject.toml").write_bytes(raw)
    with pytest.warns(RuntimeWarning, match="defaults of .tool.lineprofiler. hold") as caught:
        assert LineProfiler(tmp_path).config == ProfilerConfig()
        LineProfiler(tmp_path)
    assert len(caught) == 1
    assert caught[0].filename == __file__


def test_missing_file_and_folder_of_that_name_are_the_defaults(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").mkdir()
    assert get_config(tmp_path) == ProfilerConfig()


def test_file_is_read_once_per_process(tmp_path: Path) -> None:
    first = configured(tmp_path, '[tool.lineprofiler]\ninclude = ["a"]\n')
    assert configured(tmp_path, "") is first


# The object.


def test_config_is_frozen_and_compares_by_value() -> None:
    config = ProfilerConfig(True, ["a/*"], (), ["C.*"])
    assert config == ProfilerConfig(enabled=True, include=("a/*",), functions=("C.*",))
    assert hash(config) == hash(ProfilerConfig(True, ["a/*"], [], ["C.*"]))
    assert pickle.loads(pickle.dumps(config)) == config
    assert config != ProfilerConfig()
    assert "a/*" in repr(config)
    with pytest.raises(AttributeError):
        config.enabled = False
    with pytest.raises(AttributeError):
        del config.include


@pytest.mark.parametrize("wrong", ["src", [1], [None]])
def test_patterns_of_another_kind_are_refused(wrong: Any) -> None:
    with pytest.raises(TypeError, match="include"):
        ProfilerConfig(include=wrong)


def test_wrong_config_is_refused() -> None:
    with pytest.raises(TypeError, match="ProfilerConfig"):
        LineProfiler(config={"include": []})  # type: ignore[arg-type]


def test_allows() -> None:
    config = ProfilerConfig(include=["src/*"], exclude=["src/gen/*"], functions=["C.*", "f"])
    assert config.allows_path("src/a.py") and not config.allows_path("b.py")
    assert not config.allows_path("src/gen/a.py")
    assert config.allows_function("C.step") and config.allows_function("f")
    assert not config.allows_function("g")
    assert ProfilerConfig().allows_function("any") and ProfilerConfig().allows_path("any.py")


def test_project_root_of_a_file_and_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "a" / "b").mkdir(parents=True)
    file = tmp_path / "a" / "b" / "m.py"
    file.touch()
    assert find_project_root(file) == find_project_root(tmp_path / "a" / "b") == str(tmp_path / "a" / "b")
    (tmp_path / "a" / ".git").write_text("gitdir: elsewhere")  # as in a worktree
    assert find_project_root(file) == str(tmp_path / "a")


# start_profiling: the argument decides, then the environment.


@pytest.mark.parametrize("argument", [None, True, False, "on", "off"])
@pytest.mark.parametrize("word", [None, "1", "on", "TRUE", "0", "off", "no", "FALSE", "", " "])
def test_argument_decides_before_the_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, argument: Any, word: str | None
) -> None:
    if word is not None:
        monkeypatch.setenv("LINEPROFILER_ENABLED", word)
    expected = argument in (True, "on") or (argument is None and word in ("1", "on", "TRUE"))
    profiler = start_profiling(tmp_path, enabled=argument)
    assert profiler.is_active is expected
    stopped = stop_profiling(print_stats=False)
    assert stopped is (profiler if expected else None)
    assert not profiler.is_active


def test_wrong_words_warn_or_raise(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEPROFILER_ENABLED", "perhaps")
    with pytest.warns(RuntimeWarning, match="LINEPROFILER_ENABLED='perhaps'"):
        assert not start_profiling(tmp_path).is_active
    with pytest.raises(ValueError, match="enabled="):
        start_profiling(tmp_path, enabled="perhaps")


# The reader and the patterns against those of the standard library.

SAMPLE = '''
a.b.c = 1
a.b.d = "x"
[tool.x]
k = ["a", 'b', """multi
line""", 1, 2.5, 0x1F, 0o7, 0b1, 1_000, inf, -nan, 1979-05-27, 1979-05-27T07:32:00Z, 1979-05-27 07:32:00]
t = {a = 1, b.c = 2, "q r" = [ ]}
[[arr]]
x = 1
[arr.sub]
y = true
[[arr]]
x = false # comment
[tool.x.y]
s = 'lit\\'
e = "\\u00e9\\n\\\\"
m = """a \\
   b"""
q = \'\'\'it\'\'s\'\'\'
f = [1e5, -1.5E-3, +3]
'''


def comparable(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: comparable(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [comparable(inner) for inner in value]
    if isinstance(value, float) and value != value:
        return "nan"
    return "date" if hasattr(value, "isoformat") or (isinstance(value, str) and value[:4] == "1979") else value


def outcome(loads: Any, text: str) -> Any:
    try:
        return comparable(loads(text))
    except ValueError:
        return ValueError


def test_reader_agrees_with_tomllib() -> None:
    tomllib = pytest.importorskip("tomllib")
    dice = random.Random(7)
    seeds = [SAMPLE, (Path(__file__).resolve().parents[2] / "pyproject.toml").read_text(encoding="utf-8")]
    for seed in seeds:
        assert outcome(_toml.loads, seed) == comparable(tomllib.loads(seed))
    for _ in range(6000):
        text = list(dice.choice(seeds).replace("1979", "zz"))  # our reader does not check the days of a month
        start = dice.randrange(len(text))
        text = text[start : start + dice.randrange(1, 90)]
        for _ in range(dice.randrange(1, 4)):
            at = dice.randrange(len(text) + 1)
            text[at : at + dice.randrange(2)] = dice.choice("[]{}=\"'.,#\n\t ab1_-+:\\eux0\r")
        joined = "".join(text)
        assert outcome(_toml.loads, joined) == outcome(tomllib.loads, joined), joined


def test_reader_says_the_line() -> None:
    with pytest.raises(_toml.TomlError, match="line 3"):
        _toml.loads("a = 1\nb = 2\nc = \n")
    with pytest.raises(_toml.TomlError, match="too deeply"):
        _toml.loads("a = " + "[" * 5000)


def test_patterns_agree_with_fnmatch() -> None:
    dice = random.Random(3)
    for _ in range(20000):
        pattern = "".join(dice.choice("ab*?[]!-c/.") for _ in range(dice.randrange(9)))
        name = "".join(dice.choice("abc]-!/[.") for _ in range(dice.randrange(9)))
        assert _globs.matches(name, pattern) == fnmatch.fnmatchcase(name, pattern), (name, pattern)


def test_pattern_with_many_stars_is_quick() -> None:
    assert not _globs.matches("a" * 5000, "*a" * 20 + "b")
