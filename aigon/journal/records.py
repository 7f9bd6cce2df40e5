"""A feature's own folder in aigon's home: journal, decisions, and where the feature began."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from aigon.errors import AigonError, environment
from aigon.files.checksums import summed, unsummed
from aigon.files.store import Journal, damaged, make_lasting, read_journal, sound_lines, write_atomic
from aigon.journal.decisions import Decision, decision_of
from aigon.journal.events import Event
from aigon.journal.order import Order
from aigon.journal.sink import NewerJournal, each_event
from aigon.model.candidates import Candidate

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

    @property
    def before_turn(self) -> Path:
        """What git's own files were before the turn that is under way; it is there for as long as that turn is."""
        return self.folder / "git-before-turn.json"

    @property
    def name(self) -> str:
        """What people call the feature that these are the records of."""
        known = self.candidate()
        return known.feature if known else self.folder.name

    def events(self) -> list[Event]:
        """What the current run's journal holds.

        Raises AigonError (exit 7) for a damaged one, one whose order cannot be, and one of a newer version.
        """
        return list(self.each())

    def each(self) -> Iterator[Event]:
        """The same one by one: that many of a thousand iterations need not be in memory at once.

        Raises AigonError (exit 7) when it comes to what is wrong.
        """
        order = Order()
        try:
            for number, event in enumerate(each_event(self.journal), 1):
                if not order.goes_on(event):
                    raise damaged("The journal of this run", f"{self.journal}:{number}", self.name)
                yield event
        except NewerJournal:
            raise
        except AigonError as error:
            raise damaged("The journal of this run", error.where, self.name) from None

    def begun(self) -> bool:
        """Whether the current run's journal has at least its first event."""
        try:
            with self.journal.open("rb") as file:
                return any(sound_lines(file.readline()))
        except OSError:
            return False

    def archive(self, run_id: str) -> None:
        """Put the journal of a run aside: a new run begins."""
        if self.journal.exists():
            self.journal.rename(self.folder / f"journal-{run_id}.jsonl")

    def origin(self) -> Origin | None:
        """Where the feature began, once it has. Raises AigonError (exit 7) for a damaged record of that."""
        try:
            found = Origin(**unsummed(self.began.read_bytes()))
            if not (isinstance(found.branch, str) and isinstance(found.commit, str) and found.commit):
                raise TypeError("no commit")
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError):
            raise damaged("The record of where this feature began", str(self.began), self.name) from None
        return found

    @property
    def began(self) -> Path:
        """Where the feature began."""
        return self.folder / "feature.json"

    def set_origin(self, origin: Origin) -> None:
        """Write down where the feature begins."""
        make_lasting(self.folder)
        write_atomic(self.began, summed(asdict(origin)), lasting=True)

    def candidate(self) -> Candidate | None:
        """The worktree that these records belong to; None in solo mode. Damaged, it is taken for absent."""
        try:
            return Candidate(**json.loads((self.folder / CANDIDATE).read_bytes()))
        except (OSError, ValueError, TypeError, RecursionError):
            return None

    def set_candidate(self, candidate: Candidate) -> None:
        """Write down which worktree these records belong to."""
        make_lasting(self.folder)
        write_atomic(self.folder / CANDIDATE, json.dumps(asdict(candidate)).encode() + b"\n", lasting=True)

    def journals(self) -> tuple[Path, ...]:
        """The journals of every run, oldest first: names of archived ones begin with the time of their run."""
        current = (self.journal,) if self.journal.exists() else ()
        return (*sorted(self.folder.glob("journal-*.jsonl")), *current)

    def decisions(self) -> tuple[Decision, ...]:
        """What people decided, oldest first. Raises AigonError (exit 7) for a damaged record of that."""
        if not self.decided.exists():
            return ()
        try:
            return tuple(decision_of(document) for document in read_journal(self.decided))
        except AigonError as error:
            raise damaged("The record of what people decided", error.where, self.name) from None
        except ValueError as error:
            what = f"What people decided was written down by another version of aigon: {error}"
            raise environment(what, where=str(self.decided), hint="Update aigon; the record is left as it is") from None

    @property
    def decided(self) -> Path:
        """What people decided."""
        return self.folder / "decisions.jsonl"

    def decide(self, decisions: Sequence[Decision]) -> None:
        """Add people's decisions, durably."""
        journal = Journal(self.decided)
        for decision in decisions:
            journal.append(json.dumps(asdict(decision)), durable=True)
        journal.close()


def records_of(home: Path, name: str, label: str = "") -> Records:
    """The records of the feature called `name` (its ID, or its slug where it has none)."""
    return Records(home / "features" / (f"{name}-{label}" if label else name))
