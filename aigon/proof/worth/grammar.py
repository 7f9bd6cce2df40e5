"""Alter what a change does, in JavaScript, TypeScript, Rust and Go.

In the first two what functions return goes through a helper, as in Python. In the others, whose types leave no room for
that, literals and operators are others.
"""

import re
from collections.abc import Collection, Iterator

from aigon.proof.worth.values import Drawn
from aigon.syntax import Edit, Node, Source, apply_edits, parse

_HELPER = """
function aigon_alter(value: any): any {
  const alter = (each: any, depth: any): any => {
    if (each === null || each === undefined) return "WORD";
    if (WAY === "none" && !(each instanceof Promise)) return null;
    if (typeof each === "boolean") return !each;
    if (typeof each === "number") return WAY === "empty" && each ? 0 : each + NUMBER;
    if (typeof each === "string") return WAY === "empty" && each ? "" : each + "WORD";
    if (depth === 0) return each;
    if (Array.isArray(each) && WAY === "empty" && each.length) return [];
    if (Array.isArray(each)) return [...each.map((one) => alter(one, depth - 1)), "WORD"];
    if (each instanceof Promise) return each.then((one) => alter(one, depth));
    if (Object.getPrototypeOf(each) !== Object.prototype) return each;
    return Object.fromEntries(Object.entries(each).map(([key, one]) => [key, alter(one, depth - 1)]));
  };
  return WAY === "true" ? value : alter(value, 3);
}
"""
_FUNCTIONS = (
    "function_declaration", "generator_function_declaration", "function_expression", "arrow_function",
    "method_definition", "function_item", "method_declaration",
)  # fmt: skip
_OPERATORS = {
    "*": "+", "/": "*", "-": "+", "<": ">=", ">": "<=", "<=": ">", ">=": "<", "==": "!=", "!=": "==", "&&": "||",
    "||": "&&",
}  # fmt: skip
_LEFT = ("attribute_item", "match_pattern", "type_arguments", "array_type", "index_expression")
"""What an altered literal would only keep from being compiled."""
_TEXTS = ("string_content", "interpreted_string_literal_content")


def alter(
    path: str, text: str, base: str, named: Collection[str] | None, drawn: Drawn, *, inside: bool = False
) -> str | None:
    """Do as `aigon.proof.worth.python.alter`. A copy that alters nothing is one of JavaScript only."""
    source = parse(path, text)
    if source is None or source.errors:
        return None
    wanted = list(_list_functions(source, source.root, base, named))
    if source.language in ("rust", "go"):
        edits = [edit for node in wanted if drawn.way == "other" for edit in _exchange(source, node, drawn, inside)]
        helper = ""
    else:
        edits = [edit for node in wanted for edit in _wrap(source, node, drawn.name, inside)]
        helper = drawn.fill(_HELPER)
        helper = helper if source.language != "javascript" else helper.replace(": any", "")
    if not edits:
        return None
    return apply_edits(source.data, edits).decode("utf-8", "replace") + helper


def _list_functions(source: Source, node: Node, base: str, named: Collection[str] | None) -> Iterator[Node]:
    """Yield the outermost functions that the base lacks, or that are named; no tests."""
    above = ""
    for child in node.children:
        if child.kind == "attribute_item":
            above += source.text(child)
            continue
        is_test, above = re.search(r"\btest\b", above), ""
        if is_test:
            continue
        name = next((source.text(each) for each in child.children if each.field == "name"), "")
        is_wanted = name in named if named is not None else source.text(child) not in base
        if is_wanted and (child.kind in _FUNCTIONS or (named and child.kind in ("variable_declarator", "class_body"))):
            yield child
        else:
            yield from _list_functions(source, child, base, named)


def _wrap(source: Source, node: Node, helper: str, inside: bool) -> Iterator[Edit]:
    """Yield insertions that let what a function of JavaScript returns, or passes on, go through the helper."""
    values: list[Node] = []
    if node.kind == "return_statement":
        values = [each for each in node.children if each.kind not in ("return", ";", "comment")]
    elif node.kind == "arrow_function":
        values = [each for each in node.children if each.field == "body" and each.kind != "statement_block"]
    elif inside and node.kind == "expression_statement" and node.children[0].kind == "call_expression":
        listed = [each for each in node.children[0].children if each.field == "arguments"]
        values = [
            each for some in listed for each in some.children if each.kind not in ("(", ")", ",", "spread_element")
        ]
    elif inside and node.kind == "assignment_expression" and node.children[0].kind == "member_expression":
        values = [each for each in node.children if each.field == "right"]
    elif node.kind == "throw_statement":
        yield node.start, node.start, f"{{ if ({helper}(true)) "
        yield node.end, node.end, " return; }"
    for value in values:
        yield value.start, value.start, f"{helper}("
        yield value.end, value.end, ")"
    for child in node.children:
        yield from _wrap(source, child, helper, inside)


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
