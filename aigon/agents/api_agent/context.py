"""Keeping a conversation within what a model can read: old outputs of tools go, uses and results stay in pairs."""

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from aigon.agents.api_agent.clip import clipped
from aigon.agents.api_agent.stream import PER_TOKEN

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


def limit_of(model: str) -> int:
    """Tokens that a request to this model may have."""
    return next((limit for name, limit in LIMITS.items() if model.startswith(name)), LIMIT)


def fitted(conversation: Conversation, used: int, limit: int) -> Conversation:
    """The conversation, shortened where it has more than `limit` tokens.

    `used` is what the API counted when it was last asked, 0 if it never was. Since shortening costs what was cached, it
    goes down to half of the limit where it can, oldest first; the first message stays, and every result keeps its use.
    """
    whole = size(conversation)
    known = used + size(conversation[-1:]) if used else whole
    if known <= limit:
        return conversation
    share = limit / known
    return shortened(conversation, int(whole * share / 2), int(whole * share))


def shortened(conversation: Conversation, wanted: int, most: int) -> Conversation:
    """Down to `wanted` tokens from old exchanges, and to `most` by all means there are."""
    old = max(1, len(conversation) - 2 * RECENT)
    for first, last, length, enough in ((1, old, 0, wanted), (1, len(conversation), _MIDDLING, most),
                                        (1, len(conversation), _SHORT, most)):  # fmt: skip
        for index in range(first, last):
            if size(conversation) <= enough:
                break
            conversation = (*conversation[:index], _less(conversation[index], length), *conversation[index + 1 :])
    return conversation


def size(messages: Iterable[Message]) -> int:
    """Tokens, estimated."""
    return int(sum(len(json.dumps(message, ensure_ascii=False, default=str)) for message in messages) / PER_TOKEN)


def _less(message: Message, length: int) -> Message:
    content = message["content"]
    return message if isinstance(content, str) else {**message, "content": [_block(block, length) for block in content]}


def _block(block: Mapping[str, Any], length: int) -> Mapping[str, Any]:
    """A block with less in it. Thoughts are signed, and texts are short: these stay."""
    if block["type"] == "tool_result":
        return {**block, "content": _result(block.get("content"), length)}
    if block["type"] == "tool_use":
        return {**block, "input": {key: _value(value, length or _SHORT) for key, value in block["input"].items()}}
    return block


def _result(content: object, length: int) -> str:
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False, default=str)
    if length:
        return clipped(text, length)
    return text if len(text) <= len(CLEARED) else CLEARED


def _value(value: object, length: int) -> object:
    return clipped(value, length) if isinstance(value, str) else value


def cached(conversation: Sequence[Message]) -> list[Any]:
    """The messages as they are sent: marked up to where the next request will find them in the cache."""
    last = conversation[-1]
    content = [{"type": "text", "text": last["content"]}] if isinstance(last["content"], str) else [*last["content"]]
    if last["role"] != "user" or not content:
        return [*conversation]
    content[-1] = {**content[-1], "cache_control": {"type": "ephemeral"}}
    return [*conversation[:-1], {**last, "content": content}]
