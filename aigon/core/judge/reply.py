"""The replies of a judge, read strictly: what is not plainly said was not said."""

import json
from collections import Counter
from collections.abc import Sequence
from typing import Any, Literal, NoReturn, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError

LONGEST = 1_000_000
"""Characters of a reply that is read; the API's longest is far below."""


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class Quote(_Strict):
    """`source` is `diff` or the name of a check; `path` and `line` belong to a quote from the diff."""

    source: str
    path: str
    line: int
    text: str


class Decision(_Strict):
    """One criterion. The status comes last, so that it follows from what was found."""

    criterion: int
    quotes: list[Quote]
    missing: str
    reason: str
    status: Literal["met", "unmet", "unclear"]


class Refutation(_Strict):
    """One claim, and whether something that can be quoted speaks against it."""

    criterion: int
    quotes: list[Quote]
    reason: str
    refuted: bool


class Decisions(_Strict):
    """The reply to `decide`."""

    verdicts: list[Decision]


class Refutations(_Strict):
    """The reply to `refute`."""

    refutations: list[Refutation]


One = TypeVar("One", Decision, Refutation)


def decisions(text: str, asked: Sequence[int]) -> dict[int, Decision | str]:
    """For each criterion asked its decision, or why there is none."""
    try:
        return _matched(Decisions.model_validate(_document(text)).verdicts, asked)
    except (ValueError, RecursionError) as error:
        return dict.fromkeys(asked, _malformed(error))


def refutations(text: str, asked: Sequence[int]) -> dict[int, Refutation | str]:
    """For each criterion asked what was said against it, or why that is not known."""
    try:
        return _matched(Refutations.model_validate(_document(text)).refutations, asked)
    except (ValueError, RecursionError) as error:
        return dict.fromkeys(asked, _malformed(error))


def _document(text: str) -> Any:
    if len(text) > LONGEST:
        raise ValueError(f"it is longer than {LONGEST:,} characters")
    document = json.loads(text, object_pairs_hook=_unique, parse_constant=_no_constant)
    json.dumps(document, ensure_ascii=False).encode()  # half a character could not be written down later
    return document


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands twice in one object")
    return found


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON")


def _matched(found: Sequence[One], asked: Sequence[int]) -> dict[int, One | str]:
    strangers = sorted({one.criterion for one in found} - set(asked))
    if strangers:
        named = ", ".join(map(str, strangers[:10]))
        return dict.fromkeys(asked, f"the judge's reply speaks of criteria that were not asked ({named})")
    times = Counter(one.criterion for one in found)
    by_number: dict[int, One] = {one.criterion: one for one in found}
    return {number: _only(times[number], by_number.get(number)) for number in asked}


def _only(times: int, one: One | None) -> One | str:
    if one is None:
        return "the judge's reply leaves this criterion out"
    return one if times == 1 else f"the judge decided this criterion {times} times"


def _malformed(error: ValueError | RecursionError) -> str:
    return f"the judge's reply is not in the format that was asked for ({_first(error)})"


def _first(error: ValueError | RecursionError) -> str:
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
