"""What one run of a check came to."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from aigon.model.checks import Finding, TestResult


@dataclass(frozen=True, slots=True)
class Result:
    """A finding, and the whole (capped) output it was made from.

    `tests` are the results of single tests by id, from reports that nobody could print, or from what a runner prints
    itself where its parser can tell that from what tests print; `reported` says whether such a report came that could
    be read to its end, be it of no test at all.
    """

    finding: Finding
    output: bytes = b""
    tests: Mapping[str, TestResult] = field(default_factory=dict)
    reported: bool = False
