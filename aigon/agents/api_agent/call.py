"""One exchange with the model: asked until a whole reply is there, within bounds; then its tools are run."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import anthropic
import httpx2
import tenacity
from anthropic.lib.tools import BetaStreamingToolRunner
from anthropic.types.beta import BetaMessage, BetaOutputConfigParam, BetaToolUseBlock, BetaUsage

from aigon.agents.api_agent.context import Conversation, Message, cached
from aigon.agents.api_agent.ending import asked_wait, spend_limit, status_of
from aigon.agents.api_agent.log import Log
from aigon.agents.api_agent.meter import Meter
from aigon.agents.api_agent.settings import Settings
from aigon.agents.api_agent.stream import Broken, read, usage_of
from aigon.agents.api_agent.tool import Output, Tool, Wrong

Runner = BetaStreamingToolRunner[Any]


@dataclass(frozen=True, slots=True)
class Given:
    """What stays the same through a session. `explain` says of a tool that is not there why not."""

    client: anthropic.Anthropic
    settings: Settings
    system: str
    tools: Mapping[str, Tool]
    meter: Meter
    log: Log
    explain: Callable[[str], str] = lambda name: f"There is no tool called {name!r}"


def asked(given: Given, conversation: Conversation, config: Mapping[str, Any]) -> tuple[Runner, BetaMessage]:
    """The next reply, and the runner that can run its tools. Raises what the last attempt raised."""
    settings = given.settings
    attempts = tenacity.Retrying(
        stop=tenacity.stop_after_attempt(max(1, settings.attempts)),
        wait=lambda state: _wait(state, settings),
        retry=tenacity.retry_if_exception(
            lambda error: _passing(error, settings.longest_wait) and not given.meter.reached()
        ),
        before_sleep=lambda state: _say(state, given.log),
        reraise=True,
    )
    return attempts(_attempt, given, conversation, config)


def _attempt(given: Given, conversation: Conversation, config: Mapping[str, Any]) -> tuple[Runner, BetaMessage]:
    """One request. The runner gets the whole conversation each time, so that a reply that broke off leaves nothing."""
    runner: Runner = given.client.beta.messages.tool_runner(
        model=given.settings.model,
        max_tokens=given.meter.reply(given.settings.reply),
        system=[{"type": "text", "text": given.system, "cache_control": {"type": "ephemeral"}}],
        messages=cached(conversation),
        tools=[*given.tools.values()],
        stream=True,
        thread=False,
        max_iterations=1,
        output_config=cast(BetaOutputConfigParam, dict(config)) if config else anthropic.omit,
    )
    try:
        message = read(next(runner))
    except Broken as broken:
        runner.close()
        if broken.partial:
            counted(given, usage_of(broken.partial), "broken off")
        raise
    given.meter.calls += 1
    counted(given, message.usage, message.stop_reason or "")
    return runner, message


def counted(given: Given, usage: BetaUsage | None, stopped: str) -> None:
    """Count what a reply has used, and write it down at once: whatever comes next, it is known."""
    tokens = given.meter.add(usage or BetaUsage(input_tokens=0, output_tokens=0))
    given.log.say("call", model=given.settings.model, turn=given.meter.calls, stopped=stopped, input=tokens.input,
                  output=tokens.output, cache_write=tokens.cache_write, cache_read=tokens.cache_read,
                  cost=given.meter.price(tokens))  # fmt: skip


def results(given: Given, runner: Runner, message: BetaMessage) -> Message | None:
    """Run the tools of a reply, each once and in order: the message that answers it, None where it uses none."""
    for block in message.content:
        if isinstance(block, BetaToolUseBlock) and block.name not in given.tools:
            # Known to this runner alone, so that the definitions which are cached stay as they are.
            runner.add_tools(_missing(given, block.name))
    try:
        answer = runner.generate_tool_call_response()
    finally:
        runner.close()
    return {"role": "user", "content": list(answer["content"])} if answer else None


def _missing(given: Given, name: str) -> Tool:
    def work(_: Mapping[str, Any]) -> Output:
        raise Wrong(f"{given.explain(name)}. Tools: {', '.join(given.tools)}")

    return Tool({"name": name, "input_schema": {"type": "object"}}, work, given.log)


def _passing(error: BaseException, longest: float) -> bool:
    """Whether another attempt may help, and soon."""
    cause = (error.cause or error) if isinstance(error, Broken) else error
    if isinstance(cause, anthropic.APIStatusError):
        status = status_of(cause)
        again = status in (408, 409, 429) or status >= 500
        return again and not spend_limit(cause) and (asked_wait(cause) or 0.0) <= longest
    return isinstance(error, Broken | anthropic.APIConnectionError | httpx2.TransportError)


def _wait(state: tenacity.RetryCallState, settings: Settings) -> float:
    asked = asked_wait(state.outcome.exception() if state.outcome else None)
    return (
        asked
        if asked is not None
        else min(settings.longest_wait, settings.first_wait * 2 ** (state.attempt_number - 1))
    )


def _say(state: tenacity.RetryCallState, log: Log) -> None:
    error = state.outcome.exception() if state.outcome else None
    log.say("retry", attempt=state.attempt_number, why=" ".join(str(error).split())[:300],
            seconds=round(state.upcoming_sleep, 1))  # fmt: skip
