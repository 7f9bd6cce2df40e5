"""Processes of a lab: is one there yet, is any left, what did they leave."""

import contextlib
import json
import os
import pty
import subprocess
import sys
from pathlib import Path
from typing import Any

import psutil

from tests.lab import Lab, Ran, until

RESUME = ("feature-implement", "42", "--resume")
LOOP = ("feature-implement", "42", "--loop")


def left_behind(lab: Lab) -> list[str]:
    """Command lines of living processes that were started in this lab."""
    found = []
    for entry in Path("/proc").iterdir():
        try:
            if entry.name.isdecimal() and f"HOME={lab.home}\0".encode() in (entry / "environ").read_bytes():
                found.append((entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace"))
        except OSError:
            continue
    return found


def begun(lab: Lab, process: "subprocess.Popen[str]", name: str = "begun") -> None:
    """Wait until something in the lab has touched `name` in the person's home."""
    until(lambda: (lab.home / name).exists() or process.poll() is not None)
    assert process.poll() is None, process.communicate()


def go(lab: Lab) -> None:
    """Let the agents and checks that wait for it go on."""
    (lab.home / "go").touch()


def turns(lab: Lab) -> int:
    """How many turns agents began."""
    return (lab.home / "turns").read_text().count("turn")


def parked(lab: Lab) -> list[str]:
    """The refs under which something is saved aside."""
    return lab.git("for-each-ref", "--format=%(refname)", "refs/aigon/parked").splitlines()


def journal(lab: Lab) -> Path:
    """The journal of feature 42."""
    (found,) = (lab.home / "state").glob("repos/*/features/42/journal.jsonl")
    return found


def events(lab: Lab) -> list[dict[str, Any]]:
    """What the journal holds."""
    return [json.loads(line.partition(" ")[2]) for line in journal(lab).read_text().splitlines()]


def named(lab: Lab, name: str) -> list[dict[str, Any]]:
    """The events of one kind."""
    return [event for event in events(lab) if event["event"] == name]


def ok(ran: Ran, code: int = 0) -> Ran:
    """The same, after a look at the exit code."""
    assert ran.code == code, ran.out + ran.err
    return ran


def answer_in_terminal(lab: Lab, answer: bytes, *arguments: str) -> tuple[int, str]:
    """Start aigon on a terminal of its own and answer its question; its exit code and what the terminal showed."""
    pid, ours = pty.fork()
    if pid == 0:  # in the child: nothing of pytest may run here
        os.chdir(lab.root)
        os.execve(sys.executable, lab.command(*arguments), {**lab.env, "TERM": "xterm", "COLUMNS": "100"})
    text, answered = b"", False
    with contextlib.suppress(OSError):  # by which Linux tells that nobody has the terminal open any more
        while chunk := os.read(ours, 65536):
            text += chunk
            if not answered and b"[y/N]" in text:
                until(lambda: psutil.Process(pid).status() == psutil.STATUS_SLEEPING)  # it reads: Ctrl+C reaches that
                answered = os.write(ours, answer) > 0
    os.close(ours)
    assert answered, text.decode(errors="replace")
    return os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), text.decode(errors="replace")
