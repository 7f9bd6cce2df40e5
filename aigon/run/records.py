"""A feature's own folder in aigon's home: journal, decisions, and where the feature began."""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from aigon.core.candidate import Candidate
from aigon.core.decisions import Decision
from aigon.core.events import Event
from aigon.ports.store import Journal, read_journal, write_atomic
from aigon.sinks.journal import events

CANDIDATE = "candidate.json"
"""Which worktree the records belong to."""


@dataclass(frozen=True, slots=True)
class Origin:
    """Where a feature began: the branch it will be merged into and the commit every look compares with."""

    branch: str
    commit: str


@dataclass(frozen=True, slots=True)
class Records:
    """The records of one feature (and one arena agent) in `folder`."""

    folder: Path

    @property
    def journal(self) -> Path:
        """The journal of the current run."""
        return self.folder / "journal.jsonl"

    @property
    def frozen(self) -> Path:
        """What decides the feature, as it was before any agent."""
        return self.folder / "frozen.json"

    def events(self) -> list[Event]:
        """What the current run's journal holds. Raises AigonError (exit 7) for a damaged one."""
        return events(self.journal)

    def archive(self, run_id: str) -> None:
        """Put the journal of a run aside: a new run begins."""
        if self.journal.exists():
            self.journal.rename(self.folder / f"journal-{run_id}.jsonl")

    def origin(self) -> Origin | None:
        """Where the feature began, once it has."""
        file = self.folder / "feature.json"
        return Origin(**json.loads(file.read_text())) if file.exists() else None

    def set_origin(self, origin: Origin) -> None:
        """Write down where the feature begins."""
        self.folder.mkdir(parents=True, exist_ok=True)
        write_atomic(self.folder / "feature.json", json.dumps(asdict(origin)).encode() + b"\n")

    def candidate(self) -> Candidate | None:
        """The worktree that these records belong to; None in solo mode. Damaged, it is taken for absent."""
        try:
            return Candidate(**json.loads((self.folder / CANDIDATE).read_bytes()))
        except (OSError, ValueError, TypeError):
            return None

    def set_candidate(self, candidate: Candidate) -> None:
        """Write down which worktree these records belong to."""
        self.folder.mkdir(parents=True, exist_ok=True)
        write_atomic(self.folder / CANDIDATE, json.dumps(asdict(candidate)).encode() + b"\n")

    def journals(self) -> tuple[Path, ...]:
        """The journals of every run, oldest first: names of archived ones begin with the time of their run."""
        current = (self.journal,) if self.journal.exists() else ()
        return (*sorted(self.folder.glob("journal-*.jsonl")), *current)

    def decisions(self) -> tuple[Decision, ...]:
        """What people decided, oldest first."""
        file = self.folder / "decisions.jsonl"
        if not file.exists():
            return ()
        return tuple(Decision(**document) for document in read_journal(file))  # type: ignore[arg-type]

    def decide(self, decisions: Sequence[Decision]) -> None:
        """Add people's decisions, durably."""
        journal = Journal(self.folder / "decisions.jsonl")
        for decision in decisions:
            journal.append(json.dumps(asdict(decision)), durable=True)
        journal.close()


def records_of(home: Path, name: str, label: str = "") -> Records:
    """The records of the feature called `name` (its ID, or its slug where it has none)."""
    return Records(home / "features" / (f"{name}-{label}" if label else name))
