"""Profilers as objects: several at once, the installed one, closing, and that the program does not notice them."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import gc
import os
import signal
import sys
import threading
import warnings
import weakref
from pathlib import Path

import pytest
from lineprofiler import accounting
from lineprofiler.accounting import Profiler, _profiler, merge_run, phase


def test_two_live_profilers_in_two_directories_both_record(tmp_path: Path) -> None:
    with Profiler(tmp_path / "a") as a, Profiler(tmp_path / "b") as b:
        with a.phase("x"):
            with b.phase("y"):
                a.count("n", 1)
                with a.phase("z"):
                    pass
                b.count("n", 2)
    tree_a, tree_b = merge_run(tmp_path / "a").tree, merge_run(tmp_path / "b").tree
    assert {path: stats.calls for path, stats in tree_a.items()} == {("x",): 1, ("x", "z"): 1}
    assert {path: stats.calls for path, stats in tree_b.items()} == {("y",): 1}
    assert tree_a[("x",)].counters == {"n": 1}
    assert tree_b[("y",)].counters == {"n": 2}


def test_ambient_calls_go_to_the_installed_one(tmp_path: Path) -> None:
    with Profiler(tmp_path / "a", install=True) as a, Profiler(tmp_path / "b") as b:
        assert accounting.installed_profiler() is a
        with phase("x"):
            accounting.count("n", 3)
            assert accounting.current() == "x"
            with b.phase("y"):
                assert accounting.current() == "x"
        token = accounting.begin("t")
        accounting.end(token)
        assert list(accounting.iterate("i", [1, 2])) == [1, 2]
    tree = merge_run(tmp_path / "a").tree
    assert {path[0]: stats.calls for path, stats in tree.items()} == {"x": 1, "t": 1, "i": tree[("i",)].calls}
    assert set(merge_run(tmp_path / "b").tree) == {("y",)}


def test_nothing_installed_records_nothing_and_raises_nothing() -> None:
    assert accounting.installed_profiler() is None
    with phase("x"):
        accounting.count("n")
        assert accounting.current() == ""
    accounting.end(accounting.begin("x"))
    assert list(accounting.iterate("x", "ab")) == ["a", "b"]
    assert phase("x")(lambda: 3)() == 3
    assert accounting.stop() is None


def test_start_and_stop(run_dir: Path) -> None:
    profiler = accounting.start(run_dir, "actor", measure_cpu=False)
    assert accounting.installed_profiler() is profiler
    with phase("x"):
        pass
    assert accounting.stop() is profiler
    assert accounting.installed_profiler() is None
    assert profiler.closed
    run = merge_run(run_dir)
    assert run.roles == ["actor"]
    assert run.tree[("x",)].cpu_ns is None
    assert run.tree[("x",)].wait_ns is None


def test_installed_profiler_is_kept_alive(run_dir: Path) -> None:
    Profiler(run_dir, install=True)
    gc.collect()
    with phase("x"):
        pass
    accounting.stop()
    assert merge_run(run_dir).tree[("x",)].calls == 1


def test_install_and_uninstall(tmp_path: Path) -> None:
    with Profiler(tmp_path / "a") as a, Profiler(tmp_path / "b") as b:
        accounting.install_profiler(a)
        assert accounting.installed_profiler() is a
        accounting.uninstall_profiler(b)
        assert accounting.installed_profiler() is a
        accounting.uninstall_profiler(a)
        assert accounting.installed_profiler() is None
        accounting.install_profiler(a)
        accounting.uninstall_profiler()
        assert accounting.installed_profiler() is None
        with pytest.raises(TypeError):
            accounting.install_profiler("a")  # type: ignore[arg-type]
    with pytest.raises(RuntimeError):
        accounting.install_profiler(a)


def test_second_install_warns_and_replaces(tmp_path: Path) -> None:
    with Profiler(tmp_path / "a", install=True), Profiler(tmp_path / "b") as b:
        with pytest.warns(RuntimeWarning, match="replaced"):
            accounting.install_profiler(b)
        assert accounting.installed_profiler() is b
        with phase("x"):
            pass
    assert set(merge_run(tmp_path / "b").tree) == {("x",)}


def test_second_profiler_on_a_directory_warns_once_and_records(run_dir: Path) -> None:
    with Profiler(run_dir) as a:
        with pytest.warns(RuntimeWarning, match="another profiler") as caught:
            b = Profiler(run_dir)
        assert len(caught) == 1
        assert caught[0].filename == __file__
        with a.phase("x"), b.phase("y"):
            pass
        b.close()
    run = merge_run(run_dir)
    assert len(run.workers) == 2
    assert set(run.tree) == {("x",), ("y",)}


def test_no_warning_for_a_second_profiler_elsewhere_or_later(tmp_path: Path) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with Profiler(tmp_path / "a"), Profiler(tmp_path / "b"):
            pass
        with Profiler(tmp_path / "a"):
            pass


def test_warning_that_filters_turn_into_an_error_is_swallowed_and_reported(program, run_dir: Path) -> None:
    done = program(
        """
        from lineprofiler.accounting import Profiler, phase
        a = Profiler("run", install=True)
        b = Profiler("run", install=True)
        for i in range(130):
            with phase(f"name{i}"): pass
        a.close(); b.close()
        print("end")
        """,
        flags=("-W", "error"),
    )
    assert (done.stdout, done.stderr) == ("end\n", "")
    assert "warning" in accounting.render(run_dir)
    drops = [worker.facts["drops"] for worker in merge_run(run_dir).workers]
    assert sum(each.get("warning_as_error", 0) + each.get("warning", 0) for each in drops) == 3


def test_closed_is_final_and_close_idempotent(run_dir: Path) -> None:
    profiler = Profiler(run_dir, install=True)
    with profiler.phase("x"):
        pass
    kept = profiler.phase("kept")
    profiler.close()
    profiler.close()
    assert profiler.closed
    for late in (profiler.phase("y"), kept, phase("z")):
        with late:
            profiler.count("n")
            accounting.count("n")
    profiler.end(profiler.begin("w"))
    profiler.snapshot()
    assert {path: stats.calls for path, stats in merge_run(run_dir).tree.items()} == {("x",): 1}
    assert profiler.merged_tree()[("x",)].calls == 1


def test_phase_open_at_close_ends_quietly(run_dir: Path) -> None:
    profiler = Profiler(run_dir)
    with profiler.phase("x"):
        with profiler.phase("y"):
            pass
        profiler.close()
    tree = merge_run(run_dir).tree
    assert (tree[("x",)].calls, tree[("x",)].open) == (0, 1)
    assert tree[("x", "y")].calls == 1


def test_with_closes_also_on_an_exception(run_dir: Path) -> None:
    with pytest.raises(KeyError):
        with Profiler(run_dir) as profiler, profiler.phase("x"):
            raise KeyError
    assert profiler.closed
    run = merge_run(run_dir)
    assert run.tree[("x",)].calls == 1
    assert run.workers[0].verdict == "finished"


def test_normal_exit_without_close_is_finished(program, run_dir: Path) -> None:
    program("from lineprofiler.accounting import *\np = Profiler('run')\nwith p.phase('x'): pass")
    assert [worker.verdict for worker in merge_run(run_dir).workers] == ["finished"]


def test_exit_inside_a_phase_is_finished(program, run_dir: Path) -> None:
    program("import sys\nfrom lineprofiler.accounting import *\nstart('run')\nwith phase('x'): sys.exit(3)\n", status=3)
    run = merge_run(run_dir)
    assert [worker.verdict for worker in run.workers] == ["finished"]
    assert run.tree[("x",)].calls == 1


def test_profiler_dies_with_its_last_reference(run_dir: Path) -> None:
    profiler = Profiler(run_dir)
    with profiler.phase("x"):
        pass
    gone = weakref.ref(profiler)
    gc.disable()
    try:
        del profiler
        assert gone() is None
    finally:
        gc.enable()
    assert [worker.verdict for worker in merge_run(run_dir).workers] == ["finished"]


def hooks() -> dict[str, object]:
    return {
        "signals": {number: signal.getsignal(number) for number in signal.valid_signals()},
        "trace": sys.gettrace(),
        "profile": sys.getprofile(),
        "threading": getattr(threading, "gettrace", lambda: None)(),
        "excepthook": sys.excepthook,
        "unraisablehook": sys.unraisablehook,
        "asyncgen": tuple(sys.get_asyncgen_hooks()),
        "coroutine": sys.get_coroutine_origin_tracking_depth(),
        "path_hooks": list(sys.path_hooks),
        "meta_path": list(sys.meta_path),
        "fds": set(os.listdir("/proc/self/fd")),
        "environment": dict(os.environ),
        "cwd": os.getcwd(),
        "umask": umask(),
        "threads": threading.active_count(),
    }


def umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_everything_is_as_before_after_close_in_any_order(tmp_path: Path) -> None:
    accounting.start(tmp_path / "warm").close()
    before = hooks()
    a = Profiler(tmp_path / "a", install=True)
    b = Profiler(tmp_path / "b")
    for profiler in (a, b):
        with profiler.phase("x"):
            pass
    a.close()
    b.close()
    after = hooks()
    for name, value in before.items():
        assert after[name] == value, name


def test_exit_function_is_registered_only_while_a_profiler_lives(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    registered: list[object] = []
    monkeypatch.setattr(_profiler.atexit, "register", registered.append)
    monkeypatch.setattr(_profiler.atexit, "unregister", registered.remove)
    a = Profiler(tmp_path / "a")
    b = Profiler(tmp_path / "b")
    assert len(registered) == 1
    a.close()
    assert len(registered) == 1
    del b
    gc.collect()
    assert registered == []


def test_handlers_of_the_program_are_never_touched(run_dir: Path) -> None:
    before = {number: signal.getsignal(number) for number in signal.valid_signals()}
    with Profiler(run_dir, install=True):
        with phase("x"):
            assert {number: signal.getsignal(number) for number in signal.valid_signals()} == before
    assert {number: signal.getsignal(number) for number in signal.valid_signals()} == before


def test_recording_goes_on_after_a_signal_that_the_program_survives(run_dir: Path) -> None:
    seen = []
    previous = signal.signal(signal.SIGUSR1, lambda number, frame: seen.append(number))
    try:
        with Profiler(run_dir) as profiler:
            with profiler.phase("before"):
                os.kill(os.getpid(), signal.SIGUSR1)
            with profiler.phase("after"):
                pass
    finally:
        signal.signal(signal.SIGUSR1, previous)
    assert seen == [signal.SIGUSR1]
    assert {path: stats.calls for path, stats in merge_run(run_dir).tree.items()} == {("before",): 1, ("after",): 1}


def test_unwritable_directory_is_counted_never_raised(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with Profiler(blocked / "run") as profiler:
            with profiler.phase("x"):
                pass
            assert profiler.merged_tree()[("x",)].calls == 1
        assert profiler.write_failures > 0
    assert blocked.read_text() == ""


def test_subclass_may_replace_a_method(run_dir: Path) -> None:
    class Mine(Profiler):
        def phase(self, name, *args, **kwargs):  # type: ignore[no-untyped-def, override]
            return super().phase("my " + name, *args, **kwargs)

    with Mine(run_dir) as profiler:
        with profiler.phase("x"):
            pass
        profiler.count("n", 2)
    assert set(merge_run(run_dir).tree) == {("my x",), ()}


def test_threads_have_their_own_stacks(run_dir: Path) -> None:
    barrier = threading.Barrier(4)

    def work(i: int) -> None:
        barrier.wait(30)
        for _ in range(500):
            with phase(f"t{i}"), phase("inner"):
                accounting.count("n", i)

    with Profiler(run_dir, install=True), phase("main"):
        threads = [threading.Thread(target=work, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    tree = merge_run(run_dir).tree
    assert {path: stats.calls for path, stats in tree.items()} == {
        ("main",): 1,
        **{(f"t{i}",): 500 for i in range(4)},
        **{(f"t{i}", "inner"): 500 for i in range(4)},
    }
    assert [tree[(f"t{i}", "inner")].counters["n"] for i in range(4)] == [0, 500, 1_000, 1_500]


def test_thread_names_stand_above_the_phases(run_dir: Path) -> None:
    def work() -> None:
        with phase("x"):
            pass

    with Profiler(run_dir, install=True, thread_names=True):
        thread = threading.Thread(target=work, name="collector/1")
        thread.start()
        thread.join()
        with phase("x"):
            pass
    tree = merge_run(run_dir).tree
    assert tree[("collector/1", "x")].calls == 1
    assert tree[("MainThread", "x")].calls == 1
    assert tree[("MainThread",)].self_ns == 0
    assert tree[("MainThread",)].wall_ns == tree[("MainThread", "x")].wall_ns


def test_ten_thousand_short_threads(run_dir: Path) -> None:
    def work() -> None:
        with phase("x"):
            pass

    with Profiler(run_dir, install=True):
        for _ in range(1_000):
            threads = [threading.Thread(target=work) for _ in range(10)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    run = merge_run(run_dir)
    assert run.tree[("x",)].calls == 10_000
    assert sum(path.stat().st_size for path in run_dir.rglob("*") if path.is_file()) < 4_000_000
