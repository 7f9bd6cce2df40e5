"""The single tests of a test file in Python, JavaScript, TypeScript, Rust and Go, by their syntax."""

import ast
from collections.abc import Iterator
from functools import lru_cache

from msgspec import Struct

from aigon.proof.analysis.assertions import list_test_functions
from aigon.proof.analysis.languages import is_python
from aigon.proof.analysis.python import read_module
from aigon.syntax import Node, Source, parse
from aigon.text.patterns import compile_re

_GO_TEST = compile_re(r"(?:Test|Benchmark|Fuzz|Example)\w*")
_RUST_TEST = compile_re(r"#\[(?:\w+::)*test\b")


class SingleTest(Struct, frozen=True):
    """One test: its name (classes before it, dotted, in Python), first and last line, and its text.

    The text is that of the file in Python; in other languages it is its words, without comments.
    """

    name: str
    start: int
    end: int
    text: str


@lru_cache(maxsize=256)
def list_cases(path: str, text: str) -> tuple[SingleTest, ...]:
    """Return all tests of a file, in order; none of a language whose grammar is not here."""
    if is_python(path):
        module = read_module(text)
        return tuple(_list_in_python(module.tree, text)) if module else ()
    source = parse(path, text)
    return tuple(_list_by_grammar(source)) if source else ()


def _list_in_python(tree: ast.AST, text: str) -> Iterator[SingleTest]:
    lines = text.split("\n")
    for test, classes in list_test_functions(tree):
        start = min([test.lineno, *(mark.lineno for mark in test.decorator_list)])
        end = test.end_lineno or test.lineno
        yield SingleTest(".".join([*classes, test.name]), start, end, "\n".join(lines[start - 1 : end]))


def _list_by_grammar(source: Source) -> Iterator[SingleTest]:
    for parent in source.root.walk():
        marks = ""
        for node in parent.children:
            if node.kind == "attribute_item":
                marks += source.text(node)
            elif name := _find_name(source, node, marks):
                leaves = (leaf for leaf in node.walk() if not leaf.children and "comment" not in leaf.kind)
                yield SingleTest(name, node.line, source.last_line(node), " ".join(map(source.text, leaves)))
                marks = ""
            elif "comment" not in node.kind:
                marks = ""


def _find_name(source: Source, node: Node, marks: str) -> str:
    """Return the name of a test; "" for anything else. `marks` are the attributes before it in Rust."""
    name = node.get("name")
    if node.kind == "function_declaration" and source.language == "go" and name:
        return source.text(name) if _GO_TEST.fullmatch(source.text(name)) else ""
    if node.kind == "function_item" and name:
        return source.text(name) if _RUST_TEST.search(marks) else ""
    title = _find_title(node)
    is_innermost = title and not any(_find_title(each) for each in node.walk() if each is not node)
    return source.text(title)[1:-1] if title and is_innermost else ""


def _find_title(node: Node) -> Node | None:
    """Return the text that a call is given before a function, as `it`, `test` and `describe` are in JavaScript."""
    arguments = node.get("arguments") if node.kind == "call_expression" else None
    given = [each for each in arguments.children if each.kind not in ("(", ")", ",", "comment")] if arguments else []
    is_test = len(given) > 1 and "string" in given[0].kind and any("function" in each.kind for each in given[1:])
    return given[0] if is_test else None
