"""The problems of a finding, put together by what they say: a hundred tests with one cause are one failure."""

from collections.abc import Sequence
from dataclasses import dataclass

from aigon.model.values import Finding, Problem
from aigon.text.fingerprints import fingerprint, normalise

LISTED = 200
"""Problems of one finding that are read. Parsers keep no more, so a longer list may have lost any of them."""

_READ = 2000
"""Characters of a message that decide which group it belongs to."""


@dataclass(frozen=True, slots=True)
class Group:
    """Problems that say the same. The first is the example."""

    problems: tuple[Problem, ...]

    @property
    def example(self) -> Problem:
        """The one that is shown."""
        return self.problems[0]


def groups(problems: Sequence[Problem]) -> list[Group]:
    """The first `LISTED` problems by fingerprint, errors before warnings, else in the order in which they came."""
    found: dict[tuple[str, str], list[Problem]] = {}
    for problem in sorted(problems[:LISTED], key=lambda p: p.severity != "error"):
        name = fingerprint(problem.rule, problem.message[:_READ])
        found.setdefault((problem.severity, name), []).append(problem)
    return [Group(tuple(members)) for members in found.values()]


def identity(problem: Problem) -> tuple[str, ...]:
    """What makes a problem the same one in another look: the test, or else file, rule and message."""
    if problem.test:
        return (problem.test,)
    return (problem.file, problem.rule, normalise(problem.message[:_READ]))


def identities(finding: Finding | None) -> frozenset[tuple[str, ...]]:
    """The identities of everything a red finding complained about; none for a green one."""
    if finding is None or finding.status not in ("fail", "error"):
        return frozenset()
    return frozenset(identity(p) for p in finding.problems)


def where(problem: Problem) -> str:
    """`path:line`, as far as it is known."""
    return f"{problem.file}:{problem.line}" if problem.file and problem.line else problem.file
