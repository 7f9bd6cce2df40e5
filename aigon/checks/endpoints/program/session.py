"""All of it: a port, the server, until it is ready, the requests, the end of the server, the report."""

import asyncio
import json
import os
import time
from dataclasses import dataclass, field
from pathlib import Path

from aigon.checks.endpoints.program import order as orders
from aigon.checks.endpoints.program import ready, requests
from aigon.checks.endpoints.program.exercise import exercised
from aigon.checks.endpoints.program.order import Order
from aigon.checks.endpoints.program.ready import Broken, Up
from aigon.checks.endpoints.program.voice import Voice
from aigon.checks.endpoints.report import Asked, Exercised, document, exit_code
from aigon.process import server as servers
from aigon.process import tcp
from aigon.process.server import Server
from aigon.text.durations import words

MARGIN = 5.0
"""Seconds that are kept back of the whole time for the report, beside those of the server's end."""
KEPT_BACK = 0.25
"""The part of the whole time that is kept back at most."""
GRACE = 1.0
"""Seconds that a server has to end when this program was asked to end at once."""
SUMMED_UP = 15
"""Requests that are named again at the end, where people look first."""


@dataclass(slots=True)
class _Course:
    """What came of it so far."""

    voice: Voice
    asked: list[Asked] = field(default_factory=list)
    exercised: Exercised | None = None
    broken: str = ""


def held(order: Order) -> int:
    """Do what was ordered and write the report; what to exit with."""
    course = _Course(Voice())
    kept_back = min(order.plan.stop + MARGIN, order.plan.timeout * KEPT_BACK)
    try:
        _with_server(order, course, time.monotonic() + order.plan.timeout - kept_back)
    except Broken as broken:
        course.broken = str(broken)
    course.asked += _left(order, course)
    _report(order.report, course)
    _sum_up(order, course)
    return exit_code(course.asked, course.exercised, course.broken)


def _with_server(order: Order, course: _Course, limit: float) -> None:
    """Everything while the server is there, until `limit` (monotonic). Raises Broken."""
    port = _port(order)
    cwd = Path.cwd()
    argv = orders.command(order, port)
    course.voice.line(f"starting the server: {argv[-1] if argv[1:2] == ['-c'] else ' '.join(argv)}")
    try:
        server = servers.started(argv, cwd, orders.environment(order, port, cwd), course.voice.passed)
    except OSError as error:
        raise Broken(f"the server did not start: {error.strerror or error}: {error.filename or argv[0]}") from None
    grace = order.plan.stop
    try:
        up = ready.awaited(server, order.plan, port, limit)
        course.voice.line(f"the server is ready at {up.base} after {words(up.seconds)}")
        _exercise(order, course, server, up, limit)
    except KeyboardInterrupt:
        grace = min(grace, GRACE)
        raise
    finally:
        _end(course, server, grace)


def _end(course: _Course, server: Server, grace: float) -> None:
    ended = server.exit_code() is not None
    if server.stop(grace) and not ended:
        course.voice.line(f"the server did not end within {words(grace)} after SIGTERM and was killed")


def _exercise(order: Order, course: _Course, server: Server, up: Up, limit: float) -> None:
    """Everything that is asked. Raises Broken where the server ends meanwhile."""
    inquiry = requests.Inquiry(order.plan, up.base, server.ended, lambda one: _told(course, one), limit)
    try:
        asyncio.run(requests.asked(inquiry))
    except requests.Ended as after:
        raise Broken(ready.ended(server, f"at {after}")) from None
    _require_alive(server)
    if order.plan.openapi:
        course.voice.line("schemathesis tries what the OpenAPI document says")
        try:
            course.exercised = exercised(order, up.base, limit - time.monotonic(), course.voice.passed)
        except Broken:
            _require_alive(server)
            raise
        _require_alive(server)


def _require_alive(server: Server) -> None:
    if server.ended():
        raise Broken(ready.ended(server, "while it was asked"))


def _port(order: Order) -> int:
    """The port for the server. Raises Broken where it is held by somebody else, or there is none."""
    port = order.plan.port
    if port is None:
        try:
            return tcp.free(order.port_base)
        except OSError as error:
            raise Broken(f"there is no port for the server: {error.strerror or error}") from None
    if why := tcp.taken(port):
        holder = f" by {tcp.described(tcp.holder(port))}" if why == "in use" else ""
        raise Broken(f'the port {port} cannot be had: {why}{holder}; end that, or leave "port" out for a free one')
    return port


def _left(order: Order, course: _Course) -> list[Asked]:
    """The requests that were never sent, where some were."""
    if not course.asked:
        return []
    return [Asked(each.name, "error", ("not asked",)) for each in order.plan.requests[len(course.asked) :]]


def _told(course: _Course, one: Asked) -> None:
    course.asked.append(one)
    _tell(course, one)


def _tell(course: _Course, one: Asked) -> None:
    status = "" if one.status is None else f" ({one.status}, {one.seconds * 1000:.0f} ms)"
    said = f": {'; '.join(one.said)}" if one.said else ""
    course.voice.line(f"{one.result} {one.name}{status}{said}")


def _report(path: Path, course: _Course) -> None:
    """Written last, when the server and all that it started are gone: nobody else has a hand in it."""
    text = json.dumps(document(course.asked, course.exercised, course.broken))
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:  # noqa: PTH123 - a descriptor
        file.write(text)


def _sum_up(order: Order, course: _Course) -> None:
    red = [each for each in course.asked if each.result != "passed"]
    for one in red[:SUMMED_UP]:
        _tell(course, one)
    if course.broken:
        course.voice.line(f"error: {course.broken}")
    elif order.plan.requests:
        course.voice.line(f"{len(course.asked) - len(red)} of {len(course.asked)} requests were answered as expected")
