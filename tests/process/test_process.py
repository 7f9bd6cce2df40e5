"""Real programs, run to their exit: noticed at once, drained, bounded in time and memory."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import psutil
import pytest

from aigon.model.turns import ProgramExit
from aigon.process.run import Command, EndingSteps, run
from aigon.process.start import capture_output, start_capture
from aigon.process.stop import Stop
from aigon.secrets.redaction import make_redactor

QUICK: EndingSteps = ((signal.SIGINT, 0.15), (signal.SIGTERM, 0.15), (signal.SIGKILL, 5.0))
ENV: Mapping[str, str] = {"PATH": os.environ["PATH"], "LC_ALL": "C"}


def bash(script: str, cwd: Path, stop: Stop | None = None, **options: Any) -> ProgramExit:
    """Run a bash script in `cwd`."""
    return run(Command(["bash", "-c", textwrap.dedent(script)], cwd, ENV, **options), stop)


def test_an_exit_is_noticed_within_ten_milliseconds(tmp_path: Path) -> None:
    script = "import os, time; os.write(1, repr(time.monotonic()).encode()); os._exit(0)"

    def measure_delay() -> float:
        exited = run(Command([sys.executable, "-I", "-S", "-c", script], tmp_path, ENV))
        return time.monotonic() - float(exited.stdout)

    # Polling every 100 ms would hardly ever come as early as this; a busy machine does once in a while.
    assert any(measure_delay() < 0.010 for _ in range(60))


def test_output_streams_and_exit_code_are_kept_apart_or_merged_in_order(tmp_path: Path) -> None:
    script = "echo one; echo two >&2; echo three; exit 5"
    apart = bash(script, tmp_path, merge=False)
    assert (apart.exit_code, apart.stdout, apart.stderr) == (5, b"one\nthree\n", b"two\n")
    merged = bash(script, tmp_path)
    assert (merged.stdout, merged.stderr) == (b"one\ntwo\nthree\n", b"")
    assert not merged.timed_out
    assert not merged.killed


def test_a_program_ended_by_a_signal_says_so(tmp_path: Path) -> None:
    assert bash("kill -SEGV $$", tmp_path).exit_code == -signal.SIGSEGV


def test_what_a_program_left_in_its_group_does_not_outlive_it(tmp_path: Path) -> None:
    exited = bash('trap "" INT TERM HUP; sleep 30 & echo $!', tmp_path)
    assert exited.duration < 20
    assert not _runs(int(exited.stdout))


def test_a_grandchild_that_holds_the_pipe_does_not_block(tmp_path: Path) -> None:
    script = 'setsid sleep 30 & until [ "$(cut -d" " -f6 /proc/$!/stat)" -eq $! ]; do sleep 0.01; done; echo $!'
    exited = bash(script, tmp_path)
    pid = int(exited.stdout)
    try:
        assert exited.duration < 20
        assert _runs(pid)
    finally:
        os.kill(pid, signal.SIGKILL)


def _runs(pid: int) -> bool:
    """Whether a process is there and no zombie, after the moment that a signal needs."""
    for _ in range(50):
        try:
            if ") Z " in Path(f"/proc/{pid}/stat").read_text():
                return False
        except OSError:
            return False
        time.sleep(0.002)
    return True


STUBBORN = """
    trap 'echo INT' INT
    trap 'echo TERM' TERM
    echo begun
    while :; do sleep 0.02; done
"""


def test_a_deadline_climbs_from_int_over_term_to_kill(tmp_path: Path) -> None:
    exited = bash(STUBBORN, tmp_path, deadline=0.3, ladder=QUICK, merge=False)
    assert exited.stdout == b"begun\nINT\nTERM\n"
    assert (exited.exit_code, exited.timed_out, exited.killed) == (-signal.SIGKILL, True, False)
    assert 0.6 <= exited.duration < 20


def test_a_program_that_heeds_the_first_signal_is_not_sent_another(tmp_path: Path) -> None:
    script = "trap 'echo saved; exit 7' INT; while :; do sleep 0.02; done"
    exited = bash(script, tmp_path, deadline=0.3, ladder=QUICK, merge=False)
    assert (exited.stdout, exited.exit_code, exited.timed_out) == (b"saved\n", 7, True)


def test_a_deadline_that_is_not_reached_changes_nothing(tmp_path: Path) -> None:
    exited = bash("exit 3", tmp_path, deadline=30)
    assert (exited.exit_code, exited.timed_out) == (3, False)


def test_a_stop_at_once_ends_even_who_does_not_listen(tmp_path: Path) -> None:
    stop_file = tmp_path / "STOP"
    exited = bash(f"trap '' INT TERM; touch {stop_file}; while :; do sleep 0.02; done", tmp_path, Stop([stop_file]))
    assert (exited.exit_code, exited.killed, exited.timed_out) == (-signal.SIGKILL, True, False)
    assert exited.duration < 20


def test_a_stop_at_once_is_noticed_at_once(tmp_path: Path) -> None:
    assert min(_seconds_to_stop(tmp_path / f"STOP-{number}") for number in range(3)) < 0.45, "sooner than a next look"


def _seconds_to_stop(stop_file: Path) -> float:
    """How long a program runs that is stopped after 0.2 s by another thread."""
    stop = Stop([stop_file])

    def ask() -> None:
        stop_file.touch()
        stop.look()

    threading.Timer(0.2, ask).start()
    exited = bash("sleep 30", stop_file.parent, stop)
    assert exited.killed
    return exited.duration


def test_a_stop_wins_over_a_deadline_that_is_being_enforced(tmp_path: Path) -> None:
    slow: EndingSteps = ((signal.SIGINT, 60.0), (signal.SIGKILL, 5.0))
    stop_file = tmp_path / "STOP"
    script = f"trap 'touch {stop_file}' INT; while :; do sleep 0.02; done"
    exited = bash(script, tmp_path, Stop([stop_file]), deadline=0.2, ladder=slow)
    assert exited.killed
    assert exited.duration < 30


FLOOD = r"""
    import re, sys
    from pathlib import Path
    from aigon.process.run import Command, run
    from aigon.secrets.redaction import make_redactor
    redact = make_redactor({"MY_TOKEN": "not-in-the-flood"})
    ran = run(Command(["bash", "-c", sys.argv[1]], Path.cwd(), {"PATH": sys.argv[2]}, log=Path("log"), redact=redact))
    assert ran.stdout == Path("log").read_bytes()
    # Not ru_maxrss: that is inherited from the process that started this one.
    peak = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text())[1]
    print(peak, len(ran.stdout), ran.exit_code)
    print(ran.stdout[:5].decode(), ran.stdout[-5:].decode(), b"bytes left out" in ran.stdout)
"""


@pytest.mark.parametrize("line", ["a line of a flood", '"$(head -c 100000 /dev/zero | tr "\\0" x)"'])
def test_a_flood_is_read_to_its_end_in_little_memory(tmp_path: Path, line: str) -> None:
    script = f"echo -n first; yes {line} | head -c 300000000; echo -n final"
    done = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(FLOOD), script, os.environ["PATH"]],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.returncode == 0, done.stderr
    numbers, shown = done.stdout.splitlines()
    memory, size, code = map(int, numbers.split())
    assert memory < 100_000, "KiB of this process at its largest"
    assert size < 9_000_000
    assert code == 0
    assert shown == "first final True"


def test_bytes_that_are_no_text_come_through(tmp_path: Path) -> None:
    data = bytes(range(256)) * 64
    (tmp_path / "data").write_bytes(data)
    assert bash("cat data", tmp_path, log=tmp_path / "log").stdout == data
    assert (tmp_path / "log").read_bytes() == data


def test_standard_input_is_the_file_or_nothing_at_all(tmp_path: Path) -> None:
    prompt = tmp_path / "prompt.md"
    prompt.write_bytes(b"do it\0\xff" * 50_000)
    assert bash("wc -c", tmp_path, stdin=prompt).stdout.strip() == b"350000"
    assert bash("cat; echo $?", tmp_path).stdout == b"0\n"
    assert bash("true", tmp_path, stdin=prompt).exit_code == 0, "nobody has to read it"


@pytest.mark.parametrize(
    ("content", "mode", "reason"),
    [
        (None, 0, "No such file or directory"),
        ("#!/bin/sh\n", 0o644, "Permission denied"),
        ("#!/no/such/interpreter\n", 0o755, "No such file or directory"),
        ("echo no first line\n", 0o755, "Exec format error"),
    ],
)
def test_what_cannot_start_is_told_and_not_raised(tmp_path: Path, content: str | None, mode: int, reason: str) -> None:
    program = tmp_path / "program"
    if content is not None:
        program.write_text(content)
        program.chmod(mode)
    exited = run(Command([str(program)], tmp_path, ENV, deadline=5))
    assert exited.exit_code is None
    assert reason in exited.start_error
    assert str(program) in exited.start_error


def test_a_working_directory_that_is_gone_is_told(tmp_path: Path) -> None:
    exited = run(Command(["true"], tmp_path / "gone", ENV))
    assert (exited.exit_code, "gone" in exited.start_error) == (None, True)


def test_the_environment_is_exactly_the_one_given(tmp_path: Path) -> None:
    given = {"A": "1", "B": "two\nlines", "C": "", "UMLAUT": "ä", "BYTES": "\udcff"}
    env = shutil.which("env") or "env"
    exited = run(Command([env, "-0"], tmp_path, given))
    assert dict(entry.split("=", 1) for entry in os.fsdecode(exited.stdout).split("\0") if entry) == given


def test_no_descriptor_of_ours_is_handed_on(tmp_path: Path) -> None:
    read, write = os.pipe()
    os.set_inheritable(write, True)
    try:
        listed = bash("ls /proc/self/fd", tmp_path).stdout.split()
    finally:
        os.close(read)
        os.close(write)
    assert str(write).encode() not in listed


def test_secrets_are_taken_out_before_anything_is_written(tmp_path: Path) -> None:
    redact = make_redactor({"MY_API_TOKEN": "correct horse battery"})
    script = """
        printf 'value: correct hor'; sleep 0.05; printf 'se battery.\\n'
        printf 'shape: ghp_0123456789abcdef' >&2; sleep 0.05; printf '0123456789abcdef\\n' >&2
        printf 'no line end: correct horse battery'
    """
    log = tmp_path / "log"
    exited = bash(script, tmp_path, merge=False, log=log, redact=redact)
    assert exited.stdout == b"value: [redacted].\nno line end: [redacted]"
    assert exited.stderr == b"shape: [redacted]\n"
    assert sorted(log.read_bytes().splitlines()) == sorted((exited.stdout + b"\n" + exited.stderr).splitlines())


def test_a_log_can_be_followed_while_the_program_runs(tmp_path: Path) -> None:
    log = tmp_path / "new" / "folder" / "log"
    script = f"echo begun; until grep -qs begun {log}; do sleep 0.02; done; echo seen"
    exited = bash(script, tmp_path, log=log, deadline=10, ladder=QUICK)
    assert (exited.stdout, exited.timed_out) == (b"begun\nseen\n", False)


def test_a_log_that_cannot_be_written_stops_nothing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    exited = bash("echo here", tmp_path, log=tmp_path / "file" / "log")
    assert (exited.exit_code, exited.stdout) == (0, b"here\n")


def test_a_program_that_replaces_the_folder_of_its_log_at_once_redirects_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine, logs = tmp_path / "mine", tmp_path / "logs"
    mine.mkdir()
    logs.mkdir()
    start = subprocess.Popen

    def start_and_wait(*args: Any, **options: Any) -> subprocess.Popen[bytes]:
        program = start(*args, **options)
        os.waitid(os.P_PID, program.pid, os.WEXITED | os.WNOWAIT)  # it is faster than its parent
        return program

    monkeypatch.setattr("subprocess.Popen", start_and_wait)
    bash("mv logs old; ln -s mine logs; echo evil", tmp_path, log=logs / "agent.log")
    assert [*mine.iterdir()] == []
    assert (tmp_path / "old" / "agent.log").read_bytes() == b"evil\n"


def test_its_pid_is_told_once_it_runs_and_it_leads_a_session_of_its_own(tmp_path: Path) -> None:
    pids: list[int] = []
    exited = bash("echo $$; cut -d' ' -f6 /proc/$$/stat", tmp_path, started=pids.append)
    pid, session = map(int, exited.stdout.split())
    assert pids == [pid] == [session]


def test_a_short_program_gives_code_and_both_streams(tmp_path: Path) -> None:
    argv = ["bash", "-c", "cat; echo two >&2; exit 4"]
    assert capture_output(argv, cwd=tmp_path, env=ENV, stdin=b"one") == (4, b"one", b"two\n")


def test_an_exit_that_somebody_else_collected_is_never_taken_for_a_success(tmp_path: Path) -> None:
    for _ in range(20):
        script = "sleep 0.01; exit 1"
        assert bash(script, tmp_path, started=_thief).exit_code in (1, None)


def _thief(pid: int) -> None:
    def steal() -> None:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)

    threading.Thread(target=steal).start()


def _collect_child(known: set[int]) -> None:
    """Collect the child that is not among the `known` as it ends, as a sweep does."""
    while not (new := _list_children() - known):
        time.sleep(0.01)
    for pid in new:
        with contextlib.suppress(ChildProcessError):
            os.waitpid(pid, 0)


def _list_children() -> set[int]:
    return {child.pid for child in psutil.Process().children()}


def test_a_program_that_somebody_else_collected_has_failed() -> None:
    known = _list_children()
    finish = start_capture(["sh", "-c", "echo begun; exit 3"], ENV)
    _collect_child(known)
    assert finish() == (-signal.SIGKILL, b"begun\n", b"")


def test_a_program_that_is_collected_meanwhile_has_failed(tmp_path: Path) -> None:
    thread = threading.Thread(target=_collect_child, args=(_list_children(),))
    thread.start()
    # What it left holds its output open until it has been collected.
    code, out, _ = capture_output(["sh", "-c", "echo begun; sleep 1 & exit 3"], cwd=tmp_path, env=ENV)
    thread.join()
    assert (code, out) == (-signal.SIGKILL, b"begun\n")


def test_a_program_gets_no_file_that_aigon_was_started_with(tmp_path: Path) -> None:
    code = """
import os, sys
from aigon.process.start import start_capture
print(start_capture(["sh", "-c", "echo no >&7"], os.environ)()[0])
"""
    argv = ["sh", "-c", 'exec "$@" 7> lock', "sh", sys.executable, "-c", code]
    done = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=True)
    assert int(done.stdout) > 0
    assert (tmp_path / "lock").read_text() == ""
