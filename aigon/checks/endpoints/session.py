"""All of it: a port, the server, the requests, schemathesis, the end of the server, the report."""

import asyncio
import json
import os
import signal
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

from aigon.checks.endpoints import answer as answers
from aigon.checks.endpoints.answer import SchemaCheck
from aigon.checks.endpoints.exchange import HttpClient, LateAnswer, NoAnswer, fetch, prepare_request
from aigon.checks.endpoints.plan import (
    EndpointPlan,
    EndpointReport,
    RequestOutcome,
    Schemas,
    SchemathesisRun,
    find_base_path,
    find_references,
    is_address,
    parse_document,
    parse_unnamed,
)
from aigon.checks.endpoints.server import ProgramOrder, ServerFailure, Voice, describe_end, wait_until_ready
from aigon.config.endpoints import Request, UnsavedValue, fill_text
from aigon.process import run
from aigon.process import server as processes
from aigon.process.server import Server, find_answering_host
from aigon.text.amounts import spell_duration

MARGIN = 5.0
"""Seconds of the whole time that are reserved for the report, besides those for the server's end."""
KEPT_BACK = 0.25
"""The part of the whole time that is kept back at most."""
GRACE = 1.0
"""Seconds that a server has to end when this program was asked to end at once."""
SUMMED_UP = 15
"""Requests that are named again at the end, where people look first."""


class EndpointSession:
    """One order, carried out."""

    def __init__(self, order: ProgramOrder) -> None:
        self._order, self._config = order, order.plan.config
        self._voice, self._report = Voice(), EndpointReport()

    def run(self) -> int:
        """Do what was ordered and write the report. Return the exit code."""
        report, config = self._report, self._config
        kept_back = min(config.stop + MARGIN, config.timeout * KEPT_BACK)
        try:
            self._run_server(time.monotonic() + config.timeout - kept_back)
        except ServerFailure as failure:
            report.broken = str(failure)
        if report.requests:
            unsent = self._order.plan.names[len(report.requests) :]
            report.requests += [RequestOutcome(name, "error", ("not asked",)) for name in unsent]
        # Last, when the server and all that it started are gone: nobody else has a hand in it.
        self._order.report.unlink(missing_ok=True)
        descriptor = os.open(self._order.report, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        with open(descriptor, "w", encoding="utf-8") as file:  # noqa: PTH123 - a descriptor
            json.dump(report.encode(), file)
        self._sum_up()
        return report.exit_code

    def _run_server(self, limit: float) -> None:
        """Start the server, ask it everything until `limit` (monotonic), and stop it. Raises ServerFailure."""
        order, voice, cwd = self._order, self._voice, Path.cwd()
        port = self._choose_port()
        argv = [order.fill(part, port) for part in order.server]
        voice.line(f"starting the server: {argv[-1] if argv[1:2] == ['-c'] else ' '.join(argv)}")
        begun = time.monotonic()
        try:
            server = processes.start_server(argv, cwd, order.build_environment(port, cwd), voice.pass_on)
        except OSError as error:
            why = f"{error.strerror or error}: {error.filename or argv[0]}"
            raise ServerFailure(f"the server did not start: {why}") from None
        grace = self._config.stop
        try:
            base = wait_until_ready(server, order.plan, port, limit)
            voice.line(f"the server is ready at {base} after {spell_duration(time.monotonic() - begun)}")
            self._ask_server(server, base, limit)
        except KeyboardInterrupt:
            grace = min(grace, GRACE)
            raise
        finally:
            has_ended = server.exit_code() is not None
            if server.stop(grace) and not has_ended:
                voice.line(f"the server did not end within {spell_duration(grace)} after SIGTERM and was killed")

    def _ask_server(self, server: Server, base: str, limit: float) -> None:
        """Send all requests, and run schemathesis. Raises ServerFailure if the server ends meanwhile."""
        asyncio.run(send_requests(self._order.plan, server, base, self._record, limit))
        _require_alive(server)
        if self._config.openapi:
            self._voice.line("schemathesis tries what the OpenAPI document says")
            try:
                seconds = limit - time.monotonic()
                self._report.schemathesis = run_schemathesis(self._order, base, seconds, self._voice.pass_on)
            except ServerFailure:
                _require_alive(server)
                raise
            _require_alive(server)

    def _record(self, outcome: RequestOutcome) -> None:
        self._report.requests.append(outcome)
        self._voice.print_outcome(outcome)

    def _choose_port(self) -> int:
        """Return the port for the server. Raises ServerFailure if another process holds it, or no port is free."""
        port = self._config.port
        if port is None:
            try:
                return processes.find_free_port(self._order.port_base)
            except OSError as error:
                raise ServerFailure(f"there is no port for the server: {error.strerror or error}") from None
        if why := processes.find_port_conflict(port):
            holder = f" by {processes.describe_process(processes.find_port_holder(port))}" if why == "in use" else ""
            hint = 'end that, or leave "port" out for a free one'
            raise ServerFailure(f"the port {port} cannot be used: {why}{holder}; {hint}")
        return port

    def _sum_up(self) -> None:
        requests = self._report.requests
        failed = [outcome for outcome in requests if outcome.result != "passed"]
        for outcome in failed[:SUMMED_UP]:
            self._voice.print_outcome(outcome)
        if self._report.broken:
            self._voice.line(f"error: {self._report.broken}")
        elif self._config.requests:
            self._voice.line(f"{len(requests) - len(failed)} of {len(requests)} requests were answered as expected")


def _require_alive(server: Server) -> None:
    if server.has_ended():
        raise ServerFailure(describe_end(server, "while it was asked")) from None


DYING, SETTLED = 2.0, 0.1
"""Seconds in which a server that broke a connection may turn out to have ended; those in which it may not know yet."""
FETCH_SECONDS = 30.0
"""For a document that the server makes when it is asked for it."""
LARGEST_JUNIT = 4 * 1024 * 1024
"""Characters of schemathesis's own report that are passed on."""
_SIGNALS: run.EndingSteps = ((signal.SIGTERM, 3.0), (signal.SIGKILL, 5.0))
_NOT_FOR_SCHEMATHESIS = ("PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME", "SCHEMATHESIS_BASE_URL", "SCHEMATHESIS_HOOKS")
"""Variables that would lead requests elsewhere or load the project's own modules."""


async def send_requests(
    plan: EndpointPlan, server: Server, base: str, record: Callable[[RequestOutcome], None], limit: float
) -> None:
    """Send all requests to the server at `base`, one after the other, and `record` what came of each.

    Raises ServerFailure if the server ends, or if it is later than `limit` (monotonic).
    """
    port = int(base.rpartition(":")[2])
    values: dict[str, object] = {"base": base, "port": port}
    known = _load_schemas(plan) if plan.schemas else None
    client = HttpClient(base)
    try:
        for number, (request, name) in enumerate(zip(plan.config.requests, plan.names, strict=True)):
            seconds = limit - time.monotonic()
            if seconds <= 0:
                why = f'("timeout": {plan.config.timeout:g} s)'
                raise ServerFailure(f"the requests took longer than all of it may take {why}")
            check_schema = partial(known.complaints, plan.schemas[number]) if known and number in plan.schemas else None
            outcome = await _send_request(client, request, name, min(request.timeout, seconds), values, check_schema)
            record(outcome)
            if outcome.broke and _has_ended(server, port):
                raise ServerFailure(describe_end(server, f"at {name}"))
    finally:
        await client.close()


def _has_ended(server: Server, port: int) -> bool:
    """Return whether a server that broke a connection ends by it: a launcher takes longer to notice than its server."""
    begun = time.monotonic()
    while not server.has_ended() and (taken := time.monotonic() - begun) < DYING:
        if taken > SETTLED and find_answering_host(port):
            return False
        time.sleep(0.02)
    return server.has_ended()


def _load_schemas(plan: EndpointPlan) -> Schemas:
    unwanted = {plan.openapi} - set(plan.schemas.values())
    texts = {name: text for name, text in plan.documents.items() if name not in unwanted}
    return Schemas({name: parse_document(name, text) for name, text in texts.items()})


async def _send_request(
    client: HttpClient,
    request: Request,
    name: str,
    seconds: float,
    values: dict[str, object],
    check_schema: SchemaCheck | None,
) -> RequestOutcome:
    try:
        prepared = prepare_request(request, values)
        wanted = [fill_text(text, values).encode() for text in request.expect.text]

        def is_enough(body: bytes) -> bool:
            """Return whether the beginning of an endless stream holds every text that is expected of it."""
            return all(text in body for text in wanted)

        answer = await client.ask(prepared, seconds, is_enough, cookies=request.cookies)
        flaws = answers.find_flaws(request.expect, answer, values, check_schema)
    except UnsavedValue as unsaved:
        return RequestOutcome(name, "error", (f"not asked: no earlier request saved a value as {unsaved}",))
    except ValueError as error:
        return RequestOutcome(name, "error", (f"not asked: {error}",))
    except NoAnswer as error:
        return RequestOutcome(name, "failed", (str(error),), broke=not isinstance(error, LateAnswer))
    saved, lacking = answers.collect_saved(request.save, answer)
    for each in request.save:
        values.pop(each, None)  # what an earlier request saved under this name is not what is meant
    values |= saved
    said = (*flaws, *lacking)
    return RequestOutcome(name, "failed" if said else "passed", said, answer.status, answer.seconds)


def run_schemathesis(
    order: ProgramOrder, base: str, seconds: float, printed: Callable[[bytes], None]
) -> SchemathesisRun:
    """Run schemathesis against the server, for at most `seconds`. Raises ServerFailure if it could try nothing."""
    openapi = order.plan.config.openapi
    assert openapi is not None
    folder = order.scratch / "schemathesis"
    folder.mkdir()
    if openapi.path:
        place, document = base + openapi.path, _fetch_document(base, openapi.path)
    else:
        place, document = _write_document(order.plan, folder / "documents")
    junit = folder / "report.xml"
    argv = [order.schemathesis, "run", place, "--url", base + find_base_path(document), "--no-color"]
    argv += ["--report", "junit", "--report-junit-path", str(junit)]
    if not any(each.startswith(("--seed", "--generation-")) for each in openapi.args):
        argv.append("--generation-deterministic")  # one tree has one verdict, unless the project wants it otherwise
    kept = {name: value for name, value in order.env.items() if name not in _NOT_FOR_SCHEMATHESIS}
    env = {**kept, "NO_PROXY": "*", "no_proxy": "*", "PYTHONSAFEPATH": "1", "PYTHONIOENCODING": "utf-8"}
    exited = run.run(run.Command([*argv, *openapi.args], folder, env, deadline=max(seconds, 1.0), ladder=_SIGNALS))
    printed(exited.stdout)
    if exited.start_error:
        raise ServerFailure(f"schemathesis did not start: {exited.start_error}")
    if exited.timed_out:
        raise ServerFailure(f'schemathesis did not end within the {seconds:.0f} s that were left: raise "timeout"')
    if exited.exit_code not in (0, 1):
        why = _find_reason(exited.stdout)
        raise ServerFailure(f"schemathesis could try nothing (exit {exited.exit_code}): {why}")
    text = junit.read_text("utf-8", "replace") if junit.is_file() else ""
    return SchemathesisRun(exited.exit_code, text[:LARGEST_JUNIT])


def _write_document(plan: EndpointPlan, folder: Path) -> tuple[str, object]:
    """Write the plan's documents into `folder`; return the path and the content of the OpenAPI document."""
    for each, text in plan.documents.items():
        if not each.startswith("#"):
            (folder / each).parent.mkdir(parents=True, exist_ok=True)
            (folder / each).write_text(text, "utf-8")
    return str(folder / plan.openapi), parse_document(plan.openapi, plan.documents[plan.openapi])


def _fetch_document(base: str, path: str) -> object:
    """Return the server's document. Raises ServerFailure if it has none, or one that leads to other servers."""
    try:
        answer = fetch(base, path, FETCH_SECONDS)
        document = parse_unnamed(answer.text()) if answer.status == 200 else None
    except (NoAnswer, ValueError) as error:
        raise ServerFailure(f"there is no OpenAPI document at {path}: {error}") from None
    if not isinstance(document, dict):
        raise ServerFailure(f"there is no OpenAPI document at {path}: it answered {answer.status}")
    for reference in find_references(document):
        if is_address(reference) and not reference.startswith(base):
            raise ServerFailure(f"the OpenAPI document at {path} refers to another server: {reference}")
    return document


def _find_reason(output: bytes) -> str:
    """Return the line of schemathesis that names an error, else its last one."""
    lines = [stripped for line in output.decode("utf-8", "replace").splitlines() if (stripped := line.strip(" =\t"))]
    named = [line for line in lines if line.startswith(("Error:", "❌"))]
    return next(iter(named or lines[::-1]), "no output")
