"""The one JSON object of a reply. A reply that could be read in two ways is no reply."""

import json
import re
from collections.abc import Sequence

_FENCE = re.compile(r"^ {0,3}(`{3,})[ \t]*(\w*)[ \t]*\n(.*?)^ {0,3}\1`*[ \t]*$", re.M | re.S)

Document = dict[str, object]


def whole(text: str) -> Document:
    """The object that `text` is, but for white space around it. Raises ValueError, with a text for people."""
    if not text.strip():
        raise ValueError("it is empty")
    try:
        found = json.loads(text, object_pairs_hook=_once, parse_constant=_no_number)
    except json.JSONDecodeError as error:
        raise ValueError(f"it is not JSON (line {error.lineno}: {error.msg})") from None
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
    if not isinstance(found, dict):
        raise ValueError("it is no JSON object")
    return found


def said(text: str) -> Document:
    """The object that a model answered with: the whole text, or the one block fenced as JSON in it.

    Raises ValueError where there is none, or another object that could have been meant.
    """
    text = text.replace("\r\n", "\n")
    if text.lstrip().startswith("{"):
        return whole(text)
    blocks = [block for block in _FENCE.finditer(text) if block[2].lower() in ("", "json")]
    if len(blocks) != 1:
        raise ValueError(f"it has {len(blocks) or 'no'} JSON block{'s' if len(blocks) > 1 else ''} where one is due")
    if _holds_an_object(text[: blocks[0].start()]) or _holds_an_object(text[blocks[0].end() :]):
        raise ValueError("it has more than one JSON object")
    return whole(blocks[0][3])


def _holds_an_object(text: str) -> bool:
    """Whether some JSON object with a key begins anywhere; a text with a thousand braces is taken for one."""
    starts = [found.start() for found in re.finditer(r'\{\s*"', text)]
    return len(starts) > 1000 or any(_begins(text, start) for start in starts)


def _begins(text: str, start: int) -> bool:
    try:
        json.JSONDecoder().raw_decode(text, start)
    except (ValueError, RecursionError):
        return False
    return True


def _once(pairs: Sequence[tuple[str, object]]) -> Document:
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a key stands in it twice")
    return found


def _no_number(name: str) -> object:
    raise ValueError(f"{name} is no number in JSON")
