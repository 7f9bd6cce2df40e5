"""A real pseudo-terminal to run a program on, and what a person sees on it."""

import contextlib
import os
import pty
import re
import subprocess
import sys
import termios
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
PLAIN_ENV = {"PATH": os.environ["PATH"], "TERM": "xterm-256color", "PYTHONUTF8": "1", "PYTHONPATH": str(ROOT)}
COLOUR = re.compile(r"\x1b\[(?:[0-9;]*;)?(?:3[0-8]|4[0-8]|9[0-7]|10[0-7])(?:;[0-9;]*)?m")
"""Escape sequences that choose a colour; bold and dim are none."""

_SEQUENCE = re.compile(r"\x1b\[([?0-9;]*)([A-Za-z])|(\r)|(\n)|([^\x1b\r\n])")


@dataclass
class Screen:
    """A terminal that knows what rich sends. `frames` are what was on it each time before it was drawn over.

    It refuses what would spoil a live view: a line that wraps, a frame that scrolls, and one that is not drawn on the
    alternate screen, which a resize would leave in pieces.
    """

    columns: int = 80
    lines: int = 24
    rows: list[str] = field(default_factory=lambda: [""])
    row: int = 0
    column: int = 0
    cursor: bool = True
    frames: list[list[str]] = field(default_factory=list)
    drawn: bool = False
    below: list[str] | None = None

    def feed(self, text: str) -> "Screen":
        """Show `text`; an escape sequence that is not known here fails the test."""
        at = 0
        while at < len(text):
            found = _SEQUENCE.match(text, at)
            assert found, f"unknown sequence at {text[at : at + 20]!r}"
            self._take(*found.groups())
            at = found.end()
        return self

    def _take(self, number: str | None, letter: str | None, home: str | None, down: str | None, char: str) -> None:
        if letter:
            self._control(number or "", letter)
        elif home:
            self.column = 0
        elif down:
            self._down()
        else:
            self._put(char)

    def _control(self, number: str, letter: str) -> None:
        match number, letter:
            case _, "m":
                pass
            case "?1049", "h":
                self.below, self.rows = self.rows, [""]
                self.row = self.column = 0
            case "?1049", "l":
                assert self.below is not None, "the alternate screen was left twice"
                self._keep_frame()
                self.rows, self.below = self.below, None
                self.row, self.column = len(self.rows) - 1, len(self.rows[-1])
            case "", "H":
                assert self.below is not None, "the view draws over what was on the terminal before"
                self._keep_frame()
                self.row = self.column = 0
            case "?25", "l" | "h":
                self.cursor = letter == "h"
            case _:
                raise AssertionError(f"unknown sequence {number}{letter}")

    def _keep_frame(self) -> None:
        if self.drawn:
            self.frames.append(self.shown())
        self.drawn = False

    def _down(self) -> None:
        self.row += 1
        assert self.row < self.lines, "the screen scrolled"
        if self.row == len(self.rows):
            self.rows.append("")

    def _put(self, char: str) -> None:
        assert self.column < self.columns, f"a line wrapped: {self.rows[self.row]!r}"
        row = self.rows[self.row].ljust(self.column)
        self.rows[self.row] = row[: self.column] + char + row[self.column + 1 :]
        self.column += 1
        self.drawn = True

    def shown(self) -> list[str]:
        """The lines on the screen, without the empty ones at its end."""
        rows = [row.rstrip() for row in self.rows]
        while rows and not rows[-1]:
            rows.pop()
        return rows


@dataclass(frozen=True)
class Played:
    """What a program wrote on a terminal, and its exit code."""

    exit_code: int
    text: str
    screen: Screen

    @property
    def last_running(self) -> str:
        """The last frame before the view closed."""
        return "\n".join(self.screen.frames[-1])


def play(
    arguments: Sequence[str],
    env: Mapping[str, str] | None = None,
    columns: int = 80,
    lines: int = 24,
    resize: int = 0,
) -> Played:
    """Run `python ARGUMENTS` with its three streams on a pseudo-terminal of that size, and wait for its end.

    With `resize` the terminal has so many columns from the second frame on.
    """
    master, slave = pty.openpty()
    termios.tcsetwinsize(slave, (lines, columns))
    child = subprocess.Popen(
        [sys.executable, *arguments],
        stdin=slave,
        stdout=slave,
        stderr=slave,
        env={**PLAIN_ENV, **(env or {})},
        cwd=ROOT,
    )
    os.close(slave)
    chunks: list[bytes] = []
    for chunk in _output(master):
        chunks.append(chunk)
        if resize and b"".join(chunks).count(b"\x1b[H") > 1:
            termios.tcsetwinsize(master, (lines, resize))
            resize = 0
    text = b"".join(chunks).decode()
    os.close(master)
    return Played(child.wait(30), text, Screen(columns, lines).feed(text))


def _output(master: int) -> Iterator[bytes]:
    """What comes until nobody has the terminal open any more, which Linux tells by EIO and others by an end."""
    give_up = time.monotonic() + 60
    with contextlib.suppress(OSError):
        while time.monotonic() < give_up and (chunk := os.read(master, 65536)):
            yield chunk
