"""Read the replies of a judge strictly: what is not plainly said was not said."""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal, NoReturn, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

from aigon.text.fingerprints import strip_escapes

_LONGEST_TEXT = 1_000
"""Characters of evidence, and of reason, that are kept of one verdict."""
LONGEST = 1_000_000
"""Characters of a reply that is read; the API's longest is far below."""
MALFORMED = "the judge's reply is not in the format that was asked for"


def bound_text(text: str, characters: int = _LONGEST_TEXT) -> str:
    """On one line, without escape sequences or what changes how other text is shown, and not longer than that."""
    line = " ".join("".join(c if c.isprintable() else " " for c in strip_escapes(text)).split())
    return line if len(line) <= characters else line[: characters - 1] + "…"


def truncate(text: str, characters: int) -> str:
    """Return the beginning of a long text, and say that it was cut."""
    return text if len(text) <= characters else f"{text[:characters]}\n(cut here: {len(text):,} characters in all)"


class StrictModel(BaseModel):
    """What is asked for, and nothing else."""

    model_config = ConfigDict(extra="forbid", strict=True)


def parse_document(text: str) -> Any:
    """Return the document. Raises ValueError or RecursionError for what is too long, no JSON, or has a key twice."""
    if len(text) > LONGEST:
        raise ValueError(f"it is longer than {LONGEST:,} characters")
    found = json.loads(text, object_pairs_hook=_refuse_duplicates, parse_constant=_refuse_constant)
    json.dumps(found, ensure_ascii=False).encode()  # half a character could not be written down later
    return found


def _refuse_duplicates(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def describe_malformed(error: ValueError | RecursionError) -> str:
    """Return what is wrong with a reply that could not be read."""
    return f"{MALFORMED} ({_describe_error(error)})"


def _describe_error(error: ValueError | RecursionError) -> str:
    match error:
        case ValidationError():
            first = error.errors(include_url=False, include_input=False)[0]
            return f"{'.'.join(map(str, first['loc']))}: {first['msg']}" if first["loc"] else first["msg"]
        case RecursionError():
            return "nested too deeply"
        case UnicodeError():
            return "half a character"
        case _:
            return str(error)[:200]


class Quote(StrictModel):
    """`source` is `diff` or the name of a check; `path` and `line` belong to a quote from the diff."""

    source: str
    path: str
    line: int
    text: str


class Decision(StrictModel):
    """One criterion. The status comes last, so that it follows from what was found."""

    criterion: int
    quotes: list[Quote]
    missing: str
    reason: str
    status: Literal["met", "unmet", "unclear"]


class Refutation(StrictModel):
    """One claim, and whether something that can be quoted speaks against it."""

    criterion: int
    quotes: list[Quote]
    reason: str
    refuted: bool


class Decisions(StrictModel):
    """The reply to `decide`."""

    verdicts: list[Decision]


class Refutations(StrictModel):
    """The reply to `refute`."""

    refutations: list[Refutation]


Item = TypeVar("Item", Decision, Refutation)


def parse_decisions(text: str, asked: Sequence[int]) -> dict[int, Decision | str]:
    """For each criterion asked its decision, or why there is none."""
    try:
        return _match_asked(Decisions.model_validate(parse_document(text)).verdicts, asked)
    except (ValueError, RecursionError) as error:
        return dict.fromkeys(asked, describe_malformed(error))


def parse_refutations(text: str, asked: Sequence[int]) -> dict[int, Refutation | str]:
    """For each criterion asked what was said against it, or why that is not known."""
    try:
        return _match_asked(Refutations.model_validate(parse_document(text)).refutations, asked)
    except (ValueError, RecursionError) as error:
        return dict.fromkeys(asked, describe_malformed(error))


def _match_asked(found: Sequence[Item], asked: Sequence[int]) -> dict[int, Item | str]:
    strangers = sorted({one.criterion for one in found} - set(asked))
    if strangers:
        named = ", ".join(map(str, strangers[:10]))
        return dict.fromkeys(asked, f"the judge's reply speaks of criteria that were not asked ({named})")
    times = Counter(one.criterion for one in found)
    by_number: dict[int, Item] = {one.criterion: one for one in found}
    return {number: _require_one(times[number], by_number.get(number)) for number in asked}


def _require_one(times: int, one: Item | None) -> Item | str:
    if one is None:
        return "the judge's reply leaves this criterion out"
    return one if times == 1 else f"the judge decided this criterion {times} times"
