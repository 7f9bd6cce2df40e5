"""Run a session: ask, run the tools, ask again, until the model says how it ends or a cap does."""

import os
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

import anthropic
import httpx2
from anthropic.types.beta import BetaMessage

from aigon.agents.api_agent import bash, editor, endpoints, mcp, reply
from aigon.agents.api_agent.bash import list_writable
from aigon.agents.api_agent.call import (
    Conversation,
    SessionContext,
    ask_model,
    estimate_tokens,
    find_context_limit,
    fit_context,
    run_tools,
    shorten,
)
from aigon.agents.api_agent.reply import BrokenReply, Ending, find_status
from aigon.agents.api_agent.settings import SessionMeter, Settings
from aigon.agents.api_agent.tool import SessionLog, SessionTool, Work
from aigon.config import price_tables
from aigon.config.prices import PriceTable
from aigon.errors import AigonError
from aigon.files.resources import find_resource
from aigon.isolation import landlock
from aigon.process import orphans
from aigon.secrets import redaction

CUTS = 2
"""Replies in a row that may be cut off at their longest before the session ends."""
_TOO_LONG = re.compile(r"too long|too large|context (?:window|length)|too many (?:input )?tokens", re.I)
_CUT_OFF = "Your last reply was cut off, and nothing in it was carried out. Go on in smaller steps."
KEYS = ("ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN")
_CONFINED = "It can write to the workspace and to $TMPDIR, and to nothing else of this machine."
_OPEN = "Write to nothing outside of the workspace but $TMPDIR."


@dataclass(frozen=True, slots=True)
class SessionState:
    """Where a session stands: what was said, how replies are to look, and how many were cut off just now."""

    conversation: Conversation
    config: Mapping[str, Any]
    said: str = ""
    cuts: int = 0
    eased: int = 0


def run_session(given: SessionContext, prompt: str) -> Ending:
    """Work on `prompt` to an end. What the API refuses for good is an ending, too."""
    talk = SessionState(({"role": "user", "content": prompt},), _output_config(given.settings))
    while not isinstance(following := _take_step(given, talk), Ending):
        talk = following
    return following


def _take_step(given: SessionContext, talk: SessionState) -> SessionState | Ending:
    given.log.turn = given.meter.calls + 1
    if cap := given.meter.reached():
        return Ending("finished", f"stopped at {cap}", talk.said)
    limit = given.settings.context or find_context_limit(given.settings.model)
    talk = replace(talk, conversation=fit_context(talk.conversation, given.meter.context, limit))
    try:
        runner, message = ask_model(given, talk.conversation, talk.config)
    except (anthropic.APIError, httpx2.HTTPError, BrokenReply) as error:
        return _simplify_request(talk, error) or reply.ending_from_error(error, talk.said)
    words = _join_texts(message)
    if words:
        given.log.say("text", text=words)
    match message.stop_reason:
        case "tool_use" if answer := run_tools(given, runner, message):
            return _continue(talk, message, answer, said=words or talk.said)
        case "pause_turn" | "compaction":
            runner.close()
            return _continue(talk, message)
        case "max_tokens" | "model_context_window_exceeded":
            runner.close()
            return _continue_after_cut(given, talk, message, words)
    runner.close()
    return _read_ending(message, words or talk.said)


def _read_ending(message: BetaMessage, words: str) -> Ending:
    if message.stop_reason == "refusal":
        why = getattr(message.stop_details, "explanation", None) or "the model declines to go on"
        return Ending("refused", str(why), words)
    return reply.ending_from_reply(reply.parse_reply(words))


def _continue(talk: SessionState, message: BetaMessage, *more: Mapping[str, Any], said: str = "") -> SessionState:
    """Return the session after a reply and what answers it."""
    content = [block.to_dict(mode="json") for block in message.content]
    own = ({"role": "assistant", "content": content},) if content else ()
    return replace(talk, conversation=(*talk.conversation, *own, *more), said=said or talk.said, cuts=0, eased=0)


def _continue_after_cut(
    given: SessionContext, talk: SessionState, message: BetaMessage, words: str
) -> SessionState | Ending:
    """Go on after a reply that was cut off. Only its words stay: half a tool use must not be carried out."""
    if talk.cuts >= CUTS:
        return Ending("finished", f"stopped after {CUTS + 1} replies that were cut off: taken for CONTINUE", words)
    conversation = talk.conversation
    if message.stop_reason == "model_context_window_exceeded":
        conversation = _halve(conversation)
    said = ({"role": "assistant", "content": words or "(cut off)"}, {"role": "user", "content": _CUT_OFF})
    given.meter.context = 0
    return replace(talk, conversation=(*conversation, *said), cuts=talk.cuts + 1, said=words or talk.said)


def _simplify_request(talk: SessionState, error: Exception) -> SessionState | None:
    """Return the session with a simpler request that the API may take; None if nothing more can be left out."""
    if not isinstance(error, anthropic.APIStatusError) or find_status(error) not in (400, 413) or talk.eased >= CUTS:
        return None
    message = error.api_message or error.message
    if find_status(error) == 413 or _TOO_LONG.search(message):
        conversation = _halve(talk.conversation)
        return (
            replace(talk, conversation=conversation, eased=talk.eased + 1)
            if conversation != talk.conversation
            else None
        )
    refused = next(
        (key for key in talk.config if key in message), "output_config" if "output_config" in message else ""
    )
    kept = {key: value for key, value in talk.config.items() if refused not in (key, "output_config")}
    return replace(talk, config=kept, eased=talk.eased + 1) if refused and talk.config else None


def _halve(conversation: Conversation) -> Conversation:
    half = estimate_tokens(conversation) // 2
    return shorten(conversation, half, half)


def _output_config(settings: Settings) -> dict[str, Any]:
    effort = {"effort": settings.effort} if settings.effort else {}
    return {**effort, "format": {"type": "json_schema", "schema": reply.SCHEMA}}


def _join_texts(message: BetaMessage) -> str:
    """Return what the model said, without what it thought: a reply may begin with that."""
    return "\n".join(block.text for block in message.content if block.type == "text").strip()


def run_agent(settings: Settings, prompt: str) -> int:
    """One session on `prompt`, from the first record to the last; its exit code."""
    orphans.adopt_orphans()
    log = SessionLog(sys.stdout, settings.folder)
    scratch = Path(tempfile.mkdtemp(prefix="aigon-agent-"))
    try:
        ended = _run_guarded(settings, prompt, log, scratch)
    except KeyboardInterrupt:
        log.say("result", **Ending("killed", "stopped by a signal").record())
        raise
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    log.say("result", **ended.record())
    return 0 if ended.end == "finished" else 1


def _run_guarded(settings: Settings, prompt: str, log: SessionLog, scratch: Path) -> Ending:
    stack = ExitStack()
    try:
        with _client(settings) as client:
            ended = run_session(open_session(settings, client, log, scratch, stack), prompt)
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


def open_session(
    settings: Settings, client: anthropic.Anthropic, log: SessionLog, scratch: Path, stack: ExitStack
) -> SessionContext:
    """Return what the session works with; says in its first records what that is, and what is left out and why."""
    for name in ("tmp", "cache"):
        (scratch / name).mkdir(exist_ok=True)

    def note(text: str) -> None:
        log.say("note", text=text)

    places = list_writable(settings, scratch) if landlock.can_confine() else None
    known = endpoints.load_services(settings.checkout, note)
    log.hide(service.api_key_env for service in known if service.api_key_env)
    tools = _tools(settings, log, scratch, places)
    servers = mcp.connect_servers(mcp.load_servers(settings.checkout, note), settings.workspace, stack, note)
    for name, (definition, working) in {**servers, **endpoints.build_tools(known)}.items():
        tools.setdefault(name, SessionTool(cast(Any, definition), working, log))
    meter = _meter(settings)
    log.say("start", model=settings.model, tools=[*tools], confined=places is not None)
    if places is None:
        note("commands are not confined: this kernel has no Landlock")
    if meter.unpriced and settings.max_cost is not None:
        note(f"the cap of ${settings.max_cost:g} cannot be kept: there is no price of {settings.model}")
    system = _system_prompt(settings, confined=places is not None)
    return SessionContext(
        client,
        settings,
        system,
        tools,
        meter,
        log,
        lambda name: endpoints.explain_unknown(name, known) or f"There is no tool {name!r}",
    )


def _tools(
    settings: Settings, log: SessionLog, scratch: Path, places: tuple[Path, ...] | None
) -> dict[str, SessionTool]:
    shell = bash.Shell(
        settings.workspace, scratch, places, settings.command_timeout, redaction.make_redactor(os.environ)
    )
    own: tuple[tuple[dict[str, str], Work], ...] = (
        (bash.DEFINITION, shell), (editor.DEFINITION, editor.Editor(settings.workspace)),
    )  # fmt: skip
    return {definition["name"]: SessionTool(cast(Any, definition), working, log) for definition, working in own}


def _meter(settings: Settings) -> SessionMeter:
    return SessionMeter(
        settings.model, _load_prices(settings), settings.max_turns, settings.max_tokens, settings.max_cost
    )


def _load_prices(settings: Settings) -> PriceTable:
    """Return the prices of the project. A file that was spoilt since the run began must not cost the turn."""
    try:
        return price_tables.add_known_prices(
            price_tables.load_prices(price_tables.open_price_files(settings.checkout)), settings.model
        )
    except AigonError:
        return price_tables.load_shipped_prices()


def _system_prompt(settings: Settings, *, confined: bool) -> str:
    text = find_resource("templates", "prompts", "agent.md").read_text(encoding="utf-8")
    values = {
        "{{WORKSPACE}}": str(settings.workspace),
        "{{SECONDS}}": f"{settings.command_timeout:g}",
        "{{CONFINEMENT}}": _CONFINED if confined else _OPEN,
    }
    for name, value in values.items():
        text = text.replace(name, value)
    return text
