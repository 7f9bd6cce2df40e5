"""Run a session: ask, run the tools, ask again, until the model says how it ends or a cap does."""

import os
import re
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import anthropic
import httpx2
from anthropic.types.beta import BetaMessage
from msgspec import Struct, to_builtins
from msgspec.structs import replace

from aigon.agents.anthropic_api import BrokenReply, find_status, load_prices, open_client
from aigon.agents.api_agent import endpoints, mcp, reply
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
from aigon.agents.api_agent.reply import Ending
from aigon.agents.api_agent.settings import SessionLog, SessionMeter, SessionTool, Settings, Work
from aigon.agents.api_agent.workspace_tools import EDITOR, SHELL, Editor, Shell, list_writable
from aigon.files.folders import TemporaryFolder
from aigon.files.resources import read_prompt
from aigon.isolation import landlock
from aigon.process import orphans
from aigon.secrets import redaction
from aigon.text.patterns import compile_re

CUTS = 2
"""Replies in a row that may be cut off at their longest before the session ends."""
_TOO_LONG = compile_re(r"too long|too large|context (?:window|length)|too many (?:input )?tokens", re.I)
_CUT_OFF = "Your last reply was cut off, and nothing in it was carried out. Continue in smaller steps."
_CONFINED = "It can write to the workspace and to $TMPDIR, and to nothing else of this machine."
_OPEN = "Write to nothing outside of the workspace but $TMPDIR."


class SessionState(Struct, frozen=True):
    """The state of a session: what was said, the form of replies, and how many replies in a row were cut off."""

    conversation: Conversation
    config: Mapping[str, Any]
    said: str = ""
    cuts: int = 0
    eased: int = 0


def run_agent(settings: Settings, prompt: str) -> int:
    """Run one session on `prompt`, from the first record to the last, and return its exit code."""
    orphans.adopt_orphans()
    log = SessionLog(sys.stdout, settings.folder)
    try:
        with TemporaryFolder("agent") as scratch:
            ending = _run_guarded(settings, prompt, log, scratch)
    except KeyboardInterrupt:
        log.write("result", **to_builtins(Ending("killed", "stopped by a signal")))
        raise
    log.write("result", **to_builtins(ending))
    return 0 if ending.end == "finished" else 1


def _run_guarded(settings: Settings, prompt: str, log: SessionLog, scratch: Path) -> Ending:
    stack = ExitStack()
    try:
        with open_client(httpx2.Timeout(20.0, read=settings.patience)) as client:
            ending = run_session(open_session(settings, client, log, scratch, stack), prompt)
    except BrokenPipeError:
        raise
    except Exception as error:
        return Ending("failed", f"the agent broke: {type(error).__name__}: {' '.join(str(error).split())[:500]}")
    # Not after a signal: a server may take its time to end, and is ended anyway.
    stack.close()
    return ending


def open_session(
    settings: Settings, client: anthropic.Anthropic, log: SessionLog, scratch: Path, stack: ExitStack
) -> SessionContext:
    """Return what the session works with. Its first records say what that is, and what is left out and why."""
    for name in ("tmp", "cache"):
        (scratch / name).mkdir(exist_ok=True)

    def note(text: str) -> None:
        log.write("note", text=text)

    places = list_writable(settings, scratch) if landlock.can_confine() else None
    services = endpoints.load_services(settings.checkout, note)
    log.hide(service.api_key_env for service in services if service.api_key_env)
    redact = redaction.make_redactor(os.environ)
    shell = Shell(settings.workspace, scratch, places, settings.command_timeout, redact)
    own: dict[str, tuple[dict[str, object], Work]] = {
        str(SHELL["name"]): (SHELL, shell),
        str(EDITOR["name"]): (EDITOR, Editor(settings.workspace)),
    }
    servers = mcp.connect_servers(mcp.load_servers(settings.checkout, note), settings.workspace, stack, note)
    every = {**endpoints.build_tools(services), **servers, **own}
    order = dict.fromkeys((*own, *servers, *every))
    tools = {name: SessionTool(*every[name], log) for name in order}
    prices = load_prices(settings.checkout, settings.model)
    meter = SessionMeter(settings.model, prices, settings.max_turns, settings.max_tokens, settings.max_cost)
    log.write("start", model=settings.model, tools=[*tools], confined=places is not None)
    if places is None:
        note("commands are not confined: this kernel has no Landlock")
    if meter.unpriced and settings.max_cost is not None:
        note(f"the cap of ${settings.max_cost:g} cannot be kept: there is no price of {settings.model}")

    def explain(name: str) -> str:
        return endpoints.explain_unknown(name, services) or f"There is no tool {name!r}"

    (system,) = read_prompt(
        "agent",
        WORKSPACE=settings.workspace,
        SECONDS=f"{settings.command_timeout:g}",
        CONFINEMENT=_OPEN if places is None else _CONFINED,
    )
    return SessionContext(client, settings, system, tools, meter, log, explain)


def run_session(given: SessionContext, prompt: str) -> Ending:
    """Work on `prompt` to an end. What the API refuses for good is an ending, too."""
    effort = {"effort": given.settings.effort} if given.settings.effort else {}
    config = {**effort, "format": {"type": "json_schema", "schema": reply.SCHEMA}}
    state = SessionState(({"role": "user", "content": prompt},), config)
    while not isinstance(following := _take_step(given, state), Ending):
        state = following
    return following


def _take_step(given: SessionContext, state: SessionState) -> SessionState | Ending:
    given.log.turn = given.meter.calls + 1
    if cap := given.meter.find_reached_cap():
        return Ending("finished", f"stopped at {cap}", state.said)
    limit = given.settings.context or find_context_limit(given.settings.model)
    state = replace(state, conversation=fit_context(state.conversation, given.meter.context, limit))
    try:
        runner, message = ask_model(given, state.conversation, state.config)
    except (anthropic.APIError, httpx2.HTTPError, BrokenReply) as error:
        return _simplify_request(state, error) or reply.ending_from_error(error, state.said)
    # Without what the model thought: a reply may begin with that.
    words = "\n".join(block.text for block in message.content if block.type == "text").strip()
    if words:
        given.log.write("text", text=words)
    match message.stop_reason:
        case "tool_use" if answer := run_tools(given, runner, message):
            return _continue(state, message, answer, said=words or state.said)
        case "pause_turn" | "compaction":
            runner.close()
            return _continue(state, message)
        case "max_tokens" | "model_context_window_exceeded":
            runner.close()
            return _continue_after_cut(given, state, message, words)
    runner.close()
    if message.stop_reason == "refusal":
        why = getattr(message.stop_details, "explanation", None) or "the model declines to continue"
        return Ending("refused", str(why), words or state.said)
    return reply.read_ending(words or state.said)


def _continue(state: SessionState, message: BetaMessage, *more: Mapping[str, Any], said: str = "") -> SessionState:
    """Return the session after a reply and what answers it."""
    content = [block.to_dict(mode="json") for block in message.content]
    own = ({"role": "assistant", "content": content},) if content else ()
    return replace(state, conversation=(*state.conversation, *own, *more), said=said or state.said, cuts=0, eased=0)


def _continue_after_cut(
    given: SessionContext, state: SessionState, message: BetaMessage, words: str
) -> SessionState | Ending:
    """Go on after a reply that was cut off. Only its words stay: half a tool use must not be carried out."""
    if state.cuts >= CUTS:
        return Ending("finished", f"stopped after {CUTS + 1} replies that were cut off: taken for CONTINUE", words)
    conversation = state.conversation
    if message.stop_reason == "model_context_window_exceeded":
        conversation = _halve(conversation)
    said = ({"role": "assistant", "content": words or "(cut off)"}, {"role": "user", "content": _CUT_OFF})
    given.meter.context = 0
    return replace(state, conversation=(*conversation, *said), cuts=state.cuts + 1, said=words or state.said)


def _simplify_request(state: SessionState, error: Exception) -> SessionState | None:
    """Return the session with a simpler request that the API may take; None if nothing more can be left out."""
    if not isinstance(error, anthropic.APIStatusError) or find_status(error) not in (400, 413) or state.eased >= CUTS:
        return None
    message = error.api_message or error.message
    if find_status(error) == 413 or _TOO_LONG.search(message):
        conversation = _halve(state.conversation)
        if conversation == state.conversation:
            return None
        return replace(state, conversation=conversation, eased=state.eased + 1)
    refused = next((key for key in (*state.config, "output_config") if key in message), "")
    if not refused or not state.config:
        return None
    kept = {key: value for key, value in state.config.items() if refused not in (key, "output_config")}
    return replace(state, config=kept, eased=state.eased + 1)


def _halve(conversation: Conversation) -> Conversation:
    half = estimate_tokens(conversation) // 2
    return shorten(conversation, half, half)
