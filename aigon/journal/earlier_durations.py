"""How long the checks of this repository took when earlier runs looked at it, from the ends of their journals."""

import json
import os
from pathlib import Path

from aigon.files.store import end_of_journal
from aigon.journal.check_durations import Durations, measured

FEATURES = 4
"""Folders of features that are looked into, those that were begun last."""
JOURNALS = 3
"""Journals that are read, the newest."""
TAIL = 128 * 1024
"""Bytes at the end of a journal: some looks at a project with long failures, read in less than a millisecond."""
_MARK = b'"event":"check_finished"'
"""What the line of such an event holds, and no text in another one: there its quotes are escaped."""


def earlier_durations(home: Path) -> Durations:
    """What the newest journals below `home` measured; never an error, since only the order of the checks rests on it.

    Nothing is kept beside the journals: they are the record.
    """
    known: Durations = {}
    for journal in _newest(home / "features"):
        for document in end_of_journal(journal, TAIL, _MARK):
            known = _with(known, document)
    return known


def _with(known: Durations, document: bytes) -> Durations:
    """`known` after one line; lines of another version may lack anything."""
    try:
        found = json.loads(document)["finding"]
        return measured(
            known, str(found["check"]), found["status"], float(found["duration"]), cached=found["cached"] is True
        )
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
        return known


def _newest(folder: Path) -> list[Path]:
    """The journals that were written to last, the newest at the end."""
    begun = (path for _, path in _latest(folder, "", FEATURES))
    journals = (found for path in begun for found in _latest(Path(path), "journal", JOURNALS))
    return [Path(path) for _, path in sorted(journals)[-JOURNALS:]]


def _latest(folder: Path, begins: str, number: int) -> list[tuple[int, str]]:
    """The newest of what is in a folder, with their times. A folder's own is when a run began: then files are made."""
    try:
        with os.scandir(folder) as found:
            return sorted((each.stat().st_mtime_ns, each.path) for each in found if each.name.startswith(begins))[
                -number:
            ]
    except OSError:
        return []
