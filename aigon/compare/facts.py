"""Facts about a candidate. aigon saw each of them itself; an unknown one is None, never 0."""

import re
from collections.abc import Iterable, Sequence
from typing import Literal

from msgspec import Struct

from aigon.journal.events import IterationFinished
from aigon.languages import LONGEST, Family, bare, family, is_code
from aigon.model.changes import Concern, Edit, Edits, FileDiff
from aigon.model.checks import Role
from aigon.model.outcomes import Outcome
from aigon.model.turns import CostStatus, Usage
from aigon.text.patterns import is_covered


class LineCount(Struct, frozen=True):
    """Lines that were added and removed, as git counts them."""

    added: int = 0
    removed: int = 0

    @property
    def lines(self) -> int:
        return self.added + self.removed

    def __str__(self) -> str:
        return f"+{self.added} -{self.removed}"


_COMMON = r"\b(?:if|for|while|case|catch|when)\b|&&|\|\|"
_COUNTED: dict[Family, str] = {
    "python": r"\b(?:if|elif|for|while|except|case|and|or)\b",
    "c": _COMMON,
    "hash": rf"{_COMMON}|\b(?:elif|elsif|unless|until|rescue|foreach)\b",
    "dash": r"(?i:\b(?:if|elseif|for|while|when|and|or)\b)",
}


def count_added_branches(edits: Iterable[Edit]) -> int | None:
    """Return how many more branches the code has after these edits; None if a file is too long."""
    counts = [(count_branches(edit.path, edit.before), count_branches(edit.path, edit.after)) for edit in edits]
    if any(before is None or after is None for before, after in counts):
        return None
    return sum((after or 0) - (before or 0) for before, after in counts)


def count_branches(path: str, text: str | None) -> int | None:
    """Count the branches in a text; 0 if the file does not exist or is no code, None if it is too long."""
    if text is None or not is_code(path) or family(path) not in _COUNTED:
        return 0
    return len(re.findall(_COUNTED[family(path)], bare(text, path))) if len(text) <= LONGEST else None


_SHARED = ("conftest.py", "__init__.py")
"""Files among the tests that other tests in their folder run with."""


class ChangeMeasures(Struct, frozen=True):
    """`source`, `tests` and `other` (prose, data, configuration) are None if a file of theirs was too large to read.

    `outside` are files outside the expected area, None if none is declared; test files are never outside.
    `branching` is how many more there are than on the base, None if that could not be read; `suppressions` is from how
    many checks new comments hide something, None if no proof measured it.
    `touched_tests`: tests of the base, what they share, or what configures the checks was changed.
    """

    files: tuple[str, ...] = ()
    source: LineCount | None = None
    tests: LineCount | None = None
    other: LineCount | None = None
    outside: tuple[str, ...] | None = None
    suppressions: int | None = None
    branching: int | None = None
    touched_tests: bool | None = None


def measure_change(diffs: Sequence[FileDiff], edits: Edits, expected: Sequence[str]) -> ChangeMeasures:
    """Measure a change. `edits` are the same files as text, `expected` patterns of paths."""
    parts = {edit.path: _classify_edit(edit) for edit in edits.files}
    unread = any(diff.large and parts.get(diff.path) == "source" for diff in diffs)
    untested = (diff.path for diff in diffs if parts.get(diff.path) != "tests")
    outside = tuple(path for path in untested if not any(is_covered(pattern, path) for pattern in expected))
    source, tests, other = (
        _count_lines(diff for diff in diffs if parts.get(diff.path, "other") == part)
        for part in ("source", "tests", "other")
    )
    return ChangeMeasures(
        files=tuple(diff.path for diff in diffs),
        source=source,
        tests=tests,
        other=other,
        outside=outside if expected else None,
        branching=None if unread else count_added_branches(e for e in edits.files if parts[e.path] == "source"),
        touched_tests=any(map(_touches_tests, edits.files)),
    )


def _classify_edit(edit: Edit) -> str:
    if edit.part == "tests":
        return "tests"
    # Code among prose and data is source, too: it can be imported.
    return "source" if edit.part == "product" or (is_code(edit.path) and edit.part == "other") else "other"


def _touches_tests(edit: Edit) -> bool:
    """Return whether tests of the base could end differently; a new test next to them changes none."""
    is_shared = edit.path.rpartition("/")[2] in _SHARED
    return edit.part == "config" or (edit.part == "tests" and (edit.before is not None or is_shared))


def _count_lines(diffs: Iterable[FileDiff]) -> LineCount | None:
    """Count lines: a binary file has none, and those of a file that is too large are not known."""
    diffs = list(diffs)
    signs = [line.sign for diff in diffs for hunk in diff.hunks for line in hunk.lines]
    return None if any(diff.large for diff in diffs) else LineCount(signs.count("+"), signs.count("-"))


Preferred = Literal["one", "other", "tie", "unknown"]


class NewTests(Struct, frozen=True):
    """The tests that a candidate added, by name, and what they do on the base without its work.

    A test is in exactly one of `red_on_base`, `green_on_base` and `unknown` (it could not be run there). `why` explains
    what is unknown; nothing added and no `why` means that it is known to have added none.
    """

    added: tuple[str, ...] = ()
    red_on_base: tuple[str, ...] = ()
    green_on_base: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    why: str = ""


class CrossCheck(Struct, frozen=True):
    """The new tests of one candidate on the work of another; both are labels. Advisory: names and places may differ.

    `failed` names tests that ran and failed, `errors` what could not run (an import that is missing there). `why`
    says why nothing is known.
    """

    tests_of: str
    against: str
    passed: int = 0
    failed: tuple[str, ...] = ()
    errors: tuple[str, ...] = ()
    why: str = ""

    @property
    def known(self) -> bool:
        return not self.why and bool(self.passed or self.failed or self.errors)


class Preference(Struct, frozen=True):
    """A judge's preference between two, asked in both orders without names; answers that do not agree are a tie.

    `one` and `other` are labels, `reasons` the judge's words. `cost` is in US dollars, of both calls together.
    """

    one: str
    other: str
    result: Preferred
    reasons: tuple[str, ...] = ()
    cost: float | None = None
    cost_status: CostStatus = "unknown"


class CandidateFacts(Struct, frozen=True):
    """`tip` is the commit of the branch now, `looked` that of the last assessment, `at` when the newest fact was seen.

    `look` is the last assessment of its current run, `first` the baseline. `outcome` is that of its last run, `judged`
    the commit that it is about. `seconds` is how long its runs took; `cost` is None if a turn did not report it, and
    `at_least` what the others cost. `silent` turns reported no tokens. `concerns` are the integrity findings of the
    last assessment, or, if it had none, of the rules on the text of the change alone. `regressed` are tests that
    passed on the base and fail now; None if results by name are not known. `was_tested`: aigon ran tests of the base.
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
    changed: ChangeMeasures | None = None
    new_tests: NewTests | None = None
    notes: tuple[str, ...] = ()

    @property
    def fresh(self) -> bool:
        """Return whether the last assessment is about what the branch holds now."""
        return bool(self.look and self.tip and self.looked == self.tip)

    @property
    def reviews(self) -> tuple[Concern, ...]:
        """Return what a person has to review."""
        return tuple(concern for concern in self.concerns if concern.level == "review")

    @property
    def proven(self) -> int | None:
        """Count the criteria that the last assessment has proven."""
        return sum(v.status == "met" for v in self.look.verdicts) if self.look else None

    def delta(self, role: Role) -> int | None:
        """Return how many more problems the checks of a role name now than on the base; None if either is unknown."""
        before, after = count_problems(self.first, role), count_problems(self.look, role)
        return None if before is None or after is None else after - before


def count_problems(look: IterationFinished | None, role: Role) -> int | None:
    """Count the problems, warnings too, that the checks of a role name; None if that is not known."""
    findings = [finding for finding in (look.findings if look else ()) if finding.role == role]
    # A check that failed and names nothing, or could not run, does not say how many there are.
    is_known = all(f.status == "pass" or (f.status == "fail" and f.problems) for f in findings)
    return sum(len(finding.problems) for finding in findings) if findings and is_known else None
