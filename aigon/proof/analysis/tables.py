"""Literal answers in product code: tables, chains of comparisons, registrations; whatever maps input to answer."""

import ast
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from aigon.proof.analysis.examples import Atoms, flatten
from aigon.proof.analysis.folding import UNKNOWN, decode_text
from aigon.proof.analysis.python import Module, read_units

_DECODES = re.compile(r"(b\d\ddecode|decode|fromhex|unhexlify)$")
_MOST_ROWS = 5000
"""Rows of a table that are read. One that has more than the tests have examples is no table of them."""


@dataclass(slots=True)
class Table:
    """Input and answer, one after the other, for every row. `line` is where it begins."""

    line: int
    text: str
    rows: set[Atoms] = field(default_factory=set)
    size: int = 0

    def add(self, *values: Any) -> None:
        """Add one row; what is not known from the text counts towards the size alone."""
        self.size += 1
        if not any(value is UNKNOWN for value in values):
            self.rows.add(tuple(part for value in values for part in flatten(value)))

    def fill(self, rows: Iterable[tuple[Any, ...]]) -> None:
        """Add the first of these rows."""
        for row in list(rows)[:_MOST_ROWS]:
            self.add(*row)


def list_tables(source: str) -> Iterator[Table]:
    """Yield every table of a Python file."""
    for module in read_units(source):
        docs = {id(n.value) for n in module.nodes if isinstance(n, ast.Expr)}
        for node in module.nodes:
            if id(node) not in docs:
                yield from (table for table in _list_tables_of(node, module) if table.rows)


def list_defaults(source: str) -> set[Atoms]:
    """Return what the file answers if no table has anything: the literals that are returned, or given to `get`."""
    answers = (module.fold(_find_default(node)) for module in read_units(source) for node in module.nodes)
    return {flatten(answer) for answer in answers if answer is not UNKNOWN}


def _find_default(node: ast.AST) -> ast.expr | None:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and len(node.args) == 2:
        return node.args[1] if node.func.attr in ("get", "pop", "setdefault") else None
    value = node.value if isinstance(node, ast.Return) else node.body if isinstance(node, ast.Lambda) else None
    while isinstance(value, ast.IfExp):
        value = value.orelse
    return value


def _list_tables_of(node: ast.AST, module: Module) -> Iterator[Table]:
    table = Table(module.line(node), module.text(node))
    match node:
        case ast.Dict():
            _read_dictionary(node, (), table, module)
        case ast.List() | ast.Tuple() | ast.Set():
            _read_list(node, table, module)
        case ast.Call(func=ast.Name(id="zip")):
            columns = [module.fold(each) for each in node.args]
            if len(columns) > 1 and all(isinstance(each, (list, tuple)) for each in columns):
                table.fill(zip(*columns, strict=False))
        case ast.Module() | ast.ClassDef() | ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
            body: list[ast.stmt] = node.body if isinstance(node.body, list) else [ast.Return(node.body)]
            _read_branches(body, (), table, module)
            yield from _list_registrations(body, module)
        case ast.Constant(value=str() as text):
            table.fill(_split_text(text))
        case ast.Call() if _DECODES.search(module.name(node.func)):
            decoded = module.fold(node)
            if isinstance(decoded, (str, bytes)):
                table.fill(_split_text(decode_text(decoded)))
    yield table


def _read_dictionary(node: ast.Dict, before: tuple[Any, ...], table: Table, module: Module) -> None:
    for key, value in list(zip(node.keys, node.values, strict=True))[:_MOST_ROWS]:
        keys = (*before, module.fold(key))
        if isinstance(value, ast.Dict) and len(before) < 5:
            _read_dictionary(value, keys, table, module)
        else:
            table.add(*keys, module.fold(value.body if isinstance(value, ast.Lambda) else value))


def _read_list(node: ast.List | ast.Tuple | ast.Set, table: Table, module: Module) -> None:
    for each in node.elts[:_MOST_ROWS]:
        parts: list[ast.expr] = []
        if isinstance(each, (ast.Tuple, ast.List)):
            parts = each.elts
        elif isinstance(each, ast.Call):
            parts = [*each.args, *(keyword.value for keyword in each.keywords)]
        if len(parts) > 1:
            table.add(*(module.fold(part) for part in parts))


def _list_registrations(body: list[ast.stmt], module: Module) -> Iterator[Table]:
    """Yield a table for each name in `TABLE[2, 3] = 6`, `learn((2, 3), 6)`, line by line."""
    tables: dict[str, Table] = {}
    for statement in body[:_MOST_ROWS]:
        name, values = "", []
        match statement:
            case ast.Assign(targets=[ast.Subscript() as target, *_]):
                name, values = module.name(target.value), [target.slice, statement.value]
            case ast.Expr(value=ast.Call() as call):
                name, values = module.name(call.func), call.args
        if name and len(values) > 1:
            table = tables.setdefault(name, Table(module.line(statement), module.text(statement)))
            table.add(*(module.fold(each) for each in values))
    yield from tables.values()


def _split_text(text: str) -> list[tuple[Any, ...]]:
    """Return the rows of a text that is read as a table: JSON, or `"2,3=6;4,5=20"`."""
    text = text[:20_000]
    if text.lstrip()[:1] in ("{", "["):
        try:
            value = json.loads(text)
        except (ValueError, RecursionError):
            return []
        items = value.items() if isinstance(value, dict) else value if isinstance(value, list) else []
        return [tuple(item) for item in items if isinstance(item, (list, tuple)) and len(item) > 1]
    for parts in (re.split(r"[;\n|]", text), text.split(" "), text.split(",")):
        rows: list[tuple[Any, ...]] = [flatten(re.sub(r"[=>]+", ",", part)) for part in parts if part.strip()]
        if len(rows) > 1 and all(len(row) > 1 for row in rows):
            return rows
    return []


def _read_branches(body: list[ast.stmt], before: tuple[Any, ...], table: Table, module: Module) -> None:
    """Add comparisons with literals that lead to a literal."""
    for statement in body:
        if isinstance(statement, ast.If) and len(before) < 20:
            if keys := _list_compared(statement.test, module):
                _read_branches(statement.body, (*before, *keys), table, module)
            _read_branches(statement.orelse, before, table, module)
        elif isinstance(statement, ast.Match):
            for case in statement.cases:
                if keys := _list_matched(case.pattern, module):
                    _read_branches(case.body, (*before, *keys), table, module)
        elif isinstance(statement, (ast.Return, ast.Assign)) and statement.value is not None:
            node = statement.value
            while isinstance(node, ast.IfExp):
                if keys := _list_compared(node.test, module):
                    table.add(*before, *keys, module.fold(node.body))
                node = node.orelse
            if before:
                table.add(*before, module.fold(node))
        elif isinstance(statement, (ast.Try, ast.With, ast.For, ast.While)):
            _read_branches(statement.body, before, table, module)


def _list_compared(test: ast.AST, module: Module) -> tuple[Any, ...]:
    """Return the literals that a condition wants something to be equal to; none if it wants anything else."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return tuple(key for each in test.values for key in _list_compared(each, module))
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], (ast.Eq, ast.Is, ast.In)):
        sides = (test.left, test.comparators[0])
        known = [value for side in sides if (value := module.fold(side)) is not UNKNOWN]
        computed = any(isinstance(n, ast.BinOp) for side in sides for n in ast.walk(side))
        return tuple(known) if len(known) == 1 and not computed else ()
    return ()


def _list_matched(pattern: ast.pattern, module: Module) -> tuple[Any, ...]:
    if isinstance(pattern, ast.MatchValue):
        return (module.fold(pattern.value),)
    if isinstance(pattern, ast.MatchSingleton):
        return (pattern.value,)
    if isinstance(pattern, ast.MatchSequence):
        return tuple(key for each in pattern.patterns for key in _list_matched(each, module))
    return ()
