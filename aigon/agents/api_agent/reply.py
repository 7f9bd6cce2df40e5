"""Read what the model replied: a stream, the JSON object of its last words, or an error; and how the session ended."""

import json
import re
import time
from collections.abc import Iterator
from typing import Any

import anthropic
import httpx2
from anthropic.lib.streaming import BetaMessageStream
from anthropic.types.beta import BetaMessage, BetaToolUseBlock, BetaUsage
from msgspec import Struct

from aigon.agents.adapters._errors import END_WORDS, classify_error
from aigon.agents.adapters._program import LONGEST_REASON, read_action
from aigon.agents.anthropic_api import BrokenReply, find_status, get_cause, is_spend_limit, read_retry_after
from aigon.agents.api_agent.settings import INVALID
from aigon.model.turns import TurnEnd
from aigon.text.patterns import compile_re

PER_TOKEN = 2.3
"""Characters of a token, measured on Claude's models: the usual 4 undercounts by 40 %."""
_KEPT = 2_000
ACTIONS = ("DONE", "CONTINUE", "FAILED", "NEEDS_HUMAN")
SCHEMA: dict[str, object] = {
    "type": "object",
    "properties": {
        "thought": {"type": "string"},
        "next_action": {"type": "string", "enum": list(ACTIONS)},
        "reason": {"type": "string"},
    },
    "required": ["thought", "next_action", "reason"],
    "additionalProperties": False,
}
_FENCED = compile_re(r"```[a-zA-Z]*[ \t]*\n(.*?)```", re.DOTALL)
_BEGUN = 200
"""Places in a text where an object may begin that are tried."""


def read_stream(stream: "BetaMessageStream[Any]") -> BetaMessage:
    """Return the whole reply; tool inputs that are no JSON objects are under INVALID. Raises BrokenReply."""
    inputs: dict[int, str] = {}
    try:
        for event in stream:
            if event.type == "content_block_delta" and event.delta.type == "input_json_delta":
                inputs[event.index] = inputs.get(event.index, "") + event.delta.partial_json
    except Exception as error:
        message = _snapshot(stream)
        last = message.content[-1] if message and message.content else None
        # A ValueError is the tool input that the SDK gave up reading; a line of the stream that is no JSON is another.
        if message is None or type(error) is not ValueError or not isinstance(last, BetaToolUseBlock):
            said = error.message if isinstance(error, anthropic.APIError) else str(error)
            raise BrokenReply(f"the reply was cut off: {said or type(error).__name__}", message, error) from error
        # What came until then is a whole reply: what came after it was not read, and is guessed to be no more.
        last.input = {INVALID: str(error).rpartition("JSON: ")[2][:_KEPT]}
        message.stop_reason = "tool_use"
        message.usage = estimate_usage(message)
        return message
    message = _snapshot(stream)
    if message is None or message.stop_reason is None:
        raise BrokenReply("the reply was cut off", message)
    for index, block in enumerate(message.content):
        if isinstance(block, BetaToolUseBlock):
            # The SDK takes an input that was cut off for one with fewer keys.
            text = inputs.get(index, "")
            if text.strip() and not _is_object(text):
                block.input = {INVALID: text[:_KEPT]}
            elif not isinstance(block.input, dict):
                block.input = {INVALID: str(block.input)[:_KEPT]}
    return message


def _snapshot(stream: "BetaMessageStream[Any]") -> BetaMessage | None:
    try:
        return stream.current_message_snapshot
    except AssertionError:
        return None


def _is_object(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def estimate_usage(message: BetaMessage) -> BetaUsage:
    """Return what a reply that is not whole has used: the output is not reported before the end, so it is estimated."""
    usage = message.usage if isinstance(message.usage, BetaUsage) else BetaUsage(input_tokens=0, output_tokens=0)
    written = len(json.dumps([block.to_dict(mode="json") for block in message.content], default=str))
    return usage.model_copy(update={"output_tokens": max(usage.output_tokens or 0, int(written / PER_TOKEN))})


class Ending(Struct, frozen=True):
    """The last record. `said` is what people see; `action` what the model claims, if it said so."""

    end: TurnEnd
    detail: str = ""
    said: str = ""
    action: str = ""
    resets_at: float | None = None


def read_ending(text: str) -> Ending:
    """Return what the model's last words come to.

    The structured reply is all of the text, else the last fenced block that is one, else the last object that is one.
    DONE is a claim like CONTINUE: the loop assesses the tree itself. Anything else counts as CONTINUE.
    """
    for value in _iterate_objects(text):
        if isinstance(value, dict):
            action = re.sub(r"[\s-]+", "_", str(value.get("next_action")).strip()).upper()
            if action in ACTIONS:
                thought, reason = (str(value.get(key) or "").strip() for key in ("thought", "reason"))
                return Ending(*read_action(action, thought, reason), action)
    return Ending(
        "finished", "the last reply was not in the form asked for: taken for CONTINUE", text.strip(), "CONTINUE"
    )


def _iterate_objects(text: str) -> Iterator[object]:
    decoder = json.JSONDecoder(strict=False)
    for candidate in (text, *_FENCED.findall(text)[::-1]):
        try:
            yield decoder.decode(candidate)
        except (ValueError, RecursionError):
            continue
    for place in [found.start() for found in re.finditer(r"\{", text)][: -_BEGUN - 1 : -1]:
        try:
            yield decoder.raw_decode(text, place)[0]
        except (ValueError, RecursionError):
            continue


def ending_from_error(error: Exception, said: str = "") -> Ending:
    """Return what an error of the API comes to, after all attempts."""
    cause = get_cause(error)
    if isinstance(cause, anthropic.APIStatusError):
        status, message = find_status(cause), " ".join((cause.api_message or cause.message).split())[:LONGEST_REASON]
        end: TurnEnd = "usage_limit" if is_spend_limit(cause) else classify_error(message, status)
        word = END_WORDS[end] if end in ("usage_limit", "bad_credentials", "overloaded") else "error"
        wait = read_retry_after(cause)
        resets = time.time() + wait if wait is not None and end in ("usage_limit", "overloaded") else None
        return Ending(end, f"{word} ({status}): {message}", said, resets_at=resets)
    what = " ".join(str(error).split())[:LONGEST_REASON]
    if isinstance(error, BrokenReply):
        return Ending("overloaded", f"no whole reply came: {what}", said)
    if isinstance(cause, anthropic.APIConnectionError | httpx2.HTTPError):
        reason = " ".join(str(cause.__cause__ or "").split())[:LONGEST_REASON]
        return Ending("unavailable", f"the API cannot be reached: {what}{f' ({reason})' if reason else ''}", said)
    return Ending("failed", f"{type(error).__name__}: {what}", said)
