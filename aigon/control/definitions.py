"""Find the values of a name in a test: in an assignment, or in the table of a loop or of parameters."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from aigon.control.tables import NAMES, PAIRS, Path, is_part, list_items, pick, read_key, read_pattern, unwrap
from aigon.syntax import Node, Source
from aigon.text.patterns import compile_re

_ASSIGNMENTS = {
    "Assign": ("targets", "value"),
    "AnnAssign": ("target", "value"),
    "variable_declarator": ("name", "value"),
    "short_var_declaration": ("left", "right"),
    "var_spec": ("name", "value"),
    "const_spec": ("name", "value"),
    "let_declaration": ("pattern", "value"),
    "const_item": ("name", "value"),
}
_LOOPS = {
    "For": ("target", "iter"),
    "for_in_statement": ("left", "right"),
    "range_clause": ("left", "right"),
    "for_expression": ("pattern", "value"),
}
"""The roles of what is bound and of its value, or of the table that is gone through, by the kind of statement."""
_MEMBERS = ("Attribute", "Subscript", "member_expression", "subscript_expression", "selector_expression", "tokens")
_WORD = compile_re(r"\w+")
_ONE_WORD = compile_re(rb"['\"`]?\w+['\"`]?")


class _Binding(NamedTuple):
    """One definition of a name.

    Its values are in `rows`, or in the rows of `table`; `path` leads from a row to the value. The `spans` contain the
    definition; the first binds the name.
    """

    path: Path
    spans: tuple[Node, ...]
    rows: tuple[Node, ...] = ()
    table: Node | None = None


_Bound = Iterator[tuple[str, _Binding]]


def follow(source: Source, side: Node, until: int, test: Node, titles: Sequence[Node] = ()) -> list[Node]:
    """Return the values that a name, or a member of one, has in a test; an empty list if they are uncertain.

    They are uncertain if anything but the definition and `titles` uses the name before `until`, the end of the
    comparison: altering them would then alter more than the expected value. Uses after it do not matter, because the
    altered comparison has failed by then.
    """
    parts = [child for child in side.children if is_part(child)]
    is_member = side.kind in _MEMBERS and len(parts) == 2 and side.children[1].kind in (".", "[")
    base, keys = (parts[0], (read_key(source, parts[1]),)) if is_member else (side, ())
    known = _read_bindings(source).get(source.text(base), []) if base.kind in NAMES else []
    own = [each for each in known if _holds(test, each.spans[0].start)]
    if len(own or known) != 1:
        return []
    binding = (own or known)[0]
    rows, spans = [*binding.rows], [*binding.spans, *binding.rows, *titles, side]
    path = (*binding.path, *keys)
    if binding.table:
        table, written = _find_table(source, binding.table)
        rows, spans = list_items(source, table), [*spans, *written]
        if source.language == "go" and not any(row.kind in PAIRS for row in rows):
            if path[:1] != (1,):
                return []  # of a slice, `range` gives the number first
            path = path[1:]
    elsewhere = _list_places(source, source.text(base), spans, is_base=is_member)
    for key in keys:
        elsewhere += _list_places(source, str(key), spans) if isinstance(key, str) else []
    if any(at < until if _holds(test, at) else not own for at in elsewhere):
        return []
    values = [pick(source, row, path) for row in rows]
    return [value for value in values if value] if all(values) else []


def list_functions(root: Node) -> Iterator[tuple[list[Node], Node]]:
    """Yield the functions of a Rust file, each with the attributes before it."""
    for node in root.walk():
        attributes: list[Node] = []
        for child in node.children:
            if child.kind == "attribute_item":
                attributes.append(child)
            elif child.kind not in ("line_comment", "block_comment"):
                if child.kind == "function_item":
                    yield attributes, child
                attributes = []


def _holds(node: Node, at: int) -> bool:
    return node.start <= at < node.end


def _list_places(source: Source, name: str, spans: Sequence[Node], *, is_base: bool = False) -> list[int]:
    """Return the positions of a word outside `spans`. With `is_base`, leave out copies and bases of other members."""
    word, data = name.encode(), source.data
    places = [at for at in _find_words(source).get(word, ()) if not any(_holds(span, at) for span in spans)]
    harmless = re.compile(rb"[.\[]| := %s\b" % re.escape(word))
    copied = word + b" := "
    return [
        at for at in places if not is_base or not (harmless.match(data, at + len(word)) or data.endswith(copied, 0, at))
    ]


@lru_cache(maxsize=64)
def _find_words(source: Source) -> dict[bytes, list[int]]:
    """Return the positions of each word of the code, and of strings that are one word or contain expressions."""
    found: dict[bytes, list[int]] = {}
    for leaf in source.root.walk():
        if not leaf.children and "comment" not in leaf.kind:
            text = source.data[leaf.start : leaf.end]
            is_text = "string" in leaf.kind or leaf.kind == "Constant"
            if not is_text or b"{" in text or _ONE_WORD.fullmatch(text):
                for word in re.finditer(rb"\w+", text):
                    found.setdefault(word[0], []).append(leaf.start + word.start())
    return found


def _find_table(source: Source, table: Node) -> tuple[Node, list[Node]]:
    """Return the table and the nodes that write it. A name that nothing else uses leads to the table it names."""
    table = unwrap(source, table)
    known = _read_bindings(source).get(source.text(table), []) if table.kind in NAMES else []
    if len(known) == 1 and not known[0].table and not known[0].path:
        written = [table, *known[0].spans, *known[0].rows]
        if not any(at < table.end for at in _list_places(source, source.text(table), written)):
            return unwrap(source, known[0].rows[0]), written
    return table, [table]


@lru_cache(maxsize=64)
def _read_bindings(source: Source) -> dict[str, list[_Binding]]:
    """Return all definitions of a file by name."""
    known: dict[str, list[_Binding]] = {}
    for name, binding in _list_bindings(source):
        known.setdefault(name, []).append(binding)
    return known


def _list_bindings(source: Source) -> _Bound:
    for node in source.root.walk():
        if roles := _ASSIGNMENTS.get(node.kind) or _LOOPS.get(node.kind):
            bound, value = node.get(roles[0]), node.get(roles[1])
            if bound and value and source.text(bound) != source.text(value):  # not `tt := tt`
                rows, table = ((), value) if node.kind in _LOOPS else ((value,), None)
                for path, name in read_pattern(source, bound):
                    yield name, _Binding(path, (bound,), rows, table)
        elif node.kind in ("FunctionDef", "AsyncFunctionDef"):
            yield from _bind_marks(source, node)
        elif node.kind == "call_expression":
            yield from _bind_rows(source, node)
    for attributes, function in list_functions(source.root):
        yield from _bind_cases(source, attributes, function)


def _bind_marks(source: Source, function: Node) -> _Bound:
    """Yield the arguments that `@pytest.mark.parametrize` gives."""
    takes = function.get("args")
    for mark in function.list("decorator_list") if takes else ():
        called, arguments = mark.get("func"), mark.list("args")
        options = {source.read_name(option) for option in mark.list("keywords")}
        if takes and called and source.text(called).endswith("parametrize") and len(arguments) == 2:
            names = _WORD.findall(source.text(arguments[0])) if options <= {"ids"} else []
            for number, name in enumerate(names):
                path = (number,) if len(names) > 1 else ()
                yield name, _Binding(path, (takes, arguments[0]), (), arguments[1])


def _bind_rows(source: Source, call: Node) -> _Bound:
    """Yield the parameters of a function that is called with each row: `test.each(rows)(title, run)`, `forEach`."""
    called, given = call.get("function"), call.get("arguments")
    if not called or not given or given.kind != "arguments" or not (passed := list_items(source, given)):
        return
    takes = passed[-1].get("parameters", "parameter")
    each = called.get("function") or called
    name = source.text(each).rpartition(".")[2]
    table = called.get("arguments") if called is not each else each.get("object")
    if not takes or not table or name not in (("each", "for") if called is not each else ("forEach",)):
        return
    if table.kind == "arguments":
        table = next(iter(list_items(source, table)), table)
    parameters = list_items(source, takes) or [takes]
    is_spread = name == "each" and len(parameters) > 1
    for number, parameter in enumerate(parameters if is_spread else parameters[:1]):
        for path, bound in read_pattern(source, parameter, (number,) if is_spread else ()):
            yield bound, _Binding(path, (takes,), (), table)


def _bind_cases(source: Source, attributes: Sequence[Node], function: Node) -> _Bound:
    """Yield the parameters that `#[case(...)]` of Rust's rstest gives."""
    marks = [node.children[2] for node in attributes if len(node.children) > 2]
    rows = tuple(mark.children[-1] for mark in marks if re.match(r"case\b[^()]*\(", source.text(mark)))
    takes, number = function.get("parameters"), 0
    for before, node in pairwise(takes.children) if takes and rows else ():
        bound = node.get("pattern") if source.text(before) == "#[case]" else None
        if takes and bound:
            yield source.text(bound), _Binding((number,), (bound,), rows)
            number += 1
