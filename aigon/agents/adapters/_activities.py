"""Make activities of records, by the rules of `templates/activity.yaml` or by the blocks of their messages."""

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache

from msgspec import Struct, field

from aigon.agents.adapters._records import Record, describe_use, join_texts, objects_at, parse_dollars, sum_usage
from aigon.files.resources import read_shipped
from aigon.model.turns import Activity, ActivityKind, Spent
from aigon.text.documents import DocumentNode, parse_yaml
from aigon.text.patterns import compile_re
from aigon.text.untrusted import count_at, list_at, look_up, text_at, value_at

_FILE = "activity.yaml"
_INPUT = "input_tokens cache_creation_input_tokens cache_read_input_tokens"
"""Keys of the tokens that a model read, cached ones too, in Anthropic's API."""
_SHELL = compile_re(r"/\S*sh -l?c (?P<quote>['\"])(?P<command>.*)(?P=quote)", re.DOTALL)


@cache
def _read_kinds() -> dict[str, ActivityKind]:
    """Return what each known tool does."""
    kinds: tuple[ActivityKind, ...] = ("reads", "edits", "runs", "searches")
    table = _read_activities()["tools"].fields(kinds)
    return {tool: kind for kind in kinds for tool in table[kind].texts()}


def _read_activities() -> Mapping[str, DocumentNode]:
    return parse_yaml(read_shipped("templates", _FILE), _FILE).fields(("tools", "records"))


class ActivityRule(Struct, frozen=True):
    """A rule that reads activity from records of one kind; `templates/activity.yaml` says what each field means."""

    when: Mapping[str, str] = field(default_factory=dict)
    each: str = ""
    says: str = ""
    goes_on: str = ""
    uses: str = ""
    tool: str = ""
    given: str = ""
    line: str = ""
    fails: tuple[str, ...] = ()
    exit: str = ""
    spends: str = ""
    input: str = ""
    output: str = ""
    usd: str = ""

    def read(self, record: Record) -> Iterator[Activity]:
        """Yield the activities in a record, if the rule holds for it."""
        values = ((look_up(record, path), word) for path, word in self.when.items())
        if all((json.dumps(value) if isinstance(value, bool) else value) == word for value, word in values):
            for part in objects_at(record, *self.each.split(".")) if self.each else (record,):
                yield from self._read_part(part)

    def _read_part(self, part: Record) -> Iterator[Activity]:
        if self.says:
            said = look_up(part, self.says)
            text = join_texts(said) if isinstance(said, list) else said if isinstance(said, str) else ""
            yield from say(text, goes_on=bool(self.goes_on) and look_up(part, self.goes_on) is True)
        elif self.spends:
            yield from spend(look_up(part, self.spends), self.input, self.output, look_up(part, self.usd))
        elif self.fails or self.exit:
            code = count_at(part, *self.exit.split(".")) if self.exit else 0
            reasons = (look_up(part, path) for path in self.fails)
            yield from fail(f"exited with {code}" if code else next(filter(None, reasons), ""))
        elif self.line:
            tool, _, used_on = text_at(part, *self.line.split(".")).partition(": ")
            yield from use(tool, used_on)
        else:
            yield from use(self.tool or look_up(part, self.uses), look_up(part, self.given))


@cache
def read_activity_rules(reader: str) -> tuple[tuple[bytes, ...], tuple[ActivityRule, ...]]:
    """Return the marks of lines that tell something, and the rules for the records that this module reads."""
    node = _read_activities()["records"].pairs().get(reader)
    if node is None:
        return (), ()
    known = node.fields(("marks", "rules"), ("rules",))
    marks = tuple(mark.encode() for mark in known["marks"].texts()) if "marks" in known else (b"",)
    return marks, tuple(rule.build(ActivityRule) for rule in known["rules"].items())


def say(text: str, *, goes_on: bool = False) -> Iterator[Activity]:
    """Yield what the agent says, unless it is blank."""
    if text.strip() or (goes_on and text):
        yield Activity("says", text, goes_on)


def use(name: object, given: object = None) -> Iterator[Activity]:
    """Yield the use of a tool: of a known one what it does, and what to.

    Of a shell that is the command that it is given.
    """
    if isinstance(given, str) and (shell := _SHELL.fullmatch(given)):
        given = shell["command"]
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


BLOCK_MARKS = (b'"assistant"', b'"is_error":true', b'"is_error": true')
"""Marks of the lines that `read_blocks` reads."""


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
