"""JSON and XML of unknown make, read without trusting a single type and in bounded memory."""

import json
import re
from collections.abc import Callable, Mapping
from itertools import islice
from xml.parsers import expat

from msgspec.structs import replace

from aigon.checks.parsers.output import LARGEST_REPORT, decode
from aigon.model.checks import ParsedOutput
from aigon.text.patterns import compile_re

_BEGIN = compile_re(r"^[ \t]*(?=[\[{])", re.M)
_TRIES = 8
_LONGEST_TEXT = 100_000
"""Characters kept of one piece of what an XML element holds."""
Row = dict[str, object]


def load_json(report: bytes | None) -> object:
    """Return what a report file holds, or None if it is absent, broken or too large (a part of JSON is no JSON)."""
    if report is None or len(report) > LARGEST_REPORT:
        return None
    return _load(report.decode("utf-8-sig", "replace"))


def find_json(output: bytes, kind: type) -> object:
    """Return the first dict or list that begins a line of `output`, whatever is printed around it, or None."""
    lines = decode(output)
    opening = "{" if kind is dict else "["
    begins = (match.end() for match in _BEGIN.finditer(lines) if lines[match.end()] == opening)
    for begin in islice(begins, _TRIES):
        try:
            return json.JSONDecoder().raw_decode(lines, begin)[0]
        except (ValueError, RecursionError):
            continue
    return None


def read_documents(
    output: bytes, report: bytes | None, read: Callable[[Row], ParsedOutput | None]
) -> ParsedOutput | None:
    """Return what `read` makes of the JSON object in the report file, else of one in the output.

    The latter names no tests: a test can print it.
    """
    if reading := read(as_row(load_json(report))):
        return reading
    reading = read(as_row(find_json(output, dict)))
    return replace(reading, tests={}) if reading else None


def load_row(line: str) -> Row:
    """Return the JSON object on a line; an empty one for anything else."""
    return as_row(_load(line))


def _load(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def as_row(value: object) -> Row:
    """Return a dict as it is, anything else as an empty one."""
    return value if isinstance(value, dict) else {}


def as_rows(value: object) -> list[Row]:
    """Return the dicts in a list; none for anything that is no list."""
    return [row for row in value if isinstance(row, dict)] if isinstance(value, list) else []


def as_string(value: object) -> str:
    """Return a string as it is, anything else as an empty one."""
    return value if isinstance(value, str) else ""


def as_strings(value: object) -> list[str]:
    """Return the strings in a list."""
    return [each for each in value if isinstance(each, str)] if isinstance(value, list) else []


def as_line(value: object) -> int:
    """Return a line number; 0 for anything that cannot be one."""
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 10**9 else 0


def read_xml(
    report: bytes, start: Callable[[str, Mapping[str, str]], None], end: Callable[[str, str], None] = lambda *_: None
) -> str:
    """Call `start(tag, attributes)` and `end(tag, text)` for each element, tags without their prefix.

    Returns the tag of the root, or '' if the document cannot be read to its end. `text` is what follows the last inner
    element, if there is any.
    """
    roots: list[str] = []
    pieces: list[str] = []
    parser = expat.ParserCreate()
    parser.buffer_text = True

    def refuse(*_: object) -> None:
        # A document type is how entity bombs and external entities begin, and no tool declares one.
        raise ValueError

    def on_start(tag: str, attributes: dict[str, str]) -> None:
        pieces.clear()
        tag = tag.rsplit(":", 1)[-1]
        if not roots:
            roots.append(tag)
        start(tag, attributes)

    def on_end(tag: str) -> None:
        end(tag.rsplit(":", 1)[-1], "".join(pieces))
        pieces.clear()

    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = on_start
    parser.EndElementHandler = on_end
    parser.CharacterDataHandler = lambda text: pieces.append(text[:_LONGEST_TEXT]) if len(pieces) < 50 else None
    try:
        parser.Parse(report[:LARGEST_REPORT].lstrip(), True)
    except (expat.ExpatError, ValueError, LookupError):
        return ""
    return roots[0]
