"""All of it: a port, the server, the requests, the end of the server, the report."""

import asyncio
import contextlib
import json
import os
import threading
import time
from dataclasses import dataclass, field
from pathlib import Path

from aigon.checks.endpoints import server as servers
from aigon.checks.endpoints.plan import RequestOutcome, SchemathesisRun, choose_exit_code, encode_report
from aigon.checks.endpoints.requests import Inquiry, ServerEnded, run_schemathesis, send_requests
from aigon.checks.endpoints.server import ProgramOrder, ServerFailure
from aigon.process import server as processes
from aigon.process.server import Server
from aigon.text.amounts import spell_duration
from aigon.text.fingerprints import strip_escapes

MARGIN = 5.0
"""Seconds that are kept back of the whole time for the report, beside those of the server's end."""
KEPT_BACK = 0.25
"""The part of the whole time that is kept back at most."""
GRACE = 1.0
"""Seconds that a server has to end when this program was asked to end at once."""
SUMMED_UP = 15
"""Requests that are named again at the end, where people look first."""
_LONGEST_LINE = 2000


class Voice:
    """Prints the server's output as it comes, and lines of this program between whole lines of that.

    Any thread may call it. Nobody listening is no reason to stop draining a server.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._in_line = False

    def pass_on(self, chunk: bytes) -> None:
        """Print output of the server, as it is."""
        with self._lock:
            self._write(chunk)
            self._in_line = not chunk.endswith(b"\n")

    def line(self, text: str) -> None:
        """Print a line of this program's own."""
        folded = " ".join(strip_escapes(text).split())[:_LONGEST_LINE]
        with self._lock:
            before = "\n" if self._in_line else ""
            self._write(f"{before}aigon: {folded}\n".encode("utf-8", "replace"))
            self._in_line = False

    @staticmethod
    def _write(chunk: bytes) -> None:
        view = memoryview(chunk)
        with contextlib.suppress(OSError):
            while view:
                view = view[os.write(1, view) :]


@dataclass(slots=True)
class _Progress:
    """What came of it so far."""

    voice: Voice = field(default_factory=Voice)
    asked: list[RequestOutcome] = field(default_factory=list)
    exercised: SchemathesisRun | None = None
    broken: str = ""

    def record(self, outcome: RequestOutcome) -> None:
        """Keep and print what came of a request."""
        self.asked.append(outcome)
        self.print_outcome(outcome)

    def print_outcome(self, outcome: RequestOutcome) -> None:
        """Print what came of a request."""
        status = "" if outcome.status is None else f" ({outcome.status}, {outcome.seconds * 1000:.0f} ms)"
        said = f": {'; '.join(outcome.said)}" if outcome.said else ""
        self.voice.line(f"{outcome.result} {outcome.name}{status}{said}")


def run_session(order: ProgramOrder) -> int:
    """Do what was ordered and write the report. Return the exit code."""
    progress = _Progress()
    kept_back = min(order.plan.stop + MARGIN, order.plan.timeout * KEPT_BACK)
    try:
        _run_server(order, progress, time.monotonic() + order.plan.timeout - kept_back)
    except ServerFailure as failure:
        progress.broken = str(failure)
    if progress.asked:
        unsent = order.plan.requests[len(progress.asked) :]
        progress.asked += [RequestOutcome(each.name, "error", ("not asked",)) for each in unsent]
    _write_report(order.report, progress)
    _sum_up(order, progress)
    return choose_exit_code(progress.asked, progress.exercised, progress.broken)


def _run_server(order: ProgramOrder, progress: _Progress, limit: float) -> None:
    """Start the server, ask it everything until `limit` (monotonic), and stop it. Raises ServerFailure."""
    port = _choose_port(order)
    cwd = Path.cwd()
    argv = order.build_command(port)
    voice = progress.voice
    voice.line(f"starting the server: {argv[-1] if argv[1:2] == ['-c'] else ' '.join(argv)}")
    try:
        server = processes.start_server(argv, cwd, order.build_environment(port, cwd), voice.pass_on)
    except OSError as error:
        why = f"{error.strerror or error}: {error.filename or argv[0]}"
        raise ServerFailure(f"the server did not start: {why}") from None
    grace = order.plan.stop
    try:
        ready = servers.wait_until_ready(server, order.plan, port, limit)
        voice.line(f"the server is ready at {ready.base} after {spell_duration(ready.seconds)}")
        _ask_server(order, progress, server, ready.base, limit)
    except KeyboardInterrupt:
        grace = min(grace, GRACE)
        raise
    finally:
        has_ended = server.exit_code() is not None
        if server.stop(grace) and not has_ended:
            voice.line(f"the server did not end within {spell_duration(grace)} after SIGTERM and was killed")


def _ask_server(order: ProgramOrder, progress: _Progress, server: Server, base: str, limit: float) -> None:
    """Send all requests, and run schemathesis. Raises ServerFailure if the server ends meanwhile."""
    try:
        asyncio.run(send_requests(Inquiry(order.plan, base, server.ended, progress.record, limit)))
    except ServerEnded as ended:
        raise ServerFailure(servers.describe_end(server, f"at {ended}")) from None
    _require_alive(server)
    if order.plan.openapi:
        progress.voice.line("schemathesis tries what the OpenAPI document says")
        try:
            progress.exercised = run_schemathesis(order, base, limit - time.monotonic(), progress.voice.pass_on)
        except ServerFailure:
            _require_alive(server)
            raise
        _require_alive(server)


def _require_alive(server: Server) -> None:
    if server.ended():
        raise ServerFailure(servers.describe_end(server, "while it was asked")) from None


def _choose_port(order: ProgramOrder) -> int:
    """Return the port for the server. Raises ServerFailure if somebody else holds it, or there is none."""
    port = order.plan.port
    if port is None:
        try:
            return processes.find_free_port(order.port_base)
        except OSError as error:
            raise ServerFailure(f"there is no port for the server: {error.strerror or error}") from None
    if why := processes.find_port_conflict(port):
        holder = f" by {processes.describe_process(processes.find_port_holder(port))}" if why == "in use" else ""
        hint = 'end that, or leave "port" out for a free one'
        raise ServerFailure(f"the port {port} cannot be had: {why}{holder}; {hint}")
    return port


def _write_report(path: Path, progress: _Progress) -> None:
    """Write the report last, when the server and all that it started are gone: nobody else has a hand in it."""
    text = json.dumps(encode_report(progress.asked, progress.exercised, progress.broken))
    path.unlink(missing_ok=True)
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with open(descriptor, "w", encoding="utf-8") as file:  # noqa: PTH123 - a descriptor
        file.write(text)


def _sum_up(order: ProgramOrder, progress: _Progress) -> None:
    failed = [outcome for outcome in progress.asked if outcome.result != "passed"]
    for outcome in failed[:SUMMED_UP]:
        progress.print_outcome(outcome)
    asked = len(progress.asked)
    if progress.broken:
        progress.voice.line(f"error: {progress.broken}")
    elif order.plan.requests:
        progress.voice.line(f"{asked - len(failed)} of {asked} requests were answered as expected")
