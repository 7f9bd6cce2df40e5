"""The session: ask, run the tools, ask again, until the model says how it ends or a cap does."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import anthropic
import httpx2
from anthropic.types.beta import BetaMessage

from aigon.agents.api_agent import ending, reply
from aigon.agents.api_agent.call import Given, asked, results
from aigon.agents.api_agent.context import Conversation, fitted, limit_of, shortened, size
from aigon.agents.api_agent.ending import Ending, status_of
from aigon.agents.api_agent.settings import Settings
from aigon.agents.api_agent.stream import Broken

CUTS = 2
"""Replies in a row that may be cut off at their longest before the session ends."""
_TOO_LONG = re.compile(r"too long|too large|context (?:window|length)|too many (?:input )?tokens", re.I)
_CUT_OFF = "Your last reply was cut off, and nothing in it was carried out. Go on in smaller steps."


@dataclass(frozen=True, slots=True)
class Talk:
    """Where a session stands: what was said, how replies are to look, and how many were cut off just now."""

    conversation: Conversation
    config: Mapping[str, Any]
    said: str = ""
    cuts: int = 0
    eased: int = 0


def run(given: Given, prompt: str) -> Ending:
    """Work on `prompt` to an end. What the API refuses for good is an ending, too."""
    talk = Talk(({"role": "user", "content": prompt},), _config(given.settings))
    while not isinstance(following := _step(given, talk), Ending):
        talk = following
    return following


def _step(given: Given, talk: Talk) -> Talk | Ending:
    given.log.turn = given.meter.calls + 1
    if cap := given.meter.reached():
        return Ending("finished", f"stopped at {cap}", talk.said)
    limit = given.settings.context or limit_of(given.settings.model)
    talk = replace(talk, conversation=fitted(talk.conversation, given.meter.context, limit))
    try:
        runner, message = asked(given, talk.conversation, talk.config)
    except (anthropic.APIError, httpx2.HTTPError, Broken) as error:
        return _eased(talk, error) or ending.by_error(error, talk.said)
    words = _words(message)
    if words:
        given.log.say("text", text=words)
    match message.stop_reason:
        case "tool_use" if answer := results(given, runner, message):
            return _on(talk, message, answer, said=words or talk.said)
        case "pause_turn" | "compaction":
            runner.close()
            return _on(talk, message)
        case "max_tokens" | "model_context_window_exceeded":
            runner.close()
            return _cut_off(given, talk, message, words)
    runner.close()
    return _ended(message, words or talk.said)


def _ended(message: BetaMessage, words: str) -> Ending:
    if message.stop_reason == "refusal":
        why = getattr(message.stop_details, "explanation", None) or "the model declines to go on"
        return Ending("refused", str(why), words)
    return ending.by_words(reply.read(words))


def _on(talk: Talk, message: BetaMessage, *more: Mapping[str, Any], said: str = "") -> Talk:
    """The talk after a reply, and what answers it."""
    content = [block.to_dict(mode="json") for block in message.content]
    own = ({"role": "assistant", "content": content},) if content else ()
    return replace(talk, conversation=(*talk.conversation, *own, *more), said=said or talk.said, cuts=0, eased=0)


def _cut_off(given: Given, talk: Talk, message: BetaMessage, words: str) -> Talk | Ending:
    """A use of a tool that was cut off must not be carried out, so of such a reply only the words stay."""
    if talk.cuts >= CUTS:
        return Ending("finished", f"stopped after {CUTS + 1} replies that were cut off: taken for CONTINUE", words)
    conversation = talk.conversation
    if message.stop_reason == "model_context_window_exceeded":
        conversation = _halved(conversation)
    said = ({"role": "assistant", "content": words or "(cut off)"}, {"role": "user", "content": _CUT_OFF})
    given.meter.context = 0
    return replace(talk, conversation=(*conversation, *said), cuts=talk.cuts + 1, said=words or talk.said)


def _eased(talk: Talk, error: Exception) -> Talk | None:
    """The same talk, asked for in a way that the API may take; None where nothing can be left out any more."""
    if not isinstance(error, anthropic.APIStatusError) or status_of(error) not in (400, 413) or talk.eased >= CUTS:
        return None
    message = error.api_message or error.message
    if status_of(error) == 413 or _TOO_LONG.search(message):
        conversation = _halved(talk.conversation)
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


def _halved(conversation: Conversation) -> Conversation:
    half = size(conversation) // 2
    return shortened(conversation, half, half)


def _config(settings: Settings) -> dict[str, Any]:
    effort = {"effort": settings.effort} if settings.effort else {}
    return {**effort, "format": {"type": "json_schema", "schema": reply.SCHEMA}}


def _words(message: BetaMessage) -> str:
    """What the model said, without what it thought: a reply may begin with that."""
    return "\n".join(block.text for block in message.content if block.type == "text").strip()
