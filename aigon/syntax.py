"""Parse a file into nodes with byte spans, whatever it is written in.

Python is read by its own `ast` and `tokenize`, the others by their tree-sitter grammars. Each is loaded when a file of
that language is parsed first.
"""

import ast
import io
import posixpath
import tokenize
import warnings
from bisect import bisect_left, bisect_right
from codecs import BOM_UTF8
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, lru_cache
from itertools import accumulate
from keyword import iskeyword
from typing import TYPE_CHECKING, Any, Literal, cast

from msgspec import Struct

if TYPE_CHECKING:
    from tree_sitter import Language as Grammar
    from tree_sitter import Point, Tree


Language = Literal["python", "javascript", "typescript", "tsx", "rust", "go"]
LONGEST = 1_000_000
"""Bytes of a file that is parsed."""
DEEPEST = 400
"""Nodes inside one another; deeper code is not written by people, and walking it would exhaust the stack."""
_PIECE = 1024
"""Bytes that a grammar is handed at a time."""
_LEAST_EFFORT, _EFFORT = 2_000, 0.1
"""Callbacks of tree-sitter that a parse may take, and per byte: one for a hundred operations, one for each piece read.
Of 2,500 files of Go and JavaScript none takes more than 0.03 per byte, beside the first few. What is no source may take
the square of its length."""
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
            return Source(path, language, data, parse_python(data))
        root, broken = parse_grammar(data, language)
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        where = f"{path}:{line}" if (line := getattr(error, "lineno", None)) else path
        return Source(path, language, data, nothing, (f"{where}: {getattr(error, 'msg', error)}",))
    return Source(path, language, data, root, tuple(f"{path}:{line}: this is no {language}" for line in broken))


@cache
def _load_grammar(language: Language) -> "Grammar":
    """Return one grammar; no other is loaded."""
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
    return tree_sitter.Language(grammar())


def _parse_within_bound(data: bytes, language: Language) -> "Tree":
    """Return the tree. Raises ValueError if it takes more effort than source does.

    The effort is counted, not timed: a file is read or not, however busy the machine is.
    """
    from tree_sitter import Parser

    left = _LEAST_EFFORT + int(_EFFORT * len(data))

    def read(start: int, _point: "Point") -> bytes:
        nonlocal left
        left -= 1
        return data[start : start + _PIECE]

    def is_spent(_byte: int, _has_error: bool) -> bool:
        nonlocal left
        left -= 1
        return left < 0

    # A parser of its own: a halted one would go on where it stopped, and other threads may run between callbacks.
    try:
        return Parser(_load_grammar(language)).parse(read, progress_callback=is_spent)
    except ValueError as error:
        raise ValueError(f"this is too laborious to read as {language}") from error


def parse_grammar(data: bytes, language: Language) -> tuple[Node, tuple[int, ...]]:
    """Return the file, and the lines that the grammar could not read. Raises RecursionError or ValueError."""
    broken: list[int] = []
    cursor = _parse_within_bound(data, language).walk()

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


_BLANK = (tokenize.NEWLINE, tokenize.NL, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER, tokenize.ENCODING)


class _Builder:
    """Converts one file. Tokens are taken in order by the innermost node that holds them."""

    def __init__(self, data: bytes) -> None:
        mark = len(BOM_UTF8) if data.startswith(BOM_UTF8) else 0
        self._lines = data[mark:].splitlines(keepends=True)
        self._starts = [mark, *accumulate(map(len, self._lines), initial=mark)][1:]
        self._end = len(data)
        self._tokens = list(self._list_tokens(data.decode("utf-8-sig")))
        self._places = [token.start for token in self._tokens]

    def _list_tokens(self, text: str) -> Iterator[Node]:
        for token in tokenize.generate_tokens(io.StringIO(text, newline="").readline):
            if token.type in _BLANK or not token.string:
                continue
            start, end = (self._find_byte(*place) for place in (token.start, token.end))
            kind, field = _classify(token)
            yield Node(kind, start, end, token.start[0], field)

    def _find_byte(self, line: int, column: int) -> int:
        if line > len(self._lines):
            return self._end
        written = self._lines[line - 1]
        width = column if written.isascii() else len(written.decode("utf-8")[:column].encode())
        return self._starts[line - 1] + width

    def line(self, byte: int) -> int:
        """Return the line that this byte is on."""
        return max(1, min(bisect_right(self._starts, byte), len(self._lines)))

    def convert(self, node: ast.AST, field: str = "", depth: int = 0) -> Node | None:
        """Return the node; None for what has no place in the text."""
        if depth > DEEPEST:
            raise RecursionError("nodes are too deep inside one another")
        children, place = [], cast(Any, node)
        # The parts of an f-string have sound places only since Python 3.12.
        for name, value in ast.iter_fields(node) if not isinstance(node, ast.JoinedStr) else ():
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, ast.AST) and (made := self.convert(each, name, depth + 1)):
                    children.append(made)
        children.sort(key=lambda child: child.start)
        if isinstance(node, ast.Module):
            start, end = 0, self._end
        elif isinstance(getattr(node, "end_lineno", None), int):
            start = self._starts[place.lineno - 1] + place.col_offset
            end = self._starts[place.end_lineno - 1] + place.end_col_offset
        elif children:  # a comprehension, the arguments of a function
            start, end = children[0].start, max(child.end for child in children)
        else:
            return None
        if decorators := [child.start for child in children if child.field == "decorator_list"]:
            start = self._places[bisect_left(self._places, min(decorators)) - 1]
        if not isinstance(node, (ast.Constant, ast.JoinedStr)):
            self._add_tokens(children, start, end)
        return Node(type(node).__name__, start, end, self.line(start), field, tuple(children))

    def _add_tokens(self, children: list[Node], start: int, end: int) -> None:
        """Add the tokens between the children as leaves."""
        gaps, at = [], start
        for child in children:
            gaps.append((at, child.start))
            at = max(at, child.end)
        gaps.append((at, end))
        for begin, stop in gaps:
            if begin < stop:
                first, last = bisect_left(self._places, begin), bisect_left(self._places, stop)
                children += (token for token in self._tokens[first:last] if token.end <= stop)
        children.sort(key=lambda child: child.start)


def _classify(token: tokenize.TokenInfo) -> tuple[str, str]:
    """Return kind and field of a token. A name is no kind of its own: a class of `ast` may be called the same."""
    if token.type == tokenize.COMMENT:
        return "comment", ""
    is_name = token.type == tokenize.NAME and not iskeyword(token.string)
    return ("NAME", "name") if is_name else (token.string, "")


def parse_python(data: bytes) -> Node:
    """Return the module. Raises SyntaxError, ValueError or RecursionError for what this Python cannot read."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = ast.parse(data.decode("utf-8-sig"))
    try:
        root = _Builder(data).convert(tree)
    except tokenize.TokenError as error:
        raise SyntaxError(str(error)) from error
    assert root is not None, "a module has a place"
    return root
