"""A problem in one line, for people."""

from collections.abc import Sequence

from aigon.model.values import Finding, Problem
from aigon.text.fingerprints import plain
from aigon.text.quoting import folded

LONGEST = 200
"""Characters of one problem."""


def worded(problem: Problem) -> str:
    """`src/a.py:3 F401: unused import`, as far as the tool says so."""
    place = f"{problem.file}:{problem.line}" if problem.file and problem.line else problem.file
    # The id of a test often begins with its file, and then says it all.
    known = problem.test.startswith(problem.file) if problem.file else True
    parts = (problem.test, problem.rule) if problem.test and known else (place, problem.test, problem.rule)
    named = " ".join(part for part in parts if part)
    said = plain(problem.message)
    return folded(f"{named}: {said}" if named else said, LONGEST)


def few(finding: Finding, most: int) -> list[str]:
    """The first problems of a finding, errors before warnings, and how many more there are."""
    ordered: Sequence[Problem] = sorted(finding.problems, key=lambda problem: problem.severity != "error")
    more = len(ordered) - most
    return [*(worded(each) for each in ordered[:most]), *([f"and {more} more"] if more > 0 else [])]
