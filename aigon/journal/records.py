"""The folder of a feature in aigon's home: journals, decisions, and where the feature began."""

import json
import os
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path

from msgspec import Struct, convert, to_builtins

from aigon.errors import AigonError, environment
from aigon.files.atomic import make_lasting, write_atomic
from aigon.files.checksums import JournalFile, damage_error, dump_with_sum, load_with_sum, parse_lines, read_documents
from aigon.journal.decisions import Acceptance, HumanDecision, parse_decision
from aigon.journal.events import Event, RolledBack
from aigon.journal.replay import EventOrder, NewerJournal, iterate_events, read_intact_events
from aigon.journal.spending import Spend
from aigon.journal.state import replay
from aigon.journal.tasks import Tasks
from aigon.model.agents import Candidate

CANDIDATE = "candidate.json"
_WITHOUT_TASKS = ("check_started", "check_finished", "judge_asked", "checkpoint_intended", "hook_ran", "notice")
"""Most of a journal: events that change no task, which are not read."""
CLOSED = "closed"
"""The folder next to those of features that keeps records of features that were done before they were reopened."""


class Origin(Struct, frozen=True):
    """The origin of a feature: the branch it will be merged into, and the commit that assessments compare with."""

    branch: str
    commit: str


class Records(Struct, frozen=True):
    """The records of one feature (and one arena agent) in `folder`."""

    folder: Path

    @property
    def journal(self) -> Path:
        """The journal of the current run."""
        return self.folder / "journal.jsonl"

    @property
    def frozen(self) -> Path:
        """The frozen job: what decides the feature, as it was before any agent."""
        return self.folder / "frozen.json"

    @property
    def before_turn(self) -> Path:
        """git's own files as they were before the current turn; deleted at its end."""
        return self.folder / "git-before-turn.json"

    @property
    def began(self) -> Path:
        """The file with the origin."""
        return self.folder / "feature.json"

    @property
    def decided(self) -> Path:
        """The file with people's decisions."""
        return self.folder / "decisions.jsonl"

    @property
    def fetched(self) -> Path:
        """The mark that these records came from elsewhere: they are claims, and `feature-done` proves again."""
        return self.folder / "fetched.json"

    @property
    def name(self) -> str:
        """The feature's name for people."""
        candidate = self.candidate()
        return candidate.feature if candidate else self.folder.name

    def events(self) -> list[Event]:
        """Return the events of the current run. Raises AigonError (exit 7) if damaged, misordered or too new."""
        return list(self.each())

    def each(self) -> Iterator[Event]:
        """Yield the same one by one: a journal of a thousand iterations is large."""
        order = EventOrder()
        try:
            for number, event in enumerate(iterate_events(self.journal), 1):
                if not order.accepts(event):
                    raise damage_error("The journal of this run", f"{self.journal}:{number}", self.name)
                yield event
        except NewerJournal:
            raise
        except AigonError as error:
            raise damage_error("The journal of this run", error.where, self.name) from None

    def tasks(self) -> Tasks:
        """Return the tasks of the current run. Raises AigonError (exit 7) for a damaged journal, or one too new."""
        tasks = Tasks()
        for event in iterate_events(self.journal, skip=_WITHOUT_TASKS):
            if isinstance(event, RolledBack):  # which needs the assessments of before
                return replay(self.each()).tasks
            tasks = tasks.apply(event)
        return tasks

    def has_begun(self) -> bool:
        """Return whether the current run's journal has at least its first event."""
        try:
            with self.journal.open("rb") as file:
                return any(parse_lines(file.readline()))
        except OSError:
            return False

    def archive(self, run_id: str) -> None:
        """Rename the journal of a run: a new run begins. Without a `run_id`, it is named by its last change."""
        if self.journal.exists():
            name = run_id or f"{new_run_id(self.journal.stat().st_mtime)}-unread"
            self.journal.rename(self.folder / f"journal-{name}.jsonl")

    def journals(self) -> tuple[Path, ...]:
        """Return the journals of every run, oldest first: archived names begin with the time of their run."""
        current = (self.journal,) if self.journal.exists() else ()
        return (*sorted(self.folder.glob("journal-*.jsonl")), *current)

    def origin(self) -> Origin | None:
        """Return where the feature began, once it has. Raises AigonError (exit 7) if the record is damaged."""
        try:
            origin = convert(load_with_sum(self.began.read_bytes()), Origin)
            if not origin.commit:
                raise ValueError("no commit")
        except FileNotFoundError:
            return None
        except (OSError, ValueError, TypeError):
            raise damage_error("The record of where this feature began", str(self.began), self.name) from None
        return origin

    def set_origin(self, origin: Origin) -> None:
        make_lasting(self.folder)
        write_atomic(self.began, dump_with_sum(to_builtins(origin)), lasting=True)

    def candidate(self) -> Candidate | None:
        """Return the worktree that these records belong to; None in solo mode, or if that record is damaged."""
        try:
            return Candidate(**json.loads((self.folder / CANDIDATE).read_bytes()))
        except (OSError, ValueError, TypeError, RecursionError):
            return None

    def set_candidate(self, candidate: Candidate) -> None:
        make_lasting(self.folder)
        write_atomic(self.folder / CANDIDATE, json.dumps(to_builtins(candidate)).encode() + b"\n", lasting=True)

    def decisions(self) -> tuple[HumanDecision, ...]:
        """Return what people decided, oldest first. Raises AigonError (exit 7) if the record is damaged."""
        if not self.decided.exists():
            return ()
        try:
            return tuple(parse_decision(document) for document in read_documents(self.decided))
        except AigonError as error:
            raise damage_error("The record of what people decided", error.where, self.name) from None
        except ValueError as error:
            what = f"What people decided was written down by another version of aigon: {error}"
            raise environment(what, where=str(self.decided), hint="Update aigon; the record is left as it is") from None

    def decide(self, decisions: Sequence[HumanDecision]) -> None:
        """Add people's decisions, durably."""
        journal = JournalFile(self.decided)
        for decision in decisions:
            journal.append(json.dumps(to_builtins(decision)), durable=True)
        journal.close()


def locate_records(home: Path, name: str, label: str = "") -> Records:
    """Return the records of the feature called `name` (its ID, or its slug if it has none)."""
    return Records(home / "features" / (f"{name}-{label}" if label else name))


def new_run_id(at: float | None = None) -> str:
    """Return a unique name that sorts by time: `20261120-101523-a1b2c3`, three digits of it for parts of the second."""
    now = datetime.now() if at is None else datetime.fromtimestamp(at)
    return f"{now:%Y%m%d-%H%M%S}-{now.microsecond * 4096 // 10**6:03x}{os.urandom(2).hex()[1:]}"


def list_candidates(home: Path | None) -> tuple[Candidate, ...]:
    """Return all candidates of a repository, in the order of their slots."""
    files = home.glob(f"features/*/{CANDIDATE}") if home else ()
    candidates = (candidate for file in files if (candidate := Records(file.parent).candidate()))
    return tuple(sorted(candidates, key=lambda candidate: candidate.slot))


def find_candidates(home: Path | None, name: str) -> tuple[Candidate, ...]:
    """Return the candidates of a feature."""
    return tuple(candidate for candidate in list_candidates(home) if candidate.feature == name)


def find_candidate_at(home: Path | None, root: Path) -> Candidate | None:
    """Return the candidate whose worktree is at `root`."""
    return next((candidate for candidate in list_candidates(home) if Path(candidate.path) == root), None)


def candidate_records(home: Path, candidate: Candidate) -> Records:
    """Return the records of a candidate."""
    return locate_records(home, candidate.feature, candidate.label)


def list_places(home: Path | None, name: str) -> tuple[Records, ...]:
    """Return every place with records of a feature: its own, then those of its candidates."""
    own = (locate_records(home, name),) if home else ()
    return (*own, *(candidate_records(home, each) for each in find_candidates(home, name) if home))


def sum_earlier_spend(records: Records) -> Spend:
    """Return what all runs so far spent. Each journal counts those before it, so the newest readable one decides.

    A journal that is damaged, or is gone although a run began, makes a part of the spending unknown.
    """
    lost = is_journal_lost(records)
    for path in reversed(records.journals()):
        if not path.stat().st_size:
            continue  # a run that broke off before its first event
        events, whole = read_intact_events(path.read_bytes())
        if events:
            state = replay(events)
            known = state.earlier.and_(state.spend.plus(None) if state.turn_open else state.spend)
            return known if whole and not lost else known.plus(None)
        lost = True
    return Spend().plus(None) if lost else Spend()


def is_journal_lost(records: Records) -> bool:
    """Return whether the journal was renamed as damaged, and no run has begun since."""
    return any(records.folder.glob("journal.jsonl.corrupt*")) and not records.has_begun()


def locate_acceptance(home: Path, feature: str) -> Path:
    """Return where the tests of a feature are recorded."""
    return home / "acceptance" / f"{feature}.json"


def load_acceptance(home: Path | None, feature: str) -> Acceptance | None:
    """Return the tests of a feature, or None. Raises AigonError (exit 7) for a damaged record."""
    if home is None:
        return None
    file = locate_acceptance(home, feature)
    try:
        return convert(load_with_sum(file.read_bytes()), Acceptance)
    except FileNotFoundError:
        return None
    except (OSError, ValueError, TypeError):
        raise damage_error("The record of acceptance tests", str(file), feature) from None


def save_acceptance(home: Path, acceptance: Acceptance) -> None:
    file = locate_acceptance(home, acceptance.feature)
    make_lasting(file.parent)
    write_atomic(file, dump_with_sum(to_builtins(acceptance)), lasting=True)
