"""What `codex exec --json` prints: one event per line, the last `turn.completed` or `turn.failed`.

Written against version 0.169.0. Its `input_tokens` hold the cached ones; it never says what a turn cost, nor which
model it was. `error` events before the end are attempts that it makes again: one that nothing follows is what it was
waiting for when it was ended.
"""

import re
from dataclasses import replace

from aigon.agents._records import Record, count_at, objects_at, of_type, records, text_at
from aigon.agents._tools import tool
from aigon.agents._trouble import of_stderr, trouble
from aigon.core.agent import Exited, Seen
from aigon.core.model import Usage

_RETRIED = re.compile(r"^Reconnecting\.\.\. (?:\d+/\d+ \((.*)\)$)?", re.DOTALL)
_TOOLS = ("command_execution", "file_change", "mcp_tool_call", "web_search")


def seen(exited: Exited) -> Seen:
    """The turn by its events."""
    events = records(exited.stdout)
    items = [event["item"] for event in of_type(events, "item.completed") if isinstance(event.get("item"), dict)]
    messages = [text_at(item, "text") for item in of_type(items, "agent_message")]
    used = of_type(items, *_TOOLS)
    return replace(
        _ended(events, exited) if events else of_stderr(exited),
        said=next((text for text in messages[::-1] if text), ""),
        session=next((text_at(event, "thread_id") for event in of_type(events, "thread.started")), ""),
        usage=_usage(events),
        denied=tuple(_used(item) for item in used if item.get("status") == "declined"),
        tools=tuple(_used(item) for item in used),
    )


def _ended(events: list[Record], exited: Exited) -> Seen:
    last = next(iter(of_type(events, "turn.completed", "turn.failed")[::-1]), {})
    if last.get("type") == "turn.completed":
        return Seen(end="finished")
    errors = [text_at(event, "message") for event in of_type(events, "error")]
    final = [message for message in errors if not _RETRIED.match(message)]
    tried = text_at(events[-1], "message") if events[-1].get("type") == "error" else ""
    message = text_at(last, "error", "message") or next(iter(final[::-1]), "") or _RETRIED.sub(r"\1", tried)
    return trouble(message, now=exited.ended) if last or message else Seen()


def _used(item: Record) -> str:
    """`command execution: npm test`, `file change: a.py, b.py`, `mcp tool call: SERVER.TOOL`."""
    paths = ", ".join(filter(None, (text_at(change, "path") for change in objects_at(item, "changes"))))
    called = ".".join(filter(None, (text_at(item, "server"), text_at(item, "tool"))))
    told = text_at(item, "command") or paths or called or text_at(item, "query")
    return tool(text_at(item, "type").replace("_", " "), {"command": told})


def _usage(events: list[Record]) -> Usage | None:
    """Each record tells of the whole session so far."""
    told = [event for event in of_type(events, "turn.completed") if isinstance(event.get("usage"), dict)]
    if not told:
        return None
    cached = count_at(told[-1], "usage", "cached_input_tokens")
    whole = count_at(told[-1], "usage", "input_tokens")
    return Usage.of_whole(whole, count_at(told[-1], "usage", "output_tokens"), cached)
