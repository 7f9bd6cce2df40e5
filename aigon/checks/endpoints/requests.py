"""What is asked of a server: the planned requests in order, and what schemathesis makes of its OpenAPI document."""

import asyncio
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from aigon.checks.endpoints import schemas
from aigon.checks.endpoints.answer import collect_saved, find_flaws
from aigon.checks.endpoints.exchange import HttpClient, LateAnswer, NoAnswer, prepare_request
from aigon.checks.endpoints.plan import (
    LARGEST_JUNIT,
    EndpointPlan,
    OpenApiPlan,
    PlannedRequest,
    RequestOutcome,
    SchemathesisRun,
)
from aigon.checks.endpoints.schemas import Schemas
from aigon.checks.endpoints.server import ProgramOrder, ServerFailure
from aigon.config import endpoint_references
from aigon.config.endpoint_references import SavedValues
from aigon.model.turns import ProgramExit
from aigon.process import run, server

Complaints = Callable[[str, object], list[str]]
DYING, SETTLED = 2.0, 0.1
"""Seconds in which a server that broke a connection may turn out to have ended; those in which it may not know yet."""


class ServerEnded(Exception):
    """The server ended at the request that the text names."""


@dataclass(frozen=True, slots=True)
class Inquiry:
    """What is asked of the server at `base`, until `limit` (monotonic): `ended` says whether it has ended, `told` is
    told what came of each request."""

    plan: EndpointPlan
    base: str
    ended: Callable[[], bool]
    told: Callable[[RequestOutcome], None]
    limit: float

    def left(self) -> float:
        """Seconds that are left. Raises Broken where none are."""
        seconds = self.limit - time.monotonic()
        if seconds <= 0:
            raise ServerFailure(
                f'the requests took longer than all of it may take ("timeout": {self.plan.timeout:g} s)'
            )
        return seconds


async def send_requests(inquiry: Inquiry) -> None:
    """Ask everything, one after the other. Raises Ended, and Broken where there is no time left."""
    values: dict[str, object] = {"base": inquiry.base, "port": int(inquiry.base.rpartition(":")[2])}
    complaints = _make_schema_check(inquiry.plan)
    client = HttpClient(inquiry.base)
    try:
        for request in inquiry.plan.requests:
            timed = replace(request, timeout=min(request.timeout, inquiry.left()))
            one = await _send_request(client, timed, values, complaints)
            inquiry.told(one)
            if one.broke and _has_ended(inquiry.ended, values):
                raise ServerEnded(request.name)
    finally:
        await client.close()


def _has_ended(ended: Callable[[], bool], values: SavedValues) -> bool:
    """Whether a server that broke a connection ends by it: a launcher takes longer to notice than its server."""
    begun = time.monotonic()
    while not ended() and (taken := time.monotonic() - begun) < DYING:
        if taken > SETTLED and server.find_answering_host(int(str(values["port"]))):
            return False
        time.sleep(0.02)
    return ended()


def _make_schema_check(plan: EndpointPlan) -> Complaints:
    """What of a value does not fit a schema of the plan; schemas are only read where one is asked for."""
    wanted = {request.expect.schema for request in plan.requests} - {""}
    if not wanted:
        return lambda _name, _value: []
    of_openapi = plan.openapi.file if plan.openapi else ""
    return Schemas(
        {n: schemas.parse_document(n, text) for n, text in plan.documents.items() if n != of_openapi or n in wanted}
    ).complaints


async def _send_request(
    client: HttpClient, request: PlannedRequest, values: dict[str, object], complaints: Complaints
) -> RequestOutcome:
    try:
        sent = prepare_request(request, values)
        answer = await client.ask(sent, request.timeout, _make_stop_condition(request, values), cookies=request.cookies)
        said = find_flaws(request.expect, answer, values, complaints)
    except endpoint_references.UnsavedValue as unsaved:
        return RequestOutcome(request.name, "error", (f"not asked: no earlier request saved a value as {unsaved}",))
    except ValueError as error:
        return RequestOutcome(request.name, "error", (f"not asked: {error}",))
    except NoAnswer as error:
        return RequestOutcome(request.name, "failed", (str(error),), broke=not isinstance(error, LateAnswer))
    saved, lacking = collect_saved(request.save, answer)
    for name in request.save:
        values.pop(name, None)  # what an earlier request saved under this name is not what is meant
    values |= saved
    every = (*said, *lacking)
    return RequestOutcome(request.name, "failed" if every else "passed", every, answer.status, answer.seconds)


def _make_stop_condition(request: PlannedRequest, values: SavedValues) -> Callable[[bytes], bool]:
    """Whether these bytes of a stream without end hold every text that is expected of it."""
    wanted = [endpoint_references.fill_text(text, values).encode() for text in request.expect.text]
    return lambda body: all(text in body for text in wanted)


FETCH_SECONDS = 30.0
"""For a document that the server makes when it is asked for it."""
SETTING_UP = 2
"""What schemathesis exits with when it could not begin: nothing was tried."""
_LADDER: run.EndingSteps = ((signal.SIGTERM, 3.0), (signal.SIGKILL, 5.0))
_RANDOM = ("--seed", "--generation-")


def run_schemathesis(
    order: ProgramOrder, base: str, seconds: float, printed: Callable[[bytes], None]
) -> SchemathesisRun:
    """Run schemathesis against the server, for at most `seconds`. Raises Broken where it could try nothing."""
    assert order.plan.openapi is not None
    folder = order.scratch / "schemathesis"
    folder.mkdir()
    place, document = _place_document(order, order.plan.openapi, base, folder)
    junit = folder / "report.xml"
    argv = [order.schemathesis, "run", place, "--url", base + schemas.find_base_path(document), "--no-color"]
    argv += ["--report", "junit", "--report-junit-path", str(junit), *_choose_options(order.plan.openapi)]
    command = run.Command(argv, folder, _make_environment(order), deadline=max(seconds, 1.0), ladder=_LADDER)
    exited = run.run(command)
    printed(exited.stdout)
    _require_tried(exited, seconds)
    text = junit.read_text("utf-8", "replace") if junit.is_file() else ""
    return SchemathesisRun(exited.exit_code, text[:LARGEST_JUNIT])


def _choose_options(wanted: OpenApiPlan) -> list[str]:
    """The same requests each time, so that one tree has one verdict; unless the project wants it otherwise."""
    random = any(each.startswith(_RANDOM) for each in wanted.args)
    return [*([] if random else ["--generation-deterministic"]), *wanted.args]


def _place_document(order: ProgramOrder, wanted: OpenApiPlan, base: str, folder: Path) -> tuple[str, object]:
    """Where schemathesis finds the document, and the document."""
    if wanted.path:
        return base + wanted.path, _require_document(base, wanted.path)
    for name, text in order.plan.documents.items():
        if not name.startswith("#"):
            file = folder / "documents" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, "utf-8")
    return str(folder / "documents" / wanted.file), schemas.parse_document(
        wanted.file, order.plan.documents[wanted.file]
    )


def _require_document(base: str, path: str) -> object:
    """The document that the server has. Raises Broken where it has none, or one that leads to other servers."""
    try:
        status, text = asyncio.run(_fetch(base, path))
        document = schemas.parse_unnamed(text) if status == 200 else None
    except (NoAnswer, ValueError) as error:
        raise ServerFailure(f"there is no OpenAPI document at {path}: {error}") from None
    if not isinstance(document, dict):
        raise ServerFailure(f"there is no OpenAPI document at {path}: it answered {status}")
    foreign = [
        each for each in schemas.find_references(document) if schemas.is_address(each) and not each.startswith(base)
    ]
    if foreign:
        raise ServerFailure(f"the OpenAPI document at {path} refers to another server: {foreign[0]}")
    return document


async def _fetch(base: str, path: str) -> tuple[int, str]:
    client = HttpClient(base)
    try:
        answer = await client.ask(prepare_request(PlannedRequest("", path=path), {}), FETCH_SECONDS, lambda _: True)
    finally:
        await client.close()
    return answer.status, answer.text()


def _make_environment(order: ProgramOrder) -> dict[str, str]:
    """The checks' environment, less what would lead requests elsewhere or load the project's own modules."""
    dropped = ("PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME", "SCHEMATHESIS_BASE_URL", "SCHEMATHESIS_HOOKS")
    kept = {name: value for name, value in order.env.items() if name not in dropped}
    return {**kept, "NO_PROXY": "*", "no_proxy": "*", "PYTHONSAFEPATH": "1", "PYTHONIOENCODING": "utf-8"}


def _require_tried(exited: ProgramExit, seconds: float) -> None:
    """Raise Broken where schemathesis did not get as far as a verdict."""
    if exited.start_error:
        raise ServerFailure(f"schemathesis did not start: {exited.start_error}")
    if exited.timed_out:
        raise ServerFailure(f'schemathesis did not end within the {seconds:.0f} s that were left: raise "timeout"')
    if exited.exit_code not in (0, 1):
        raise ServerFailure(f"schemathesis could try nothing (exit {exited.exit_code}): {_find_reason(exited.stdout)}")


def _find_reason(output: bytes) -> str:
    """Its line that names an error, else its last one."""
    lines = [line.strip(" =\t") for line in output.decode("utf-8", "replace").splitlines()]
    lines = [line for line in lines if line]
    named = [line for line in lines if line.startswith(("Error:", "❌"))]
    return next(iter(named or lines[::-1]), "no output")
