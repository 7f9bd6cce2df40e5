"""What one iteration tried and what came of it: facts that aigon saw itself, kept small.

What an agent said is not in here. `Attempt.detail`, which may quote its program, is for people and is given to no
agent.
"""

from dataclasses import dataclass

from aigon.model.assessments import CheckSummary, RemainingCriterion
from aigon.model.changes import FileChange
from aigon.model.criteria import Promise
from aigon.model.turns import CostStatus, TurnEnd


@dataclass(frozen=True, slots=True)
class Returned:
    """Failures of one check that were gone at the look before and had been there at an earlier one.

    `names` are those that are known by name, of so many.
    """

    title: str
    number: int
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Attempt:
    """One iteration: the turn, and the look after it. Number 0 is the look at the base and has no turn.

    The turn: `at` is when its first try began, of `tries`: one that was held up (a usage limit) or broken off is
    repeated under its number. `end` is how the last try ended, None where that is not known. `duration` (seconds) and
    `cost` (US dollars, None where nothing is known) are of all tries, of which `unpriced` did not say what they cost;
    `waited` is seconds between them.

    The look: `looked_at` is empty where there was none. `fingerprint`, `tree` and `score` are those of
    `IterationFinished`, `best` is the best score before; `again` and `same_tree` are the latest iteration before with
    the same fingerprint or tree, None where there was none (0 is the base). Of `changed` files, with lines `added` and
    `removed`, `changes` are the first. `notes` say what aigon put back.
    """

    number: int
    agent: str = ""
    model: str = ""
    effort: str = ""
    rung: int = 0
    rungs: int = 1
    at: str = ""
    tries: int = 0
    end: TurnEnd | None = None
    exit_code: int | None = None
    detail: str = ""
    duration: float = 0.0
    waited: float = 0.0
    cost: float | None = None
    cost_status: CostStatus = "unknown"
    unpriced: int = 0
    looked_at: str = ""
    fingerprint: str = ""
    tree: str = ""
    score: tuple[int, ...] = ()
    best: tuple[int, ...] = ()
    checks: tuple[CheckSummary, ...] = ()
    criteria: int = 0
    open: tuple[RemainingCriterion, ...] = ()
    changes: tuple[FileChange, ...] = ()
    changed: int = 0
    added: int = 0
    removed: int = 0
    notes: tuple[str, ...] = ()
    promises: tuple[Promise, ...] = ()
    again: int | None = None
    same_tree: int | None = None
    returned: tuple[Returned, ...] = ()

    @property
    def judged(self) -> bool:
        """Whether there was a look after the turn."""
        return bool(self.looked_at)

    @property
    def failing(self) -> tuple[CheckSummary, ...]:
        """The checks that were red."""
        return tuple(check for check in self.checks if check.red)

    @property
    def proven(self) -> int:
        """How many criteria were."""
        return self.criteria - len(self.open)

    @property
    def better(self) -> bool:
        """Whether more was proven or green than ever before."""
        return self.judged and self.score > self.best
