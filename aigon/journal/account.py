"""Everything that the runs of a feature left, under every label, as one value that reports are made from."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Literal

from msgspec import Struct, field

from aigon.git.forge import Forge
from aigon.journal.decisions import Acceptance
from aigon.journal.history import History, IterationRecord
from aigon.journal.spending import Spend
from aigon.model.changes import FileChange
from aigon.model.checks import Finding
from aigon.model.criteria import Verdict
from aigon.model.outcomes import Met, RunStatus, get_status
from aigon.spec.features import Feature


class CriterionItem(Struct, frozen=True):
    """A criterion as people read it: its words, what decides it, and the files that this read on the base."""

    number: int
    text: str
    kind: str = ""
    command: str = ""
    reads: str = ""


class WorkAccount(Struct, frozen=True):
    """The work on a feature under one label; "" is the solo branch.

    `agent` is as a person named it, `tip` the branch's last known commit, `running` whether a loop works on it now.
    `diffs` are the files that differ from the base, by iteration commit, without aigon's own. `outputs` are the ends
    of what passing checks printed. `pushed`: a forge has the commits. `unread` says what could not be read.
    """

    label: str
    agent: str
    mode: Literal["solo", "worktree", "arena"]
    branch: str
    items: tuple[CriterionItem, ...]
    history: History
    tip: str = ""
    running: bool = False
    log_path: str = ""
    log: str = ""
    diffs: Mapping[str, tuple[FileChange, ...]] = field(default_factory=dict)
    outputs: Mapping[str, str] = field(default_factory=dict)
    pushed: bool = False
    unread: tuple[str, ...] = ()

    @property
    def name(self) -> str:
        """The name for people: its label, else its agent."""
        return self.label or self.agent or "solo"

    @property
    def steps(self) -> tuple[IterationRecord, ...]:
        """The iterations of its last run, including those that were undone."""
        return self.history.latest

    @property
    def last(self) -> IterationRecord | None:
        """The last assessment of what the branch holds."""
        return next((step for step in reversed(self.steps) if not step.undone), None)

    @property
    def standing(self) -> RunStatus | Literal["broken_off", "not_started"]:
        if not self.history.runs:
            return "not_started"
        if self.running:
            return "running"
        outcome = self.history.outcome
        return get_status(outcome) if outcome else "broken_off"

    @property
    def met(self) -> bool:
        """True if its last run ended with everything proven."""
        return not self.running and isinstance(self.history.outcome, Met)

    @property
    def proven(self) -> int:
        """Criteria that passed at the last assessment."""
        return self.last.proven if self.last else 0

    @property
    def total(self) -> int:
        return len(self.items)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """The findings of the last assessment."""
        return self.last.look.findings if self.last else ()

    @property
    def changes(self) -> tuple[FileChange, ...]:
        """The files that differ from the base at the last assessment."""
        return self.diffs.get(self.commit, ())

    @property
    def commit(self) -> str:
        """The commit of the last assessment: the last iteration commit, or where the run began."""
        kept = [step.look.checkpoint for step in self.steps if step.look.checkpoint and not step.undone]
        made = kept[-1] if kept else ""
        return made or (self.history.started.head if self.history.started else "")

    @property
    def seconds(self) -> float:
        """The time that loops ran on it, without the time between two runs."""
        return sum(seconds_between(run.started.at, run.heard) for run in self.history.runs)

    def verdict(self, number: int) -> Verdict | None:
        """Return the last verdict on a criterion."""
        return _verdict(self.last, number) if self.last else None

    def since(self, number: int) -> IterationRecord | None:
        """Return the iteration since which a criterion has passed without interruption."""
        found = None
        for step in [each for each in reversed(self.steps) if not each.undone]:
            verdict = _verdict(step, number)
            if verdict is None or verdict.status != "met":
                break
            found = step
        return found


class Recommendation(Struct, frozen=True):
    """Whose work (a label) the last comparison of these commits proposed, and why."""

    kind: Literal["winner", "tie", "nobody"]
    label: str = ""
    reasons: tuple[str, ...] = ()


class FeatureAccount(Struct, frozen=True):
    """A feature and every work on it, in the order of their worktrees. `written` is when, ISO 8601.

    `target` is the branch to merge into, `base` the commit that assessments compare with, `forge` where commits can be
    seen, `evaluation` the path of the comparison, `acceptance` the tests that were written before the work.
    """

    feature: Feature
    title: str
    written: str
    works: tuple[WorkAccount, ...]
    target: str = ""
    base: str = ""
    forge: Forge | None = None
    evaluation: str = ""
    proposed: Recommendation | None = None
    acceptance: Acceptance | None = None

    @property
    def proven(self) -> tuple[WorkAccount, ...]:
        """The works that ended with everything proven."""
        return tuple(work for work in self.works if work.met)

    @property
    def shown_first(self) -> WorkAccount:
        """The work that the first page is about: the proposed one, else the one with the most proven."""
        taken = self.proposed.label if self.proposed and self.proposed.kind == "winner" else None
        return max(self.works, key=lambda work: (work.label == taken, work.met, work.proven))

    @property
    def items(self) -> Sequence[CriterionItem]:
        """The criteria, of the work that knows the most of them."""
        return max((work.items for work in self.works), key=len, default=())


def seconds_between(begun: str, ended: str) -> float:
    """Return the seconds between two times of events; 0 if one is malformed."""
    try:
        return max(0.0, (datetime.fromisoformat(ended) - datetime.fromisoformat(begun)).total_seconds())
    except (ValueError, TypeError):
        return 0.0


def _verdict(step: IterationRecord, number: int) -> Verdict | None:
    return next((v for v in step.look.verdicts if v.criterion == number), None)


class ProgressPoint(Struct, frozen=True):
    """The state at the end of an iteration: `seconds` of loop time by then, the whole `spend`, and changed `lines`."""

    number: int
    seconds: float
    proven: int
    tests_passed: int | None
    tests: int | None
    spend: Spend
    lines: int


def list_progress(work: WorkAccount) -> tuple[ProgressPoint, ...]:
    """Return a point for each iteration of the last run and its resumes."""
    return tuple(_point(work, step) for step in work.steps)


def count_tests(step: IterationRecord) -> tuple[int, int] | None:
    """Return the tests that passed and all that ran, over every check that counts them; None if none does."""
    counted = [found.counts for found in step.look.findings if found.role == "tests" and found.counts]
    return (sum(c.passed for c in counted), sum(c.total for c in counted)) if counted else None


def count_changed_lines(changes: Sequence[FileChange]) -> tuple[int, int]:
    """Return lines added and removed; a binary file has none."""
    return sum(max(c.added, 0) for c in changes), sum(max(c.removed, 0) for c in changes)


def _point(work: WorkAccount, step: IterationRecord) -> ProgressPoint:
    passed, ran = count_tests(step) or (None, None)
    lines = sum(count_changed_lines(work.diffs.get(step.look.checkpoint, ())))
    return ProgressPoint(step.number, _elapsed_seconds(work, step), step.proven, passed, ran, step.spend, lines)


def _elapsed_seconds(work: WorkAccount, step: IterationRecord) -> float:
    """Return the loop time of the run and the runs that it resumes."""
    runs = work.history.runs
    if not runs:
        return 0.0
    first = work.steps[0].invocation
    before = sum(seconds_between(run.started.at, run.heard) for run in runs[first : step.invocation])
    return before + seconds_between(runs[step.invocation].started.at, step.look.at)
