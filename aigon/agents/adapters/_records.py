"""Parse the JSON records that programs print, one per line or one document over several lines, and make activities of
them."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from functools import cache
from typing import Any

import msgspec
from msgspec import Struct, field

from aigon.agents.adapters._program import parse_dollars
from aigon.files.resources import read_shipped
from aigon.model.activity import Activity, ActivityKind, Spent
from aigon.model.turns import Usage
from aigon.text.documents import DocumentNode, parse_yaml
from aigon.text.patterns import compile_re

LONGEST_LINE = 8 * 1024 * 1024
"""Bytes of the longest line that is read; no record that is needed here is longer."""
LONGEST_DOCUMENT = 1024 * 1024
"""Bytes at the end of an output in which a document over several lines is looked for."""
LARGEST_COUNT = 10**15
"""No turn could have used more of anything."""
_SURROGATE = compile_re(r"\\u[dD][89a-fA-F]")
_TRIES = 50
_GAP = compile_re(rb"^\[\.\.\. \d+ bytes left out \.\.\.\]\r?$", re.M)
_LONGEST_USE = 200
_TOLD_BY = ("command", "cmd", "file_path", "path", "filePath", "absolute_path", "filename", "url", "pattern", "query")

Record = Mapping[str, Any]


class RecordList(list[Record]):
    """Records of one output, or of one list in a record, in their order."""

    def of(self, *types: str) -> "RecordList":
        """Return the records whose `type` is one of these."""
        return RecordList(record for record in self if record.get("type") in types)

    def last(self, *types: str) -> Record:
        """Return the last record of one of these types; empty if there is none."""
        return next((record for record in reversed(self) if record.get("type") in types), {})

    def first_text(self, *path: str) -> str:
        """Return the first text at `path` that is not blank."""
        return next((text for record in self if (text := text_at(record, *path).strip())), "")

    def last_text(self, *path: str) -> str:
        """Return the last text at `path` that is not blank."""
        return next((text for record in reversed(self) if (text := text_at(record, *path).strip())), "")

    def describe_uses(self, name: str, given: str) -> tuple[str, ...]:
        """Describe each use of a tool; `name` and `given` are keys, or lead into nested objects: `part.tool`."""
        return tuple(describe_use(look_up(use, name), look_up(use, given)) for use in self)


def parse_records(output: bytes) -> RecordList:
    """Return every JSON object in `output`: one per line, else those of one document (an object, or a list of them)."""
    found = RecordList(record for line in output.split(b"\n") for record in parse_line(line))
    return found or _objects(_parse(output))


def parse_line(line: bytes) -> RecordList:
    """Return the JSON objects on one line of an output."""
    return _objects(_parse(line))


def parse_last_document(output: bytes) -> Record:
    """Return the last JSON object that begins a line, whatever follows it; empty if there is none."""
    text = output[-LONGEST_DOCUMENT:].decode("utf-8", "replace")
    for match in [*re.finditer(r"^\{", text, re.M)][: -_TRIES - 1 : -1]:
        try:
            value, end = json.JSONDecoder().raw_decode(text, match.start())
            found = _objects(make_storable(value, text[match.start() : end]))
        except (ValueError, RecursionError):
            continue
        if found:
            return found[0]
    return {}


def _parse(text: bytes) -> object:
    """Return the JSON value in `text`. A byte that is not UTF-8 is replaced, so that it does not cost the record."""
    text = text.strip()
    if len(text) > LONGEST_LINE or not text.startswith((b"{", b"[")) or not text.endswith((b"}", b"]")):
        return None
    with suppress(ValueError, RecursionError):
        return msgspec.json.decode(text)  # several times as fast, and strict
    try:
        decoded = text.decode("utf-8", "replace")
        return make_storable(json.loads(decoded), decoded)
    except (ValueError, RecursionError):
        return None


def _objects(value: object) -> RecordList:
    return RecordList(one for one in (value if isinstance(value, list) else [value]) if isinstance(one, dict))


def make_storable(value: object, text: str) -> object:
    """Return `value`, read from `text`, with a question mark for half a surrogate pair: no file can hold one."""
    if not _SURROGATE.search(text):
        return value
    return json.loads(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))


def is_cut(output: bytes) -> bool:
    """Return whether aigon cut out the middle of an output: `aigon/process/capture.py` marks the gap with a line."""
    return _GAP.search(output) is not None


def value_at(record: object, *path: str) -> object:
    """Return what `path` leads to inside nested objects; None if it leads nowhere."""
    value = record
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None  # not Mapping: that check takes five times as long
    return value


def look_up(record: object, path: str) -> object:
    """Return what a path such as `part.tool` leads to; the record itself for `.` or nothing."""
    return value_at(record, *filter(None, path.split(".")))


def list_at(record: object, *path: str) -> list[object]:
    """Return the list there; an empty one for anything else."""
    value = value_at(record, *path)
    return value if isinstance(value, list) else []


def objects_at(record: object, *path: str) -> RecordList:
    """Return the objects of the list there."""
    return _objects(list_at(record, *path))


def text_at(record: object, *path: str) -> str:
    """Return the text there; an empty one for anything else."""
    value = value_at(record, *path)
    return value if isinstance(value, str) else ""


def join_texts(parts: Iterable[object]) -> str:
    """Return the texts of a message's parts, a line each."""
    return "\n".join(filter(None, (text_at(part, "text") for part in parts))).strip()


def count_at(record: object, *path: str) -> int:
    """Return the count there; 0 for anything else."""
    value = value_at(record, *path)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST_COUNT else 0


def sum_usage(
    counts: Iterable[object], input: str, output: str, cached: str, *, input_holds_cached: bool = True
) -> Usage | None:
    """Return the sum of the token counts in these objects; None if there is no object.

    Each name is one key or several, which are added; a key may lead into nested objects: `cache.read`.
    """
    objects = [one for one in counts if isinstance(one, dict)]
    if not objects:
        return None

    def total(keys: str) -> int:
        return sum(count_at(one, *key.split(".")) for one in objects for key in keys.split())

    build = Usage.of_whole if input_holds_cached else Usage
    return build(total(input), total(output), total(cached))


def describe_use(name: object, given: object = None) -> str:
    """Return `NAME: what it was used on` in a line of at most 200 characters; the name alone if that is unknown.

    Of a patch that is the files in it.
    """
    named = " ".join(name.split()) if isinstance(name, str) and name.strip() else "a tool"
    if isinstance(given, dict):
        given = next((given[key] for key in _TOLD_BY if given.get(key)), "")
        given = " ".join(map(str, given)) if isinstance(given, list | tuple) else str(given)
    used_on = given if isinstance(given, str) else ""
    used_on = ", ".join(_PATCHED.findall(used_on)) or used_on
    return (f"{named}: {' '.join(used_on.split())}" if used_on else named)[:_LONGEST_USE]


_FILE = "activity.yaml"
_INPUT = "input_tokens cache_creation_input_tokens cache_read_input_tokens"
"""Keys of the tokens that a model read, cached ones too, in Anthropic's API."""
_PATCHED = compile_re(r"^\*\*\* (?:Add|Update|Delete) File: (.+)$", re.MULTILINE)
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
