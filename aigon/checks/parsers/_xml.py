"""XML reports that are not JUnit's, read as a stream: bounded, and without any document type declaration."""

from collections.abc import Callable, Mapping
from xml.parsers import expat

from aigon.checks.parsers._text import LIMIT

_TEXT = 100_000
"""Characters kept of what one element holds."""
Start = Callable[[str, Mapping[str, str]], None]
End = Callable[[str, str], None]


class Refused(Exception):
    """The document declares a type: that is how entity bombs and external entities begin, and no tool does it."""


def stream(report: bytes, start: Start, end: End) -> str:
    """Call `start(tag, attributes)` and `end(tag, text)` for each element; tags without their prefix.

    Returns the tag of the root, or '' for what could not be read to its end. `text` is what stands directly in an
    element with no element in it, and what follows the last one in any other.
    """
    if len(report) > LIMIT:  # a part of a document is none
        return ""
    roots: list[str] = []
    said: list[str] = []
    parser = expat.ParserCreate()
    parser.buffer_text = True
    parser.StartDoctypeDeclHandler = _refuse

    def started(tag: str, attributes: dict[str, str]) -> None:
        said.clear()
        if not roots:
            roots.append(_local(tag))
        start(_local(tag), attributes)

    def ended(tag: str) -> None:
        end(_local(tag), "".join(said))
        said.clear()

    parser.StartElementHandler = started
    parser.EndElementHandler = ended
    parser.CharacterDataHandler = lambda text: said.append(text[:_TEXT]) if len(said) < 50 else None
    try:
        parser.Parse(report.lstrip(), True)
    except (expat.ExpatError, Refused, ValueError, LookupError):
        return ""
    return roots[0]


def _refuse(*_: object) -> None:
    raise Refused


def _local(tag: str) -> str:
    return tag.rsplit(":", 1)[-1]
