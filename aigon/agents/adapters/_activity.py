"""Make activities of the records that programs print."""

import re
from collections.abc import Iterator
from functools import cache

from aigon.agents.adapters._program import parse_dollars
from aigon.agents.adapters._records import (
    Record,
    count_at,
    describe_use,
    list_at,
    objects_at,
    sum_usage,
    text_at,
    value_at,
)
from aigon.files.resources import read_shipped
from aigon.model.activity import Activity, ActivityKind, Spent
from aigon.text.documents import parse_yaml
from aigon.text.patterns import compile_re

_FILE = "activity.yaml"
_INPUT = "input_tokens cache_creation_input_tokens cache_read_input_tokens"
"""Keys of the tokens that a model read, cached ones too, in Anthropic's API."""
_PATCHED = compile_re(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
_SHELL = compile_re(r"/\S*sh -l?c (?P<quote>['\"])(?P<command>.*)(?P=quote)", re.DOTALL)


@cache
def _read_kinds() -> dict[str, ActivityKind]:
    """Return what each known tool does."""
    kinds: tuple[ActivityKind, ...] = ("reads", "edits", "runs", "searches")
    table = parse_yaml(read_shipped("templates", _FILE), _FILE).fields(kinds)
    return {tool: kind for kind in kinds for tool in table[kind].texts()}


def say(text: str, *, goes_on: bool = False) -> Iterator[Activity]:
    """Yield what the agent says, unless it is blank."""
    if text.strip() or (goes_on and text):
        yield Activity("says", text, goes_on)


def use(name: object, given: object = None) -> Iterator[Activity]:
    """Yield the use of a tool: of a known one what it does, and what to.

    Of a patch that is the files in it, and of a shell the command that it is given.
    """
    if isinstance(given, str):
        shell = _SHELL.fullmatch(given)
        given = ", ".join(_PATCHED.findall(given)) or (shell["command"] if shell else given)
    described = describe_use(name, given)
    tool, _, used_on = described.partition(": ")
    kind = _read_kinds().get(tool.rpartition(".")[2].lower())
    yield Activity(kind, used_on) if kind and used_on else Activity("uses", described)


def fail(reason: object) -> Iterator[Activity]:
    """Yield that the last tool failed; `reason` is a text, or parts of a message that hold texts."""
    parts = reason if isinstance(reason, list) else [reason]
    texts = (part if isinstance(part, str) else text_at(part, "text") for part in parts)
    yield Activity("fails", next((text for text in texts if text.strip()), ""))


def spend(counts: object, input: str, output: str, usd: object = None, *, reply: str = "") -> Iterator[Activity]:
    """Yield what a reply of the model used, if its record says so; names as for `sum_usage`."""
    used = sum_usage([counts], input, output, "", input_holds_cached=False)
    cost = parse_dollars(usd) or 0.0
    if (tokens := used.input + used.output if used else 0) or cost:
        yield Activity("spends", reply, spent=Spent(tokens, cost))


def read_blocks(record: Record) -> Iterator[Activity]:
    """Yield what a message in the format of Anthropic's API holds, as several programs print it."""
    is_agents = record.get("type") == "assistant"
    for block in objects_at(record, "message", "content") if is_agents or record.get("type") == "user" else ():
        match block.get("type"):
            case "text" if is_agents:
                yield from say(text_at(block, "text"))
            case "tool_use":
                yield from use(block.get("name"), block.get("input"))
            case "tool_result" if block.get("is_error") is True:
                yield from fail(list_at(block, "content") or text_at(block, "content"))
    if is_agents:
        usage = value_at(record, "message", "usage")
        whole = ("total_tokens", "") if count_at(usage, "total_tokens") else (_INPUT, "output_tokens")
        yield from spend(usage, *whole, reply=text_at(record, "message", "id"))
