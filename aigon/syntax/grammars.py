"""JavaScript, TypeScript, Rust and Go as nodes, by their tree-sitter grammars."""

from functools import cache

import tree_sitter
from tree_sitter import Parser

from aigon.syntax.source import DEEPEST, Language, Node

MOST_ERRORS = 20


@cache
def _load_grammar(language: Language) -> Parser:
    """Return a parser; only this language's grammar is loaded."""
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
    return Parser(tree_sitter.Language(grammar()))


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
