"""The folder of a feature in aigon's home: journals, decisions, and where the feature began."""

import json
import secrets
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path

from aigon.errors import AigonError, environment
from aigon.files.atomic import make_lasting, write_atomic
from aigon.files.checksums import JournalFile, damage_error, dump_with_sum, load_with_sum, parse_lines, read_documents
from aigon.journal.codec import decode
from aigon.journal.decisions import HumanDecision, parse_decision
from aigon.journal.events import Event
from aigon.journal.replay import EventOrder, NewerJournal, iterate_events
from aigon.journal.spending import Spend
from aigon.journal.state import replay
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
        order = EventOrder()
        try:
            for number, event in enumerate(iterate_events(self.journal), 1):
                if not order.goes_on(event):
                    raise damage_error("The journal of this run", f"{self.journal}:{number}", self.name)
                yield event
        except NewerJournal:
            raise
        except AigonError as error:
            raise damage_error("The journal of this run", error.where, self.name) from None

    def begun(self) -> bool:
        """Whether the current run's journal has at least its first event."""
        try:
            with self.journal.open("rb") as file:
                return any(parse_lines(file.readline()))
        except OSError:
            return False

    def archive(self, run_id: str) -> None:
        """Put the journal of a run aside: a new run begins."""
        if self.journal.exists():
            self.journal.rename(self.folder / f"journal-{run_id}.jsonl")

    def origin(self) -> Origin | None:
        """Where the feature began, once it has. Raises AigonError (exit 7) for a damaged record of that."""
        try:
            found = Origin(**load_with_sum(self.began.read_bytes()))
            if not (isinstance(found.branch, str) and isinstance(found.commit, str) and found.commit):
                raise TypeError("no commit")
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError):
            raise damage_error("The record of where this feature began", str(self.began), self.name) from None
        return found

    @property
    def began(self) -> Path:
        """Where the feature began."""
        return self.folder / "feature.json"

    def set_origin(self, origin: Origin) -> None:
        """Write down where the feature begins."""
        make_lasting(self.folder)
        write_atomic(self.began, dump_with_sum(asdict(origin)), lasting=True)

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

    def decisions(self) -> tuple[HumanDecision, ...]:
        """What people decided, oldest first. Raises AigonError (exit 7) for a damaged record of that."""
        if not self.decided.exists():
            return ()
        try:
            return tuple(parse_decision(document) for document in read_documents(self.decided))
        except AigonError as error:
            raise damage_error("The record of what people decided", error.where, self.name) from None
        except ValueError as error:
            what = f"What people decided was written down by another version of aigon: {error}"
            raise environment(what, where=str(self.decided), hint="Update aigon; the record is left as it is") from None

    @property
    def decided(self) -> Path:
        """What people decided."""
        return self.folder / "decisions.jsonl"

    def decide(self, decisions: Sequence[HumanDecision]) -> None:
        """Add people's decisions, durably."""
        journal = JournalFile(self.decided)
        for decision in decisions:
            journal.append(json.dumps(asdict(decision)), durable=True)
        journal.close()


def locate_records(home: Path, name: str, label: str = "") -> Records:
    """The records of the feature called `name` (its ID, or its slug where it has none)."""
    return Records(home / "features" / (f"{name}-{label}" if label else name))


def new_run_id() -> str:
    """A name that sorts by time and is nobody else's: `20261120-101523-a1b2c3`."""
    return f"{datetime.now():%Y%m%d-%H%M%S}-{secrets.token_hex(3)}"


def list_candidates(home: Path | None) -> tuple[Candidate, ...]:
    """All of a repository, in the order of their slots; none where aigon has no folder for it."""
    found = sorted(_read_candidates(home), key=lambda each: each.slot) if home else []
    return tuple(found)


def find_candidates(home: Path | None, name: str) -> tuple[Candidate, ...]:
    """Those of the feature that people call `name`."""
    return tuple(each for each in list_candidates(home) if each.feature == name)


def find_candidate_at(home: Path | None, root: Path) -> Candidate | None:
    """The one whose worktree is at `root`."""
    return next((each for each in list_candidates(home) if Path(each.path) == root), None)


def candidate_records(home: Path, candidate: Candidate) -> Records:
    """The records of a candidate."""
    return locate_records(home, candidate.feature, candidate.label)


def _read_candidates(home: Path) -> Iterator[Candidate]:
    for file in home.glob(f"features/*/{CANDIDATE}"):
        if candidate := Records(file.parent).candidate():
            yield candidate


def sum_earlier_spend(records: Records) -> Spend:
    """What all runs so far spent. Each journal knows of those before it, so the newest that tells anything is asked.

    One that is damaged, was put aside as damaged, or is gone though a run froze its job, leaves something unknown.
    """
    lost = is_journal_lost(records)
    for path in reversed(records.journals()):
        if not path.stat().st_size:
            continue  # a run that broke off before its first event
        events, whole = read_intact_events(path.read_bytes())
        if events:
            state = replay(list(events))
            known = state.earlier.and_(state.spend.plus(None) if state.turn_open else state.spend)
            return known if whole and not lost else known.plus(None)
        lost = True
    return Spend().plus(None) if lost else Spend()


def is_journal_lost(records: Records) -> bool:
    """Whether the journal was put aside as damaged, and no run has begun since."""
    return bool(_put_aside(records)) and not records.begun()


def read_intact_events(data: bytes) -> tuple[Sequence[Event], bool]:
    """The events of a journal up to the first line that tells nothing, and whether that is all of it."""
    found: list[Event] = []
    documents = parse_lines(data)
    for document in documents:
        try:
            found.append(decode(document or {}))
        except ValueError:
            break
    return found, len(found) == len(documents)


def _put_aside(records: Records) -> list[Path]:
    return sorted(records.folder.glob("journal.jsonl.corrupt*"))
