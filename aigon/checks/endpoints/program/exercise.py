"""schemathesis: what an OpenAPI document says about a server, tried out."""

import asyncio
import signal
from collections.abc import Callable
from pathlib import Path

from aigon.checks.endpoints import data, openapi, schemas
from aigon.checks.endpoints.plan import OpenApi, Request
from aigon.checks.endpoints.program.exchange import Client, Lost, line
from aigon.checks.endpoints.program.order import Order
from aigon.checks.endpoints.program.ready import Broken
from aigon.checks.endpoints.report import SCHEMATHESIS, Exercised
from aigon.model.turns import ProgramExit
from aigon.process import run

FETCH_SECONDS = 30.0
"""For a document that the server makes when it is asked for it."""
SETTING_UP = 2
"""What schemathesis exits with when it could not begin: nothing was tried."""
_LADDER: run.Ladder = ((signal.SIGTERM, 3.0), (signal.SIGKILL, 5.0))
_RANDOM = ("--seed", "--generation-")


def exercised(order: Order, base: str, seconds: float, printed: Callable[[bytes], None]) -> Exercised:
    """Run schemathesis against the server, for at most `seconds`. Raises Broken where it could try nothing."""
    assert order.plan.openapi is not None
    folder = order.scratch / "schemathesis"
    folder.mkdir()
    place, document = _document(order, order.plan.openapi, base, folder)
    junit = folder / "report.xml"
    argv = [order.schemathesis, "run", place, "--url", base + openapi.base_path(document), "--no-color"]
    argv += ["--report", "junit", "--report-junit-path", str(junit), *_chosen(order.plan.openapi)]
    command = run.Command(argv, folder, _env(order), deadline=max(seconds, 1.0), ladder=_LADDER)
    exited = run.run(command)
    printed(exited.stdout)
    _require_tried(exited, seconds)
    text = junit.read_text("utf-8", "replace") if junit.is_file() else ""
    return Exercised(exited.exit_code, text[:SCHEMATHESIS])


def _chosen(wanted: OpenApi) -> list[str]:
    """The same requests each time, so that one tree has one verdict; unless the project wants it otherwise."""
    random = any(each.startswith(_RANDOM) for each in wanted.args)
    return [*([] if random else ["--generation-deterministic"]), *wanted.args]


def _document(order: Order, wanted: OpenApi, base: str, folder: Path) -> tuple[str, object]:
    """Where schemathesis finds the document, and the document."""
    if wanted.path:
        return base + wanted.path, _served(base, wanted.path)
    for name, text in order.plan.documents.items():
        if not name.startswith("#"):
            file = folder / "documents" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, "utf-8")
    return str(folder / "documents" / wanted.file), data.value(wanted.file, order.plan.documents[wanted.file])


def _served(base: str, path: str) -> object:
    """The document that the server has. Raises Broken where it has none, or one that leads to other servers."""
    try:
        status, text = asyncio.run(_fetched(base, path))
        document = data.either(text) if status == 200 else None
    except (Lost, ValueError) as error:
        raise Broken(f"there is no OpenAPI document at {path}: {error}") from None
    if not isinstance(document, dict):
        raise Broken(f"there is no OpenAPI document at {path}: it answered {status}")
    foreign = [each for each in schemas.references(document) if schemas.is_address(each) and not each.startswith(base)]
    if foreign:
        raise Broken(f"the OpenAPI document at {path} refers to another server: {foreign[0]}")
    return document


async def _fetched(base: str, path: str) -> tuple[int, str]:
    client = Client(base)
    try:
        answer = await client.ask(line(Request("", path=path), {}), FETCH_SECONDS, lambda _: True)
    finally:
        await client.close()
    return answer.status, answer.text()


def _env(order: Order) -> dict[str, str]:
    """The checks' environment, less what would lead requests elsewhere or load the project's own modules."""
    dropped = ("PYTHONPATH", "PYTHONSTARTUP", "PYTHONHOME", "SCHEMATHESIS_BASE_URL", "SCHEMATHESIS_HOOKS")
    kept = {name: value for name, value in order.env.items() if name not in dropped}
    return {**kept, "NO_PROXY": "*", "no_proxy": "*", "PYTHONSAFEPATH": "1", "PYTHONIOENCODING": "utf-8"}


def _require_tried(exited: ProgramExit, seconds: float) -> None:
    """Raise Broken where schemathesis did not get as far as a verdict."""
    if exited.start_error:
        raise Broken(f"schemathesis did not start: {exited.start_error}")
    if exited.timed_out:
        raise Broken(f'schemathesis did not end within the {seconds:.0f} s that were left: raise "timeout"')
    if exited.exit_code not in (0, 1):
        raise Broken(f"schemathesis could try nothing (exit {exited.exit_code}): {_reason(exited.stdout)}")


def _reason(output: bytes) -> str:
    """Its line that names an error, else its last one."""
    lines = [line.strip(" =\t") for line in output.decode("utf-8", "replace").splitlines()]
    lines = [line for line in lines if line]
    named = [line for line in lines if line.startswith(("Error:", "❌"))]
    return next(iter(named or lines[::-1]), "no output")
