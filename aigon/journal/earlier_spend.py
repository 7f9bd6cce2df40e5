"""What the runs of a feature spent before a new one begins: by their journals, and unknown where one tells nothing."""

from collections.abc import Sequence
from pathlib import Path

from aigon.files.store import sound_lines
from aigon.journal.codec import decode
from aigon.journal.events import Event
from aigon.journal.records import Records
from aigon.journal.state import Spend, replay


def earlier_spend(records: Records) -> Spend:
    """What all runs so far spent. Each journal knows of those before it, so the newest that tells anything is asked.

    One that is damaged, was put aside as damaged, or is gone though a run froze its job, leaves something unknown.
    """
    lost = is_lost(records)
    for path in reversed(records.journals()):
        if not path.stat().st_size:
            continue  # a run that broke off before its first event
        events, whole = sound_part(path.read_bytes())
        if events:
            state = replay(list(events))
            known = state.earlier.and_(state.spend.plus(None) if state.turn_open else state.spend)
            return known if whole and not lost else known.plus(None)
        lost = True
    return Spend().plus(None) if lost else Spend()


def is_lost(records: Records) -> bool:
    """Whether the journal was put aside as damaged, and no run has begun since."""
    return bool(_put_aside(records)) and not records.begun()


def sound_part(data: bytes) -> tuple[Sequence[Event], bool]:
    """The events of a journal up to the first line that tells nothing, and whether that is all of it."""
    found: list[Event] = []
    documents = sound_lines(data)
    for document in documents:
        try:
            found.append(decode(document or {}))
        except ValueError:
            break
    return found, len(found) == len(documents)


def _put_aside(records: Records) -> list[Path]:
    return sorted(records.folder.glob("journal.jsonl.corrupt*"))
