"""Alter what a change does: what its functions give their callers goes through a helper that gives something else.

So in Python, JavaScript and TypeScript. In Rust and Go, whose types leave no room for that, literals and operators are
others.
"""

import ast
import hashlib
import re
import secrets
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from typing import Literal, get_args

from msgspec import Struct, field

from aigon.files.resources import find_resource
from aigon.syntax import Edit, Node, Source, apply_edits, language_of, parse

Way = Literal["empty", "other", "none", "true"]
"""What is given away instead of a value: the empty one of its type, another one, none at all, or itself, which makes a
copy that alters nothing."""
_FUNCTIONS = (
    "FunctionDef", "AsyncFunctionDef", "function_declaration", "generator_function_declaration", "function_expression",
    "arrow_function", "method_definition", "function_item", "method_declaration",
)  # fmt: skip
_NAMED = ("ClassDef", "variable_declarator", "class_body")
"""What else a test can mean by a name."""
_ASSIGNMENTS = ("Assign", "AnnAssign", "AugAssign")
_COMPARED = (*_FUNCTIONS, *_ASSIGNMENTS)
_OPERATORS = {
    "*": "+", "/": "*", "-": "+", "<": ">=", ">": "<=", "<=": ">", ">=": "<", "==": "!=", "!=": "==", "&&": "||",
    "||": "&&",
}  # fmt: skip
_LEFT = ("attribute_item", "match_pattern", "type_arguments", "array_type", "index_expression")
"""What an altered literal would only keep from being compiled."""
_TEXTS = ("string_content", "interpreted_string_literal_content")
_ENDS = ("raise StopIteration", "raise StopAsyncIteration")
"""What ends an iteration, which would go on for ever without it."""
_LOOPS = ("While", "For", "AsyncFor", "while_statement", "do_statement", "for_statement", "for_in_statement")
_NO_VALUES = ("return", "yield", ";", ",", "(", ")", "comment", "spread_element", "Starred", "Yield", "YieldFrom")


class Drawn(Struct, frozen=True):
    """The name and content of an alteration: drawn for each proof, so that no test can know it, all by one seed."""

    seed: str = field(default_factory=lambda: secrets.token_hex(8))
    way: Way = "other"

    @property
    def name(self) -> str:
        return f"v{self._draw('name')[:8]}"

    @property
    def word(self) -> str:
        return self._draw("word")[:6]

    @property
    def number(self) -> int:
        """The number that is added. It says the way as well, which no text does: one copy is written like another."""
        return 12 + int(self._draw("number"), 16) % 20 * 4 + get_args(Way).index(self.way)

    def _draw(self, what: str) -> str:
        return hashlib.sha256(f"{self.seed} {what}".encode()).hexdigest()

    def fill(self, helper: str) -> str:
        """Return the text of a helper with what was drawn."""
        filled = helper.replace("WORD", self.word).replace("NUMBER", str(self.number))
        return filled.replace("aigon_alter", self.name)


@cache
def _read_helper(name: str) -> str:
    return find_resource("templates", "altering", name).read_text(encoding="utf-8")


def alter(
    path: str, text: str, base: str, named: Collection[str] | None, drawn: Drawn, *, inside: bool = False
) -> str | None:
    """Return the text with every value altered that the functions which `base` lacks give to their callers.

    With `named` functions of these names are altered instead. With `inside` also values that they keep for themselves
    and pass on. None if nothing in it can be altered; Rust and Go have no copies that alter nothing.
    """
    if is_python := language_of(path) == "python":
        try:  # each statement on its own line, and every group in brackets
            text, base = (ast.unparse(ast.parse(each)) + "\n" for each in (text, base))
        except (SyntaxError, ValueError, RecursionError):
            return None
    source = parse(path, text)
    if source is None or source.errors:
        return None
    before = parse(path, base)
    known = {before.text(node) for node in before.root.walk() if node.kind in _COMPARED} if before else set[str]()
    wanted = list(_list_wanted(source, source.root, known, named, inside))
    if source.language in ("rust", "go"):
        edits = [edit for node in wanted if drawn.way == "other" for edit in _exchange(source, node, drawn, inside)]
        return apply_edits(source.data, edits).decode("utf-8", "replace") if edits else None
    values = [value for node in wanted if node.kind in _ASSIGNMENTS for value in node.list("value")]
    edits = [*_wrap(values, drawn.name, inside)]
    for node in wanted:
        edits += _alter_node(source, node, drawn.name, inside) if node.kind not in _ASSIGNMENTS else ()
    if not edits:
        return None
    helper = drawn.fill(_read_helper("helper.py" if is_python else "helper.ts"))
    helper = helper.replace(": any", "") if source.language == "javascript" else helper
    place = _find_place(source) if is_python else len(source.data)
    return apply_edits(source.data, [*edits, (place, place, f"\n{helper}")]).decode("utf-8", "replace")


def _find_place(source: Source) -> int:
    """Return the first place for a definition in Python: after the docstring and imports from the future."""
    ends = (
        node.end
        for node in source.root.children
        if source.text(node).startswith("from __future__")
        or (node is source.root.children[0] and node.kind == "Expr" and node.children[0].kind == "Constant")
    )
    return max(ends, default=0)


def _list_wanted(
    source: Source, node: Node, known: Collection[str], named: Collection[str] | None, inside: bool
) -> Iterator[Node]:
    """Yield the outermost functions that are not `known` from the base, or that are named; no tests.

    With `inside` also what gives a module or a class of Python a value that is new.
    """
    above = ""
    for child in node.children:
        if child.kind == "attribute_item":
            above += source.text(child)
            continue
        is_test, above = re.search(r"\btest\b", above), ""
        if is_test:
            continue
        is_wanted = source.read_name(child) in named if named is not None else source.text(child) not in known
        is_value = child.kind in _ASSIGNMENTS and inside and named is None and not _sets_dunder(source, node, child)
        if is_wanted and (child.kind in _FUNCTIONS or (named and child.kind in _NAMED) or is_value):
            yield child
        else:
            yield from _list_wanted(source, child, known, named, inside)


def _sets_dunder(source: Source, parent: Node, node: Node) -> bool:
    return parent.kind == "ClassDef" and source.text(node).startswith("__")


def _alter_node(source: Source, node: Node, helper: str, inside: bool, loops: bool = False) -> Iterator[Edit]:
    """Yield insertions that let what a function returns, or passes on, go through the helper.

    In place of raising an exception it returns, or goes on if that is no way to go round a loop for ever.
    """
    loops = loops or node.kind in _LOOPS
    yield from _wrap(_list_given(node, inside), helper, inside and source.language == "python")
    if node.kind == "throw_statement":
        yield node.start, node.start, f"{{ if ({helper}(true)) "
        yield node.end, node.end, f" {'' if loops else f'if (!{helper}(1)) '}return; }}"
    elif node.kind == "Raise" and len(node.children) > 1 and not source.text(node).startswith(_ENDS):
        indent = source.data[source.data.rfind(b"\n", 0, node.start) + 1 : node.start].decode()
        yield node.start, node.start, f"if {helper}(True, True): "
        yield node.end, node.end, f"\n{indent}{'' if loops else f'if not {helper}(1, True): '}return"
    # What decorates a function of Python, and its defaults, stay.
    is_python_body = node.kind in ("FunctionDef", "AsyncFunctionDef", "ClassDef")
    for child in node.list("body") if is_python_body else node.children:
        yield from _alter_node(source, child, helper, inside, loops)


def _list_given(node: Node, inside: bool) -> Iterator[Node]:
    """Yield the values that a node gives away; `inside` also arguments of calls for their effect, and what it keeps."""
    first = node.children[0] if node.children else node
    given: tuple[Node, ...] = ()
    if node.kind in ("return_statement", "Return", "Yield"):
        given = node.children
    elif node.kind in ("arrow_function", "Lambda"):
        given = tuple(each for each in node.list("body") if each.kind != "statement_block")
    elif inside and node.kind in ("expression_statement", "Expr"):
        given = _list_arguments(first)
    elif inside and node.kind == "assignment_expression" and first.kind == "member_expression":
        given = node.list("right")
    elif inside and node.kind in _ASSIGNMENTS:
        targets = (*node.list("targets"), *node.list("target"))
        is_kept = node.kind == "AugAssign" or any(each.kind != "Name" for each in targets)
        given = node.list("value") if is_kept else ()
    yield from (each for each in given if each.kind not in _NO_VALUES)


def _list_arguments(call: Node) -> tuple[Node, ...]:
    if call.kind == "call_expression":
        return tuple(each for some in call.list("arguments") for each in some.children)
    keywords = (each.get("value") for each in call.list("keywords") if each.children[0].kind != "**")
    return (*call.list("args"), *filter(None, keywords)) if call.kind == "Call" else ()


def _wrap(values: Iterable[Node], helper: str, is_own: bool) -> Iterator[Edit]:
    for value in values:
        yield value.start, value.start, f"{helper}("
        yield value.end, value.end, f", True, {value.line})" if is_own else ")"


def _exchange(source: Source, node: Node, drawn: Drawn, inside: bool) -> Iterator[Edit]:
    """Yield other literals and operators; only with `inside` another `+`, which texts know as well."""
    said = source.text(node)
    if node.kind in _LEFT:
        return
    if node.field == "operator" and (other := "-" if inside and said == "+" else _OPERATORS.get(said)):
        yield node.start, node.end, other
    elif match := re.fullmatch(r"([1-9]\d*|0)((?:\.\d+)?\w*)", said) if "literal" in node.kind else None:
        if not match[2].startswith(("x", "b", "o")):
            yield node.start, node.end, f"{int(match[1]) + drawn.number}{match[2]}"
    elif node.kind in _TEXTS:
        yield node.end, node.end, drawn.word
    elif said in ("true", "false") and not node.children:
        yield node.start, node.end, "false" if said == "true" else "true"
    for child in node.children:
        yield from _exchange(source, child, drawn, inside)
