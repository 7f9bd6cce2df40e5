"""Waiting for a server until it is ready to be asked, or never will be."""

import asyncio
import time
from dataclasses import dataclass

from aigon.checks.endpoints.expected import fits
from aigon.checks.endpoints.last_words import last_words
from aigon.checks.endpoints.plan import Plan, Ready, Request
from aigon.checks.endpoints.program.exchange import Client, Lost, line
from aigon.process import tcp
from aigon.process.server import Server

PAUSE, LONGEST_PAUSE = 0.02, 0.25
"""Seconds between two looks, at first and at most."""
PROBE_SECONDS = 5.0
"""For one answer while the server may still be loading."""


class Broken(Exception):
    """The server is of no use, or any more; the text says why, for people."""


@dataclass(frozen=True, slots=True)
class Up:
    """A server that is ready at `base`; `seconds` is how long that took."""

    base: str
    seconds: float


def awaited(server: Server, plan: Plan, port: int, end: float) -> Up:
    """Wait until the server is ready, until `end` (monotonic) at most. Raises Broken where it ends, or is too late."""
    begun, pause, last = time.monotonic(), PAUSE, ""
    limit = min(begun + plan.ready.timeout, end)
    while True:
        if server.ended():
            raise Broken(ended(server, "before it was ready"))
        if host := tcp.answering(port):
            base = f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"
            if not (last := _unready(plan.ready, base, limit)):
                _require_own(server, port)
                return Up(base, time.monotonic() - begun)
        if time.monotonic() >= limit:
            raise Broken(_too_late(server, plan, port, last, limit - begun))
        time.sleep(min(pause, max(0.0, limit - time.monotonic())))
        pause = min(pause * 1.5, LONGEST_PAUSE)


def _unready(ready: Ready, base: str, limit: float) -> str:
    """What the path that it is to answer on says instead; empty where it is ready."""
    if not ready.path:
        return ""
    seconds = max(0.1, min(PROBE_SECONDS, limit - time.monotonic()))
    try:
        status = asyncio.run(_status(base, ready.path, seconds))
    except Lost as error:
        return f"GET {ready.path}: {error}"
    return "" if fits(status, ready.status) else f"GET {ready.path} answered {status}, not {' or '.join(ready.status)}"


async def _status(base: str, path: str, seconds: float) -> int:
    client = Client(base)
    try:
        return (await client.ask(line(Request("ready", path=path), {}), seconds, lambda _: True)).status
    finally:
        await client.close()


def _require_own(server: Server, port: int) -> None:
    """Raise Broken where a process listens that is known not to be the server's: it could be anybody's."""
    own = server.living()
    if port in tcp.listening(own):
        return
    holder = tcp.holder(port)
    if holder is not None and holder not in own:
        raise Broken(f"its port is held by {tcp.described(holder)}, which this check did not start")


def _too_late(server: Server, plan: Plan, port: int, last: str, seconds: float) -> str:
    others = [str(each) for each in tcp.listening(server.living()) if each != port]
    why = last or "nothing accepts connections on its port"
    if others and not last:
        why = f"it listens on port {' and '.join(others)} and not on {_port(plan)}"
    said = last_words(server.tail())
    return f"the server was not ready within {seconds:.3g} s: {why}{f' (it said last: {said})' if said else ''}"


def _port(plan: Plan) -> str:
    if plan.port is not None:
        return f'{plan.port}, which "port" says'
    return 'the one that it was given: put {port} into its command, have it read PORT, or name its own as "port"'


def ended(server: Server, when: str) -> str:
    """That a server has ended, with what it said last."""
    code, said = server.exit_code(), last_words(server.tail())
    how = "" if code is None else f" ({f'killed by signal {-code}' if code < 0 else f'exit {code}'})"
    return f"the server ended{how} {when}{f': {said}' if said else ''}"
