"""All of it: a port, the server, the requests, the end of the server, the report."""

import asyncio
import contextlib
import json
import os
import threading
import time
from pathlib import Path

from aigon.checks.endpoints import server as servers
from aigon.checks.endpoints.report import EndpointReport, RequestOutcome
from aigon.checks.endpoints.requests import run_schemathesis, send_requests
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

    def print_outcome(self, outcome: RequestOutcome) -> None:
        """Print what came of a request."""
        status = "" if outcome.status is None else f" ({outcome.status}, {outcome.seconds * 1000:.0f} ms)"
        said = f": {'; '.join(outcome.said)}" if outcome.said else ""
        self.line(f"{outcome.result} {outcome.name}{status}{said}")

    @staticmethod
    def _write(chunk: bytes) -> None:
        view = memoryview(chunk)
        with contextlib.suppress(OSError):
            while view:
                view = view[os.write(1, view) :]


class Session:
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
        argv = order.build_command(port)
        voice.line(f"starting the server: {argv[-1] if argv[1:2] == ['-c'] else ' '.join(argv)}")
        begun = time.monotonic()
        try:
            server = processes.start_server(argv, cwd, order.build_environment(port, cwd), voice.pass_on)
        except OSError as error:
            why = f"{error.strerror or error}: {error.filename or argv[0]}"
            raise ServerFailure(f"the server did not start: {why}") from None
        grace = self._config.stop
        try:
            base = servers.wait_until_ready(server, order.plan, port, limit)
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
        """Return the port for the server. Raises ServerFailure if somebody else holds it, or there is none."""
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
    if server.ended():
        raise ServerFailure(servers.describe_end(server, "while it was asked")) from None
