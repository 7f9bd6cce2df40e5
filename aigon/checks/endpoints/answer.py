"""An answer of the server, and what of it is not as expected."""

import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice

from msgspec import UNSET, Struct

from aigon.config.endpoints import (
    Expect,
    PathStep,
    SavedValues,
    fill_references,
    fill_text,
    format_path,
    parse_source,
    resolve_path,
)
from aigon.text.patterns import compile_re
from aigon.text.quoting import strip_escapes
from aigon.text.untrusted import refuse_constant

LARGEST_BODY = 8 * 1024 * 1024
"""Bytes of a body that are read: far more than anybody compares, few enough to hold."""
_SHOWN_BODY, _SHOWN_VALUE = 160, 100
"""Characters of a body and of a value that a message shows."""
_MOST_DIFFERENCES = 5
_TAG = compile_re(r"<[^<>]*>")
_CHARSET = compile_re(
    r"charset=\"?(utf-?(?:8|16|32)(?:[-_]?[lb]e)?|(?:us-)?ascii|iso-?8859-\d{1,2}|latin-?\d|(?:windows-?|cp)\d{3,4}"
    r"|shift_?jis|euc-?(?:jp|kr)|gb(?:2312|k|18030)|big5|koi8-[ru])\b",
    re.I | re.ASCII,
)
"""Encodings of texts. Python knows others (`punycode`, `undefined`) that would take for ever, or fail."""
SchemaCheck = Callable[[object], list[str]]
"""Returns what of a value does not fit the schema that the request names."""


class HttpAnswer(Struct, frozen=True):
    """`cut` says that the body is longer than what was read of it; `seconds` is how long all of it took."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    cut: bool = False
    seconds: float = 0.0
    cookies: tuple[tuple[str, str], ...] = ()

    def header(self, name: str) -> list[str]:
        """Return the values of a header, whatever the case of its name."""
        return [value for key, value in self.headers if key.lower() == name.lower()]

    def text(self) -> str:
        """Return the body as text, in the encoding that it says it has."""
        charset = _CHARSET.search(next(iter(self.header("content-type")), ""))
        try:
            return self.body.decode(charset[1] if charset else "utf-8", "replace")
        except LookupError:
            return self.body.decode("utf-8", "replace")

    def json(self) -> object:
        """Return the body as JSON. Raises ValueError, worded for people, if it is not JSON."""
        if self.cut:
            raise ValueError(f"the body is longer than {LARGEST_BODY >> 20} MiB")
        if not self.body.strip():
            raise ValueError("the body is empty, which is no JSON")
        try:
            return json.loads(self.body, parse_constant=refuse_constant)
        except RecursionError:
            raise ValueError("the body is JSON that is nested too deeply") from None
        except json.JSONDecodeError as error:
            why = f"{error.msg} at character {error.pos}"
        except UnicodeDecodeError:
            why = "not in UTF-8"
        except ValueError as error:
            why = str(error)
        raise ValueError(f"the body is no JSON ({why}): {self.brief()}")

    def brief(self, *, without_tags: bool = False) -> str:
        """Return the body on one line, shortened; a page of HTML without its tags if that is asked for."""
        text = self.text()[: _SHOWN_BODY * 10]
        if without_tags and any(value.startswith("text/html") for value in self.header("content-type")):
            text = _TAG.sub(" ", text)
        text = " ".join(strip_escapes(text).split())
        return (text if len(text) <= _SHOWN_BODY else f"{text[:_SHOWN_BODY]}…") or "an empty body"


def find_flaws(expect: Expect, answer: HttpAnswer, values: SavedValues, check_schema: SchemaCheck | None) -> list[str]:
    """Return everything that is not as expected, in short texts. Raises UnsavedValue."""
    return [
        *_check_status(expect.status, answer),
        *_check_headers(expect.headers, answer, values),
        *_check_json(expect.json_, answer, values, check_schema),
        *_check_text(expect.text, answer, values),
    ]


def fits_status(status: int, wanted: Sequence[str]) -> bool:
    """Return whether a status is among numbers and classes such as `2xx`."""
    return str(status) in wanted or f"{status // 100}xx" in wanted


def _check_status(wanted: Sequence[str], answer: HttpAnswer) -> Iterator[str]:
    if not fits_status(answer.status, wanted):
        yield f"expected {' or '.join(wanted)}, got {answer.status}: {answer.brief(without_tags=True)}"


def _check_headers(wanted: Mapping[str, str | bool], answer: HttpAnswer, values: SavedValues) -> Iterator[str]:
    for name, value in wanted.items():
        got = answer.header(name)
        if value is True and not got:
            yield f"the header {name} is not there"
        elif value is False and got:
            yield f"the header {name} is there: {got[0]}"
        elif isinstance(value, str):
            text = fill_text(value, values).strip()
            # Parameters (`; charset=utf-8`) are only compared if they are asked for.
            plain_values = [each if ";" in text else each.partition(";")[0] for each in got]
            if text not in [each.strip() for each in (*got, *plain_values)]:
                yield f"the header {name}: expected {fill_text(value, values)}, got {' and '.join(got) or 'none'}"


def _check_json(
    expected: object, answer: HttpAnswer, values: SavedValues, check_schema: SchemaCheck | None
) -> Iterator[str]:
    if expected is UNSET and not check_schema:
        return
    try:
        got = answer.json()
    except ValueError as error:
        yield str(error)
        return
    if expected is not UNSET:
        yield from islice(find_differences(fill_references(expected, values), got), _MOST_DIFFERENCES)
    if check_schema:
        yield from check_schema(got)


def _check_text(wanted: Sequence[str], answer: HttpAnswer, values: SavedValues) -> Iterator[str]:
    body = answer.text() if wanted else ""
    for template in wanted:
        if (text := fill_text(template, values)) not in body:
            part = f"the first {len(answer.body) >> 20} MiB of the body do" if answer.cut else "the body does"
            yield f"{part} not contain {_preview(text)}: {answer.brief()}"


def find_differences(wanted: object, got: object, steps: tuple[PathStep, ...] = ()) -> Iterator[str]:
    """Yield what is not as wanted, each with its place: objects may hold more, lists may not.

    Numbers are equal by value, and true is no number.
    """
    if isinstance(wanted, dict) and isinstance(got, dict):
        for key, value in wanted.items():
            if key in got:
                yield from find_differences(value, got[key], (*steps, key))
            else:
                yield f"{format_path((*steps, key))}: expected {_preview(value)}, and it is missing"
    elif isinstance(wanted, list) and isinstance(got, list):
        if len(wanted) != len(got):
            counted = f"{len(wanted)} element{'' if len(wanted) == 1 else 's'}"
            yield f"{format_path(steps)}: expected {counted}, got {len(got)} element{'' if len(got) == 1 else 's'}"
        for number, (one, other) in enumerate(zip(wanted, got, strict=False)):
            yield from find_differences(one, other, (*steps, number))
    elif isinstance(wanted, bool) != isinstance(got, bool) or wanted != got:
        yield f"{format_path(steps)}: expected {_preview(wanted)}, got {_preview(got)}"


def _preview(value: object) -> str:
    if isinstance(value, dict | list) and value:
        value = dict(list(value.items())[:5]) if isinstance(value, dict) else value[:5]
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _SHOWN_VALUE else f"{text[:_SHOWN_VALUE]}…"


def collect_saved(save: Mapping[str, str], answer: HttpAnswer) -> tuple[dict[str, object], list[str]]:
    """Return the values for later requests, and a complaint for each that is not there."""
    saved: dict[str, object] = {}
    lacking: list[str] = []
    for name, place in save.items():
        try:
            values = _find_values(place, answer)
        except ValueError as error:
            lacking.append(f"nothing to save as {name} at {place}: {error}")
            continue
        if values:
            saved[name] = values[0]
        else:
            lacking.append(f"nothing to save as {name} at {place}")
    return saved, lacking


def _find_values(place: str, answer: HttpAnswer) -> tuple[object, ...]:
    source = parse_source(place)
    if source.kind == "json":
        return resolve_path(answer.json(), source.steps)
    name = str(source.steps[0])
    if source.kind == "headers":
        return tuple(answer.header(name))
    return tuple(value for key, value in answer.cookies if key == name)
