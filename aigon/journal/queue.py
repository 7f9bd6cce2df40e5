"""Steps of work that aigon took up while people were away, a line each. The newest step of a task counts.

    <home>/queue.jsonl

`taken` is on disk before anything is made for the task, so that a killed watcher finds what it began.
"""

import json
from pathlib import Path
from typing import Literal

from msgspec import Struct, to_builtins

from aigon.errors import AigonError
from aigon.files.checksums import JournalFile, damage_error, read_documents

QueueSource = Literal["watch", "start"]
QueueState = Literal["taken", "waiting", "ended"]


class QueueEntry(Struct, frozen=True):
    """The newest step of a task: `taken` up, `waiting` for a person before it can be, or `ended`.

    `path` is its file (a feature without one has its ID there), `sha` git's name of the content that was taken.
    `outcome` is how its run ended, `decisions` how many decisions of people there were then, `reason` is for people.
    """

    source: QueueSource
    path: str
    state: QueueState
    at: str
    sha: str = ""
    feature: str = ""
    slug: str = ""
    label: str = ""
    outcome: str = ""
    reason: str = ""
    decisions: int = 0


def locate_queue(home: Path) -> Path:
    return home / "queue.jsonl"


def read_queue(home: Path) -> dict[str, QueueEntry]:
    """Return the newest step of each task by its path. Raises AigonError (exit 7) if the record is damaged."""
    return {row.path: row for row in list_steps(home)}


def list_steps(home: Path) -> list[QueueEntry]:
    """Return all steps, oldest first. Raises AigonError (exit 7) if the record is damaged."""
    file = locate_queue(home)
    if not file.exists():
        return []
    known = set(QueueEntry.__struct_fields__)
    try:
        return [QueueEntry(**{name: row[name] for name in known & row.keys()}) for row in read_documents(file)]  # type: ignore[arg-type]
    except (AigonError, TypeError) as error:
        where = error.where if isinstance(error, AigonError) else str(file)
        raise damage_error("The record of tasks", where) from None


def append_entry(home: Path, entry: QueueEntry) -> None:
    """Record a step, durably."""
    journal = JournalFile(locate_queue(home))
    journal.append(json.dumps(to_builtins(entry)), durable=True)
    journal.close()
