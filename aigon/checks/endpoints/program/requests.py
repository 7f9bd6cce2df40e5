"""The planned requests, one after the other, and what came of each."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from aigon.checks.endpoints import data, expected
from aigon.checks.endpoints.plan import Plan, Request
from aigon.checks.endpoints.program.exchange import Client, Late, Lost, line
from aigon.checks.endpoints.program.ready import Broken
from aigon.checks.endpoints.report import Asked
from aigon.checks.endpoints.schemas import Schemas
from aigon.config import endpoint_references
from aigon.config.endpoint_references import SavedValues
from aigon.process import tcp

Complaints = Callable[[str, object], list[str]]
DYING, SETTLED = 2.0, 0.1
"""Seconds in which a server that broke a connection may turn out to have ended; those in which it may not know yet."""


class Ended(Exception):
    """The server ended at the request that the text names."""


@dataclass(frozen=True, slots=True)
class Inquiry:
    """What is asked of the server at `base`, until `limit` (monotonic): `ended` says whether it has ended, `told` is
    told what came of each request."""

    plan: Plan
    base: str
    ended: Callable[[], bool]
    told: Callable[[Asked], None]
    limit: float

    def left(self) -> float:
        """Seconds that are left. Raises Broken where none are."""
        seconds = self.limit - time.monotonic()
        if seconds <= 0:
            raise Broken(f'the requests took longer than all of it may take ("timeout": {self.plan.timeout:g} s)')
        return seconds


async def asked(inquiry: Inquiry) -> None:
    """Ask everything, one after the other. Raises Ended, and Broken where there is no time left."""
    values: dict[str, object] = {"base": inquiry.base, "port": int(inquiry.base.rpartition(":")[2])}
    complaints = _complaints(inquiry.plan)
    client = Client(inquiry.base)
    try:
        for request in inquiry.plan.requests:
            timed = replace(request, timeout=min(request.timeout, inquiry.left()))
            one = await _one(client, timed, values, complaints)
            inquiry.told(one)
            if one.broke and _gone(inquiry.ended, values):
                raise Ended(request.name)
    finally:
        await client.close()


def _gone(ended: Callable[[], bool], values: SavedValues) -> bool:
    """Whether a server that broke a connection ends by it: a launcher takes longer to notice than its server."""
    begun = time.monotonic()
    while not ended() and (taken := time.monotonic() - begun) < DYING:
        if taken > SETTLED and tcp.answering(int(str(values["port"]))):
            return False
        time.sleep(0.02)
    return ended()


def _complaints(plan: Plan) -> Complaints:
    """What of a value does not fit a schema of the plan; schemas are only read where one is asked for."""
    wanted = {request.expect.schema for request in plan.requests} - {""}
    if not wanted:
        return lambda _name, _value: []
    of_openapi = plan.openapi.file if plan.openapi else ""
    return Schemas(
        {n: data.value(n, text) for n, text in plan.documents.items() if n != of_openapi or n in wanted}
    ).complaints


async def _one(client: Client, request: Request, values: dict[str, object], complaints: Complaints) -> Asked:
    try:
        sent = line(request, values)
        answer = await client.ask(sent, request.timeout, _enough(request, values), cookies=request.cookies)
        said = expected.flaws(request.expect, answer, values, complaints)
    except endpoint_references.UnsavedValue as unsaved:
        return Asked(request.name, "error", (f"not asked: no earlier request saved a value as {unsaved}",))
    except ValueError as error:
        return Asked(request.name, "error", (f"not asked: {error}",))
    except Lost as error:
        return Asked(request.name, "failed", (str(error),), broke=not isinstance(error, Late))
    saved, lacking = expected.saved(request.save, answer)
    for name in request.save:
        values.pop(name, None)  # what an earlier request saved under this name is not what is meant
    values |= saved
    every = (*said, *lacking)
    return Asked(request.name, "failed" if every else "passed", every, answer.status, answer.seconds)


def _enough(request: Request, values: SavedValues) -> Callable[[bytes], bool]:
    """Whether these bytes of a stream without end hold every text that is expected of it."""
    wanted = [endpoint_references.fill_text(text, values).encode() for text in request.expect.text]
    return lambda body: all(text in body for text in wanted)
