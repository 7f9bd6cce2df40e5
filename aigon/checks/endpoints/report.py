"""What came of asking a server, as the program that asked reports it."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

from aigon.model.checks import TestResult

MARK = "endpoints"
"""The value of `aigon` in a report: the program and its reader are of one version."""
GREEN, RED, BROKEN, FAULT = 0, 1, 2, 3
"""Exit codes: all as expected; something was not; the server did not come up, or ended; a fault of aigon's own."""
SCHEMATHESIS = 4 * 1024 * 1024
"""Characters of schemathesis's own report that are passed on."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One request and what came of it. `error`: it could not be asked at all. `said` is what was not as expected;
    `broke` says that the connection broke."""

    name: str
    result: TestResult
    said: tuple[str, ...] = ()
    status: int | None = None
    seconds: float = 0.0
    broke: bool = False


@dataclass(frozen=True, slots=True)
class Exercised:
    """What schemathesis did: its exit code, and its report in JUnit's format."""

    exit_code: int | None
    junit: str = ""


def document(asked: Sequence[Asked], exercised: Exercised | None, broken: str) -> Mapping[str, object]:
    """The report; `broken` says what kept everything from being asked."""
    return {
        "aigon": MARK,
        "broken": broken,
        "requests": [asdict(each) for each in asked],
        "schemathesis": asdict(exercised) if exercised else None,
    }


def exit_code(asked: Sequence[Asked], exercised: Exercised | None, broken: str) -> int:
    """What the program exits with."""
    if broken:
        return BROKEN
    red = any(each.result != "passed" for each in asked) or (exercised is not None and exercised.exit_code != 0)
    return RED if red else GREEN
