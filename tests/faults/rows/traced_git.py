"""A git that strace looks at, or kills at a system call: first on PATH, and itself again but for one turn's commit.

The agent arms it at the end of its turn, so what is seen is what aigon does to judge and publish that turn.
"""

import functools
import re
import shutil
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.lab import DONE_WHEN, Lab

CALLS = ("rename", "link", "linkat", "fsync", "fdatasync", "unlink", "mkdir", "sync_file_range")
"""Where git changes a name on disk or waits for the disk: between any two of them a kill leaves something else."""
AGENT = """
    echo turn >> "$HOME/turns"
    mkdir -p src; echo one > src/one.txt; echo two > src/two.txt; touch done.txt
    [ -e "$HOME/never" ] || touch "$HOME/armed" "$HOME/never"
"""
WRAPPER = """#!/bin/sh
[ -e "$HOME/armed" ] || exec "{git}" "$@"
before=
for word in "$@"; do  # the verb: no option, and no value of one
    case "$before:$word" in -C:*|*:-*|*=*) before=$word ;; *) break ;; esac
done
count="$HOME/count-$word"
nth=$(( $(cat "$count" 2>/dev/null || echo 0) + 1 ))
echo "$nth" > "$count"
[ -e "$HOME/kill" ] || exec "{strace}" -f -qq -e trace={calls} -o "$HOME/seen-$word-$nth" "{git}" "$@"
read -r verb which call at both < "$HOME/kill"
[ "$verb $which" = "$word $nth" ] || exec "{git}" "$@"
"{strace}" -f -qq -o /dev/null -e "trace=$call" -e "inject=$call:signal=SIGKILL:when=$at" "{git}" "$@"
code=$?
[ "$code" -lt 128 ] || touch "$HOME/killed"
[ "$code" -lt 128 ] || [ -z "$both" ] || kill -9 "$PPID"
[ "$code" -lt 128 ] || kill -9 $$
exit "$code"
"""


@dataclass(frozen=True, slots=True)
class Point:
    """The `at`-th system call `call` of the `nth` git with the subcommand `verb` after the turn."""

    verb: str
    nth: int
    call: str
    at: int

    def __str__(self) -> str:
        return f"{self.verb}-{self.nth}-{self.call}-{self.at}"


@functools.cache
def can_trace() -> bool:
    """Whether strace is here and may trace: containers often forbid it."""
    tried = ["strace", "-qq", "-o", "/dev/null", "-e", "inject=fsync:signal=SIGKILL:when=1", "true"]
    return bool(shutil.which("strace")) and subprocess.run(tried, capture_output=True).returncode == 0


needs_strace = pytest.mark.skipif(not can_trace(), reason="needs strace, and the right to trace processes")


def set_up(lab: Lab, agent: str = AGENT) -> Lab:
    """A feature that one turn completes, and the wrapped git first on PATH."""
    lab.config(proof="in-place")
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent(agent)
    lab.commit("ready")
    tools = lab.home / "tools"
    tools.mkdir()
    text = WRAPPER.format(git=shutil.which("git"), strace=shutil.which("strace"), calls=",".join(CALLS))
    (tools / "git").write_text(text)
    (tools / "git").chmod(0o755)
    lab.env["PATH"] = f"{tools}:{lab.env['PATH']}"
    return lab


def disarm(lab: Lab) -> None:
    """From here on git is only git."""
    (lab.home / "armed").unlink()


def kill_at(lab: Lab, point: Point, *, both: bool = False) -> None:
    """Let git be killed there, and with `both` the aigon that started it too."""
    order = f"{point.verb} {point.nth} {point.call} {point.at} {'both' if both else ''}\n"
    (lab.home / "kill").write_text(order)


def points(home: Path) -> list[Point]:
    """Every place at which a run that was only looked at could have been killed, in no order."""
    return [point for seen in home.glob("seen-*") for point in _points(seen)]


def _points(seen: Path) -> Iterator[Point]:
    verb, _, nth = seen.name.removeprefix("seen-").rpartition("-")
    done: dict[str, int] = {}
    for call in re.findall(r"^\d+ +(\w+)\(", seen.read_text(errors="replace"), re.MULTILINE):
        done[call] = done.get(call, 0) + 1
        yield Point(verb, int(nth), call, done[call])
