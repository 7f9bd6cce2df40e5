"""Reports that no command line names: those of pytest in opaque commands, and those that tools place."""

import contextlib
import os
import re
import shlex
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from aigon.text.globs import compile_glob

LARGEST_REPORT = 16 * 1024 * 1024
"""Bytes of a report that is read, as parsers do: some 100,000 tests. Of a larger one nothing is believed."""


def read_report(report: Path) -> bytes | None:
    """A report's content where it is an ordinary file; a link or a device is nobody's report."""
    if not report.is_file() or report.is_symlink():
        return None
    with report.open("rb") as file:
        return file.read(LARGEST_REPORT + 1)


def is_complete(content: bytes | None) -> bool:
    """Whether there is something, and not more than is read."""
    return bool(content) and not is_too_large(content)


def is_too_large(content: bytes | None) -> bool:
    """Whether there is more than is read."""
    return len(content or b"") > LARGEST_REPORT


ADDOPTS = "PYTEST_ADDOPTS"
"""Options for every pytest that sees it (docs.pytest.org, reference, environment variables)."""
PAUSE = 0.05
"""Seconds between two looks. An interpreter that loads pytest takes more than twice that, so none is missed."""
MOST_RUNS = 200
"""Runs of pytest in one check whose reports are kept."""
NESTED = "${PYTEST_CURRENT_TEST}"
"""Set by pytest while a test runs; pytest fills it into the path. Braces: `make` and shells make nothing of them."""


@dataclass(frozen=True, slots=True)
class HiddenReports:
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


def choose_spot(folder: Path) -> HiddenReports:
    """A place in `folder` that was never used."""
    return HiddenReports(folder, f"report-{os.urandom(6).hex()}")


@contextmanager
def collect_reports(where: HiddenReports) -> Iterator[None]:
    """Keeps every report that is written while the context lasts."""
    ended = threading.Event()
    thread = threading.Thread(target=_move_away, args=(where, ended), name="reports", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()


def _move_away(where: HiddenReports, ended: threading.Event) -> None:
    written = [where.folder / f"{where.name}{variable}.xml" for variable in (NESTED, "")]
    kept, last = 0, False
    while not last and kept < MOST_RUNS:
        last = ended.wait(PAUSE)
        for path in written:
            with contextlib.suppress(OSError):  # mostly: there is none
                path.rename(_kept_path(where, kept))
                kept += 1


def _kept_path(where: HiddenReports, number: int) -> Path:
    return where.folder / f"{where.name}.{number:03d}"


def read_collected(where: HiddenReports) -> Iterator[bytes]:
    """The reports in the order in which they were written; empty for one that is no file that can be read."""
    for path in map(partial(_kept_path, where), range(MOST_RUNS)):
        if not os.path.lexists(path):
            return
        yield read_report(path) or b""


def is_refused(where: HiddenReports, output: bytes) -> bool:
    """Whether a pytest without its reports (`-p no:junitxml` on its command line) did not start because of ours."""
    return b"unrecognized arguments" in output and where.name.encode() in output


def strip_notice(where: HiddenReports, output: bytes) -> bytes:
    """`output` without pytest's line on the file that nobody asked it for."""
    if (name := where.name.encode()) not in output:
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
    """What the reports hold; empty for one that is no ordinary file, and for one too many."""
    left = MOST_BYTES
    for number, name in enumerate(_find_reports(folder, patterns)):
        text = read_report(folder / name) or b""
        left -= len(text)
        yield text if left >= 0 else b""
        if number >= MOST_REPORTS or left < 0:
            yield b""
            return


def _find_reports(folder: Path, patterns: Sequence[str]) -> list[str]:
    wanted = [compile_glob(pattern) for pattern in patterns]
    return sorted(name for name in _walk_reports(str(folder), wanted))


def _walk_reports(root: str, wanted: Sequence[re.Pattern[str]]) -> Iterator[str]:
    left = MOST_ENTRIES
    for place, folders, files in os.walk(root):
        folders[:] = sorted(name for name in folders if name not in _SKIPPED)
        left -= len(folders) + len(files)
        if left < 0:
            return
        below = place[len(root) + 1 :]
        names = (f"{below}/{name}" if below else name for name in files)
        yield from (name for name in names if any(pattern.fullmatch(name) for pattern in wanted))


def _move_file(source: Path, target: Path) -> None:
    import shutil

    shutil.move(source, target)
