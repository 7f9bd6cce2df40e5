"""Load YAML that strangers wrote.

It is composed into nodes first, so that absurd documents (nested without end, aliases of aliases) are refused before
they fill the stack or the memory.
"""

from collections.abc import Callable
from typing import Any

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
