"""What is known of one candidate. Every fact is one that aigon saw; what is not known is None, and never 0."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from aigon.compare.rules.changed import Changed
from aigon.compare.rules.evidence import NewTests
from aigon.journal.events import IterationFinished
from aigon.model.changes import Concern
from aigon.model.checks import Finding, Role
from aigon.model.outcomes import Outcome
from aigon.model.turns import CostStatus, Usage


@dataclass(frozen=True, slots=True)
class Entry:
    """`tip` is the branch's commit now, `looked` the one that the last look speaks of; `at` is when the newest fact was
    seen.

    `look` is the last look of its current run and `first` the look at the base. `outcome` is that of its last run,
    `judged` the commit that this speaks of. `seconds` is how long its runs took; `cost` is None where a turn did not
    say, and `at_least` what the others came to. `silent` turns told no tokens. `concerns` are integrity findings:
    of the last look, or, where that had none, of the rules on the text of the change alone. `regressed` are tests
    that the base passed and that are red now; None where results by name are not known. `was_tested`: whether the base
    has tests that aigon ran.
    """

    label: str
    agent: str
    branch: str = ""
    base: str = ""
    tip: str = ""
    looked: str = ""
    at: str = ""
    running: bool = False
    outcome: Outcome | None = None
    judged: str = ""
    skipped: bool = False
    look: IterationFinished | None = None
    first: IterationFinished | None = None
    known_failures: tuple[str, ...] = ()
    criteria: int | None = None
    concerns: tuple[Concern, ...] = ()
    regressed: tuple[str, ...] | None = None
    was_tested: bool | None = None
    iterations: int | None = None
    seconds: float | None = None
    cost: float | None = None
    at_least: float = 0.0
    cost_status: CostStatus = "unknown"
    usage: Usage | None = None
    silent: int = 0
    changed: Changed | None = None
    new_tests: NewTests | None = None
    notes: tuple[str, ...] = field(default_factory=tuple)

    @property
    def fresh(self) -> bool:
        """Whether the last look is about what the branch holds now."""
        return bool(self.look and self.tip and self.looked == self.tip)

    @property
    def reviews(self) -> tuple[Concern, ...]:
        """What a person has to look at."""
        return tuple(concern for concern in self.concerns if concern.level == "review")

    @property
    def proven(self) -> int | None:
        """Criteria that the last look has proven."""
        return sum(v.status == "met" for v in self.look.verdicts) if self.look else None

    def delta(self, role: Role) -> int | None:
        """How many more problems the checks of a role name at the last look than on the base; None where either is
        not known."""
        before, after = problems(self.first, role), problems(self.look, role)
        return None if before is None or after is None else after - before


def problems(look: IterationFinished | None, role: Role) -> int | None:
    """The problems, warnings too, that the checks of a role named in a look; None where that is not known."""
    found = [_named(finding) for finding in _of(look, role)]
    return sum(n for n in found if n is not None) if found and None not in found else None


def _of(look: IterationFinished | None, role: Role) -> Iterator[Finding]:
    yield from (finding for finding in (look.findings if look else ()) if finding.role == role)


def _named(finding: Finding) -> int | None:
    """A check that is red and names nothing, or that could not run, says nothing on how many there are."""
    if finding.status == "pass" or (finding.status == "fail" and finding.problems):
        return len(finding.problems)
    return None
