"""All of it: a port, the server, the requests, the end of the server, the report."""

import asyncio
import contextlib
import json
import os
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from aigon.checks.endpoints import requests
from aigon.checks.endpoints import server as orders
from aigon.checks.endpoints.plan import RequestOutcome, SchemathesisRun, choose_exit_code, encode_report
from aigon.checks.endpoints.requests import run_schemathesis
from aigon.checks.endpoints.server import ProgramOrder, ReadyServer, ServerFailure, describe_end, wait_until_ready
from aigon.process import server
from aigon.process import server as servers
from aigon.process.server import Server
from aigon.text.amounts import spell_duration
from aigon.text.fingerprints import strip_escapes

_STDOUT = 1
_LONGEST = 2000
"""Characters of a line of its own."""


class Voice:
    """Writes to standard output, from any thread. Nobody listening is no reason to stop draining a server."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begun = False

    def passed(self, chunk: bytes) -> None:
        """Output of the server, as it is."""
        with self._lock:
            self._write(chunk)
            self._begun = not chunk.endswith(b"\n")

    def line(self, text: str) -> None:
        """A line of this program's own."""
        folded = " ".join(strip_escapes(text).split())[:_LONGEST]
        with self._lock:
            before = "\n" if self._begun else ""
            self._write(f"{before}aigon: {folded}\n".encode("utf-8", "replace"))
            self._begun = False

    @staticmethod
    def _write(chunk: bytes) -> None:
        view = memoryview(chunk)
        with contextlib.suppress(OSError):
            while view:
                view = view[os.write(_STDOUT, view) :]


MARGIN = 5.0
"""Seconds that are kept back of the whole time for the report, beside those of the server's end."""
KEPT_BACK = 0.25
"""The part of the whole time that is kept back at most."""
GRACE = 1.0
"""Seconds that a server has to end when this program was asked to end at once."""
SUMMED_UP = 15
"""Requests that are named again at the end, where people look first."""


@dataclass(slots=True)
class _Progress:
    """What came of it so far."""

    voice: Voice
    asked: list[RequestOutcome] = field(default_factory=list)
    exercised: SchemathesisRun | None = None
    broken: str = ""


def run_session(order: ProgramOrder) -> int:
    """Do what was ordered and write the report; what to exit with."""
    course = _Progress(Voice())
    kept_back = min(order.plan.stop + MARGIN, order.plan.timeout * KEPT_BACK)
    try:
        _with_server(order, course, time.monotonic() + order.plan.timeout - kept_back)
    except ServerFailure as broken:
        course.broken = str(broken)
    course.asked += _list_unsent(order, course)
    _write_report(order.report, course)
    _sum_up(order, course)
    return choose_exit_code(course.asked, course.exercised, course.broken)


def _with_server(order: ProgramOrder, course: _Progress, limit: float) -> None:
    """Everything while the server is there, until `limit` (monotonic). Raises Broken."""
    port = _choose_port(order)
    cwd = Path.cwd()
    argv = orders.build_command(order, port)
    course.voice.line(f"starting the server: {argv[-1] if argv[1:2] == ['-c'] else ' '.join(argv)}")
    try:
        server = servers.start_server(argv, cwd, orders.build_environment(order, port, cwd), course.voice.passed)
    except OSError as error:
        raise ServerFailure(
            f"the server did not start: {error.strerror or error}: {error.filename or argv[0]}"
        ) from None
    grace = order.plan.stop
    try:
        up = wait_until_ready(server, order.plan, port, limit)
        course.voice.line(f"the server is ready at {up.base} after {spell_duration(up.seconds)}")
        _ask_server(order, course, server, up, limit)
    except KeyboardInterrupt:
        grace = min(grace, GRACE)
        raise
    finally:
        _stop_server(course, server, grace)


def _stop_server(course: _Progress, server: Server, grace: float) -> None:
    ended = server.exit_code() is not None
    if server.stop(grace) and not ended:
        course.voice.line(f"the server did not end within {spell_duration(grace)} after SIGTERM and was killed")


def _ask_server(order: ProgramOrder, course: _Progress, server: Server, up: ReadyServer, limit: float) -> None:
    """Everything that is asked. Raises Broken where the server ends meanwhile."""
    inquiry = requests.Inquiry(order.plan, up.base, server.ended, lambda one: _record(course, one), limit)
    try:
        asyncio.run(requests.send_requests(inquiry))
    except requests.ServerEnded as after:
        raise ServerFailure(describe_end(server, f"at {after}")) from None
    _require_alive(server)
    if order.plan.openapi:
        course.voice.line("schemathesis tries what the OpenAPI document says")
        try:
            course.exercised = run_schemathesis(order, up.base, limit - time.monotonic(), course.voice.passed)
        except ServerFailure:
            _require_alive(server)
            raise
        _require_alive(server)


def _require_alive(server: Server) -> None:
    if server.ended():
        raise ServerFailure(describe_end(server, "while it was asked"))


def _choose_port(order: ProgramOrder) -> int:
    """The port for the server. Raises Broken where it is held by somebody else, or there is none."""
    port = order.plan.port
    if port is None:
        try:
            return server.find_free_port(order.port_base)
        except OSError as error:
            raise ServerFailure(f"there is no port for the server: {error.strerror or error}") from None
    if why := server.find_port_conflict(port):
        holder = f" by {server.describe_process(server.find_port_holder(port))}" if why == "in use" else ""
        raise ServerFailure(
            f'the port {port} cannot be had: {why}{holder}; end that, or leave "port" out for a free one'
        )
    return port


def _list_unsent(order: ProgramOrder, course: _Progress) -> list[RequestOutcome]:
    """The requests that were never sent, where some were."""
    if not course.asked:
        return []
    return [RequestOutcome(each.name, "error", ("not asked",)) for each in order.plan.requests[len(course.asked) :]]


def _record(course: _Progress, one: RequestOutcome) -> None:
    course.asked.append(one)
    _tell(course, one)


def _tell(course: _Progress, one: RequestOutcome) -> None:
    status = "" if one.status is None else f" ({one.status}, {one.seconds * 1000:.0f} ms)"
    said = f": {'; '.join(one.said)}" if one.said else ""
    course.voice.line(f"{one.result} {one.name}{status}{said}")


def _write_report(path: Path, course: _Progress) -> None:
    """Written last, when the server and all that it started are gone: nobody else has a hand in it."""
    text = json.dumps(encode_report(course.asked, course.exercised, course.broken))
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:  # noqa: PTH123 - a descriptor
        file.write(text)


def _sum_up(order: ProgramOrder, course: _Progress) -> None:
    red = [each for each in course.asked if each.result != "passed"]
    for one in red[:SUMMED_UP]:
        _tell(course, one)
    if course.broken:
        course.voice.line(f"error: {course.broken}")
    elif order.plan.requests:
        course.voice.line(f"{len(course.asked) - len(red)} of {len(course.asked)} requests were answered as expected")
