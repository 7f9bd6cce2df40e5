"""The output of a tool: text, JSON or XML, read in linear time and bounded memory, without trusting a single type."""

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice

from msgspec.structs import replace

from aigon.model.checks import ParsedOutput
from aigon.text.patterns import compile_re
from aigon.text.quoting import strip_escapes
from aigon.text.untrusted import JsonObject, object_at

LARGEST_REPORT = 16 * 1024 * 1024
"""Bytes of one report or JSON document that are read: some 100,000 tests. Of a larger report nothing is believed."""
_LARGEST_TEXT = 4 * 1024 * 1024
"""Bytes of free text that are read, which keeps every parser at a few seconds for any input."""
_LONGEST_LINE = 4000
READ_MATCHES = 5000
"""Matches of one pattern that are read: far more than are kept, so that repeated ones do not hide others."""

_LONG_LINE = compile_re(rf"^([^\n]{{{_LONGEST_LINE}}})[^\n]+", re.M)
_UNPRINTABLE = compile_re(r"[\x00-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]+")
_PACKAGE_MANAGER = compile_re(r"^(?:> |\$ |npm (?:warn|WARN|notice)\b|yarn run |Done in )[^\n]*$", re.M)
_GAP = compile_re(r"^\[\.\.\. \d+ bytes left out \.\.\.\]$", re.M)
_BEGIN = compile_re(r"^[ \t]*(?=[\[{])", re.M)
_TRIES = 8
_LONGEST_TEXT = 100_000
"""Characters kept of one piece of what an XML element holds."""
Row = JsonObject


def decode(output: bytes, limit: int = LARGEST_REPORT) -> str:
    """Return `output` as text with `\\n` line ends; above `limit` bytes its head and, because tools sum up at their
    end, three times as much of its tail."""
    if len(output) > limit:
        output = output[: limit // 4] + b"\n" + output[-(limit - limit // 4) :]
    return output.decode("utf-8", "replace").replace("\r\n", "\n").replace("\r", "\n")


def read_text(output: bytes, limit: int = _LARGEST_TEXT) -> str:
    """Return `output` as text without escape sequences and without the rest of very long lines."""
    return shorten_lines(strip_escapes(decode(output, limit)))


def shorten_lines(lines: str) -> str:
    """Cut every line to 4000 characters, so that no pattern meets a line it would be slow on."""
    return lines if len(lines) <= _LONGEST_LINE else _LONG_LINE.sub(r"\1", lines)


def clean(value: str, limit: int = 500) -> str:
    """Return one line of at most `limit` characters that is safe to print, to encode and to put into a prompt."""
    value = strip_escapes(value[: limit * 10]).encode("utf-8", "replace").decode()
    return " ".join(_UNPRINTABLE.sub(" ", value).split())[:limit]


def is_silent(lines: str) -> bool:
    """Return whether only npm, yarn or pnpm printed anything, and the tool nothing."""
    return not _PACKAGE_MANAGER.sub("", lines).strip()


def has_gap(lines: str) -> bool:
    """Return whether a part of the output is missing."""
    return _GAP.search(lines) is not None


def join_lines(text: str) -> str:
    """Return the lines of `text` that are not empty as one line."""
    return " ".join(filter(None, (line.strip() for line in text.split("\n"))))


def parse_number(digits: str | None) -> int:
    """Return the number in a match; 0 for None and for what is no line number of any real file."""
    return int(digits) if digits and digits.isascii() and digits.isdecimal() and len(digits) < 10 else 0


def find_matches(pattern: re.Pattern[str], lines: str, most: int = READ_MATCHES) -> Iterator[re.Match[str]]:
    """Yield the first `most` matches."""
    return islice(pattern.finditer(lines), most)


def find_sections(
    pattern: re.Pattern[str], lines: str, most: int = READ_MATCHES, span: int = _LARGEST_TEXT
) -> Iterator[tuple[re.Match[str], str]]:
    """Yield each match with the text up to the next one, cut to `span` characters."""
    matches = list(find_matches(pattern, lines, most))
    ends = [*(match.start() for match in matches[1:]), len(lines)]
    for match, end in zip(matches, ends, strict=False):
        yield match, lines[match.end() : min(end, match.end() + span)]


def sum_groups(matches: Iterable[re.Match[str]]) -> Counter[str]:
    """Add up the numbers in the named groups of `matches`, by the name of the group."""
    numbers = Counter[str]()
    for match in matches:
        numbers.update({name: parse_number(digits) for name, digits in match.groupdict().items()})
    return numbers


def sum_words(matches: Iterable[re.Match[str]]) -> Counter[str]:
    """Add up the numbers in the group `number` of `matches`, by the group `word`."""
    numbers = Counter[str]()
    for match in matches:
        numbers[match["word"]] += parse_number(match["number"])
    return numbers


def name_groups(match: re.Match[str]) -> dict[str, str]:
    """Return the groups that matched. Alternatives of a group end in a digit: `file2` is `file`."""
    return {name.rstrip("0123456789"): text for name, text in match.groupdict().items() if text}


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
    if reading := read(object_at(load_json(report))):
        return reading
    reading = read(object_at(find_json(output, dict)))
    return replace(reading, tests={}) if reading else None


def load_row(line: str) -> Row:
    """Return the JSON object on a line; an empty one for anything else."""
    return object_at(_load(line))


def _load(text: str) -> object:
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


def read_xml(
    report: bytes, start: Callable[[str, Mapping[str, str]], None], end: Callable[[str, str], None] = lambda *_: None
) -> str:
    """Call `start(tag, attributes)` and `end(tag, text)` for each element, tags without their prefix.

    Returns the tag of the root, or '' if the document cannot be read to its end. `text` is what follows the last inner
    element, if there is any.
    """
    from xml.parsers import expat  # many tools write none

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
