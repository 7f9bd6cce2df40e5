"""Programs that run side by side, and a program that notices that its parent is gone."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from aigon.process.children import LOG, Child, LineSplitter, wait_for_ready

ROOT = Path(__file__).parents[2]


def child(tmp_path: Path, script: str, name: str = "a") -> Child:
    """A shell that runs `script`."""
    return Child(["/bin/sh", "-c", script], cwd=tmp_path, env=dict(os.environ), log=tmp_path / f"{name}.err")


def ended(one: Child) -> tuple[list[bytes], int, str]:
    """All its lines, its exit code and its last words."""
    lines: list[bytes] = []
    while True:
        there = wait_for_ready([one], (), 5)
        assert there, "it does nothing"
        lines += one.read(there)
        if one.over(there):
            rest, code, words = one.end()
            return [*lines, *rest], code, words


@pytest.mark.parametrize("size", [1, 3, 7, 100])
def test_lines_are_whole_however_they_come(size: int) -> None:
    text, lines = b"one\n\ntwo and more\nthree\nunfinished", LineSplitter()
    chunks = [text[at : at + size] for at in range(0, len(text), size)]
    assert [line for chunk in chunks for line in lines.feed(chunk)] == [b"one", b"", b"two and more", b"three"]


def test_a_line_that_is_too_long_is_dropped_and_the_next_is_not() -> None:
    lines = LineSplitter(longest=10)
    assert lines.feed(b"x" * 8) == [] and lines.feed(b"x" * 8) == [] and lines.feed(b"x" * 100) == []
    assert lines.feed(b"rest\nnext\n" + b"y" * 11 + b"\n" + b"z" * 10 + b"\n") == [b"next", b"z" * 10]


def test_output_errors_and_exit_are_told_apart(tmp_path: Path) -> None:
    assert ended(child(tmp_path, "echo out; echo err >&2; echo more; exit 3")) == ([b"out", b"more"], 3, "err\n")
    assert (tmp_path / "a.err").read_text() == "err\n"


def test_who_holds_the_pipe_after_the_exit_is_not_waited_for(tmp_path: Path) -> None:
    one = child(tmp_path, "sleep 300 & echo $!")
    lines, code, _ = ended(one)
    os.kill(int(lines[0]), signal.SIGKILL)
    assert code == 0


def test_a_signal_is_told_as_one(tmp_path: Path) -> None:
    one = child(tmp_path, "kill -KILL $$")
    assert ended(one)[1] == -signal.SIGKILL
    one.signal(signal.SIGTERM)


def test_a_flood_of_errors_keeps_its_beginning_and_its_end(tmp_path: Path) -> None:
    flood = f"{sys.executable} -c \"import sys; sys.stderr.write('begin' + 'x' * {2 * LOG} + 'the end')\""
    assert ended(child(tmp_path, flood))[2].endswith("xthe end")
    kept = (tmp_path / "a.err").read_bytes()
    assert kept.startswith(b"begin") and kept.endswith(b"the end") and len(kept) < LOG + 10_000


def test_a_program_that_is_not_there_is_an_error_of_the_system(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        Child([str(tmp_path / "nothing")], cwd=tmp_path, env={}, log=tmp_path / "log")


def test_no_sibling_keeps_the_input_of_another_open(tmp_path: Path) -> None:
    first, second = child(tmp_path, "cat; echo over", "a"), child(tmp_path, "sleep 300", "b")
    assert first._process.stdin is not None
    first._process.stdin.close()
    assert ended(first)[0] == [b"over"]
    second.signal(signal.SIGKILL)
    assert ended(second)[1] == -signal.SIGKILL


WATCHES = """
import os, signal, time
from aigon.process.watchdog import watch_parent
def over(*_):
    os.write(1, b"told\\n")  # past Python's buffers, in which the other line may just be
    raise SystemExit(4)
signal.signal(signal.SIGTERM, over)
watch_parent()
os.write(1, b"begun\\n")
while True:
    time.sleep(0.01)
"""


def test_a_program_whose_parent_is_gone_is_told_as_by_sigterm() -> None:
    watcher = subprocess.Popen(
        [sys.executable, "-c", WATCHES], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert watcher.stdout and watcher.stdin and watcher.stdout.readline() == "begun\n"
    watcher.stdin.write("nobody reads this")
    watcher.stdin.flush()
    assert watcher.poll() is None
    assert watcher.communicate(timeout=30)[0] == "told\n" and watcher.returncode == 4
