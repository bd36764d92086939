"""When a profiler records, and that nothing is created when it does not or must not."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import os
import threading
import warnings
from pathlib import Path

import pytest
from lineprofiler import accounting
from lineprofiler.accounting import Profiler, merge_run

ON = ["1", "true", "on", "yes", "True", "ON", "Yes", " yes ", "tRuE"]
OFF = ["0", "false", "off", "no", "", "False", "OFF", "No", "FALSE", " "]
NAMES = ("LINEPROFILER_PROFILE", "LINEPROFILER_RUN_DIR", "LINEPROFILER_RUN_ID")


def exported() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith("LINEPROFILER_")}


@pytest.fixture(autouse=True)
def in_empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "cwd"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize("word", ON)
def test_environment_word_switches_on(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEPROFILER_PROFILE", word)
    with Profiler() as profiler:
        assert profiler.enabled


@pytest.mark.parametrize("word", OFF)
def test_environment_word_switches_off(word: str, monkeypatch: pytest.MonkeyPatch, in_empty_folder: Path) -> None:
    monkeypatch.setenv("LINEPROFILER_PROFILE", word)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with Profiler() as profiler:
            assert not profiler.enabled
    assert list(in_empty_folder.iterdir()) == []


@pytest.mark.parametrize("word", ["maybe", "2", "ja", "-1"])
def test_wrong_environment_word_warns_once_and_stays_off(word: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEPROFILER_PROFILE", word)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with Profiler() as profiler:
            assert not profiler.enabled
    assert [w.category for w in caught] == [RuntimeWarning]
    message = str(caught[0].message)
    assert word in message
    for accepted in ("1", "true", "on", "yes", "0", "false", "off", "no"):
        assert accepted in message.replace(",", " ").split()
    assert caught[0].filename == __file__


def test_wrong_environment_word_never_stops_a_program(program) -> None:
    done = program(
        """
        from lineprofiler.accounting import Profiler
        with Profiler() as p:
            with p.phase("x"): pass
        print("end")
        """,
        env={"LINEPROFILER_PROFILE": "perhaps", "LINEPROFILER_TRACE": "??"},
        flags=("-W", "error"),
    )
    assert done.stdout == "end\n"
    assert done.stderr == ""


@pytest.mark.parametrize("word", [None, *ON[:2], *OFF[:2]])
@pytest.mark.parametrize("directory", [None, "run"])
@pytest.mark.parametrize("argument", [None, True, False])
def test_argument_decides_before_directory_before_environment(
    argument: bool | None, directory: str | None, word: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    if word is not None:
        monkeypatch.setenv("LINEPROFILER_PROFILE", word)
    with Profiler(directory, enabled=argument) as profiler:
        expected = argument if argument is not None else directory is not None or word in ON
        assert profiler.enabled is expected


def test_directory_in_the_environment_alone_does_not_switch_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEPROFILER_RUN_DIR", "elsewhere")
    with Profiler() as profiler:
        assert not profiler.enabled


@pytest.mark.parametrize(("word", "expected"), [("on", True), ("OFF", False), (1, True), (0, False)])
def test_enabled_takes_words(word: object, expected: bool) -> None:
    with Profiler(enabled=word) as profiler:
        assert profiler.enabled is expected


WRONG = {
    "enabled": "maybe",
    "install": "perhaps",
    "measure_cpu": 3,
    "strict_names": "x",
    "thread_names": "x",
    "annotate": "x",
    "trace": "yes-please",
    "trace_capacity": 0,
    "backend": "nosuch",
    "snapshot_interval_s": 0,
    "sample_interval_s": -1.0,
    "run_id": "",
    "run_dir": "",
    "store": "floppy",
    "share": "world",
    "max_paths": 0,
    "source": ["not", "a", "dict"],
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_argument_is_refused_before_anything_is_created(name: str, in_empty_folder: Path) -> None:
    arguments: dict[str, object] = {"run_dir": "run", "install": True, name: WRONG[name]}
    threads = threading.active_count()
    with pytest.raises(ValueError, match=name):
        Profiler(**arguments)  # type: ignore[arg-type]
    assert list(in_empty_folder.iterdir()) == []
    assert exported() == {}
    assert threading.active_count() == threads
    assert accounting.installed_profiler() is None


UNBUILT = {
    "trace": (True, "phases", "auto", "on"),
    "backend": ("torch", "viztracer"),
    "backend_window": ((1, 10),),
    "window_phase": ("step",),
    "annotate": (True,),
    "trace_capacity": (10,),
    "trace_functions": (["f"],),
    "sample_interval_s": (0.5, 10),
    "cuda_sync": (True,),
}


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in UNBUILT.items() for value in values])
def test_argument_of_a_part_to_come_names_it_and_creates_nothing(
    name: str, value: object, in_empty_folder: Path
) -> None:
    with pytest.raises(NotImplementedError, match=f"{name}=.*timeline|{name}=.*backends|{name}=.*resource"):
        Profiler("run", install=True, **{name: value})  # type: ignore[arg-type]
    assert list(in_empty_folder.iterdir()) == []
    assert exported() == {}
    assert accounting.installed_profiler() is None


@pytest.mark.parametrize(
    "arguments",
    [
        dict.fromkeys(UNBUILT),
        dict.fromkeys(UNBUILT, False),
        {
            "trace": "off",
            "backend": "none",
            "window_phase": "iteration",
            "trace_capacity": 200_000,
            "sample_interval_s": 1.0,
            "snapshot_interval_s": None,
        },
    ],
)
def test_arguments_that_ask_for_nothing_are_accepted(arguments: dict[str, object]) -> None:
    with Profiler("run", **arguments) as profiler:  # type: ignore[arg-type]
        assert profiler.enabled


@pytest.mark.parametrize("word", ["1", "auto", "phases", "sideways"])
def test_timeline_asked_for_by_the_environment_warns_once_and_records(
    word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LINEPROFILER_TRACE", word)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with Profiler("run") as profiler:
            assert profiler.enabled
    assert [w.category for w in caught] == [RuntimeWarning]
    assert "LINEPROFILER_TRACE" in str(caught[0].message)


def test_naming_a_directory_in_an_empty_environment_writes_a_worker_file(program, run_dir: Path) -> None:
    program("from lineprofiler.accounting import phase, start\nstart(run_dir='run')\nwith phase('x'): pass\n")
    run = merge_run(run_dir)
    assert [worker.verdict for worker in run.workers] == ["finished"]
    assert run.tree[("x",)].calls == 1


def test_profiler_that_is_off_creates_nothing(in_empty_folder: Path) -> None:
    threads = threading.active_count()
    files = set(os.listdir("/proc/self/fd"))
    profiler = Profiler(enabled=False, run_dir="run")
    assert list(in_empty_folder.iterdir()) == []
    assert exported() == {}
    assert threading.active_count() == threads
    assert set(os.listdir("/proc/self/fd")) == files
    assert profiler.merged_tree() == {}
    assert profiler.deltas() == {}
    assert profiler.current_phase() == ""
    profiler.snapshot()
    profiler.close()
    assert list(in_empty_folder.iterdir()) == []


USES = {
    "with": lambda p: p.phase("x").__enter__(),
    "decorated": lambda p: p.phase("x")(lambda: None)(),
    "bare": lambda p: p.phase(lambda: None)(),
    "begin": lambda p: p.end(p.begin("x")),
    "count": lambda p: p.count("x", 2),
    "iterate": lambda p: list(p.iterate("x", [1])),
    "profile": lambda p: p.profile(name="x")(lambda: None)(),
}


@pytest.mark.parametrize("use", USES)
def test_used_profiler_that_is_off_says_so_once_at_close_with_both_remedies(use: str) -> None:
    profiler = Profiler(enabled=False)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        USES[use](profiler)
        assert caught == []
        profiler.close()
        profiler.close()
    assert [w.category for w in caught] == [RuntimeWarning]
    message = str(caught[0].message)
    assert str(Path("profile").absolute()) in message
    assert "run_dir=" in message
    assert "LINEPROFILER_PROFILE" in message


def test_unused_profiler_that_is_off_says_nothing() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Profiler(enabled=False).close()


@pytest.mark.parametrize("use", [True, False])
def test_installed_profiler_that_is_off_says_so_when_it_was_used(program, use: bool) -> None:
    done = program(
        f"""
        from lineprofiler.accounting import phase, start, stop
        start()
        if {use}:
            with phase("x"): pass
        stop()
        """,
        flags=("-W", "always"),
    )
    assert done.stderr.count("RuntimeWarning") == use
    assert ("nothing was recorded" in done.stderr) == use


def test_calls_of_a_profiler_that_is_off_are_checked() -> None:
    profiler = Profiler(enabled=False)
    for wrong in (lambda: profiler.phase(3), lambda: profiler.begin(b"x"), lambda: profiler.count(None)):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(TypeError):
        profiler.count("x", 1.5)  # type: ignore[arg-type]
    with pytest.raises(OverflowError):
        profiler.count("x", 2**64)
    with pytest.raises(ValueError, match="sample"):
        profiler.phase("x", sample=0)


def test_relative_directory_is_fixed_at_construction(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    monkeypatch.chdir(tmp_path / "a")
    monkeypatch.setenv("SLURM_SUBMIT_DIR", str(tmp_path / "b"))
    with Profiler("out") as profiler:
        assert profiler.run_dir == str(tmp_path / "a" / "out")
        assert os.environ["LINEPROFILER_RUN_DIR"] == str(tmp_path / "a" / "out")
        monkeypatch.chdir(tmp_path / "b")
        with profiler.phase("x"):
            pass
    assert list((tmp_path / "b").iterdir()) == []
    assert merge_run(tmp_path / "a" / "out").tree[("x",)].calls == 1


def test_directory_takes_a_path_object(tmp_path: Path) -> None:
    with Profiler(tmp_path / "run") as profiler:
        assert profiler.run_dir == str(tmp_path / "run")


def test_defaults_come_from_the_environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("LINEPROFILER_PROFILE", "1")
    monkeypatch.setenv("LINEPROFILER_RUN_DIR", str(tmp_path / "r"))
    monkeypatch.setenv("LINEPROFILER_ROLE", "actor")
    monkeypatch.setenv("LINEPROFILER_RUN_ID", "20260101T000000-abcdef")
    with Profiler() as profiler:
        assert (profiler.run_dir, profiler.role) == (str(tmp_path / "r"), "actor")
        assert profiler.run_id == "20260101T000000-abcdef"
    with Profiler("x", "learner", "mine") as profiler:
        assert (profiler.run_dir, profiler.role, profiler.run_id) == (os.path.abspath("x"), "learner", "mine")


@pytest.mark.parametrize("text", ["a/b", "..", "two words", "x" * 200, "\udcff", "🦊\n"])
def test_odd_values_in_the_environment_never_stop_a_program(text: str, tmp_path: Path, monkeypatch) -> None:
    monkeypatch.setenv("LINEPROFILER_PROFILE", "1")
    monkeypatch.setenv("LINEPROFILER_RUN_DIR", str(tmp_path / "r" / text))
    monkeypatch.setenv("LINEPROFILER_RUN_ID", text)
    monkeypatch.setenv("LINEPROFILER_ROLE", text)
    with Profiler(source={"commit": text}) as profiler:
        with profiler.phase("x"):
            pass
    run = merge_run(profiler.run_dir)
    assert run.tree[("x",)].calls == 1
    assert run.roles == [text]


@pytest.mark.parametrize("run_id", ["a/b", "two words", "20260101T000000-abcdef"])
def test_attempt_may_have_any_name(run_id: str) -> None:
    with Profiler("run", run_id=run_id) as profiler, profiler.phase("x"):
        pass
    assert profiler.run_id == run_id
    assert merge_run("run").run_id == run_id


def test_defaults_without_environment() -> None:
    with Profiler(enabled=True) as profiler:
        assert profiler.run_dir == os.path.abspath("profile")
        assert profiler.role == "main"
        assert profiler.run_id


def test_children_get_what_was_unset_and_close_takes_exactly_that(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LINEPROFILER_RUN_ID", "given")
    before = dict(os.environ)
    profiler = Profiler("run")
    assert os.environ["LINEPROFILER_PROFILE"] == "1"
    assert os.environ["LINEPROFILER_RUN_DIR"] == os.path.abspath("run")
    assert os.environ["LINEPROFILER_RUN_ID"] == "given"
    assert profiler.run_id == "given"
    profiler.close()
    assert dict(os.environ) == before


def test_close_leaves_what_the_program_has_changed() -> None:
    profiler = Profiler("run")
    os.environ["LINEPROFILER_RUN_DIR"] = "changed"
    profiler.close()
    assert exported() == {"LINEPROFILER_RUN_DIR": "changed"}
    del os.environ["LINEPROFILER_RUN_DIR"]


def test_two_profilers_in_a_row_are_two_attempts() -> None:
    with Profiler("a") as first:
        pass
    with Profiler("a") as second:
        pass
    assert first.run_id != second.run_id


def test_dropped_profiler_leaves_no_environment_behind() -> None:
    Profiler("run")
    assert exported() == {}


OFF_AT_IMPORT = """
import sys, warnings
from lineprofiler.accounting import phase, start, Profiler

def f(): pass
async def g(): pass

print(phase("x")(f) is f, phase(f) is f, phase("y")(g) is g)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    start(run_dir="run", enabled=True).close()
    start(run_dir="run", enabled=True).close()
print([w.category.__name__ for w in caught])
"""


@pytest.mark.parametrize("word", ["0", "off", "FALSE", "no"])
def test_off_word_at_import_makes_decorators_free_and_a_later_start_says_so(program, word: str) -> None:
    done = program(OFF_AT_IMPORT, env={"LINEPROFILER_PROFILE": word})
    assert done.stdout == "True True True\n['RuntimeWarning']\n"


@pytest.mark.parametrize("env", [{}, {"LINEPROFILER_PROFILE": ""}, {"LINEPROFILER_PROFILE": "1"}])
def test_without_an_off_word_decorators_wrap(program, env: dict[str, str]) -> None:
    assert program(OFF_AT_IMPORT, env=env).stdout == "False False False\n[]\n"
