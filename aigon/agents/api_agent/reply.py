"""Read what the model replied: a stream, the JSON object of its last words, or an error; and how the session ended."""

import json
import re
import time
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from email.utils import parsedate_to_datetime
from typing import Any, Literal, cast, get_args

import anthropic
import httpx2
from anthropic.lib.streaming import BetaMessageStream
from anthropic.types.beta import BetaMessage, BetaToolUseBlock, BetaUsage

from aigon.agents.adapters._errors import classify_error
from aigon.agents.adapters._program import LONGEST_REASON, ending_from_action
from aigon.agents.api_agent.tool import INVALID
from aigon.model.turns import TurnEnd

PER_TOKEN = 2.3
"""Characters of a token, measured on Claude's models: the usual 4 undercounts by 40 %."""
_KEPT = 2_000
Action = Literal["DONE", "CONTINUE", "FAILED", "NEEDS_HUMAN"]
ACTIONS = get_args(Action)
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
_FENCED = re.compile(r"```[a-zA-Z]*[ \t]*\n(.*?)```", re.DOTALL)
_BEGUN = 200
"""Places in a text where an object may begin that are tried."""
_STATUS = {"overloaded_error": 529, "rate_limit_error": 429, "api_error": 500, "timeout_error": 504,
           "authentication_error": 401, "permission_error": 403, "billing_error": 402, "not_found_error": 404,
           "request_too_large": 413, "invalid_request_error": 400}  # fmt: skip
"""What the types of errors mean where there is no status: in a stream that had begun with 200."""


class BrokenReply(Exception):
    """A reply that ended before it was whole. `tokens` are what it cost, as far as is known."""

    def __init__(self, why: str, partial: BetaMessage | None, cause: Exception | None = None) -> None:
        super().__init__(why)
        self.partial = partial
        self.cause = cause


def read_stream(stream: "BetaMessageStream[Any]") -> BetaMessage:
    """Return the whole reply; tool inputs that are no JSON objects stand in it under INVALID. Raises Broken."""
    inputs: dict[int, str] = {}
    try:
        for event in stream:
            if event.type == "content_block_delta" and event.delta.type == "input_json_delta":
                inputs[event.index] = inputs.get(event.index, "") + event.delta.partial_json
    except Exception as error:
        message = _snapshot(stream)
        if message and (spoilt := _find_unparsable(message, error)):
            return _mark_invalid(message, spoilt, str(error))
        raise BrokenReply(_explain_break(error), message, error) from error
    message = _snapshot(stream)
    if message is None or message.stop_reason is None:
        raise BrokenReply("the reply was cut off", message)
    return _mark_incomplete_inputs(message, inputs)


def _snapshot(stream: "BetaMessageStream[Any]") -> BetaMessage | None:
    try:
        return stream.current_message_snapshot
    except AssertionError:
        return None


def _explain_break(error: Exception) -> str:
    said = error.message if isinstance(error, anthropic.APIError) else str(error)
    return f"the reply broke off: {said or type(error).__name__}"


def _find_unparsable(message: BetaMessage, error: Exception) -> BetaToolUseBlock | None:
    """The tool use at whose input the SDK gave up reading; a line of the stream that is no JSON is something else."""
    last = message.content[-1] if message.content else None
    return last if type(error) is ValueError and isinstance(last, BetaToolUseBlock) else None


def _mark_invalid(message: BetaMessage, block: BetaToolUseBlock, said: str) -> BetaMessage:
    """Return what came until then, as a whole reply: what came after it was not read, and is guessed to be no more."""
    block.input = {INVALID: said.rpartition("JSON: ")[2][:_KEPT]}
    message.stop_reason = "tool_use"
    message.usage = estimate_usage(message)
    return message


def _mark_incomplete_inputs(message: BetaMessage, inputs: dict[int, str]) -> BetaMessage:
    """Mark inputs that were cut off: the SDK takes them for inputs with fewer keys."""
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


def estimate_usage(message: BetaMessage) -> BetaUsage:
    """Return what a reply that is not whole has used: the output is not reported before the end, so it is estimated."""
    usage = message.usage if isinstance(message.usage, BetaUsage) else BetaUsage(input_tokens=0, output_tokens=0)
    written = len(json.dumps([block.to_dict(mode="json") for block in message.content], default=str))
    return usage.model_copy(update={"output_tokens": max(usage.output_tokens or 0, int(written / PER_TOKEN))})


@dataclass(frozen=True, slots=True)
class FinalReply:
    """What the model claims. `parsed` is False where it said something else: that counts as CONTINUE."""

    thought: str
    action: Action
    reason: str = ""
    parsed: bool = True


def parse_reply(text: str) -> FinalReply:
    """The reply in a text: all of it, else the last fenced block that is one, else the last object that is one."""
    found = next((reply for value in _iterate_objects(text) if (reply := _make_reply(value))), None)
    return found or FinalReply(text.strip(), "CONTINUE", parsed=False)


def _iterate_objects(text: str) -> Iterator[object]:
    for candidate in (text, *_FENCED.findall(text)[::-1]):
        yield from _parse_whole(candidate)
    decoder = json.JSONDecoder(strict=False)
    for place in [found.start() for found in re.finditer(r"\{", text)][: -_BEGUN - 1 : -1]:
        try:
            yield decoder.raw_decode(text, place)[0]
        except (ValueError, RecursionError):
            continue


def _parse_whole(text: str) -> Iterator[object]:
    try:
        yield json.loads(text, strict=False)
    except (ValueError, RecursionError):
        return


def _make_reply(value: object) -> FinalReply | None:
    if not isinstance(value, dict):
        return None
    action = value.get("next_action")
    named = re.sub(r"[\s-]+", "_", action.strip()).upper() if isinstance(action, str) else ""
    if named not in ACTIONS:
        return None
    thought, reason = (str(value.get(key) or "").strip() for key in ("thought", "reason"))
    return FinalReply(thought, cast(Action, named), reason)


@dataclass(frozen=True, slots=True)
class Ending:
    """The last record. `said` is what people see; `action` what the model claims, if it said so."""

    end: TurnEnd
    detail: str = ""
    said: str = ""
    action: str = ""
    resets_at: float | None = None

    def record(self) -> dict[str, object]:
        """As it is written."""
        return asdict(self)


def ending_from_reply(reply: FinalReply) -> Ending:
    """Return what the model's last words come to. DONE is a claim like CONTINUE: the loop looks for itself."""
    end, detail, said = ending_from_action(reply.action, reply.thought, reply.reason)
    if not reply.parsed:
        detail = "the last reply was not in the form asked for: taken for CONTINUE"
    return Ending(end, detail, said, reply.action)


def ending_from_error(error: Exception, said: str = "") -> Ending:
    """Return what an error of the API comes to, after all attempts."""
    cause = error.cause or error if isinstance(error, BrokenReply) else error
    if isinstance(cause, anthropic.APIStatusError):
        return _ending_from_status(cause, said)
    what = " ".join(str(error).split())[:LONGEST_REASON]
    if isinstance(error, BrokenReply):
        return Ending("overloaded", f"no whole reply came: {what}", said)
    if isinstance(cause, anthropic.APIConnectionError | httpx2.HTTPError):
        reason = " ".join(str(cause.__cause__ or "").split())[:LONGEST_REASON]
        return Ending("unavailable", f"the API cannot be reached: {what}{f' ({reason})' if reason else ''}", said)
    return Ending("failed", f"{type(error).__name__}: {what}", said)


def _ending_from_status(error: anthropic.APIStatusError, said: str) -> Ending:
    status, message = find_status(error), " ".join((error.api_message or error.message).split())[:LONGEST_REASON]
    end: TurnEnd = "usage_limit" if is_spend_limit(error) else classify_error(message, status)
    words = {"usage_limit": "usage limit", "bad_credentials": "bad credentials", "overloaded": "overloaded"}
    wait = read_retry_after(error)
    resets = time.time() + wait if wait is not None and end in ("usage_limit", "overloaded") else None
    return Ending(end, f"{words.get(end, 'error')} ({status}): {message}", said, resets_at=resets)


def find_status(error: anthropic.APIStatusError) -> int:
    """Return the HTTP status, or the one that the error's type stands for where a stream had begun already."""
    return error.status_code if error.status_code >= 400 else _STATUS.get(error.type or "", 500)


def is_spend_limit(error: anthropic.APIStatusError) -> bool:
    """Whether the account has no money left, or may not spend it. To HTTP this can look like a rate limit."""
    return "spend_limit" in (error.error_code or "") or error.type == "billing_error" or find_status(error) == 402


def read_retry_after(error: BaseException | None) -> float | None:
    """Return how many seconds the server asked to wait, by a number or a date (RFC 9110, 10.2.3)."""
    error = error.cause if isinstance(error, BrokenReply) else error
    if not isinstance(error, anthropic.APIStatusError):
        return None
    header = error.response.headers.get("retry-after", "").strip()
    try:
        return max(0.0, float(header) if re.fullmatch(r"\d+(\.\d+)?", header) else
                   parsedate_to_datetime(header).timestamp() - time.time())  # fmt: skip
    except (ValueError, OverflowError):
        return None
