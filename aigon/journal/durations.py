"""Durations of earlier checks: the next assessment starts the longest first."""

import json
import math
import os
from collections.abc import Mapping
from pathlib import Path

from aigon.files.checksums import read_journal_end
from aigon.model.checks import CheckStatus

Durations = Mapping[str, float]
"""Seconds by the name of a check."""


def add_duration(known: Durations, check: str, status: CheckStatus, seconds: float, *, cached: bool) -> Durations:
    """Return what is known after one more finding.

    The last run counts. An error may have been cut short, so it never makes a check look quicker; a remembered pass
    counts only if nothing newer is known.
    """
    if status == "skipped" or not 0 < seconds < math.inf or (cached and check in known):
        return known
    return {**known, check: max(seconds, known.get(check, 0.0)) if status == "error" else seconds}


FEATURES = 4
"""Folders of features that are looked into, those that were begun last."""
JOURNALS = 3
"""Journals that are read, the newest."""
TAIL = 128 * 1024
"""Bytes at the end of a journal: some looks at a project with long failures, read in less than a millisecond."""
_MARK = b'"event":"check_finished"'
"""What the line of such an event holds, and no text in another one: there its quotes are escaped."""


def load_durations(home: Path) -> Durations:
    """Return what the newest journals below `home` measured. Never raises: only the order of checks depends on it."""
    known: Durations = {}
    for journal in _newest(home / "features"):
        for document in read_journal_end(journal, TAIL, _MARK):
            known = _add_document(known, document)
    return known


def _add_document(known: Durations, document: bytes) -> Durations:
    """Add one line of a journal; lines of another version may lack anything."""
    try:
        found = json.loads(document)["finding"]
        return add_duration(
            known, str(found["check"]), found["status"], float(found["duration"]), cached=found["cached"] is True
        )
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return known


def _newest(folder: Path) -> list[Path]:
    """Return the journals that were written to last, the newest at the end."""
    begun = (path for _, path in _latest(folder, "", FEATURES))
    journals = (found for path in begun for found in _latest(Path(path), "journal", JOURNALS))
    return [Path(path) for _, path in sorted(journals)[-JOURNALS:]]


def _latest(folder: Path, begins: str, number: int) -> list[tuple[int, str]]:
    """Return the newest entries of a folder with their times. A folder's own time is when a run began in it."""
    try:
        with os.scandir(folder) as found:
            return sorted((each.stat().st_mtime_ns, each.path) for each in found if each.name.startswith(begins))[
                -number:
            ]
    except OSError:
        return []
