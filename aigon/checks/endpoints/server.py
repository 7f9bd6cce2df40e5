"""The server: what it is started with, waiting until it is ready, and what it said at its end."""

import argparse
import contextlib
import os
import threading
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from aigon.checks.endpoints.answer import fits_status
from aigon.checks.endpoints.exchange import NoAnswer, fetch
from aigon.checks.endpoints.plan import VARIABLE, EndpointPlan, RequestOutcome, unpack_plan
from aigon.config.endpoints import Ready
from aigon.process.server import (
    Server,
    describe_process,
    find_answering_host,
    find_port_holder,
    list_listening_ports,
    read_port_base,
)
from aigon.text.patterns import compile_re
from aigon.text.quoting import strip_escapes

_PAUSE, _LONGEST_PAUSE = 0.02, 0.25
"""Seconds between two attempts to reach the server, at first and at most."""
_PROBE_SECONDS = 5.0
"""For one answer while the server may still be loading."""
_NAMES_ERROR = compile_re(
    r"^\s*(?:[\w.]+\.)?\w*(?:Error|Exception)\b(?: \[\w+\])?:|\b(?:error|panic|fatal|FATAL|ERROR)\b[: ]"
)
_LONGEST_LINE = 2000
_LAST_LINES = 60
"""Lines at the end in which an error is looked for: one before them is older."""


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


class ServerFailure(Exception):
    """The server is of no use, or no longer; the text says why, for people."""


class ProgramOrder(Struct, frozen=True):
    """The task of this program: `server` is the command line with `{port}` in it, `scratch` an empty folder.

    `env` is without the plan; `port_base` is the first of the ports that are this agent's own, None if it has none.
    """

    plan: EndpointPlan
    server: tuple[str, ...]
    report: Path
    scratch: Path
    env: Mapping[str, str]
    schemathesis: str = ""
    port_base: int | None = None

    def build_environment(self, port: int, cwd: Path) -> dict[str, str]:
        """Return the checks' environment with the port, the project's programs before PATH, and the server's own."""
        folders = [str(cwd / name) for name in self.plan.programs if (cwd / name).is_dir()]
        path = os.pathsep.join([*folders, *filter(None, [self.env.get("PATH", os.defpath)])])
        own = {name: self.fill(value, port) for name, value in self.plan.config.env.items()}
        # What Python holds back in a buffer would be lost with a server that is killed.
        given = {"PYTHONUNBUFFERED": "1", **self.env}
        return {**given, "PATH": path, "PORT": str(port), "AIGON_PORT": str(port), **own}

    def fill(self, text: str, port: int) -> str:
        """Return a word of the command line, or the value of a variable, with its placeholders filled in."""
        return text.replace("{port}", str(port)).replace("{scratch}", str(self.scratch))


def read_order(arguments: Sequence[str], environ: "os._Environ[str]") -> ProgramOrder:
    """Return the order in `arguments` and `environ`, and take the plan out of the latter."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--report", type=Path, required=True)
    parser.add_argument("--scratch", type=Path, required=True)
    parser.add_argument("--schemathesis", default="")
    split = list(arguments).index("--")  # the server's own words may hold another one
    given = parser.parse_args(arguments[:split])
    if VARIABLE not in environ:
        raise SystemExit(f"{VARIABLE} is not set: variables for the server belong under endpoints.env")
    plan = unpack_plan(environ.pop(VARIABLE))
    base = read_port_base(environ)
    server = tuple(arguments[split + 1 :])
    return ProgramOrder(plan, server, given.report, given.scratch, dict(environ), given.schemathesis, base)


def wait_until_ready(server: Server, plan: EndpointPlan, port: int, end: float) -> str:
    """Return the address of the server as soon as it is ready. Raises ServerFailure if it ends or is late.

    `end` (monotonic) is the latest, whatever the configuration allows.
    """
    begun, pause, last = time.monotonic(), _PAUSE, ""
    limit = min(begun + plan.config.ready.timeout, end)
    while True:
        if server.has_ended():
            raise ServerFailure(describe_end(server, "before it was ready"))
        if host := find_answering_host(port):
            base = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
            if not (last := _probe(plan.config.ready, base, limit)):
                _require_own(server, port)
                return base
        if time.monotonic() >= limit:
            raise ServerFailure(_describe_delay(server, plan.config.port, port, last, limit - begun))
        time.sleep(min(pause, max(0.0, limit - time.monotonic())))
        pause = min(pause * 1.5, _LONGEST_PAUSE)


def _probe(ready: Ready, base: str, limit: float) -> str:
    """Return what the path of `ready` says instead of being ready; empty if it is."""
    if not ready.path:
        return ""
    try:
        status = fetch(base, ready.path, max(0.1, min(_PROBE_SECONDS, limit - time.monotonic()))).status
    except NoAnswer as error:
        return f"GET {ready.path}: {error}"
    wanted = " or ".join(ready.status)
    return "" if fits_status(status, ready.status) else f"GET {ready.path} answered {status}, not {wanted}"


def _require_own(server: Server, port: int) -> None:
    """Raise ServerFailure if a process listens that is known not to be the server's: it could be anybody's."""
    own = server.living()
    if port in list_listening_ports(own):
        return
    holder = find_port_holder(port)
    if holder is not None and holder not in own:
        raise ServerFailure(f"its port is held by {describe_process(holder)}, which this check did not start")


def _describe_delay(server: Server, own: int | None, port: int, last: str, seconds: float) -> str:
    others = [str(each) for each in list_listening_ports(server.living()) if each != port]
    why = last or "nothing accepts connections on its port"
    if others and not last:
        wanted = 'the one that it was given: put {port} into its command, have it read PORT, or name its own as "port"'
        wanted = wanted if own is None else f'{own}, which "port" says'
        why = f"it listens on port {' and '.join(others)} and not on {wanted}"
    said = find_last_words(server.tail())
    return f"the server was not ready within {seconds:.3g} s: {why}{f' (last output: {said})' if said else ''}"


def describe_end(server: Server, when: str) -> str:
    """Return that a server has ended, with what it said last."""
    code, said = server.exit_code(), find_last_words(server.tail())
    how = "" if code is None else f" ({f'killed by signal {-code}' if code < 0 else f'exit {code}'})"
    return f"the server ended{how} {when}{f': {said}' if said else ''}"


def find_last_words(output: bytes) -> str:
    """Return the last line that names an error, else the last line: what a person would look for."""
    lines = [line.strip() for line in strip_escapes(output.decode("utf-8", "replace")).splitlines() if line.strip()]
    named = [line for line in lines[-_LAST_LINES:] if _NAMES_ERROR.search(line)]
    return next(iter((named or lines)[::-1]), "")[:200]
