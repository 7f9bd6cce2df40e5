"""The records that Claude Code prints, reduced to those that a turn is judged by."""

from dataclasses import dataclass, field

from aigon.agents.adapters._records import Record, records
from aigon.agents.adapters._tools import tool


@dataclass(frozen=True, slots=True)
class Records:
    """The result record (empty when there is none), the last word on rate limits, and what tells the rest.

    `retrying` is the last record if it says that a request is tried again. `any` is False when the output held no
    record at all: then it is plain text.
    """

    result: Record = field(default_factory=dict)
    rate_limit: Record = field(default_factory=dict)
    retrying: Record = field(default_factory=dict)
    session: str = ""
    model: str = ""
    last_text: str = ""
    tools: tuple[str, ...] = ()
    any: bool = False


def read(stdout: bytes) -> Records:
    """The records in `stdout`. What is not a record (noise, a line cut short) is passed over."""
    kept: dict[str, object] = {}
    tools: list[str] = []
    for record in records(stdout):
        if "type" not in record:
            continue
        kept |= {"any": True} | _kept(record)
        tools += _tools(record)
    return Records(**kept, tools=tuple(tools))  # type: ignore[arg-type]


def _kept(record: Record) -> dict[str, object]:
    """What one record adds; a later one overrides."""
    session = text_of(record.get("session_id"))
    kept: dict[str, object] = {"retrying": {}} | ({"session": session} if session else {})
    match record:
        case {"type": "system", "subtype": "api_retry"}:
            kept["retrying"] = record
        case {"type": "result"}:
            kept["result"] = record
        case {"type": "rate_limit_event", "rate_limit_info": dict(limit)}:
            kept["rate_limit"] = limit
        case {"type": "system", "subtype": "init", "model": str(model)}:
            kept["model"] = model
        case {"type": "assistant", "message": {"content": [*blocks]}}:
            kept |= _last_text(blocks)
    return kept


def _last_text(blocks: list[object]) -> dict[str, object]:
    texts = [text_of(block.get("text")) for block in blocks if isinstance(block, dict)]
    text = "\n".join(filter(None, texts))
    return {"last_text": text} if text else {}


def _tools(record: Record) -> list[str]:
    match record:
        case {"type": "assistant", "message": {"content": [*blocks]}}:
            used = [one for one in blocks if isinstance(one, dict) and one.get("type") == "tool_use"]
            return [tool(one.get("name"), one.get("input")) for one in used]
    return []


def text_of(value: object) -> str:
    """`value` if it is a text, else an empty one."""
    return value if isinstance(value, str) else ""


def count_of(value: object) -> int:
    """`value` if it is a count, else 0."""
    return value if isinstance(value, int) and not isinstance(value, bool) and value >= 0 else 0
