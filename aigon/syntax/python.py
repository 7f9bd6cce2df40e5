"""Python as nodes: what `ast` says of the structure, and every token that it leaves out as a leaf."""

import ast
import io
import tokenize
import warnings
from bisect import bisect_left, bisect_right
from codecs import BOM_UTF8
from collections.abc import Iterator
from itertools import accumulate
from keyword import iskeyword
from typing import Any, cast

from aigon.syntax.source import DEEPEST, Node

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
        children.sort(key=_start_of)
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
        children.sort(key=_start_of)


def _classify(token: tokenize.TokenInfo) -> tuple[str, str]:
    """Return kind and field of a token. A name is no kind of its own: a class of `ast` may be called the same."""
    if token.type == tokenize.COMMENT:
        return "comment", ""
    is_name = token.type == tokenize.NAME and not iskeyword(token.string)
    return ("NAME", "name") if is_name else (token.string, "")


def _start_of(node: Node) -> int:
    return node.start


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
