"""Parse a file into nodes with byte spans, whatever it is written in.

Python is read by its own `ast` and `tokenize`, the others by their tree-sitter grammars. Each is loaded when a file of
that language is parsed first.
"""

import posixpath
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from typing import TYPE_CHECKING, Literal

from msgspec import Struct

if TYPE_CHECKING:
    from tree_sitter import Parser

Language = Literal["python", "javascript", "typescript", "tsx", "rust", "go"]
LONGEST = 1_000_000
"""Bytes of a file that is parsed."""
DEEPEST = 400
"""Nodes inside one another; deeper code is not written by people, and walking it would exhaust the stack."""
_LANGUAGES: Mapping[str, Language] = {
    **dict.fromkeys(("py", "pyi", "pyw"), "python"),
    **dict.fromkeys(("js", "mjs", "cjs", "jsx"), "javascript"),
    **dict.fromkeys(("ts", "mts", "cts"), "typescript"),
    "tsx": "tsx",
    "rs": "rust",
    "go": "go",
}


Edit = tuple[int, int, str]
"""First byte, the byte after the last, and the text that replaces them."""
MOST_ERRORS = 20


class Node(Struct, frozen=True, eq=False):
    """One node with its span in bytes and the line it begins on, from 1. `field` is its role in the parent.

    `kind` is the class of Python's `ast` (`Compare`) or the grammar's name (`binary_expression`). A leaf that is a
    keyword, an operator or a bracket has its own text as its kind. Another leaf is a `comment`, or a `NAME` that
    Python has no node for, in the role `name`.
    """

    kind: str
    start: int
    end: int
    line: int
    field: str = ""
    children: tuple["Node", ...] = ()

    def walk(self) -> Iterator["Node"]:
        """Yield this node and all below it, in the order of the text."""
        pending = [self]
        while pending:
            node = pending.pop()
            yield node
            pending.extend(reversed(node.children))

    def get(self, *fields: str) -> "Node | None":
        """Return the first child in one of these roles."""
        return next((child for child in self.children if child.field in fields), None)

    def list(self, field: str) -> tuple["Node", ...]:
        """Return every child in this role."""
        return tuple(child for child in self.children if child.field == field)


class Source(Struct, frozen=True):
    """A parsed file. `errors` says what could not be read of it, with lines; the rest of the tree holds all the same,
    but for Python, which is read as a whole or not at all."""

    path: str
    language: Language
    data: bytes
    root: Node
    errors: tuple[str, ...] = ()

    def text(self, node: Node) -> str:
        """Return the text there."""
        return self.data[node.start : node.end].decode("utf-8", "replace")

    def read_name(self, node: Node) -> str:
        """Return what a definition is called; "" for a node without a name."""
        name = node.get("name")
        return self.text(name) if name else ""

    def last_line(self, node: Node) -> int:
        """Return the line that a node ends on, from 1."""
        return node.line + self.data.count(b"\n", node.start, node.end)


def language_of(path: str) -> Language | None:
    """Return what a file is written in by its ending; None if it is nothing that is parsed."""
    return _LANGUAGES.get(posixpath.splitext(path)[1][1:].lower())


def apply_edits(data: bytes, edits: Iterable[Edit]) -> bytes:
    """Return the text with every edit made; they do not overlap."""
    for start, end, text in sorted(edits, reverse=True):
        data = data[:start] + text.encode("utf-8", "surrogateescape") + data[end:]
    return data


@lru_cache(maxsize=64)
def parse(path: str, text: str | bytes) -> Source | None:
    """Return the parsed file; None if it is in no language that is parsed."""
    language = language_of(path)
    if language is None:
        return None
    data = text.encode("utf-8", "surrogateescape") if isinstance(text, str) else text
    nothing = Node("unread", 0, len(data), 1)
    if len(data) > LONGEST:
        return Source(path, language, data, nothing, (f"{path} is longer than {LONGEST:,} bytes",))
    try:
        if language == "python":
            from aigon.syntax.python import parse_python

            return Source(path, language, data, parse_python(data))
        root, broken = parse_grammar(data, language)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        where = f"{path}:{line}" if (line := getattr(error, "lineno", None)) else path
        return Source(path, language, data, nothing, (f"{where}: {getattr(error, 'msg', error)}",))
    return Source(path, language, data, root, tuple(f"{path}:{line}: this is no {language}" for line in broken))


@cache
def _load_grammar(language: Language) -> "Parser":
    """Return a parser; only this language's grammar is loaded."""
    import tree_sitter

    if language == "javascript":
        from tree_sitter_javascript import language as grammar
    elif language == "typescript":
        from tree_sitter_typescript import language_typescript as grammar
    elif language == "tsx":
        from tree_sitter_typescript import language_tsx as grammar
    elif language == "rust":
        from tree_sitter_rust import language as grammar
    else:
        from tree_sitter_go import language as grammar
    return tree_sitter.Parser(tree_sitter.Language(grammar()))


def parse_grammar(data: bytes, language: Language) -> tuple[Node, tuple[int, ...]]:
    """Return the file, and the lines that the grammar could not read. Raises RecursionError."""
    broken: list[int] = []
    cursor = _load_grammar(language).parse(data).walk()

    def convert(depth: int) -> Node:
        if depth > DEEPEST:
            raise RecursionError("nodes are too deep inside one another")
        found = cursor.node
        assert found is not None, "a cursor is at a node"
        if found.is_error or found.is_missing:
            broken.append(found.start_point.row + 1)
        field, children = cursor.field_name or "", []
        if cursor.goto_first_child():
            children.append(convert(depth + 1))
            while cursor.goto_next_sibling():
                children.append(convert(depth + 1))
            cursor.goto_parent()
        return Node(found.type, found.start_byte, found.end_byte, found.start_point.row + 1, field, tuple(children))

    return convert(0), tuple(dict.fromkeys(broken))[:MOST_ERRORS]
