"""What of an answer is not as it was expected, in short texts."""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice

from aigon.checks.endpoints.answer import Answer
from aigon.checks.endpoints.plan import Expect
from aigon.checks.endpoints.subset import brief, differences
from aigon.config import endpoint_references
from aigon.config.endpoint_references import SavedValues

MOST = 5
"""Differences of one kind that are said."""
Complaints = Callable[[str, object], list[str]]


def flaws(expect: Expect, answer: Answer, values: SavedValues, complaints: Complaints) -> list[str]:
    """Everything that is not as expected; `complaints` are those of a schema, by its name. Raises holes.Unsaved."""
    return [
        *_of_status(expect.status, answer),
        *_of_headers(expect.headers, answer, values),
        *_of_json(expect, answer, values, complaints),
        *_of_text(expect.text, answer, values),
    ]


def fits(status: int, wanted: tuple[str, ...]) -> bool:
    """Whether a status is among numbers and classes such as `2xx`."""
    return str(status) in wanted or f"{status // 100}xx" in wanted


def _of_status(wanted: tuple[str, ...], answer: Answer) -> Iterator[str]:
    if not fits(answer.status, wanted):
        yield f"expected {' or '.join(wanted)}, got {answer.status}: {answer.gist()}"


def _of_headers(wanted: Mapping[str, str | bool], answer: Answer, values: SavedValues) -> Iterator[str]:
    for name, value in wanted.items():
        got = answer.header(name)
        if value is True and not got:
            yield f"the header {name} is not there"
        elif value is False and got:
            yield f"the header {name} is there: {got[0]}"
        elif isinstance(value, str) and not any(
            _same(endpoint_references.fill_text(value, values), each) for each in got
        ):
            said = " and ".join(got) if got else "none"
            yield f"the header {name}: expected {endpoint_references.fill_text(value, values)}, got {said}"


def _same(wanted: str, got: str) -> bool:
    """Equal; parameters (`; charset=utf-8`) are only compared where they are asked for."""
    return wanted.strip() == got.strip() or (";" not in wanted and wanted.strip() == got.partition(";")[0].strip())


def _of_json(expect: Expect, answer: Answer, values: SavedValues, complaints: Complaints) -> Iterator[str]:
    if not expect.json and not expect.schema:
        return
    try:
        got = answer.json()
    except ValueError as error:
        yield str(error)
        return
    for wanted in expect.json:
        yield from islice(differences(endpoint_references.fill_references(wanted, values), got), MOST)
    if expect.schema:
        yield from complaints(expect.schema, got)


def _of_text(wanted: tuple[str, ...], answer: Answer, values: SavedValues) -> Iterator[str]:
    body = answer.text() if wanted else ""
    for template in wanted:
        if (text := endpoint_references.fill_text(template, values)) not in body:
            part = f"the first {len(answer.body) >> 20} MiB of the body do" if answer.cut else "the body does"
            yield f"{part} not contain {brief(text)}: {answer.brief()}"


def saved(save: Mapping[str, str], answer: Answer) -> tuple[dict[str, object], list[str]]:
    """The values for later requests, and a complaint for each that is not there."""
    found: dict[str, object] = {}
    lacking: list[str] = []
    for name, place in save.items():
        try:
            one = _taken(endpoint_references.parse_source(place), answer)
        except ValueError as error:
            lacking.append(f"nothing to save as {name} at {place}: {error}")
        else:
            found |= {name: one[0]} if one else {}
            lacking += [] if one else [f"nothing to save as {name} at {place}"]
    return found, lacking


def _taken(source: endpoint_references.ValueSource, answer: Answer) -> tuple[object, ...]:
    if source.kind == "json":
        return endpoint_references.resolve_path(answer.json(), source.steps)
    name = str(source.steps[0])
    if source.kind == "headers":
        return tuple(answer.header(name)[:1])
    return tuple(value for key, value in answer.cookies if key == name)[:1]
