"""What came of asking a server: the report of the program, read by aigon's parser of the same version."""

from msgspec import Struct, field, to_builtins

from aigon.model.checks import TestResult

MARK = "endpoints"
"""The value of `aigon` in a report: the program and its reader are of one version."""
PASSED, FAILED, BROKEN = 0, 1, 2
"""Exit codes: all as expected; something was not; the server did not come up, or ended. 3 is a fault of aigon."""


class RequestOutcome(Struct, frozen=True):
    """One request. `error`: it could not be asked at all. `said` is what was not as expected; `broke` says that the
    connection broke."""

    name: str
    result: TestResult
    said: tuple[str, ...] = ()
    status: int | None = None
    seconds: float = 0.0
    broke: bool = False


class SchemathesisRun(Struct, frozen=True):
    """What schemathesis did: its exit code, and its report in JUnit's format."""

    exit_code: int | None
    junit: str = ""


class EndpointReport(Struct):
    """Everything that was tried; `broken` says what kept the rest from being asked."""

    requests: list[RequestOutcome] = field(default_factory=list)
    schemathesis: SchemathesisRun | None = None
    broken: str = ""

    @property
    def exit_code(self) -> int:
        if self.broken:
            return BROKEN
        has_failed = any(outcome.result != "passed" for outcome in self.requests)
        return FAILED if has_failed or (self.schemathesis and self.schemathesis.exit_code != 0) else PASSED

    def encode(self) -> dict[str, object]:
        """Return the report as JSON data."""
        return {"aigon": MARK, **to_builtins(self)}
