"""Exchange one request and reply with the model, keep the conversation within its limit, and run the tools used."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import anthropic
import httpx2
import tenacity
from anthropic.lib.tools import BetaStreamingToolRunner
from anthropic.types.beta import BetaMessage, BetaOutputConfigParam, BetaToolUseBlock, BetaUsage

from aigon.agents.api_agent.reply import (
    PER_TOKEN,
    BrokenReply,
    estimate_usage,
    find_status,
    is_spend_limit,
    read_retry_after,
    read_stream,
)
from aigon.agents.api_agent.settings import SessionMeter, Settings
from aigon.agents.api_agent.tool import SessionLog, SessionTool, ToolFailure, ToolOutput, clip_text

Message = Mapping[str, Any]
Conversation = tuple[Message, ...]

LIMIT = 150_000
"""Tokens of a request: three quarters of what current models can read at least."""
LIMITS = {"claude-haiku-5-5": 90_000}
"""This one costs five times as much above 100,000 (list of 2026-11-20)."""
RECENT = 3
"""Exchanges whose results are left as they are, if they can be."""
CLEARED = "[old output, no longer shown: run the tool again if you need it]"
_SHORT = 400
"""Characters of a text in an old exchange that are left."""
_MIDDLING = 3_000


def find_context_limit(model: str) -> int:
    """Return how many tokens a request to this model may have."""
    return next((limit for name, limit in LIMITS.items() if model.startswith(name)), LIMIT)


def fit_context(conversation: Conversation, used: int, limit: int) -> Conversation:
    """Return the conversation, shortened where it has more than `limit` tokens.

    `used` is what the API counted when it was last asked, 0 if it never was. Since shortening costs what was cached, it
    goes down to half of the limit where it can, oldest first; the first message stays, and every result keeps its use.
    """
    whole = estimate_tokens(conversation)
    known = used + estimate_tokens(conversation[-1:]) if used else whole
    if known <= limit:
        return conversation
    share = limit / known
    return shorten(conversation, int(whole * share / 2), int(whole * share))


def shorten(conversation: Conversation, wanted: int, most: int) -> Conversation:
    """Down to `wanted` tokens from old exchanges, and to `most` by all means there are."""
    old = max(1, len(conversation) - 2 * RECENT)
    for first, last, length, enough in ((1, old, 0, wanted), (1, len(conversation), _MIDDLING, most),
                                        (1, len(conversation), _SHORT, most)):  # fmt: skip
        for index in range(first, last):
            if estimate_tokens(conversation) <= enough:
                break
            conversation = (
                *conversation[:index],
                _shorten_message(conversation[index], length),
                *conversation[index + 1 :],
            )
    return conversation


def estimate_tokens(messages: Iterable[Message]) -> int:
    """Tokens, estimated."""
    return int(sum(len(json.dumps(message, ensure_ascii=False, default=str)) for message in messages) / PER_TOKEN)


def _shorten_message(message: Message, length: int) -> Message:
    content = message["content"]
    return (
        message
        if isinstance(content, str)
        else {**message, "content": [_shorten_block(block, length) for block in content]}
    )


def _shorten_block(block: Mapping[str, Any], length: int) -> Mapping[str, Any]:
    """Return a block with less in it. Thoughts are signed, and texts are short: these stay."""
    if block["type"] == "tool_result":
        return {**block, "content": _shorten_result(block.get("content"), length)}
    if block["type"] == "tool_use":
        return {
            **block,
            "input": {key: _shorten_value(value, length or _SHORT) for key, value in block["input"].items()},
        }
    return block


def _shorten_result(content: object, length: int) -> str:
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, default=str)
    if length:
        return clip_text(text, length)
    return text if len(text) <= len(CLEARED) else CLEARED


def _shorten_value(value: object, length: int) -> object:
    return clip_text(value, length) if isinstance(value, str) else value


def mark_cached(conversation: Sequence[Message]) -> list[Any]:
    """Return the messages as they are sent: marked up to where the next request will find them in the cache."""
    last = conversation[-1]
    content = [{"type": "text", "text": last["content"]}] if isinstance(last["content"], str) else [*last["content"]]
    if last["role"] != "user" or not content:
        return [*conversation]
    content[-1] = {**content[-1], "cache_control": {"type": "ephemeral"}}
    return [*conversation[:-1], {**last, "content": content}]


Runner = BetaStreamingToolRunner[Any]


@dataclass(frozen=True, slots=True)
class SessionContext:
    """What stays the same through a session. `explain` says of a tool that is not there why not."""

    client: anthropic.Anthropic
    settings: Settings
    system: str
    tools: Mapping[str, SessionTool]
    meter: SessionMeter
    log: SessionLog
    explain: Callable[[str], str] = lambda name: f"There is no tool called {name!r}"


def ask_model(
    given: SessionContext, conversation: Conversation, config: Mapping[str, Any]
) -> tuple[Runner, BetaMessage]:
    """Return the next reply, and the runner that can run its tools. Raises what the last attempt raised."""
    settings = given.settings
    attempts = tenacity.Retrying(
        stop=tenacity.stop_after_attempt(max(1, settings.attempts)),
        wait=lambda state: _wait(state, settings),
        retry=tenacity.retry_if_exception(
            lambda error: _is_passing(error, settings.longest_wait) and not given.meter.reached()
        ),
        before_sleep=lambda state: _log_retry(state, given.log),
        reraise=True,
    )
    return attempts(_attempt, given, conversation, config)


def _attempt(
    given: SessionContext, conversation: Conversation, config: Mapping[str, Any]
) -> tuple[Runner, BetaMessage]:
    """One request. The runner gets the whole conversation each time, so that a reply that broke off leaves nothing."""
    runner: Runner = given.client.beta.messages.tool_runner(
        model=given.settings.model,
        max_tokens=given.meter.reply(given.settings.reply),
        system=[{"type": "text", "text": given.system, "cache_control": {"type": "ephemeral"}}],
        messages=mark_cached(conversation),
        tools=[*given.tools.values()],
        stream=True,
        thread=False,
        max_iterations=1,
        output_config=cast(BetaOutputConfigParam, dict(config)) if config else anthropic.omit,
    )
    try:
        message = read_stream(next(runner))
    except BrokenReply as broken:
        runner.close()
        if broken.partial:
            count_usage(given, estimate_usage(broken.partial), "broken off")
        raise
    given.meter.calls += 1
    count_usage(given, message.usage, message.stop_reason or "")
    return runner, message


def count_usage(given: SessionContext, usage: BetaUsage | None, stopped: str) -> None:
    """Count what a reply has used, and write it down at once: whatever comes next, it is known."""
    tokens = given.meter.add(usage or BetaUsage(input_tokens=0, output_tokens=0))
    given.log.say("call", model=given.settings.model, turn=given.meter.calls, stopped=stopped, input=tokens.input,
                  output=tokens.output, cache_write=tokens.cache_write, cache_read=tokens.cache_read,
                  cost=given.meter.price(tokens))  # fmt: skip


def run_tools(given: SessionContext, runner: Runner, message: BetaMessage) -> Message | None:
    """Run the tools of a reply, each once and in order: the message that answers it, None where it uses none."""
    for block in message.content:
        if isinstance(block, BetaToolUseBlock) and block.name not in given.tools:
            # Known to this runner alone, so that the definitions which are cached stay as they are.
            runner.add_tools(_missing_tool(given, block.name))
    try:
        answer = runner.generate_tool_call_response()
    finally:
        runner.close()
    return {"role": "user", "content": list(answer["content"])} if answer else None


def _missing_tool(given: SessionContext, name: str) -> SessionTool:
    def work(_: Mapping[str, Any]) -> ToolOutput:
        raise ToolFailure(f"{given.explain(name)}. Tools: {', '.join(given.tools)}")

    return SessionTool({"name": name, "input_schema": {"type": "object"}}, work, given.log)


def _is_passing(error: BaseException, longest: float) -> bool:
    """Whether another attempt may help, and soon."""
    cause = (error.cause or error) if isinstance(error, BrokenReply) else error
    if isinstance(cause, anthropic.APIStatusError):
        status = find_status(cause)
        again = status in (408, 409, 429) or status >= 500
        return again and not is_spend_limit(cause) and (read_retry_after(cause) or 0.0) <= longest
    return isinstance(error, BrokenReply | anthropic.APIConnectionError | httpx2.TransportError)


def _wait(state: tenacity.RetryCallState, settings: Settings) -> float:
    asked = read_retry_after(state.outcome.exception() if state.outcome else None)
    return (
        asked
        if asked is not None
        else min(settings.longest_wait, settings.first_wait * 2 ** (state.attempt_number - 1))
    )


def _log_retry(state: tenacity.RetryCallState, log: SessionLog) -> None:
    error = state.outcome.exception() if state.outcome else None
    log.say("retry", attempt=state.attempt_number, why=" ".join(str(error).split())[:300],
            seconds=round(state.upcoming_sleep, 1))  # fmt: skip
