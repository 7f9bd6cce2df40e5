"""Reading one reply as it streams: whole, or Broken; and mending what the model wrote that is no JSON."""

import json
from typing import Any

import anthropic
from anthropic.lib.streaming import BetaMessageStream
from anthropic.types.beta import BetaMessage, BetaToolUseBlock, BetaUsage

from aigon.agents.api_agent.tool import INVALID

PER_TOKEN = 2.3
"""Characters of a token, measured on Claude's models: the usual 4 undercounts by 40 %."""
_KEPT = 2_000


class Broken(Exception):
    """A reply that ended before it was whole. `tokens` are what it cost, as far as is known."""

    def __init__(self, why: str, partial: BetaMessage | None, cause: Exception | None = None) -> None:
        super().__init__(why)
        self.partial = partial
        self.cause = cause


def read(stream: "BetaMessageStream[Any]") -> BetaMessage:
    """The whole reply; tool inputs that are no JSON objects stand in it under INVALID. Raises Broken."""
    inputs: dict[int, str] = {}
    try:
        for event in stream:
            if event.type == "content_block_delta" and event.delta.type == "input_json_delta":
                inputs[event.index] = inputs.get(event.index, "") + event.delta.partial_json
    except Exception as error:
        message = _so_far(stream)
        if message and (spoilt := _unparsable(message, error)):
            return _with_invalid(message, spoilt, str(error))
        raise Broken(_why(error), message, error) from error
    message = _so_far(stream)
    if message is None or message.stop_reason is None:
        raise Broken("the reply was cut off", message)
    return _checked(message, inputs)


def _so_far(stream: "BetaMessageStream[Any]") -> BetaMessage | None:
    try:
        return stream.current_message_snapshot
    except AssertionError:
        return None


def _why(error: Exception) -> str:
    said = error.message if isinstance(error, anthropic.APIError) else str(error)
    return f"the reply broke off: {said or type(error).__name__}"


def _unparsable(message: BetaMessage, error: Exception) -> BetaToolUseBlock | None:
    """The tool use at whose input the SDK gave up reading; a line of the stream that is no JSON is something else."""
    last = message.content[-1] if message.content else None
    return last if type(error) is ValueError and isinstance(last, BetaToolUseBlock) else None


def _with_invalid(message: BetaMessage, block: BetaToolUseBlock, said: str) -> BetaMessage:
    """What came until then, as a whole reply: what came after it was not read, and is guessed to be no more."""
    block.input = {INVALID: said.rpartition("JSON: ")[2][:_KEPT]}
    message.stop_reason = "tool_use"
    message.usage = usage_of(message)
    return message


def _checked(message: BetaMessage, inputs: dict[int, str]) -> BetaMessage:
    """The SDK takes an input that was cut off for one with fewer keys."""
    for index, text in inputs.items():
        block = message.content[index] if index < len(message.content) else None
        if isinstance(block, BetaToolUseBlock) and text.strip() and not _is_object(text):
            block.input = {INVALID: text[:_KEPT]}
    for block in message.content:
        if isinstance(block, BetaToolUseBlock) and not isinstance(block.input, dict):
            block.input = {INVALID: str(block.input)[:_KEPT]}
    return message


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def usage_of(message: BetaMessage) -> BetaUsage:
    """What a reply that is not whole has used: the output is not reported before the end, so it is estimated."""
    usage = message.usage if isinstance(message.usage, BetaUsage) else BetaUsage(input_tokens=0, output_tokens=0)
    written = len(json.dumps([block.to_dict(mode="json") for block in message.content], default=str))
    return usage.model_copy(update={"output_tokens": max(usage.output_tokens or 0, int(written / PER_TOKEN))})
