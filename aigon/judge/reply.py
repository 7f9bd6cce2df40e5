"""Read the replies of a judge strictly: what is not plainly said was not said."""

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, TypeVar

from msgspec import Struct, convert
from msgspec.json import schema as json_schema

from aigon.text.quoting import strip_escapes
from aigon.text.untrusted import load_strict_json

_LONGEST_TEXT = 1_000
"""Characters of evidence, and of reason, that are kept of one verdict."""
LONGEST = 1_000_000
"""Characters of a reply that is read; the API's longest is far below."""
MALFORMED = "the judge's reply is not in the format that was asked for"


def bound_text(text: str, characters: int = _LONGEST_TEXT) -> str:
    """Return the text on one line, bounded, without escape sequences or what changes how other text is shown."""
    line = " ".join("".join(c if c.isprintable() else " " for c in strip_escapes(text)).split())
    return line if len(line) <= characters else line[: characters - 1] + "…"


def truncate(text: str, characters: int) -> str:
    """Return the beginning of a long text, and say that it was cut."""
    return text if len(text) <= characters else f"{text[:characters]}\n(cut here: {len(text):,} characters in all)"


def parse_json(text: str) -> Any:
    """Return the JSON document. Raises ValueError, with a text for people, for what can be read in two ways."""
    if not text.strip():
        raise ValueError("it is empty")
    if len(text) > LONGEST:
        raise ValueError(f"it is longer than {LONGEST:,} characters")
    try:
        return load_strict_json(text)
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON (line {error.lineno}: {error.msg})") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None


def describe_malformed(error: ValueError) -> str:
    """Return what is wrong with a reply that could not be read."""
    return f"{MALFORMED} ({bound_text(str(error), 200)})"


class StrictModel(Struct, frozen=True, forbid_unknown_fields=True):
    """A reply that has to hold what is asked for, and nothing else."""


class Quote(StrictModel, frozen=True):
    """`source` is `diff` or the name of a check; `path` and `line` belong to a quote from the diff."""

    source: str
    path: str
    line: int
    text: str


class Decision(StrictModel, frozen=True):
    """One criterion. The status comes last, so that it follows from what was found."""

    criterion: int
    quotes: list[Quote]
    missing: str
    reason: str
    status: Literal["met", "unmet", "unclear"]


class Refutation(StrictModel, frozen=True):
    """One claim, and whether something that can be quoted speaks against it."""

    criterion: int
    quotes: list[Quote]
    reason: str
    refuted: bool


class Decisions(StrictModel, frozen=True):
    """The reply to `decide`."""

    verdicts: list[Decision]


class Refutations(StrictModel, frozen=True):
    """The reply to `refute`."""

    refutations: list[Refutation]


def build_schema(model: type[Struct]) -> dict[str, object]:
    """Return the JSON Schema of a reply without references and titles, as every backend can take it."""
    whole = json_schema(model)
    definitions: Mapping[str, Any] = whole["$defs"]

    def expand(node: Any) -> Any:
        if isinstance(node, list):
            return [expand(item) for item in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            return expand(definitions[node["$ref"].rpartition("/")[2]])
        kind = {"type": "string"} if "enum" in node else {}
        return kind | {key: expand(value) for key, value in node.items() if key not in ("title", "description")}

    schema: dict[str, object] = expand(whole)
    return schema


Reply = TypeVar("Reply", bound=StrictModel)
Item = TypeVar("Item", Decision, Refutation)


def parse_reply(model: type[Reply], text: str) -> Reply:
    """Return the reply. Raises ValueError, which `describe_malformed` puts into words."""
    document = parse_json(text)
    try:
        json.dumps(document, ensure_ascii=False).encode()
    except UnicodeError:
        raise ValueError("it holds half a character, which no file can hold") from None
    return convert(document, model)


def parse_decisions(text: str, asked: Sequence[int]) -> dict[int, Decision | str]:
    """Return the decision on each criterion asked, or why it has none."""
    return _match_asked(lambda: parse_reply(Decisions, text).verdicts, asked)


def parse_refutations(text: str, asked: Sequence[int]) -> dict[int, Refutation | str]:
    """Return for each criterion asked what was said against it, or why that is not known."""
    return _match_asked(lambda: parse_reply(Refutations, text).refutations, asked)


def _match_asked(read: Callable[[], Sequence[Item]], asked: Sequence[int]) -> dict[int, Item | str]:
    try:
        items = read()
    except ValueError as error:
        return dict.fromkeys(asked, describe_malformed(error))
    times = Counter(item.criterion for item in items)
    if strangers := sorted(times.keys() - set(asked)):
        named = ", ".join(map(str, strangers[:10]))
        return dict.fromkeys(asked, f"the judge's reply speaks of criteria that were not asked ({named})")
    found: dict[int, Item | str] = dict.fromkeys(asked, "the judge's reply leaves this criterion out")
    for item in items:
        count = times[item.criterion]
        found[item.criterion] = item if count == 1 else f"the judge decided this criterion {count} times"
    return found
