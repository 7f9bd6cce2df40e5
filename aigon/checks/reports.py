"""Reports that no command line names: those of pytest in opaque commands, and those that tools place."""

import contextlib
import os
import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from msgspec.structs import replace

from aigon.checks.parsers.output import LARGEST_REPORT
from aigon.model.checks import Check
from aigon.text.patterns import compile_glob


def read_report(report: Path) -> bytes | None:
    """Return what an ordinary file holds; None for a link or a device, which cannot be a report."""
    if not report.is_file() or report.is_symlink():
        return None
    with report.open("rb") as file:
        return file.read(LARGEST_REPORT + 1)


def is_too_large(content: bytes | None) -> bool:
    """Return whether there is more than is read."""
    return len(content or b"") > LARGEST_REPORT


ADDOPTS = "PYTEST_ADDOPTS"
"""Options for every pytest that sees it (docs.pytest.org, reference, environment variables)."""
EVERY_TEST = "--continue-on-collection-errors --maxfail=0"
"""A file that cannot be imported, or a failure, must not keep pytest from the other tests (docs.pytest.org, flags)."""
PAUSE = 0.05
"""Seconds between two looks. An interpreter that loads pytest takes more than twice that, so none is missed."""
MOST_RUNS = 200
"""Runs of pytest in one check whose reports are kept."""
NESTED = "${PYTEST_CURRENT_TEST}"
"""Set by pytest while a test runs; pytest fills it into the path. Braces: `make` and shells make nothing of them."""


class HiddenReports:
    """Reports of pytest runs inside opaque commands (`make test`, a script), in a folder of the check.

    Every pytest that inherits the environment writes JUnit XML there. Runs one after the other write to one path: while
    the command runs, what is there is moved away, so that none overwrites another (two that end within PAUSE of each
    other can; tools that clear the environment, like tox, leave none). A pytest that a test starts writes elsewhere:
    there the variable in the path has a value. What is under test shares pytest's process and so could find the path:
    that it ended early shows, that it wrote a whole false report does not.

    Runners of node get no such request: node:test takes reporters from NODE_OPTIONS, but together with one that the
    command line names it does not start, and its report does not say which file a test is in.
    """

    def __init__(self, folder: Path) -> None:
        self._folder, self._name, self._kept = folder, f"report-{os.urandom(6).hex()}", 0

    def env(self, given: Mapping[str, str]) -> dict[str, str]:
        """Return `given` with the wish for a report after the options that it has for pytest.

        A pytest that aigon itself runs in does not count: the command did not start it.
        """
        path = self._folder / f"{self._name}{NESTED}.xml"
        options = f"{given.get(ADDOPTS, '')} {shlex.quote(f'--junitxml={path}')}".strip()
        return {k: v for k, v in given.items() if k != "PYTEST_CURRENT_TEST"} | {ADDOPTS: options}

    def move_away(self) -> None:
        """Keep the reports that were written since the last call, of which there is one every PAUSE seconds."""
        place = f"{self._folder}/{self._name}"
        for written in (f"{place}{NESTED}.xml", f"{place}.xml") if self._kept < MOST_RUNS else ():
            with contextlib.suppress(OSError):  # mostly: there is none
                os.rename(written, f"{place}.{self._kept:03d}")  # noqa: PTH104 - often
                self._kept += 1

    def read(self) -> Iterator[bytes]:
        """Yield the reports in the order in which they were written; empty for one that is no file that can be read."""
        for number in range(MOST_RUNS):
            path = self._folder / f"{self._name}.{number:03d}"
            if not os.path.lexists(path):
                return
            yield read_report(path) or b""

    def were_refused(self, output: bytes) -> bool:
        """Return whether a pytest without reports (`-p no:junitxml`) did not start because of the wish for one."""
        return b"unrecognized arguments" in output and self._name.encode() in output

    def strip_notice(self, output: bytes) -> bytes:
        """Return `output` without pytest's line on the file that the project did not ask for."""
        if (name := self._name.encode()) not in output:
            return output
        line = re.compile(rb"^[^\n]*generated xml file: [^\n]*" + re.escape(name) + rb"[^\n]*(?:\n|\Z)", re.M)
        return line.sub(b"", output)


MOST_ENTRIES = 200_000
"""Directory entries that are looked at."""
MOST_REPORTS = 2000
"""Reports that are read. Surefire writes one per test class."""
MOST_BYTES = 64 * 1024 * 1024
"""Bytes of all of them together."""
_SKIPPED = frozenset({".git", "node_modules", ".venv", "venv", "__pycache__"})


@contextmanager
def set_reports_aside(folder: Path, patterns: Sequence[str], scratch: Path) -> Iterator[None]:
    """While it lasts, reports of an earlier run are not there; what is not written anew comes back."""
    aside = scratch / "earlier"
    moved = []
    for number, name in enumerate(_find_reports(folder, patterns)):
        aside.mkdir(exist_ok=True)
        with contextlib.suppress(OSError):  # gone by itself
            _move_file(folder / name, aside / str(number))
            moved.append((aside / str(number), folder / name))
    try:
        yield
    finally:
        for kept, place in moved:
            with contextlib.suppress(OSError):  # the tool replaced its folder: it is the tool's to keep
                if not os.path.lexists(place):
                    place.parent.mkdir(parents=True, exist_ok=True)
                    _move_file(kept, place)


def read_placed(folder: Path, patterns: Sequence[str]) -> Iterator[bytes]:
    """Yield what the reports hold; empty for one that is no ordinary file, and for one too many."""
    left = MOST_BYTES
    for number, name in enumerate(_find_reports(folder, patterns)):
        text = read_report(folder / name) or b""
        left -= len(text)
        yield text if left >= 0 else b""
        if number >= MOST_REPORTS or left < 0:
            yield b""
            return


def _find_reports(folder: Path, patterns: Sequence[str]) -> list[str]:
    wanted, names = [compile_glob(pattern) for pattern in patterns], list[str]()
    root, left = str(folder), MOST_ENTRIES
    for place, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        left -= len(folders) + len(files)
        if left < 0:
            break
        below = place[len(root) + 1 :]
        paths = (f"{below}/{name}" if below else name for name in files)
        names += (path for path in paths if any(pattern.fullmatch(path) for pattern in wanted))
    return sorted(names)


def _move_file(source: Path, target: Path) -> None:
    import shutil

    shutil.move(source, target)


def add_pytest_options(check: Check, inherited: str, more: str) -> Check:
    """Return a check whose pytest gets `more` options after its own, or after the `inherited` ones."""
    return replace(check, env={**check.env, ADDOPTS: f"{check.env.get(ADDOPTS, inherited)} {more}".strip()})
