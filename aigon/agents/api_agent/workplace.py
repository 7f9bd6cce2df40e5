"""Everything around a session: tools, places, prices, the client; and the last record, whatever happens."""

import os
import shutil
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any, cast

import anthropic
import httpx2

from aigon.agents.api_agent import bash, editor, endpoints, mcp, servers, session
from aigon.agents.api_agent.call import Given
from aigon.agents.api_agent.ending import Ending
from aigon.agents.api_agent.log import Log
from aigon.agents.api_agent.meter import Meter
from aigon.agents.api_agent.places import writable
from aigon.agents.api_agent.settings import Settings
from aigon.agents.api_agent.tool import Tool, Work
from aigon.config import price_tables
from aigon.config.prices import PriceTable
from aigon.errors import AigonError
from aigon.files.resources import resource
from aigon.isolation import landlock
from aigon.process import orphans
from aigon.secrets import redaction

KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
_CONFINED = "It can write to the workspace and to $TMPDIR, and to nothing else of this machine."
_OPEN = "Write to nothing outside of the workspace but $TMPDIR."


def work(settings: Settings, prompt: str) -> int:
    """One session on `prompt`, from the first record to the last; its exit code."""
    orphans.adopt_orphans()
    log = Log(sys.stdout, settings.folder)
    scratch = Path(tempfile.mkdtemp(prefix="aigon-agent-"))
    try:
        ended = _ended(settings, prompt, log, scratch)
    except KeyboardInterrupt:
        log.say("result", **Ending("killed", "stopped by a signal").record())
        raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    log.say("result", **ended.record())
    return 0 if ended.end == "finished" else 1


def _ended(settings: Settings, prompt: str, log: Log, scratch: Path) -> Ending:
    stack = ExitStack()
    try:
        with _client(settings) as client:
            ended = session.run(given(settings, client, log, scratch, stack), prompt)
    except BrokenPipeError:
        raise
    except Exception as error:
        return Ending("failed", f"the agent broke: {type(error).__name__}: {' '.join(str(error).split())[:500]}")
    # Not after a signal: a server may take its time to end, and is ended anyway.
    stack.close()
    return ended


def _client(settings: Settings) -> anthropic.Anthropic:
    """The key goes before the token, as in the SDK; handing them over keeps it from looking for others elsewhere."""
    key, token = (os.environ.get(name, "").strip() or None for name in KEYS)
    timeout = httpx2.Timeout(20.0, read=settings.patience)
    return anthropic.Anthropic(api_key=key, auth_token=None if key else token, max_retries=0, timeout=timeout)


def given(settings: Settings, client: anthropic.Anthropic, log: Log, scratch: Path, stack: ExitStack) -> Given:
    """What the session works with; says in its first records what that is, and what is left out and why."""
    for name in ("tmp", "cache"):
        (scratch / name).mkdir(exist_ok=True)

    def note(text: str) -> None:
        log.say("note", text=text)

    places = writable(settings, scratch) if landlock.can_confine() else None
    known = endpoints.services(settings.checkout, note)
    log.hide(service.api_key_env for service in known if service.api_key_env)
    tools = _tools(settings, log, scratch, places)
    for name, (definition, working) in {**mcp.connect(servers.servers(settings.checkout, note), settings.workspace,
                                                      stack, note), **endpoints.tools(known)}.items():  # fmt: skip
        tools.setdefault(name, Tool(cast(Any, definition), working, log))
    meter = _meter(settings)
    log.say("start", model=settings.model, tools=[*tools], confined=places is not None)
    if places is None:
        note("commands are not confined: this kernel has no Landlock")
    if meter.unpriced and settings.max_cost is not None:
        note(f"the cap of ${settings.max_cost:g} cannot be kept: there is no price of {settings.model}")
    system = _system(settings, confined=places is not None)
    return Given(
        client,
        settings,
        system,
        tools,
        meter,
        log,
        lambda name: endpoints.unknown(name, known) or f"There is no tool {name!r}",
    )


def _tools(settings: Settings, log: Log, scratch: Path, places: tuple[Path, ...] | None) -> dict[str, Tool]:
    shell = bash.Shell(
        settings.workspace, scratch, places, settings.command_timeout, redaction.make_redactor(os.environ)
    )
    own: tuple[tuple[dict[str, str], Work], ...] = (
        (bash.DEFINITION, shell), (editor.DEFINITION, editor.Editor(settings.workspace)),
    )  # fmt: skip
    return {definition["name"]: Tool(cast(Any, definition), working, log) for definition, working in own}


def _meter(settings: Settings) -> Meter:
    return Meter(settings.model, _table(settings), settings.max_turns, settings.max_tokens, settings.max_cost)


def _table(settings: Settings) -> PriceTable:
    """The prices of the project. A file that was spoilt since the run began must not cost the turn."""
    try:
        return price_tables.add_known_prices(
            price_tables.load_prices(price_tables.open_price_files(settings.checkout)), settings.model
        )
    except AigonError:
        return price_tables.load_shipped_prices()


def _system(settings: Settings, *, confined: bool) -> str:
    text = resource("templates", "prompts", "agent.md").read_text(encoding="utf-8")
    values = {
        "{{WORKSPACE}}": str(settings.workspace),
        "{{SECONDS}}": f"{settings.command_timeout:g}",
        "{{CONFINEMENT}}": _CONFINED if confined else _OPEN,
    }
    for name, value in values.items():
        text = text.replace(name, value)
    return text
