"""Before anything of a run is written: its records are whole and of a version that is known, or it is refused."""

from pathlib import Path

from aigon.errors import environment
from aigon.files.store import damaged, keep_damaged
from aigon.job.world import World
from aigon.journal.events import Event, Notice
from aigon.journal.records import Records
from aigon.journal.state_document import NewerState, whole_state
from aigon.proof.frozen import load


def require_sound(records: Records, state_file: Path) -> None:
    """Raise AigonError (exit 7) for a record that is damaged or from a newer version; nothing is touched.

    Not for a damaged journal, which a new run puts aside, and not for a damaged state file, which is made anew.
    """
    _require_known(state_file)
    if load(records.frozen) is None and records.begun():
        raise damaged("The record of what decides this feature", str(records.frozen), records.name, "gone")
    if records.origin() is None and records.begun():
        raise damaged("The record of where this feature began", str(records.began), records.name, "gone")
    records.decisions()


def _require_known(state_file: Path) -> None:
    if state_of(state_file) == "newer":
        hint = "Update aigon, or use the version that wrote it; the file is left as it is"
        raise environment("The state file is from a newer aigon", where=str(state_file), hint=hint)


def state_of(path: Path) -> str:
    """How a state file is: `absent`, `whole`, `newer` or `damaged`."""
    try:
        whole_state(path.read_bytes())
    except FileNotFoundError:
        return "damaged" if path.is_symlink() else "absent"
    except NewerState:
        return "newer"
    except (OSError, ValueError):
        return "damaged"
    return "whole"


def kept_state(path: Path) -> tuple[Event, ...]:
    """Keep a damaged state file beside its place, in which it is about to be written anew; what was done, as events."""
    if state_of(path) != "damaged":
        return ()
    kept = keep_damaged(path)
    return (Notice(World.now(), f"{path.name} was damaged: renamed {kept.name} and rebuilt", "warning"),)
