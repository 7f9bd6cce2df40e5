"""Exchange one request and reply with the model, keep the conversation within its limit, and run the tools used."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, cast

import anthropic
import tenacity
from anthropic.lib.tools import BetaStreamingToolRunner
from anthropic.types.beta import BetaMessage, BetaOutputConfigParam, BetaToolUseBlock, BetaUsage
from msgspec import Struct

from aigon.agents.anthropic_api import BrokenReply, build_retries
from aigon.agents.api_agent.reply import PER_TOKEN, estimate_usage, read_stream
from aigon.agents.api_agent.settings import (
    SessionLog,
    SessionMeter,
    SessionTool,
    Settings,
    ToolFailure,
    ToolOutput,
    clip_text,
)

Message = Mapping[str, Any]
Conversation = tuple[Message, ...]
Runner = BetaStreamingToolRunner[Any]

LIMIT = 150_000
"""Tokens of a request: three quarters of what current models can read at least."""
LIMITS = {"claude-haiku-5-5": 90_000}
"""This one costs five times as much above 100,000 (list of 2026-11-20)."""
RECENT = 3
"""Exchanges whose results are left as they are, if they can be."""
CLEARED = "[old output, no longer shown: run the tool again if you need it]"
_SHORT, _MIDDLING = 400, 3_000
"""Characters of a text in an old exchange that are left."""


def find_context_limit(model: str) -> int:
    """Return how many tokens a request to this model may have."""
    return next((limit for name, limit in LIMITS.items() if model.startswith(name)), LIMIT)


def fit_context(conversation: Conversation, used: int, limit: int) -> Conversation:
    """Return the conversation, shortened if it has more than `limit` tokens.

    `used` is what the API counted when it was last asked, 0 if it never was. Since shortening costs what was cached, it
    goes down to half of the limit if it can, oldest first; the first message stays, and every result keeps its use.
    """
    whole = estimate_tokens(conversation)
    known = used + estimate_tokens(conversation[-1:]) if used else whole
    if known <= limit:
        return conversation
    share = limit / known
    return shorten(conversation, int(whole * share / 2), int(whole * share))


def shorten(conversation: Conversation, wanted: int, most: int) -> Conversation:
    """Return the conversation with `wanted` tokens if clearing old exchanges is enough, and `most` by all means."""
    messages = list(conversation)
    old = max(1, len(messages) - 2 * RECENT)
    for last, length, enough in ((old, 0, wanted), (len(messages), _MIDDLING, most), (len(messages), _SHORT, most)):
        for index in range(1, last):
            if estimate_tokens(messages) <= enough:
                break
            content = messages[index]["content"]
            if not isinstance(content, str):
                messages[index] = {**messages[index], "content": [_shorten_block(block, length) for block in content]}
    return tuple(messages)


def estimate_tokens(messages: Iterable[Message]) -> int:
    """Return about how many tokens the messages have."""
    return int(sum(len(json.dumps(message, ensure_ascii=False, default=str)) for message in messages) / PER_TOKEN)


def _shorten_block(block: Mapping[str, Any], length: int) -> Mapping[str, Any]:
    """Return a block with less in it. Thoughts are signed, and texts are short: these stay."""
    if block["type"] == "tool_result":
        content = block.get("content")
        text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, default=str)
        if length or len(text) > len(CLEARED):
            text = clip_text(text, length) if length else CLEARED
        return {**block, "content": text}
    if block["type"] == "tool_use":
        most = length or _SHORT
        values = block["input"].items()
        return {**block, "input": {k: clip_text(v, most) if isinstance(v, str) else v for k, v in values}}
    return block


def mark_cached(conversation: Sequence[Message]) -> list[Any]:
    """Return the messages as they are sent: marked up to where the next request will find them in the cache."""
    last = conversation[-1]
    content = [{"type": "text", "text": last["content"]}] if isinstance(last["content"], str) else [*last["content"]]
    if last["role"] != "user" or not content:
        return [*conversation]
    content[-1] = {**content[-1], "cache_control": {"type": "ephemeral"}}
    return [*conversation[:-1], {**last, "content": content}]


class SessionContext(Struct, frozen=True):
    """The constant part of a session. `explain` says of a tool that is not there why not."""

    client: anthropic.Anthropic
    settings: Settings
    system: str
    tools: Mapping[str, SessionTool]
    meter: SessionMeter
    log: SessionLog
    explain: Callable[[str], str]


def ask_model(
    given: SessionContext, conversation: Conversation, config: Mapping[str, Any]
) -> tuple[Runner, BetaMessage]:
    """Return the next reply, and the runner that can run its tools. Raises what the last attempt raised."""

    def log_retry(state: tenacity.RetryCallState) -> None:
        error = state.outcome.exception() if state.outcome else None
        why, seconds = " ".join(str(error).split())[:300], round(state.upcoming_sleep, 1)
        given.log.write("retry", attempt=state.attempt_number, why=why, seconds=seconds)

    settings = given.settings
    retries = build_retries(
        tenacity.stop_after_attempt(max(1, settings.attempts)),
        settings.first_wait,
        settings.longest_wait,
        is_over=given.meter.find_reached_cap,
        before_sleep=log_retry,
    )
    return retries(_attempt, given, conversation, config)


def _attempt(
    given: SessionContext, conversation: Conversation, config: Mapping[str, Any]
) -> tuple[Runner, BetaMessage]:
    """Make one request. The runner gets the whole conversation, so that a reply that broke off leaves nothing."""
    runner: Runner = given.client.beta.messages.tool_runner(
        model=given.settings.model,
        max_tokens=given.meter.limit_reply(given.settings.reply),
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
            _count_usage(given, estimate_usage(broken.partial), "broken off")
        raise
    given.meter.calls += 1
    _count_usage(given, message.usage, message.stop_reason or "")
    return runner, message


def _count_usage(given: SessionContext, usage: BetaUsage | None, stopped: str) -> None:
    """Count what a reply has used, and write it down at once: whatever comes next, it is known."""
    tokens = given.meter.add(usage or BetaUsage(input_tokens=0, output_tokens=0))
    given.log.write("call", model=given.settings.model, turn=given.meter.calls, stopped=stopped, input=tokens.input,
                    output=tokens.output, cache_write=tokens.cache_write, cache_read=tokens.cache_read,
                    cost=given.meter.price(tokens))  # fmt: skip


def run_tools(given: SessionContext, runner: Runner, message: BetaMessage) -> Message | None:
    """Run the tools of a reply, each once and in order; return the message that answers it, None if it uses none."""
    for block in message.content:
        if isinstance(block, BetaToolUseBlock) and block.name not in given.tools:
            # Known to this runner alone, so that the definitions which are cached stay as they are.
            runner.add_tools(_build_missing_tool(given, block.name))
    try:
        answer = runner.generate_tool_call_response()
    finally:
        runner.close()
    return {"role": "user", "content": list(answer["content"])} if answer else None


def _build_missing_tool(given: SessionContext, name: str) -> SessionTool:
    def work(_: Mapping[str, Any]) -> ToolOutput:
        raise ToolFailure(f"{given.explain(name)}. Tools: {', '.join(given.tools)}")

    return SessionTool({"name": name, "input_schema": {"type": "object"}}, work, given.log)
