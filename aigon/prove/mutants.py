"""Break an implementation in one place at a time, on the lines that it added."""

from collections.abc import Iterator, Mapping
from difflib import SequenceMatcher

from msgspec import Struct

from aigon.syntax import Edit, Node, Source, apply_edits, parse
from aigon.text.patterns import compile_re

MOST = 24
"""Mutants in all; of more, they are taken evenly over the files."""
_OPERATORS = {
    "<": "<=", "<=": "<", ">": ">=", ">=": ">", "==": "!=", "!=": "==", "===": "!==", "!==": "===", "+": "-", "-": "+",
    "*": "+", "/": "*", "//": "*", "%": "*", "**": "*", "and": "or", "or": "and", "&&": "||", "||": "&&",
    "in": "not in",
}  # fmt: skip
_OPERATIONS = ("Compare", "BinOp", "BoolOp", "AugAssign")
"""Python's nodes with operators; the other grammars say which leaf is one."""
_BRANCHES = ("If", "IfExp", "While", "if_statement", "if_expression", "while_statement", "ternary_expression")
_WORDS = {"True": "False", "False": "True", "true": "false", "false": "true"}
_TEXT = compile_re(r"'[^'].*'|\"[^\"].*\"|''|\"\"")
_NOTHING = {"Return": "None", "return_statement": "null"}
"""What is returned instead of a value."""


class Mutant(Struct, frozen=True):
    """One file with one place altered."""

    name: str
    path: str
    data: bytes


def list_mutants(files: Mapping[str, tuple[str, str]]) -> tuple[Mutant, ...]:
    """Return mutants of these files, each as it was and as the implementation left it."""
    found = [mutant for path, (before, after) in sorted(files.items()) for mutant in _alter_file(path, before, after)]
    step = max(1.0, len(found) / MOST)
    return tuple(found[int(number * step)] for number in range(min(MOST, len(found))))


def _alter_file(path: str, before: str, after: str) -> Iterator[Mutant]:
    source = parse(path, after)
    if source is None or source.errors:
        return
    added, seen = _find_added(before, after), set[Edit]()
    for edit, line in _list_edits(source, source.root, ""):
        if line in added and edit not in seen:
            seen.add(edit)
            data = apply_edits(source.data, [edit])
            shown = data.splitlines()[line - 1].decode("utf-8", "replace").strip()
            yield Mutant(f"{path}:{line}: {shown}", path, data)


def _find_added(before: str, after: str) -> frozenset[int]:
    """Return the numbers of the lines that are new."""
    lines = SequenceMatcher(None, before.splitlines(), after.splitlines(), autojunk=False)
    spans = (range(start + 1, end + 1) for tag, _, _, start, end in lines.get_opcodes() if tag in ("insert", "replace"))
    return frozenset(line for span in spans for line in span)


def _list_edits(source: Source, node: Node, parent: str) -> Iterator[tuple[Edit, int]]:
    """Yield other operators, conditions, numbers, texts and truths, and nothing in place of what is returned."""
    said = source.text(node) if not node.children else ""
    if parent == "Expr" and node.kind == "Constant":
        return  # a docstring
    if (node.field == "operator" or parent in _OPERATIONS) and said in _OPERATORS and node.kind == said:
        yield (node.start, node.end, _OPERATORS[said]), node.line
    elif said in _WORDS:
        yield (node.start, node.end, _WORDS[said]), node.line
    elif said.isdecimal():
        yield (node.start, node.end, str(int(said) + 1)), node.line
    elif node.kind in ("string_fragment", "string_content", "interpreted_string_literal_content"):
        yield (node.end, node.end, "_zq"), node.line
    elif node.kind == "Constant" and _TEXT.fullmatch(said):
        yield (node.end - 1, node.end - 1, "_zq"), node.line
    elif node.field in ("test", "condition") and parent in _BRANCHES:
        negation = "not " if source.language == "python" else "!"
        yield (node.start, node.end, f"({negation}({source.text(node)}))"), node.line
    elif other := _NOTHING.get(node.kind):
        value = next((c for c in node.children if c.kind not in ("return", ";", "comment")), None)
        if value and source.language != "go" and source.text(value) not in ("None", "null", "undefined"):
            yield (value.start, value.end, other), node.line
    for child in node.children:
        yield from _list_edits(source, child, node.kind)
