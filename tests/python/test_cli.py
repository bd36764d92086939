"""The command line, as users meet it: the native program where it is built, and ``python -m lineprofiler``."""
# SPDX-License-Identifier: MIT

from __future__ import annotations

import contextlib
import json
import os
import pty
import re
import select
import signal
import stat
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LIMIT_S = 60

Cli = Callable[..., "subprocess.CompletedProcess[str]"]


def native_program() -> str | None:
    """``LP_NATIVE``, else the newest one in build/."""
    named = os.environ.get("LP_NATIVE")
    if named:
        return named
    built = sorted(ROOT.glob("build/*/native/lineprofiler"), key=lambda path: path.stat().st_mtime)
    return str(built[-1]) if built else None


NATIVE = native_program()


@pytest.fixture(params=["python", "native"])
def command(request: pytest.FixtureRequest) -> list[str]:
    if request.param == "python":
        return [sys.executable, "-m", "lineprofiler"]
    if NATIVE is None:
        pytest.skip("the native program is not built (make unit)")
    return [NATIVE]


@pytest.fixture
def cli(command: list[str], tmp_path: Path) -> Cli:
    """Runs a command line in `tmp_path`; what it writes must be UTF-8, and its status `status`."""

    def run(
        *args: str | Path, status: int = 0, env: dict[str, str] | None = None, cwd: Path | None = None
    ) -> subprocess.CompletedProcess[str]:
        done = subprocess.run(
            [*command, *map(str, args)],
            cwd=cwd or tmp_path,
            env={**os.environ, "LC_ALL": "C.UTF-8", **(env or {})},
            capture_output=True,
            encoding="utf-8",
            timeout=LIMIT_S,
        )
        assert done.returncode == status, done.stderr + done.stdout
        return done

    return run


WORK = """
import sys
from lineprofiler import accounting
from lineprofiler.accounting import count, phase, start
start(run_dir=sys.argv[1], role=sys.argv[2] if len(sys.argv) > 2 else "main")
with phase("train"):
    for i in range(50):
        with phase("step"):
            count("items", 2)
accounting.stop()
"""


def record(directory: Path, *args: str, code: str = WORK, **env: str) -> None:
    subprocess.run(
        [sys.executable, "-c", code, str(directory), *args], env={**os.environ, **env}, check=True, timeout=LIMIT_S
    )


@pytest.fixture(scope="session")
def shared_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One finished run that tests only read."""
    directory = tmp_path_factory.mktemp("shared") / "run"
    record(directory)
    return directory


@pytest.fixture
def own_run(tmp_path: Path) -> Path:
    directory = tmp_path / "run"
    record(directory)
    return directory


@pytest.fixture
def two_attempts(tmp_path: Path) -> Path:
    directory = tmp_path / "run"
    record(directory, LINEPROFILER_RUN_ID="first")
    record(directory, LINEPROFILER_RUN_ID="second")
    return directory


def one_line(text: str) -> str:
    """A complaint: one line that begins with the program's name."""
    assert text.startswith("lineprofiler: ")
    assert text.endswith("\n")
    assert text.count("\n") == 1
    return text


def files_below(directory: Path) -> list[str]:
    return sorted(str(path.relative_to(directory)) for path in directory.rglob("*"))


def worker_files(directory: Path) -> list[Path]:
    return sorted(directory.rglob("*.lpw"))


# -- wrong use ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", ["report", "top", "info", "clean"])
def test_no_run_is_one_line_and_2(cli: Cli, tmp_path: Path, verb: str) -> None:
    more = {"clean": ["--keep", "1"], "top": ["--once"]}.get(verb, [])
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("not a directory")
    before = files_below(tmp_path)
    refusals = {"missing": "no directory", "empty": "holds no run", "file": "is a file, not a run directory"}
    for name, words in refusals.items():
        done = cli(verb, name, *more, status=2)
        assert done.stdout == ""
        assert words in one_line(done.stderr)
        assert name in done.stderr
        assert "(" in done.stderr  # the remedy
    assert files_below(tmp_path) == before


def test_a_run_of_the_other_tool_is_named(cli: Cli, tmp_path: Path) -> None:
    workers = tmp_path / "old" / "workers" / "host"
    workers.mkdir(parents=True)
    (tmp_path / "old" / "metadata.json").write_text('{"version": 1}')
    (workers / "w_20240101T000000-abcdef_1234_0a1b2c3d.json").write_text('{"version": 1}')
    for verb in (["report"], ["info"], ["top", "--once"], ["clean", "--keep", "1"]):
        done = cli(verb[0], tmp_path / "old", *verb[1:], status=2)
        assert "with-line-profiler" in one_line(done.stderr)
        assert done.stdout == ""


def test_only_unreadable_files_are_reported_and_0(cli: Cli, own_run: Path) -> None:
    (bad,) = worker_files(own_run)
    bad.write_bytes(b"\xff" * 4096)
    done = cli("report", own_run)
    assert bad.name in done.stdout
    assert bad.name in cli("info", own_run).stdout


@pytest.mark.parametrize(
    ("args", "words"),
    [
        (["reprot"], "did you mean 'report'?"),
        (["zzz"], "--help lists them"),
        (["--frobnicate"], "a command comes first"),
        (["report", "--fromat", "json"], "did you mean --format?"),
        (["report", "--format", "xml"], "takes text|json"),
        (["report", "--top", "many"], "whole number"),
        (["report", "--width"], "needs a value"),
        (["report", "a", "b"], "one word too many"),
        (["completion"], "bash, zsh or fish"),
        (["completion", "csh"], "bash, zsh or fish"),
        (["clean"], "--keep N"),
        (["help", "reprot"], "did you mean 'report'?"),
        (["run", "x.py"], "lineprofiler: run"),
        (["compare", "a", "b"], "the part on comparison"),
        (["trace", "a"], "the part on the timeline"),
        (["export", "a"], "the part on the timeline"),
        (["report", "--format", "html"], "the part on pages"),
    ],
)
def test_wrong_use_is_one_line_and_2(cli: Cli, tmp_path: Path, args: list[str], words: str) -> None:
    done = cli(*args, status=2)
    assert words in one_line(done.stderr)
    assert done.stdout == ""
    assert files_below(tmp_path) == []


def test_a_directory_as_command_is_understood(cli: Cli, shared_run: Path) -> None:
    assert f"lineprofiler report {shared_run}" in one_line(cli(shared_run, status=2).stderr)


def test_a_bad_selection_lists_what_is_there(cli: Cli, shared_run: Path) -> None:
    assert "main" in one_line(cli("report", shared_run, "--role", "nobody", status=2).stderr)
    one_line(cli("report", shared_run, "--attempt", "nobody", status=2).stderr)
    one_line(cli("report", shared_run, "--ranks", "x", status=2).stderr)


def test_hostile_words_stay_one_line(cli: Cli) -> None:
    done = cli("report", "a\nb\x1b[31m\u202e", status=2)
    assert "\x1b" not in one_line(done.stderr)
    assert "\u202e" not in done.stderr
    one_line(cli("report", "x" * 5000, status=2).stderr)
    one_line(cli("--" + "y" * 5000, status=2).stderr)


# -- report ------------------------------------------------------------------------------------------------------------


def test_report_shows_the_run(cli: Cli, shared_run: Path) -> None:
    done = cli("report", shared_run)
    assert done.stderr == ""
    assert "train/step" in done.stdout
    document = json.loads(cli("report", shared_run, "--format", "json").stdout)
    assert document.keys() == json.loads(cli("report", shared_run, "--json").stdout).keys()
    steps = [p for p in document["roles"][0]["phases"] if p["path"] == ["train", "step"]]
    assert steps[0]["calls"] == 50


def test_the_default_directory(cli: Cli, tmp_path: Path, shared_run: Path) -> None:
    assert "'profile'" in cli("report", status=2).stderr
    (tmp_path / "profile").symlink_to(shared_run)
    assert "train/step" in cli("report").stdout
    (tmp_path / "profile").unlink()
    assert "train/step" in cli("report", env={"LINEPROFILER_RUN_DIR": str(shared_run)}).stdout
    assert "'nosuch'" in cli("report", "nosuch", env={"LINEPROFILER_RUN_DIR": str(shared_run)}, status=2).stderr


def test_sort_top_role_and_wide(cli: Cli, shared_run: Path) -> None:
    text = cli("report", shared_run, "--top", "1", "--sort", "entries", "--role", "main").stdout
    assert "train/step" in text
    cli("report", shared_run, "--top", "all", "--wide", "--workers", "--width", "120")


def test_attempts(cli: Cli, two_attempts: Path) -> None:
    listed = cli("report", two_attempts, "--attempt", "list").stdout
    assert [line.split()[0] for line in listed.splitlines() if "first" in line or "second" in line] == ["first", "*"]
    document = json.loads(cli("report", two_attempts, "--attempt", "list", "--format", "json").stdout)
    assert [(a["id"], a["chosen"]) for a in document["attempts"]] == [("first", False), ("second", True)]

    def entries(*args: str) -> int:
        phases = json.loads(cli("report", two_attempts, "--json", *args).stdout)["roles"][0]["phases"]
        return int(next(p["calls"] for p in phases if p["path"] == ["train", "step"]))

    assert entries() == entries("--attempt", "first") == entries("--attempt", "second") == 50
    assert entries("--attempt", "all") == 100
    assert "first" in cli("report", two_attempts).stdout  # a superseded attempt is said


def test_selection_by_role(cli: Cli, tmp_path: Path) -> None:
    for role in ("actor", "learner"):
        record(tmp_path / "run", role, LINEPROFILER_RUN_ID="one")
    roles = json.loads(cli("report", tmp_path / "run", "--roles", "actor", "--json").stdout)["roles"]
    assert [role["role"] for role in roles] == ["actor"]


# -- characters and colours --------------------------------------------------------------------------------------------


def test_ascii_where_the_reader_cannot_do_more(command: list[str], shared_run: Path) -> None:
    deciding = ("LC_ALL", "LC_CTYPE", "LANG", "PYTHONIOENCODING", "PYTHONUTF8")
    env = {name: value for name, value in os.environ.items() if name not in deciding}
    for name in ("LC_ALL", "LC_CTYPE", "LANG"):
        for verb in (["report"], ["info"], ["top", "--once"]):
            run = [*command, verb[0], str(shared_run), *verb[1:]]
            # Python would turn the C locale into a UTF-8 one, which is then true of its output.
            plain = {**env, name: "C", "PYTHONCOERCECLOCALE": "0"}
            subprocess.run(run, env=plain, capture_output=True, check=True).stdout.decode("ascii")
    utf8 = subprocess.run([*command, "report", str(shared_run)], env={**env, "LANG": "C.UTF-8"}, capture_output=True)
    assert "─" in utf8.stdout.decode()


def test_pythonioencoding(shared_run: Path) -> None:
    run = [sys.executable, "-m", "lineprofiler", "report", str(shared_run)]
    env = {**os.environ, "LC_ALL": "C.UTF-8", "PYTHONIOENCODING": "ascii"}
    subprocess.run(run, env=env, capture_output=True, check=True).stdout.decode("ascii")


def test_colour_only_when_wanted(cli: Cli, shared_run: Path) -> None:
    assert "\x1b" not in cli("report", shared_run).stdout
    assert "\x1b" in cli("report", shared_run, "--color", "always").stdout
    assert "\x1b" in cli("report", shared_run, env={"FORCE_COLOR": "1"}).stdout
    assert "\x1b" not in cli("report", shared_run, "--color", "never", env={"FORCE_COLOR": "1"}).stdout


def test_width(cli: Cli, shared_run: Path) -> None:
    for width in (80, 132):
        lines = cli("report", shared_run, "--width", str(width)).stdout.splitlines()
        assert max(map(len, lines)) <= width


# -- where output goes -------------------------------------------------------------------------------------------------


def test_output_to_a_file_makes_folders_and_is_whole(cli: Cli, shared_run: Path, tmp_path: Path) -> None:
    target = tmp_path / "a" / "b" / "report.json"
    done = cli("report", shared_run, "--json", "-o", target)
    assert done.stdout == done.stderr == ""
    json.loads(target.read_text())
    target.write_text("old")
    cli("report", shared_run, "--json", "-o", target)
    json.loads(target.read_text())
    assert [path.name for path in target.parent.iterdir()] == ["report.json"]  # no temporary file is left


def test_a_failed_report_leaves_the_old_file(cli: Cli, tmp_path: Path) -> None:
    target = tmp_path / "report.txt"
    target.write_text("old")
    cli("report", "missing", "-o", target, status=2)
    assert target.read_text() == "old"


def test_output_through_links_is_refused(cli: Cli, shared_run: Path, tmp_path: Path) -> None:
    (tmp_path / "real").write_text("mine")
    (tmp_path / "link").symlink_to(tmp_path / "real")
    one_line(cli("report", shared_run, "-o", tmp_path / "link", status=2).stderr)
    assert (tmp_path / "real").read_text() == "mine"
    assert (tmp_path / "link").is_symlink()


def test_output_to_a_directory_is_refused(cli: Cli, shared_run: Path, tmp_path: Path) -> None:
    one_line(cli("report", shared_run, "-o", tmp_path, status=2).stderr)


def test_output_through_devices_and_pipes(cli: Cli, shared_run: Path, tmp_path: Path) -> None:
    cli("report", shared_run, "-o", "/dev/null")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    assert "train/step" in cli("report", shared_run, "-o", "-").stdout
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    reader = subprocess.Popen(["cat", str(fifo)], stdout=subprocess.PIPE, text=True)
    cli("report", shared_run, "-o", fifo)
    assert "train/step" in reader.communicate(timeout=LIMIT_S)[0]
    assert stat.S_ISFIFO(os.stat(fifo).st_mode)


def test_a_full_device_is_said(cli: Cli, shared_run: Path) -> None:
    one_line(cli("report", shared_run, "-o", "/dev/full", status=2).stderr)


def test_a_closed_pipe_is_quiet(command: list[str], shared_run: Path) -> None:
    script = f'{" ".join(command)} report {shared_run} --top all --wide | head -n 1; echo "${{PIPESTATUS[0]}}"'
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, timeout=LIMIT_S)
    assert done.stderr == ""
    assert done.stdout.splitlines()[-1] in ("0", "141")
    reader, writer = os.pipe()
    os.close(reader)
    report = [*command, "report", str(shared_run)]
    closed = subprocess.run(report, stdout=writer, stderr=subprocess.PIPE, timeout=LIMIT_S)
    os.close(writer)
    assert closed.returncode == 141
    assert closed.stderr == b""


def test_closed_stdout_is_said(command: list[str], shared_run: Path) -> None:
    script = f"{' '.join(command)} report {shared_run} >&-"
    done = subprocess.run(["sh", "-c", script], capture_output=True, text=True, timeout=LIMIT_S)
    assert done.returncode == 2
    one_line(done.stderr)


# -- Ctrl-C ------------------------------------------------------------------------------------------------------------


def test_ctrl_c_is_130_and_leaves_no_file(command: list[str], shared_run: Path, tmp_path: Path) -> None:
    """A report into a pipe that nobody empties waits; the signal ends it."""
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with contextlib.suppress(BlockingIOError):
        while True:
            os.write(writer, b"x" * 65536)
    os.set_blocking(writer, True)
    report = [*command, "report", str(shared_run)]
    running = subprocess.Popen(report, stdout=writer, stderr=subprocess.PIPE, cwd=tmp_path)
    os.close(writer)
    wait_until(lambda: state_of(running.pid) == "S" and blocked_in_pipe(running.pid))
    running.send_signal(signal.SIGINT)
    assert running.wait(timeout=LIMIT_S) == 130
    assert running.stderr is not None
    assert running.stderr.read() == b""
    os.close(reader)
    assert files_below(tmp_path) == []


def state_of(pid: int) -> str:
    return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]


def blocked_in_pipe(pid: int) -> bool:
    """In a write to descriptor 1."""
    try:
        call = Path(f"/proc/{pid}/syscall").read_text().split()
    except OSError:
        return True
    return call[0] != "running" and int(call[1], 16) == 1


def wait_until(ready: Callable[[], bool]) -> None:
    limit = time.monotonic() + LIMIT_S
    while not ready():
        assert time.monotonic() < limit
        time.sleep(0.005)


def test_python_signal_handlers_are_put_back() -> None:
    code = """
import signal
from lineprofiler import _core
before = [signal.getsignal(s) for s in (signal.SIGINT, signal.SIGPIPE, signal.SIGTERM)]
assert _core.cli(["nosuch"]) == 2
assert before == [signal.getsignal(s) for s in (signal.SIGINT, signal.SIGPIPE, signal.SIGTERM)]
try:
    signal.raise_signal(signal.SIGINT)
except KeyboardInterrupt:
    print("alive")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=LIMIT_S)
    assert done.stdout == "alive\n", done.stderr


# -- top ---------------------------------------------------------------------------------------------------------------


def table_of(text: str) -> dict[str, list[str]]:
    """Figures of a table's rows by the phase's last name."""
    rows = {}
    for line in text.splitlines():
        found = re.match(r"[>\s]*(\S*?([^/\s]+))\s+([\d,]+)\s+(.*)", line)
        if found:
            rows[found.group(2)] = [found.group(3), *found.group(4).split()]
    return rows


def test_top_once_has_the_figures_of_report(cli: Cli, shared_run: Path) -> None:
    frame = table_of(cli("top", shared_run, "--once").stdout)
    text = table_of(cli("report", shared_run, "--width", "80").stdout)
    for name in ("train", "step"):
        entries, self_time, _share, wait, p50, p99 = frame[name]
        assert [entries, self_time, p50, p99] == [*text[name][:2], *text[name][3:5]]
        assert round(float(wait[:-1])) == round(float(text[name][2][:-1]))


LIVE = """
import sys
from lineprofiler.accounting import count, phase, start
start(run_dir=sys.argv[1])
with phase("serve"):
    for i in range(7):
        with phase("request"):
            pass
    print("ready", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def live_run(tmp_path: Path) -> Iterator[Path]:
    directory = tmp_path / "live"
    running = subprocess.Popen(
        [sys.executable, "-c", LIVE, str(directory)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert running.stdout is not None
    assert running.stdout.readline() == "ready\n"
    yield directory
    running.communicate("\n", timeout=LIMIT_S)


def test_top_shows_a_live_run(cli: Cli, live_run: Path) -> None:
    frame = cli("top", live_run, "--once").stdout
    assert "1 running" in frame
    assert re.search(r"> serve\b", frame)  # open
    assert table_of(frame)["request"][0] == "7"
    assert "serve" in cli("report", live_run).stdout


def read_screen(screen: int, until: bytes) -> bytes:
    seen = b""
    limit = time.monotonic() + LIMIT_S
    while until not in seen:
        assert time.monotonic() < limit, seen
        if select.select([screen], [], [], 0.1)[0]:
            seen += os.read(screen, 65536)
    return seen


@pytest.mark.parametrize("leave", ["q", "SIGINT", "SIGTERM"])
def test_top_on_a_terminal_puts_it_right(command: list[str], live_run: Path, leave: str) -> None:
    screen, terminal = pty.openpty()
    before = termios.tcgetattr(terminal)
    running = subprocess.Popen(
        [*command, "top", str(live_run), "--interval", "0.1"],
        stdin=terminal,
        stdout=terminal,
        stderr=terminal,
        env={**os.environ, "TERM": "xterm"},
        start_new_session=True,
    )
    seen = read_screen(screen, b"q quits")
    assert b"\x1b[?1049h" in seen
    if leave == "q":
        os.write(screen, b"q")
    else:
        running.send_signal(getattr(signal, leave))
    tail = read_screen(screen, b"\x1b[?1049l")
    assert b"\x1b[?25h" in tail
    assert running.wait(timeout=LIMIT_S) == {"q": 0, "SIGINT": 130, "SIGTERM": 143}[leave]
    assert termios.tcgetattr(terminal) == before
    os.close(screen)
    os.close(terminal)


# -- info --------------------------------------------------------------------------------------------------------------


def test_info_lists_what_is_there(cli: Cli, two_attempts: Path) -> None:
    first, _second = worker_files(two_attempts)
    (first.parent / "third.77.0badbad0.lpw").write_bytes(b"\xff" * 100)
    text = cli("info", two_attempts).stdout
    for word in ("first", "second", "third.77.0badbad0.lpw", "finished", "main", "ATTEMPT"):
        assert word in text
    document = json.loads(cli("info", two_attempts, "--format", "json").stdout)
    assert [attempt["id"] for attempt in document["attempts"]] == ["first", "second"]
    assert {entry["verdict"] for entry in document["files"]} == {"finished"}
    assert sum(entry["bytes"] for entry in document["files"]) + 100 == document["bytes"]
    assert [Path(entry["file"]).name for entry in document["unreadable"]] == ["third.77.0badbad0.lpw"]


def test_info_and_report_change_nothing(cli: Cli, own_run: Path) -> None:
    def everything() -> list[tuple[str, int, int]]:
        return [(str(path), path.stat().st_size, path.stat().st_mtime_ns) for path in sorted(own_run.rglob("*"))]

    before = everything()
    cli("info", own_run)
    cli("top", own_run, "--once")
    cli("report", own_run, "--read-only")
    assert everything() == before


def test_a_file_without_a_byte_is_named(cli: Cli, tmp_path: Path) -> None:
    directory = tmp_path / "run"
    record(directory)
    (worker,) = worker_files(directory)
    empty = worker.with_name(re.sub(r"\.\d+\.\w{8}\.lpw$", ".4242.0000abcd.lpw", worker.name))
    empty.touch()
    text = " ".join(cli("report", directory, "--width", "200").stdout.split())
    assert "1 recorded nothing" in text
    assert f":4242 started and recorded nothing: workers/{empty.parent.name}/{empty.name} is empty" in text
    document = json.loads(cli("report", directory, "--format", "json").stdout)
    assert [worker["pid"] for worker in document["workers"] if worker["verdict"] == "nothing"] == [4242]
    assert [note["kind"] for note in document["caveats"]["notes"]] == ["nothing"]
    (line,) = (line for line in cli("info", directory).stdout.splitlines() if empty.name in line)
    assert line.split()[:6] == ["0", "B", "nothing", "-", "4242", "-"]


# -- clean -------------------------------------------------------------------------------------------------------------


def test_clean_removes_older_attempts_only(cli: Cli, two_attempts: Path) -> None:
    first, second = worker_files(two_attempts)
    foreign = first.parent / "notes.txt"
    foreign.write_text("mine")
    dry = cli("clean", two_attempts, "--keep", "1", "--dry-run").stdout
    assert "would remove 1 file of 1 attempt" in dry
    assert first.exists()
    assert "removed 1 file of 1 attempt" in cli("clean", two_attempts, "--keep", "1").stdout
    assert worker_files(two_attempts) == [second]
    assert foreign.read_text() == "mine"
    assert "removed 0 files" in cli("clean", two_attempts, "--keep", "1").stdout
    assert "train/step" in cli("report", two_attempts).stdout


def test_clean_leaves_running_attempts(cli: Cli, live_run: Path) -> None:
    record(live_run)
    files = worker_files(live_run)
    done = cli("clean", live_run, "--keep", "1")
    assert "running" in done.stdout
    assert worker_files(live_run) == files


def test_clean_follows_no_link(cli: Cli, two_attempts: Path, tmp_path: Path) -> None:
    """A folder of workers that is a link, and a file that is one: what they point to stays."""
    elsewhere = tmp_path / "elsewhere"
    host = worker_files(two_attempts)[0].parent
    host.rename(elsewhere)
    host.symlink_to(elsewhere)
    cli("clean", two_attempts, "--keep", "1", status=2)
    assert len(list(elsewhere.glob("*.lpw"))) == 2


def test_clean_leaves_unreadable_files(cli: Cli, two_attempts: Path) -> None:
    first, second = worker_files(two_attempts)
    first.write_bytes(b"\xff" * 100)
    assert "could not be read and stays" in cli("clean", two_attempts, "--keep", "1").stdout
    assert first.exists()
    assert second.exists()


def half_copy(worker: Path) -> Path:
    """What a process leaves that was killed while it copied its store: the name with a dot, and a part of the file."""
    path = worker.with_name(f".{worker.name.replace('.lpw', '')[:-8]}00000000.lpw")
    path.write_bytes(worker.read_bytes()[:5000])
    return path


def test_clean_removes_copies_that_dead_workers_left_half_written(cli: Cli, two_attempts: Path) -> None:
    first, second = worker_files(two_attempts)
    copy = half_copy(second)
    dry = cli("clean", two_attempts, "--keep", "1", "--dry-run").stdout
    assert "would remove 1 half-written copy of workers that are gone" in dry and copy.exists()
    assert "\nremoved 1 half-written copy of workers" in cli("clean", two_attempts, "--keep", "1").stdout
    assert not copy.exists() and not first.exists() and second.exists()
    assert "half-written" not in cli("clean", two_attempts, "--keep", "1").stdout


def test_clean_leaves_the_copy_of_a_live_worker(cli: Cli, live_run: Path) -> None:
    (worker,) = worker_files(live_run)
    copy = half_copy(worker)
    assert "half-written" not in cli("clean", live_run, "--keep", "1").stdout
    cli("report", live_run)
    assert copy.exists()


def test_report_removes_half_written_copies_unless_told_not_to_write(cli: Cli, two_attempts: Path) -> None:
    copy = half_copy(worker_files(two_attempts)[1])
    cli("report", two_attempts, "--read-only")
    assert copy.exists()
    cli("report", two_attempts)
    assert not copy.exists()


def crc32c(data: bytes) -> int:
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    return crc ^ 0xFFFFFFFF


def make_stale(worker: Path) -> None:
    """As if it ran on another machine and had not been heard of for an hour: docs/format.md, file header."""
    data = bytearray(worker.read_bytes())
    data[32] ^= 1  # boot_id
    struct.pack_into("<I", data, 112, 1)  # state: running
    (beat,) = struct.unpack_from("<Q", data, 136)
    struct.pack_into("<Q", data, 136, beat - 3600 * 10**9)
    struct.pack_into("<I", data, 16, crc32c(bytes(data[8:16] + data[20:96])))
    worker.write_bytes(data)


def test_clean_removes_stale_attempts_only_when_asked(cli: Cli, two_attempts: Path) -> None:
    first, second = worker_files(two_attempts)
    make_stale(first)
    said = cli("clean", two_attempts, "--keep", "1").stdout
    assert "may be running elsewhere (--stale removes it all the same)" in said and "removed 0 files" in said
    assert first.exists()
    assert "would remove 1 file" in cli("clean", two_attempts, "--keep", "1", "--stale", "--dry-run").stdout
    assert first.exists()
    assert "removed 1 file of 1 attempt" in cli("clean", two_attempts, "--keep", "1", "--stale").stdout
    assert worker_files(two_attempts) == [second]


def test_clean_never_removes_a_running_attempt(cli: Cli, live_run: Path) -> None:
    record(live_run)
    files = worker_files(live_run)
    assert "a worker of it is running" in cli("clean", live_run, "--keep", "1", "--stale").stdout
    assert worker_files(live_run) == files


# -- doctor ------------------------------------------------------------------------------------------------------------


def test_doctor_passes_here(cli: Cli, tmp_path: Path) -> None:
    done = cli("doctor", env={"TMPDIR": str(tmp_path)})
    for word in ("wall clock", "CPU clock", "file system", "CPU quota", "memory limit"):
        assert word in done.stdout
    for collector in ("store", "phases", "counters", "wall clock", "CPU clock", "kill", "fork"):
        assert re.search(rf"^  {collector} +ok ", done.stdout, re.M)
    assert "BROKEN" not in done.stdout
    assert files_below(tmp_path) == []  # nothing of the self-test is left


def test_doctor_tells_about_this_python() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "lineprofiler", "doctor"], capture_output=True, text=True, timeout=LIMIT_S, check=True
    )
    assert ".".join(map(str, sys.version_info[:2])) in done.stdout


def test_doctor_names_a_refused_clock(cli: Cli) -> None:
    for forced in ("syscall", "age", "none"):
        text = cli("doctor", env={"LINEPROFILER_CPU_CLOCK": forced}).stdout
        assert {"syscall": "system call", "age": "bounded age", "none": "none"}[forced] in text


def test_doctor_without_a_place_for_its_test(cli: Cli) -> None:
    done = cli("doctor", env={"TMPDIR": "/proc/nowhere"}, status=1)
    assert "TMPDIR" in done.stdout
    one_line(done.stderr)


# -- help, completion, diagnostics -------------------------------------------------------------------------------------


def test_help(cli: Cli) -> None:
    overview = cli("--help").stdout
    assert cli().stdout == cli("help").stdout == cli("-h").stdout == overview
    for verb in ("report", "top", "info", "doctor", "clean", "completion", "help"):
        assert verb in overview
        text = cli(verb, "--help").stdout
        assert text.startswith(f"usage: lineprofiler {verb}")
        assert cli("help", verb).stdout == text
        assert max(map(len, text.splitlines())) <= 80
    version = (ROOT / "VERSION").read_text().strip()
    assert cli("--version").stdout.startswith(f"lineprofiler {version} ")


def test_docs_are_the_program_s_own_words(cli: Cli) -> None:
    assert (ROOT / "docs/cli.md").read_text() == cli("help", "--markdown").stdout


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_is_valid_for_its_shell(cli: Cli, shell: str, tmp_path: Path) -> None:
    script = tmp_path / "completion"
    script.write_text(cli("completion", shell).stdout)
    for word in ("report", "doctor", "read-only", "entries"):
        assert word in script.read_text()
    try:
        done = subprocess.run([shell, "-n", str(script)], capture_output=True, text=True, timeout=LIMIT_S)
    except FileNotFoundError:
        pytest.skip(f"no {shell} here")
    assert done.returncode == 0, done.stderr


def test_bash_completes(cli: Cli, tmp_path: Path) -> None:
    script = tmp_path / "completion"
    script.write_text(cli("completion", "bash").stdout)
    (tmp_path / "runs").mkdir()

    def complete(*words: str) -> list[str]:
        listed = " ".join(f"'{word}'" for word in words)
        call = f"COMP_WORDS=({listed}); COMP_CWORD={len(words) - 1}; _lineprofiler"
        probe = f'. {script}; {call}; printf "%s\\n" "${{COMPREPLY[@]}}"'
        done = subprocess.run(["bash", "-c", probe], cwd=tmp_path, capture_output=True, text=True, check=True)
        return done.stdout.split()

    assert complete("lineprofiler", "re") == ["report"]
    assert complete("lineprofiler", "report", "--so") == ["--sort"]
    assert complete("lineprofiler", "report", "--sort", "w") == ["wall", "wait"]
    assert complete("lineprofiler", "report", "ru") == ["runs"]
    assert complete("lineprofiler", "completion", "z") == ["zsh"]


def test_diagnostics_go_to_a_file(cli: Cli, shared_run: Path, tmp_path: Path) -> None:
    log = tmp_path / "log"
    done = cli("report", shared_run, env={"LINEPROFILER_LOG": str(log)})
    assert done.stderr == ""
    assert "1 processes" in log.read_text()
    assert stat.S_IMODE(log.stat().st_mode) == 0o600
    cli("report", "nosuch", env={"LINEPROFILER_LOG": str(log)}, status=2)
    assert "no directory 'nosuch'" in log.read_text()
    cli("report", shared_run, env={"LINEPROFILER_LOG": "/nowhere/log"})


def test_ctrl_c_ends_the_wait_for_a_reader(command: list[str], shared_run: Path, tmp_path: Path) -> None:
    fifo = tmp_path / "fifo"
    os.mkfifo(fifo)
    report = [*command, "report", str(shared_run), "-o", str(fifo)]
    running = subprocess.Popen(report, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    wait_until(lambda: waits_in_open(running.pid))
    running.send_signal(signal.SIGINT)
    assert running.communicate(timeout=LIMIT_S) == (b"", b"")
    assert running.returncode == 130


def waits_in_open(pid: int) -> bool:
    """Opening a FIFO: by the kernel's name of where it sleeps."""
    where = Path(f"/proc/{pid}/wchan").read_text()
    if where == "" or (where == "0" and state_of(pid) == "S"):
        pytest.skip("the kernel does not say where a process sleeps")
    return "fifo" in where or "partner" in where
