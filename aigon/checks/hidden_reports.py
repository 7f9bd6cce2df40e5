"""Reports of pytest runs inside opaque commands (`make test`, a script), asked for where nobody could know.

Every pytest that inherits the environment leaves JUnit XML in a folder of the check. Runs one after the other write to
one path: while the command runs, what lies there is moved away, so that none overwrites another (two that end within
PAUSE of each other can; tools that clear the environment, like tox, leave none). A pytest that a test starts writes
elsewhere: there the variable in the path has a value. What is under test shares pytest's process and so could find the
path: that it ended early shows, that it wrote a whole false report does not.

Runners of node get no such request: node:test takes reporters from NODE_OPTIONS, but beside one that the command line
names it does not start, and its report does not say which file a test is in.
"""

import contextlib
import os
import re
import shlex
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from aigon.checks.report_file import content

ADDOPTS = "PYTEST_ADDOPTS"
"""Options for every pytest that sees it (docs.pytest.org, reference, environment variables)."""
PAUSE = 0.05
"""Seconds between two looks. An interpreter that loads pytest takes more than twice that, so none is missed."""
MOST = 200
"""Runs of pytest in one check whose reports are kept."""
NESTED = "${PYTEST_CURRENT_TEST}"
"""Set by pytest while a test runs; pytest fills it into the path. Braces: `make` and shells make nothing of them."""


@dataclass(frozen=True, slots=True)
class Spot:
    """Where reports are asked for: `folder` is the check's own, `name` random."""

    folder: Path
    name: str

    def env(self, given: Mapping[str, str]) -> dict[str, str]:
        """`given`, with the wish for a report behind the options that it has for pytest.

        A pytest that aigon itself runs in is none of those that the command starts.
        """
        path = self.folder / f"{self.name}{NESTED}.xml"
        options = f"{given.get(ADDOPTS, '')} {shlex.quote(f'--junitxml={path}')}".strip()
        return {k: v for k, v in given.items() if k != "PYTEST_CURRENT_TEST"} | {ADDOPTS: options}


def spot(folder: Path) -> Spot:
    """A place in `folder` that was never used."""
    return Spot(folder, f"report-{os.urandom(6).hex()}")


@contextmanager
def moved_away(where: Spot) -> Iterator[None]:
    """Keeps every report that is written while the context lasts."""
    ended = threading.Event()
    thread = threading.Thread(target=_move, args=(where, ended), name="reports", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _move(where: Spot, ended: threading.Event) -> None:
    written = [where.folder / f"{where.name}{variable}.xml" for variable in (NESTED, "")]
    kept, last = 0, False
    while not last and kept < MOST:
        last = ended.wait(PAUSE)
        for path in written:
            with contextlib.suppress(OSError):  # mostly: there is none
                path.rename(_taken(where, kept))
                kept += 1


def _taken(where: Spot, number: int) -> Path:
    return where.folder / f"{where.name}.{number:03d}"


def left(where: Spot) -> Iterator[bytes]:
    """The reports in the order in which they were written; empty for one that is no file that can be read."""
    for path in map(partial(_taken, where), range(MOST)):
        if not os.path.lexists(path):
            return
        yield content(path) or b""


def refused(where: Spot, output: bytes) -> bool:
    """Whether a pytest without its reports (`-p no:junitxml` on its command line) did not start because of ours."""
    return b"unrecognized arguments" in output and where.name.encode() in output


def without_notice(where: Spot, output: bytes) -> bytes:
    """`output` without pytest's line on the file that nobody asked it for."""
    if (name := where.name.encode()) not in output:
        return output
    line = re.compile(rb"^[^\n]*generated xml file: [^\n]*" + re.escape(name) + rb"[^\n]*(?:\n|\Z)", re.M)
    return line.sub(b"", output)
