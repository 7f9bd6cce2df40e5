"""Decisions of people, on criteria and for how long each holds, and on acceptance tests that an agent wrote.

Acceptance tests are written before the work. They are in aigon's home, `acceptance/<feature>.json`, until they are
accepted; hidden tests are nowhere else.
"""

from collections.abc import Iterable, Mapping
from typing import Literal

from msgspec import Struct, convert, field

from aigon.model.criteria import WAIVED, Criterion, CriterionKind, Verdict

DecisionKind = Literal["approve", "reject", "waive", "reset"]


class HumanDecision(Struct, frozen=True, forbid_unknown_fields=True):
    """An approval or rejection of one criterion, for the code in `commit` with the content `content`.

    If the criterion's text or the code changes, it no longer holds: it was made about the old one. `waive` says that
    the criterion, as it is worded, is not needed, whatever the code; `reset` takes all earlier decisions on it back.
    """

    criterion: int
    text: str
    decision: DecisionKind
    why: str
    content: str
    commit: str
    who: str
    at: str


def parse_decision(document: Mapping[str, object]) -> HumanDecision:
    """Return the decision in a document. Raises ValueError, naming the field, for a malformed one."""
    return convert(document, HumanDecision)


def find_decision(decisions: Iterable[HumanDecision], criterion: Criterion, content: str) -> HumanDecision | None:
    """Return the last of `decisions` on this criterion and this content.

    They are in the order of the record: clocks can be set back, and times with offsets do not sort as text.
    """
    found = None
    for each in decisions:
        if (each.criterion, each.text) != (criterion.number, criterion.text):
            continue
        if each.decision == "reset":
            found = None
        elif each.decision == "waive" or (content and each.content == content):
            found = each
    return found


def find_outdated_approval(decisions: Iterable[HumanDecision], criterion: Criterion) -> HumanDecision | None:
    """Return a person's last word on this criterion if that was to approve of other code."""
    mine = [each for each in decisions if (each.criterion, each.text) == (criterion.number, criterion.text)]
    return mine[-1] if mine and mine[-1].decision == "approve" else None


def decision_verdict(decision: HumanDecision) -> Verdict:
    """Return the verdict that a person's decision amounts to."""
    who = f"{decision.who} on {decision.at[:10]} ({decision.commit[:8]})"
    if decision.decision == "waive":
        return Verdict(decision.criterion, "met", WAIVED, f"waived by {who}", decision.why)
    if decision.decision == "approve":
        return Verdict(decision.criterion, "met", "approval", f"approved by {who}", decision.why)
    return Verdict(decision.criterion, "unmet", "approval", f"rejected by {who}", decision.why)


def find_human_ticks(criteria: Iterable[Criterion], decisions: Iterable[HumanDecision]) -> tuple[str, ...]:
    """Return the texts of ticked `human` items that aigon did not tick itself for an approval of other code."""
    approved = {d.text for d in decisions if d.decision == "approve"}
    return tuple(c.text for c in criteria if c.kind == "human" and c.checked and c.text not in approved)


class AcceptanceTest(Struct, frozen=True):
    """A test that would decide one criterion, and what running it showed.

    `kind` and `command` are as in an annotation; `kind` is "judge" if its author says that nothing can run. `red` says
    how it was red before the work, `message` what it printed then. `fault` says why it is worth nothing. Of `mutants`,
    alterations of the throwaway implementation by name, those that it noticed are True; `is_green` with the unaltered
    one, None if there is none.
    """

    number: int
    text: str
    kind: CriterionKind
    command: str = ""
    red: str = ""
    message: str = ""
    seconds: float = 0.0
    runs: int = 0
    is_green: bool | None = None
    mutants: Mapping[str, bool] = field(default_factory=dict)
    fault: str = ""
    is_accepted: bool = False

    @property
    def is_worth(self) -> bool:
        """True if it decides its criterion, as far as running shows."""
        return bool(self.command) and not self.fault

    @property
    def worth(self) -> str:
        """The result of running a test that shows something."""
        why = "by an assertion" if self.red == "assertion" else "for want of what the spec names"
        said = f"red {why}, {self.runs} times of {self.runs} in a clean room"
        if self.is_green is None:
            return said
        if not self.is_green:
            return f"{said}; a throwaway implementation does not turn it green"
        noticed = f", and notices {sum(self.mutants.values())} of {len(self.mutants)} mutants of it"
        noticed = noticed if self.mutants else ", of which no mutant could be made"
        return f"{said}; green with a throwaway implementation{noticed}"


class Acceptance(Struct, frozen=True):
    """The tests of a feature by `agent`, written at the commit `base`; `files` are theirs, by path.

    `accepted_by` is empty until they are accepted; NOBODY if `--yes` did that. The worker never sees those that are
    `hidden`. `cost` is what writing them took, in US dollars; None if that is unknown.
    """

    feature: str
    agent: str
    base: str
    at: str
    tests: tuple[AcceptanceTest, ...]
    files: Mapping[str, bytes]
    hidden: bool = False
    accepted_by: str = ""
    cost: float | None = None

    def find_accepted(self, criterion: Criterion) -> AcceptanceTest | None:
        """Return the accepted test of a criterion, whose text has to be the one that it was written for."""
        tests = (test for test in self.tests if test.is_accepted and test.text == criterion.text)
        return next(tests, None) if self.accepted_by else None

    @property
    def caveat(self) -> str:
        """The words of an outcome about these tests."""
        return f"tests written by {self.agent}, accepted by {self.accepted_by}"

    def list_caveats(self, *, seen: bool) -> tuple[str, ...]:
        """Return what the outcome of a run says of these tests; `seen`: hidden ones were not kept out of sight."""
        said = [self.caveat] if self.accepted_by == NOBODY else []
        if seen and self.hidden and self.accepted_by:
            said.append("its hidden tests were within the agent's reach (--allow-visible)")
        return tuple(said)


NOBODY = "nobody"
