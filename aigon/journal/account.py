"""The account of a feature: everything its runs left, under every label, as one value that views are made from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal

from aigon.git.forge import Forge
from aigon.journal.history import History, IterationRecord
from aigon.journal.spending import Spend
from aigon.model.changes import FileChange
from aigon.model.checks import Finding
from aigon.model.criteria import Verdict
from aigon.model.outcomes import Met, RunStatus, get_status
from aigon.spec.features import Feature


@dataclass(frozen=True, slots=True)
class CriterionItem:
    """A criterion as people read it: its words, and what decides it."""

    number: int
    text: str
    kind: str = ""
    command: str = ""


@dataclass(frozen=True, slots=True)
class WorkAccount:
    """What was done on a feature under one label; "" is the solo branch.

    `agent` is as a person named it, `tip` the branch's last commit as far as it is known, `running` whether a loop
    works on it now. `diffs` are the files that differ from the base by checkpoint, aigon's own left out (what an
    iteration itself changed is in its look). `outputs` are the ends of what green commands printed, by check; `log` is
    the text of the iteration log at `log_path`, `pushed` whether a forge has the commits. `unread` says what could not
    be read.
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
        """What people call it: its label, or its agent where there is none."""
        return self.label or self.agent or "solo"

    @property
    def steps(self) -> tuple[IterationRecord, ...]:
        """The iterations of its last run, with those that were undone."""
        return self.history.latest

    @property
    def last(self) -> IterationRecord | None:
        """The last look at what the branch holds."""
        return next((step for step in reversed(self.steps) if not step.undone), None)

    @property
    def standing(self) -> RunStatus | Literal["broken_off", "not_started"]:
        """How it stands now."""
        if not self.history.runs:
            return "not_started"
        if self.running:
            return "running"
        outcome = self.history.outcome
        return get_status(outcome) if outcome else "broken_off"

    @property
    def met(self) -> bool:
        """Whether its last run ended with everything proven."""
        return not self.running and isinstance(self.history.outcome, Met)

    @property
    def proven(self) -> int:
        """Criteria proven at the last look."""
        return self.last.proven if self.last else 0

    @property
    def total(self) -> int:
        """Criteria there are."""
        return len(self.items)

    @property
    def findings(self) -> tuple[Finding, ...]:
        """What the project's checks came to at the last look."""
        return self.last.look.findings if self.last else ()

    @property
    def changes(self) -> tuple[FileChange, ...]:
        """The files that differ from the base, at the last look."""
        return self.diffs.get(self.commit, ())

    @property
    def commit(self) -> str:
        """The commit that the last look is of: the last checkpoint, or where the run began."""
        kept = [step.look.checkpoint for step in self.steps if step.look.checkpoint and not step.undone]
        made = kept[-1] if kept else ""
        return made or (self.history.started.head if self.history.started else "")

    @property
    def seconds(self) -> float:
        """How long loops ran on it, in seconds: the time between two runs is nobody's."""
        return sum(seconds_between(run.started.at, run.heard) for run in self.history.runs)

    def verdict(self, number: int) -> Verdict | None:
        """The last verdict on a criterion."""
        return _verdict(self.last, number) if self.last else None

    def since(self, number: int) -> IterationRecord | None:
        """The iteration since which a criterion is proven without a break; None where it is not."""
        found = None
        for step in [each for each in reversed(self.steps) if not each.undone]:
            verdict = _verdict(step, number)
            if verdict is None or verdict.status != "met":
                break
            found = step
        return found


@dataclass(frozen=True, slots=True)
class Recommendation:
    """What the last comparison of these very commits proposed: whose work (a label), and why, in sentences."""

    kind: Literal["winner", "tie", "nobody"]
    label: str = ""
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FeatureAccount:
    """A feature and every work on it, in the order of their labels' worktrees. `written` is when, ISO 8601.

    `target` is the branch it will be merged into, `base` the commit that every look compares with, `forge` where
    commits and files can be seen. `evaluation` is the path of the comparison, where there is one, and `proposed`
    what came of it.
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

    @property
    def proven(self) -> tuple[WorkAccount, ...]:
        """The works that ended with everything proven."""
        return tuple(work for work in self.works if work.met)

    @property
    def shown_first(self) -> WorkAccount:
        """The work that the first page is about: the proposed one, a proven one, or that with the most proven."""
        taken = self.proposed.label if self.proposed and self.proposed.kind == "winner" else None
        return max(self.works, key=lambda work: (work.label == taken, work.met, work.proven))

    @property
    def items(self) -> Sequence[CriterionItem]:
        """The criteria, of whichever work knows the most of them."""
        return max((work.items for work in self.works), key=len, default=())


def seconds_between(begun: str, ended: str) -> float:
    """Seconds between two times of events; 0 for what is none."""
    try:
        return max(0.0, (datetime.fromisoformat(ended) - datetime.fromisoformat(begun)).total_seconds())
    except (ValueError, TypeError):
        return 0.0


def _verdict(step: IterationRecord, number: int) -> Verdict | None:
    return next((v for v in step.look.verdicts if v.criterion == number), None)


@dataclass(frozen=True, slots=True)
class ProgressPoint:
    """How things stood at the end of an iteration. `seconds` is the time that the loop had run by then, US dollars in
    `spend` are all that the feature had cost under this label, `lines` those added and removed since the base; None is
    unknown."""

    number: int
    seconds: float
    proven: int
    tests_passed: int | None
    tests: int | None
    spend: Spend
    lines: int


def list_progress(work: WorkAccount) -> tuple[ProgressPoint, ...]:
    """A point for each iteration of the last run and its resumes."""
    return tuple(_point(work, step) for step in work.steps)


def count_tests(step: IterationRecord) -> tuple[int, int] | None:
    """Tests that passed, and all that ran, over every check that counts them; None where none does."""
    counted = [found.counts for found in step.look.findings if found.role == "tests" and found.counts]
    return (sum(c.passed for c in counted), sum(c.total for c in counted)) if counted else None


def count_changed_lines(changes: Sequence[FileChange]) -> tuple[int, int]:
    """Lines added and removed; a binary file has none."""
    return sum(max(c.added, 0) for c in changes), sum(max(c.removed, 0) for c in changes)


def _point(work: WorkAccount, step: IterationRecord) -> ProgressPoint:
    passed, ran = count_tests(step) or (None, None)
    lines = sum(count_changed_lines(work.diffs.get(step.look.checkpoint, ())))
    return ProgressPoint(step.number, _elapsed_seconds(work, step), step.proven, passed, ran, step.spend, lines)


def _elapsed_seconds(work: WorkAccount, step: IterationRecord) -> float:
    """Of the run itself and the runs it goes on with; what lies between two of them is left out."""
    runs = work.history.runs
    if not runs:
        return 0.0
    first = work.steps[0].invocation
    before = sum(seconds_between(run.started.at, run.heard) for run in runs[first : step.invocation])
    return before + seconds_between(runs[step.invocation].started.at, step.look.at)
