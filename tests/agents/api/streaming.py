"""Replies of a model that uses tools, as `tests.model_server` sends them: streamed, whole or broken."""

import json
from collections.abc import Mapping
from typing import Any

from tests.model_server import Reply, Request

Block = dict[str, Any]


def text(words: str) -> Block:
    """A block of text."""
    return {"type": "text", "text": words}


def use(name: str, number: int = 1, *, raw: str | None = None, **given: object) -> Block:
    """A use of a tool; `raw` is what is sent in place of an input that is valid JSON."""
    return {"type": "tool_use", "id": f"toolu_{name}_{number}", "name": name, "raw": raw or json.dumps(given)}


def bash(command: str, number: int = 1) -> Reply:
    """A reply that runs a command."""
    return streamed(use("bash", number, command=command))


def edit(command: str, number: int = 1, **given: Any) -> Block:
    """A use of the editor."""
    return use("str_replace_based_edit_tool", number, command=command, **given)


def ending(action: str = "DONE", reason: str = "it is there", thought: str = "I looked") -> Reply:
    """The last reply of a session."""
    return streamed(text(json.dumps({"thought": thought, "next_action": action, "reason": reason})))


def streamed(*blocks: Block, stop: str = "", delay: float = 0.0, **usage: int) -> Reply:
    """A whole reply; it stops for its tools, if it uses any."""
    stop = stop or ("tool_use" if any(block["type"] == "tool_use" for block in blocks) else "end_turn")
    return _reply(_events(blocks, stop, usage), delay)


def cut(*blocks: Block, events: int = 4, delay: float = 0.0, **usage: int) -> Reply:
    """A reply whose stream ends after so many events."""
    return _reply(_events(blocks, "end_turn", usage)[:events], delay)


def stumbling(kind: str, *blocks: Block) -> Reply:
    """A reply that turns into an error of this type after it has begun."""
    return _reply([*_events(blocks, "end_turn", {})[:3], {"type": "error", "error": {"type": kind, "message": kind}}])


def dropped(*blocks: Block) -> Reply:
    """A reply whose connection breaks in the middle: fewer bytes come than were announced."""
    whole = _reply(_events(blocks, "end_turn", {}))
    headers = {**whole.headers, "transfer-encoding": "chunked", "connection": "close"}
    return Reply(b"ffff\r\n" + whole.body[: len(whole.body) // 2], headers=headers)


def results(request: Request) -> list[Block]:
    """What tools said, in the last message of a request."""
    last = request.body["messages"][-1]["content"]
    return [block for block in last if block["type"] == "tool_result"]


def _events(blocks: tuple[Block, ...], stop: str, usage: Mapping[str, int]) -> list[dict[str, Any]]:
    counted = {"input_tokens": 1000, "output_tokens": 100, **usage}
    begun: Block = {"id": "msg_1", "type": "message", "role": "assistant", "model": "scripted", "content": [],
             "stop_reason": None, "stop_sequence": None, "usage": counted | {"output_tokens": 1}}  # fmt: skip
    events: list[dict[str, Any]] = [{"type": "message_start", "message": begun}]
    for index, block in enumerate(blocks):
        events += _block(index, block)
    delta = {"stop_reason": stop, "stop_sequence": None}
    return [*events, {"type": "message_delta", "delta": delta, "usage": counted}, {"type": "message_stop"}]


def _block(index: int, block: Block) -> list[dict[str, Any]]:
    if block["type"] == "tool_use":
        begun = {"type": "tool_use", "id": block["id"], "name": block["name"], "input": {}}
        pieces = [block["raw"][i : i + 40] for i in range(0, len(block["raw"]), 40)]
        deltas = [{"type": "input_json_delta", "partial_json": piece} for piece in pieces]
    else:
        begun, deltas = {"type": "text", "text": ""}, [{"type": "text_delta", "text": block["text"]}]
    return [
        {"type": "content_block_start", "index": index, "content_block": begun},
        *({"type": "content_block_delta", "index": index, "delta": delta} for delta in deltas),
        {"type": "content_block_stop", "index": index},
    ]


def _reply(events: list[dict[str, Any]], delay: float = 0.0) -> Reply:
    lines = [f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events]
    return Reply("".join(lines).encode(), headers={"content-type": "text/event-stream"}, delay=delay)
