"""The plan for the program that asks a server: the configuration with all that it refers to, frozen."""

import base64
import json
import zlib

from msgspec import Struct, convert, field, to_builtins

from aigon.config.endpoints import Endpoints
from aigon.model.checks import TestResult

VARIABLE = "AIGON_ENDPOINTS"
"""The variable that holds the plan; it is gone before the server starts."""
LARGEST_PLAN = 120_000
"""Characters of that variable: Linux takes 128 KiB for one (MAX_ARG_STRLEN)."""


class EndpointPlan(Struct, frozen=True):
    """`names` are those of the requests, `schemas` the documents that their answers have to fit, by their number.

    `documents` are texts of files by path, and schemas of the configuration itself by `#` and a number; `openapi` is
    the name of one. `programs` are folders, relative to the server's, that are searched before PATH.
    """

    config: Endpoints
    names: list[str] = field(default_factory=list)
    schemas: dict[int, str] = field(default_factory=dict)
    openapi: str = ""
    documents: dict[str, str] = field(default_factory=dict)
    programs: list[str] = field(default_factory=list)


def pack_plan(plan: EndpointPlan) -> str:
    """Return the plan as one word without braces, so that no placeholder in it is filled in."""
    document = json.dumps(to_builtins(plan), separators=(",", ":")).encode()
    return base64.b64encode(zlib.compress(document, 9)).decode()


def unpack_plan(word: str) -> EndpointPlan:
    """Return the plan that `pack_plan` made a word of. Raises ValueError for anything else."""
    try:
        document = zlib.decompress(base64.b64decode(word, validate=True))
    except zlib.error as error:
        raise ValueError(f"not a plan: {error}") from error
    return convert(json.loads(document), EndpointPlan, str_keys=True)


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
    """A run of schemathesis: its exit code, and its report in JUnit's format."""

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
