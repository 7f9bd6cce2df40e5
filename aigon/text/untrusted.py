"""Documents that strangers wrote: JSON that is read strictly or looked into, and YAML that is loaded without harm.

What is not where it is looked for in JSON, or is of another type, is empty. YAML is composed into nodes first, so that
absurd documents (nested without end, aliases of aliases) are refused before they fill the stack or the memory.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NoReturn

JsonObject = dict[str, object]
LARGEST_COUNT = 10**15
"""No tool could have counted more of anything."""


def value_at(document: object, *path: str) -> object:
    """Return what `path` leads to inside nested objects; None if it leads nowhere."""
    value = document
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None  # not Mapping: that check takes five times as long
    return value


def look_up(document: object, path: str) -> object:
    """Return what a path such as `part.tool` leads to; the document itself for `.` or nothing."""
    return value_at(document, *filter(None, path.split(".")))


def object_at(document: object, *path: str) -> JsonObject:
    """Return the object there; an empty one for anything else."""
    value = value_at(document, *path)
    return value if isinstance(value, dict) else {}


def list_at(document: object, *path: str) -> list[object]:
    """Return the list there; an empty one for anything else."""
    value = value_at(document, *path)
    return value if isinstance(value, list) else []


def objects_at(document: object, *path: str) -> list[JsonObject]:
    """Return the objects in the list there."""
    return [each for each in list_at(document, *path) if isinstance(each, dict)]


def text_at(document: object, *path: str) -> str:
    """Return the text there; an empty one for anything else."""
    value = value_at(document, *path)
    return value if isinstance(value, str) else ""


def texts_at(document: object, *path: str) -> list[str]:
    """Return the texts in the list there."""
    return [each for each in list_at(document, *path) if isinstance(each, str)]


def count_at(document: object, *path: str) -> int:
    """Return the count or the line number there; 0 for anything else."""
    value = value_at(document, *path)
    return value if isinstance(value, int) and not isinstance(value, bool) and 0 <= value <= LARGEST_COUNT else 0


def load_strict_json(text: str | bytes) -> Any:
    """Return a JSON document that can be read in one way only.

    Raises ValueError, of which JSONDecodeError is one, for a key that occurs twice and for NaN, and RecursionError.
    """
    import json

    return json.loads(text, object_pairs_hook=_refuse_duplicate_keys, parse_constant=refuse_constant)


def _refuse_duplicate_keys(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Raise ValueError for a duplicate key: JSON would silently take the last one."""
    document = dict(pairs)
    if len(document) != len(pairs):
        ((key, _),) = Counter(key for key, _ in pairs).most_common(1)
        raise ValueError(f"the key {key[:80]!r} occurs twice in one object")
    return document


def refuse_constant(name: str) -> NoReturn:
    """Raise ValueError for NaN and the infinities, which Python reads and JSON does not know."""
    raise ValueError(f"{name} is no number of JSON")


DEEPEST = 50
"""Levels of lists and mappings; the deepest document that ships has 8."""
MOST = 100_000
"""Values that a document may expand to, each alias counted as what it names; the largest that ships has 1,500."""
LONGEST_NUMBER = 100
"""Characters of a number: beyond 4,300 digits Python itself refuses to read or to show one."""
_HARMLESS = 1500
"""Brackets of a document, and columns of a line, up to which no nesting can do harm."""


class AbsurdDocument(ValueError):
    """A document that is surely a mistake; `line` is where, from 1, or 0 if unknown."""

    def __init__(self, what: str, line: int = 0) -> None:
        super().__init__(what)
        self.line = line


def load_yaml(
    document: bytes | str, loader: Any, look: Callable[[Any], None] = lambda _root: None, most: int = MOST
) -> Any:
    """Return the value of a document as `loader` makes it, None for nothing. Raises yaml's errors, and AbsurdDocument.

    `look` sees the root node first (yaml's constructors change it), `most` is how many values it may expand to.
    """
    _refuse_deep(document, loader)
    reader = loader(document)
    try:
        root = reader.get_single_node()
        if root is None:
            return None
        _size(root, {}, 0, most)
        look(root)
        try:
            return reader.construct_document(root)
        except (ValueError, KeyError, IndexError, AttributeError, TypeError, OverflowError) as error:
            # The 31st of February, `!!int x`, `!!bool maybe`: yaml's constructors let Python's own errors through.
            raise AbsurdDocument(f"a value is not of its type ({str(error)[:80] or type(error).__name__})") from None
    finally:
        reader.dispose()


def _refuse_deep(document: bytes | str, loader: Any) -> None:
    """Count levels by events, which need no stack, if the document could be nested at all."""
    import yaml

    raw = document if isinstance(document, bytes) else document.encode("utf-8", "replace")
    if raw.count(b"[") + raw.count(b"{") <= _HARMLESS and max(map(len, raw.split(b"\n"))) <= _HARMLESS:
        return
    depth = 0
    for event in yaml.parse(document, Loader=loader):
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEEPEST:
            raise _too_deep(event)


def _too_deep(at: Any) -> AbsurdDocument:
    return AbsurdDocument(f"it is nested more than {DEEPEST} levels deep", at.start_mark.line + 1)


def _size(node: Any, known: dict[int, int], depth: int, most: int) -> int:
    """Count the values that a node expands to. A node within itself has 0 in `known` while it is visited."""
    if depth > DEEPEST:
        raise _too_deep(node)
    if isinstance(node.value, str):
        if node.tag.endswith((":int", ":float")) and len(node.value) > LONGEST_NUMBER:
            raise AbsurdDocument(f"a number has {len(node.value):,} characters", node.start_mark.line + 1)
        return 1
    if id(node) in known:
        if not known[id(node)]:
            raise AbsurdDocument("a value holds itself", node.start_mark.line + 1)
        return known[id(node)]
    known[id(node)] = 0
    children = (each for child in node.value for each in (child if isinstance(child, tuple) else (child,)))
    total = 1
    for child in children:
        total += _size(child, known, depth + 1, most)
        if total > most:
            raise AbsurdDocument(f"its aliases expand to more than {most:,} values", child.start_mark.line + 1)
    known[id(node)] = total
    return total
