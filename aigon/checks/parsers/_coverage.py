"""Coverage that is lower than a project wants: what fails a run in which every test passed."""

import re
from collections.abc import Iterator
from itertools import islice

from aigon.checks.parsers._problems import problem
from aigon.model.checks import Problem

_LINE = re.compile(
    r"^(?:# |ℹ )?(?:(?P<jest>Jest: [^\n]{1,500}coverage threshold for [^\n]{1,200}not met[^\n]*)"
    r"|(?:ERROR: )(?P<v8>Coverage for [^\n]{1,300} does not meet [^\n]*threshold[^\n]*)"
    r"|Error: (?P<node>\d[\d.]*% \w+ coverage does not meet threshold of [^\n]*))$",
    re.M,
)


def thresholds(lines: str) -> Iterator[Problem]:
    """A problem for each threshold that jest, vitest, c8, nyc, tap or node say was missed."""
    for match in islice(_LINE.finditer(lines), 50):
        yield problem(match["jest"] or match["v8"] or match["node"], rule="coverage")
