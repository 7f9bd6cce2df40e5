"""An answer of the server, and what of it is not as expected."""

import json
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import chain, islice
from typing import NoReturn

from aigon.checks.endpoints.plan import Expectation
from aigon.config import endpoint_references
from aigon.config.endpoint_references import PathStep, SavedValues, format_path
from aigon.text.fingerprints import strip_escapes

LARGEST_BODY = 8 * 1024 * 1024
"""Bytes of a body that are read: far more than anybody compares, few enough to hold."""
SHOWN_BODY = 160
"""Characters of a body that a message shows."""
_TAG = re.compile(r"<[^<>]*>")
_CHARSET = re.compile(
    r"charset=\"?(utf-?(?:8|16|32)(?:[-_]?[lb]e)?|(?:us-)?ascii|iso-?8859-\d{1,2}|latin-?\d|(?:windows-?|cp)\d{3,4}"
    r"|shift_?jis|euc-?(?:jp|kr)|gb(?:2312|k|18030)|big5|koi8-[ru])\b",
    re.I | re.ASCII,
)
"""Encodings of texts. Python knows others (`punycode`, `undefined`) that would take for ever, or fail."""


@dataclass(frozen=True, slots=True)
class HttpAnswer:
    """`cut` says that the body is longer than what was read of it; `seconds` is how long all of it took."""

    status: int
    headers: tuple[tuple[str, str], ...] = ()
    body: bytes = b""
    cut: bool = False
    seconds: float = 0.0
    cookies: tuple[tuple[str, str], ...] = ()

    def header(self, name: str) -> list[str]:
        """The values of a header, whatever the case of its name."""
        return [value for key, value in self.headers if key.lower() == name.lower()]

    def text(self) -> str:
        """The body as text, in the encoding that it says it has."""
        charset = _CHARSET.search(next(iter(self.header("content-type")), ""))
        try:
            return self.body.decode(charset[1] if charset else "utf-8", "replace")
        except LookupError:
            return self.body.decode("utf-8", "replace")

    def json(self) -> object:
        """The body as JSON. Raises ValueError, for people, where it is none."""
        if self.cut:
            raise ValueError(f"the body is longer than {LARGEST_BODY >> 20} MiB")
        if not self.body.strip():
            raise ValueError("the body is empty, which is no JSON")
        try:
            return json.loads(self.body, parse_constant=_refuse_constant)
        except RecursionError:
            raise ValueError("the body is JSON that is nested too deeply") from None
        except ValueError as error:
            raise ValueError(f"the body is no JSON ({_explain(error)}): {self.brief()}") from None

    def gist(self) -> str:
        """The body on one line, shortened, a page of HTML without its tags: what an error page says."""
        html = any(value.startswith("text/html") for value in self.header("content-type"))
        return _shorten(_TAG.sub(" ", self.text()[: SHOWN_BODY * 10])) if html else self.brief()

    def brief(self) -> str:
        """The body on one line, shortened."""
        return _shorten(self.text()[: SHOWN_BODY * 10])


def _shorten(text: str) -> str:
    text = " ".join(strip_escapes(text).split())
    return (text if len(text) <= SHOWN_BODY else f"{text[:SHOWN_BODY]}…") or "an empty body"


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is no number of JSON")


def _explain(error: ValueError) -> str:
    if isinstance(error, json.JSONDecodeError):
        return f"{error.msg} at character {error.pos}"
    return "not in UTF-8" if isinstance(error, UnicodeDecodeError) else str(error)


_LONGEST = 100
"""Characters of a value that a message shows."""


def find_differences(wanted: object, got: object, steps: tuple[PathStep, ...] = ()) -> Iterator[str]:
    """What is not as wanted, each with its place. Numbers are equal by value, and true is no number."""
    if isinstance(wanted, dict) and isinstance(got, dict):
        yield from chain.from_iterable(_compare_key(key, each, got, steps) for key, each in wanted.items())
    elif isinstance(wanted, list) and isinstance(got, list):
        yield from _compare_lists(wanted, got, steps)
    elif not _is_equal(wanted, got):
        yield f"{format_path(steps)}: expected {preview(wanted)}, got {preview(got)}"


def _compare_key(key: str, wanted: object, got: dict[str, object], steps: tuple[PathStep, ...]) -> Iterator[str]:
    if key in got:
        yield from find_differences(wanted, got[key], (*steps, key))
    else:
        yield f"{format_path((*steps, key))}: expected {preview(wanted)}, and it is not there"


def _compare_lists(wanted: list[object], got: list[object], steps: tuple[PathStep, ...]) -> Iterator[str]:
    if len(wanted) != len(got):
        yield f"{format_path(steps)}: expected {_count_elements(wanted)}, got {_count_elements(got)}"
    for number, (one, other) in enumerate(zip(wanted, got, strict=False)):
        yield from find_differences(one, other, (*steps, number))


def _count_elements(values: list[object]) -> str:
    return f"{len(values)} element" + ("" if len(values) == 1 else "s")


def _is_equal(wanted: object, got: object) -> bool:
    return isinstance(wanted, bool) == isinstance(got, bool) and wanted == got


def preview(value: object) -> str:
    """A value as JSON, shortened."""
    if isinstance(value, dict | list) and value:
        value = dict(list(value.items())[:5]) if isinstance(value, dict) else value[:5]
    text = json.dumps(value, ensure_ascii=False, default=str)
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


MOST_DIFFERENCES = 5
"""Differences of one kind that are said."""
Complaints = Callable[[str, object], list[str]]


def find_flaws(expect: Expectation, answer: HttpAnswer, values: SavedValues, complaints: Complaints) -> list[str]:
    """Everything that is not as expected; `complaints` are those of a schema, by its name. Raises holes.Unsaved."""
    return [
        *_check_status(expect.status, answer),
        *_check_headers(expect.headers, answer, values),
        *_check_json(expect, answer, values, complaints),
        *_check_text(expect.text, answer, values),
    ]


def fits_status(status: int, wanted: tuple[str, ...]) -> bool:
    """Whether a status is among numbers and classes such as `2xx`."""
    return str(status) in wanted or f"{status // 100}xx" in wanted


def _check_status(wanted: tuple[str, ...], answer: HttpAnswer) -> Iterator[str]:
    if not fits_status(answer.status, wanted):
        yield f"expected {' or '.join(wanted)}, got {answer.status}: {answer.gist()}"


def _check_headers(wanted: Mapping[str, str | bool], answer: HttpAnswer, values: SavedValues) -> Iterator[str]:
    for name, value in wanted.items():
        got = answer.header(name)
        if value is True and not got:
            yield f"the header {name} is not there"
        elif value is False and got:
            yield f"the header {name} is there: {got[0]}"
        elif isinstance(value, str) and not any(
            _is_same_header(endpoint_references.fill_text(value, values), each) for each in got
        ):
            said = " and ".join(got) if got else "none"
            yield f"the header {name}: expected {endpoint_references.fill_text(value, values)}, got {said}"


def _is_same_header(wanted: str, got: str) -> bool:
    """Equal; parameters (`; charset=utf-8`) are only compared where they are asked for."""
    return wanted.strip() == got.strip() or (";" not in wanted and wanted.strip() == got.partition(";")[0].strip())


def _check_json(expect: Expectation, answer: HttpAnswer, values: SavedValues, complaints: Complaints) -> Iterator[str]:
    if not expect.json and not expect.schema:
        return
    try:
        got = answer.json()
    except ValueError as error:
        yield str(error)
        return
    for wanted in expect.json:
        yield from islice(find_differences(endpoint_references.fill_references(wanted, values), got), MOST_DIFFERENCES)
    if expect.schema:
        yield from complaints(expect.schema, got)


def _check_text(wanted: tuple[str, ...], answer: HttpAnswer, values: SavedValues) -> Iterator[str]:
    body = answer.text() if wanted else ""
    for template in wanted:
        if (text := endpoint_references.fill_text(template, values)) not in body:
            part = f"the first {len(answer.body) >> 20} MiB of the body do" if answer.cut else "the body does"
            yield f"{part} not contain {preview(text)}: {answer.brief()}"


def collect_saved(save: Mapping[str, str], answer: HttpAnswer) -> tuple[dict[str, object], list[str]]:
    """The values for later requests, and a complaint for each that is not there."""
    found: dict[str, object] = {}
    lacking: list[str] = []
    for name, place in save.items():
        try:
            one = _take_value(endpoint_references.parse_source(place), answer)
        except ValueError as error:
            lacking.append(f"nothing to save as {name} at {place}: {error}")
        else:
            found |= {name: one[0]} if one else {}
            lacking += [] if one else [f"nothing to save as {name} at {place}"]
    return found, lacking


def _take_value(source: endpoint_references.ValueSource, answer: HttpAnswer) -> tuple[object, ...]:
    if source.kind == "json":
        return endpoint_references.resolve_path(answer.json(), source.steps)
    name = str(source.steps[0])
    if source.kind == "headers":
        return tuple(answer.header(name)[:1])
    return tuple(value for key, value in answer.cookies if key == name)[:1]
