"""What a judgement is about, and what it came to."""

from dataclasses import dataclass
from typing import Literal

from aigon.model.changes import FileDiff
from aigon.model.checks import Finding
from aigon.model.criteria import Criterion, Verdict
from aigon.model.judging import JudgeAnswer

Task = Literal["decide", "refute"]


@dataclass(frozen=True, slots=True)
class Observed:
    """A check's finding and what aigon captured of its output; "" where nothing was kept."""

    finding: Finding
    output: str = ""


@dataclass(frozen=True, slots=True)
class Case:
    """One look: the open criteria, the spec, the change from the base and what the checks found on it.

    `mark` is random and goes into the delimiters; `mode` is `all` for one call about all criteria, or `each`.
    """

    criteria: tuple[Criterion, ...]
    spec: str
    diffs: tuple[FileDiff, ...]
    observed: tuple[Observed, ...]
    mark: str
    mode: Literal["all", "each"] = "all"


@dataclass(frozen=True, slots=True)
class Claim:
    """A "met" whose quotes stand, before somebody tried to refute it; `quotes` are those that count, with places."""

    criterion: Criterion
    reason: str
    quotes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Call:
    """One call that was made: for which task and criteria, and what came back (text, failure, cost, usage)."""

    task: Task
    criteria: tuple[int, ...]
    answer: JudgeAnswer


@dataclass(frozen=True, slots=True)
class Judgement:
    """One verdict per criterion, in their order. `calls` are all that were made; `rejected` counts quotes refused.

    The method of a verdict is `judge`, `judge:unavailable` where it cannot be asked at all, or `human` where there is
    nothing to ask it about.
    """

    verdicts: tuple[Verdict, ...]
    calls: tuple[Call, ...] = ()
    rejected: int = 0
