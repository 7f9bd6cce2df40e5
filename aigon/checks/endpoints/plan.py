"""What the program that asks a server is told, and what it reports."""

import base64
import json
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from aigon.model.checks import TestResult

VARIABLE = "AIGON_ENDPOINTS"
"""The variable that holds the plan; it is gone before the server starts."""
LARGEST_PLAN = 120_000
"""Characters of that variable: Linux takes 128 KiB for one (MAX_ARG_STRLEN)."""
MARK = "endpoints"
"""The value of `aigon` in a report: the program and its reader are of one version."""
PASSED, FAILED, BROKEN = 0, 1, 2
"""Exit codes: all as expected; something was not; the server did not come up, or ended. 3 is a fault of aigon."""
LARGEST_JUNIT = 4 * 1024 * 1024
"""Characters of schemathesis's own report that are passed on."""


@dataclass(frozen=True, slots=True)
class RequestBody:
    """What is sent: any JSON, pairs of a form, or a text."""

    kind: Literal["json", "form", "text"]
    value: object


@dataclass(frozen=True, slots=True)
class Expectation:
    """`status` holds numbers and classes (`2xx`); `json` is empty or holds the one value; `schema` names a document."""

    status: tuple[str, ...] = ("2xx",)
    headers: Mapping[str, str | bool] = field(default_factory=dict)
    json: tuple[object, ...] = ()
    schema: str = ""
    text: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PlannedRequest:
    """One request. `save` are the places of values, by their names; `timeout` is in seconds."""

    name: str
    method: str = "GET"
    path: str = "/"
    query: tuple[tuple[str, str], ...] = ()
    headers: Mapping[str, str] = field(default_factory=dict)
    body: RequestBody | None = None
    cookies: bool = True
    expect: Expectation = Expectation()
    save: Mapping[str, str] = field(default_factory=dict)
    timeout: float = 10.0


@dataclass(frozen=True, slots=True)
class Readiness:
    """Without a path the server is ready when its port accepts connections. `timeout` is in seconds."""

    path: str = ""
    status: tuple[str, ...] = ("2xx",)
    timeout: float = 60.0


@dataclass(frozen=True, slots=True)
class OpenApiPlan:
    """A document by the name under which the plan holds it, or by a path on the server; more options for the tool."""

    file: str = ""
    path: str = ""
    args: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class EndpointPlan:
    """`documents` are texts of files by path, and schemas of the configuration itself by `#` and a number.

    `programs` are folders, relative to the server's, that are searched before PATH. Times are in seconds.
    """

    requests: tuple[PlannedRequest, ...] = ()
    openapi: OpenApiPlan | None = None
    documents: Mapping[str, str] = field(default_factory=dict)
    env: Mapping[str, str] = field(default_factory=dict)
    port: int | None = None
    ready: Readiness = Readiness()
    stop: float = 5.0
    timeout: float = 300.0
    programs: tuple[str, ...] = ()


def pack_plan(plan: EndpointPlan) -> str:
    """Return the plan as one word without braces, in which nobody fills in anything."""
    document = json.dumps(asdict(plan), separators=(",", ":")).encode()
    return base64.b64encode(zlib.compress(document, 9)).decode()


def unpack_plan(word: str) -> EndpointPlan:
    """Return the plan that `pack_plan` made a word of. Raises ValueError for anything else."""
    try:
        document = json.loads(zlib.decompress(base64.b64decode(word, validate=True)))
        openapi = document["openapi"]
        parts = {
            "requests": tuple(_decode_request(request) for request in document["requests"]),
            "openapi": _with_tuples(OpenApiPlan, openapi) if openapi else None,
            "ready": _with_tuples(Readiness, document["ready"]),
        }
        plan: EndpointPlan = _with_tuples(EndpointPlan, {**document, **parts})
        return plan
    except (zlib.error, TypeError, KeyError, AttributeError) as error:
        raise ValueError(f"not a plan: {error}") from error


def _decode_request(document: dict[str, Any]) -> PlannedRequest:
    body = RequestBody(**document["body"]) if document["body"] else None
    query = tuple((name, value) for name, value in document["query"])
    return PlannedRequest(
        **{**document, "query": query, "body": body, "expect": _with_tuples(Expectation, document["expect"])}
    )


def _with_tuples(kind: Any, document: dict[str, Any]) -> Any:
    """Return a value whose only lists are tuples."""
    return kind(**{name: tuple(value) if isinstance(value, list) else value for name, value in document.items()})


@dataclass(frozen=True, slots=True)
class RequestOutcome:
    """One request and what came of it. `error`: it could not be asked at all. `said` is what was not as expected;
    `broke` says that the connection broke."""

    name: str
    result: TestResult
    said: tuple[str, ...] = ()
    status: int | None = None
    seconds: float = 0.0
    broke: bool = False


@dataclass(frozen=True, slots=True)
class SchemathesisRun:
    """What schemathesis did: its exit code, and its report in JUnit's format."""

    exit_code: int | None
    junit: str = ""


def encode_report(
    asked: Sequence[RequestOutcome], exercised: SchemathesisRun | None, broken: str
) -> Mapping[str, object]:
    """Return the report; `broken` says what kept everything from being asked."""
    return {
        "aigon": MARK,
        "broken": broken,
        "requests": [asdict(outcome) for outcome in asked],
        "schemathesis": asdict(exercised) if exercised else None,
    }


def choose_exit_code(asked: Sequence[RequestOutcome], exercised: SchemathesisRun | None, broken: str) -> int:
    """Return what the program exits with."""
    if broken:
        return BROKEN
    failed = any(outcome.result != "passed" for outcome in asked) or (exercised and exercised.exit_code != 0)
    return FAILED if failed else PASSED
