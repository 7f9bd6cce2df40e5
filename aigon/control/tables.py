"""Literal values: lists of rows, the names that a pattern binds in a row, and the position of their values."""

import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from aigon.syntax import Node, Source
from aigon.text.patterns import compile_re

Path = tuple[int | str, ...]
"""The way from a row to one of its values, by places and keys."""
NAMES = ("Name", "identifier", "shorthand_property_identifier_pattern")
PAIRS = ("pair", "pair_pattern", "keyed_element", "keyword", "field_initializer")
_ROWS = (
    *("Tuple", "List", "Set", "array", "object", "tuple_expression", "array_expression", "literal_value"),
    *("array_pattern", "object_pattern", "tuple_pattern", "expression_list", "field_initializer_list"),
    *("formal_parameters", "arguments", "argument_list"),
)
_WRAPPERS = {
    **dict.fromkeys(("literal_element", "parenthesized_expression", "as_expression", "satisfies_expression"), ""),
    "reference_pattern": "",
    "reference_expression": "value",
    "struct_expression": "body",
    "required_parameter": "pattern",
}
"""Nodes that mean a node inside of them, with its role."""
_HANDS_OUT = compile_re(r"(?s).+\.(?:items|iter|into_iter)\(\)|Object\.entries\(.+\)|vec!\[.*\]")
"""Calls that give the rows of what is written there."""


def is_part(node: Node) -> bool:
    """Return whether a node is more than a bracket, a comma or a comment."""
    return node.kind[:1].isalpha() and "comment" not in node.kind


def unwrap(source: Source, node: Node) -> Node:
    """Return the value inside brackets, casts, references, and calls that iterate over rows."""
    while True:
        inside: Node | None = None
        parts = [child for child in node.children if is_part(child)]
        if node.kind in _WRAPPERS:
            role = _WRAPPERS[node.kind]
            inside = node.get(role) if role else next(iter(parts), None)
        elif node.kind == "expression_list" and len(parts) == 1:
            inside = parts[0]
        elif node.kind in ("Call", "call_expression", "macro_invocation") and _HANDS_OUT.fullmatch(source.text(node)):
            is_method = source.text(node).endswith("()")
            held = parts[0].children if is_method else parts[1:] if node.kind == "macro_invocation" else ()
            inside = next(iter(held or list_items(source, parts[-1])), None)
        if inside is None:
            return node
        node = inside


def list_items(source: Source, node: Node) -> list[Node]:
    """Return the parts of a list, a record or a pattern in order; none if not all of them are written there."""
    node = unwrap(source, node)
    parts = [child for child in node.children if is_part(child)]
    if any(part.kind in ("Starred", "spread_element", "rest_pattern") for part in parts):
        return []
    match node.kind:
        case "Dict":
            return [*map(_pair, node.list("keys"), node.list("values"))]
        case "Call":  # `pytest.param(1, 2)`, `Case(1, expected=2)`
            function = node.get("func")
            is_param = function is not None and source.text(function).endswith("param")
            return [*(node.list("args") if is_param else ()), *node.list("keywords")]
        case "token_tree":
            return list(split_tokens(node.children[1:-1]))
        case "template_string":
            return list(_read_columns(source, node))
        case "composite_literal":
            return list(_read_records(source, node))
    return parts if node.kind in _ROWS else []


def pick(source: Source, row: Node | None, path: Path) -> Node | None:
    """Return the value at the end of a path; None if it is not written there."""
    for key in path:
        row = row and unwrap(source, row)
        parts = list_items(source, row) if row else []
        if row and row.kind in PAIRS:
            parts = [part for part in (row.get("key", "field", "name"), row.get("value")) if part]
        if isinstance(key, int):
            row = parts[key] if key < len(parts) and parts[key].kind not in PAIRS else None
        else:
            named = (part for part in parts if part.kind in PAIRS and read_key(source, part.children[0]) == key)
            row = next((part.get("value") for part in named), None)
    return row and unwrap(source, row)


def read_key(source: Source, node: Node) -> int | str:
    """Return the key of a member: an index as a number, a name without quotes."""
    text = source.text(node)
    return int(text) if text.isdecimal() else text.strip("\"'`")


def read_pattern(source: Source, node: Node, path: Path = ()) -> Iterator[tuple[Path, str]]:
    """Yield the names that a pattern binds, each with the path to its value."""
    node = unwrap(source, node)
    if node.kind in NAMES:
        yield path, source.text(node)
    for number, part in enumerate(list_items(source, node)):
        if part.kind == "shorthand_property_identifier_pattern":
            yield (*path, source.text(part)), source.text(part)
        elif part.kind == "pair_pattern" and (value := part.get("value")):
            yield from read_pattern(source, value, (*path, read_key(source, part.children[0])))
        else:
            yield from read_pattern(source, part, (*path, number))


def split_tokens(tokens: Iterable[Node]) -> Iterator[Node]:
    """Yield a node for each argument of a macro: what is between two commas."""
    argument: list[Node] = []
    for token in (*tokens, None):
        if token is None or token.kind == ",":
            if argument:
                yield join_tokens(argument)
            argument = []
        elif "comment" not in token.kind:
            argument.append(token)


def join_tokens(tokens: Sequence[Node]) -> Node:
    """Return several tokens as one node."""
    first = tokens[0]
    return first if len(tokens) == 1 else Node("tokens", first.start, tokens[-1].end, first.line, "", tuple(tokens))


def _pair(key: Node, value: Node) -> Node:
    children = (replace(key, field="key"), replace(value, field="value"))
    return Node("pair", key.start, value.end, key.line, "", children)


def _read_columns(source: Source, node: Node) -> Iterator[Node]:
    """Yield the rows of a table in a template, whose first line names the columns."""
    values = [child for child in node.children if child.kind == "template_substitution"]
    head = source.data[node.start : values[0].start if values else node.end]
    names = [
        Node("identifier", node.start + found.start(), node.start + found.end(), node.line)
        for found in re.finditer(rb"\w+", head)
    ]
    for first in range(0, len(values), len(names)) if names else ():
        row = tuple(map(_pair, names, (value.children[1] for value in values[first : first + len(names)])))
        yield Node("object", row[0].start, row[-1].end, row[0].line, "", row)


def _read_records(source: Source, node: Node) -> Iterator[Node]:
    """Yield the parts of a literal of Go. Rows that do not name their fields get them from the type."""
    is_table = any(child.kind in ("slice_type", "array_type", "map_type") for child in node.children)
    body, fields = node.get("body"), _list_fields(source, node)

    def name_fields(row: Node) -> Node:
        parts = list_items(source, row)
        if row.kind == "literal_value" and len(parts) == len(fields) and parts[0].kind not in PAIRS:
            return replace(row, children=tuple(map(_pair, fields, parts)))
        return row

    if body and not is_table:
        yield from list_items(source, name_fields(body))
    for row in list_items(source, body) if body and is_table else ():
        key, value = row.get("key"), row.get("value")
        named = name_fields(unwrap(source, value or row))
        yield _pair(key, named) if key and value else named


def _list_fields(source: Source, literal: Node) -> list[Node]:
    """Return the names of the fields that the records of a literal have, in order."""
    typed = [node for child in literal.children if child.field == "type" for node in child.walk()]
    names = {source.text(node) for node in typed if node.kind == "type_identifier"}
    if names and not any(node.kind == "struct_type" for node in typed):
        declared = [node for node in source.root.walk() if node.kind == "type_spec"]
        typed = [node for each in declared if source.read_name(each) in names for node in each.walk()]
    return [name for node in typed if node.kind == "field_declaration" for name in node.list("name")]
