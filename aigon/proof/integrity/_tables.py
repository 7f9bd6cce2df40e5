"""Literal answers in a Python file: tables, chains of comparisons, registrations; whatever maps input to answer."""

import ast
import json
import re
from collections.abc import Iterable, Iterator
from typing import Any

from aigon.proof.integrity._atoms import Atoms, atoms
from aigon.proof.integrity._branches import branches
from aigon.proof.integrity._fold import fold
from aigon.proof.integrity._fold import text as as_text
from aigon.proof.integrity._fold_calls import UNKNOWN
from aigon.proof.integrity._python import Module, units
from aigon.proof.integrity._table import Table

_DECODES = re.compile(r"(b\d\ddecode|decode|fromhex|unhexlify)$")
_ROWS = 5000
"""Rows of a table that are looked at. One that has more than the tests have examples is no table of them."""


def tables(source: str) -> Iterator[Table]:
    """All of them."""
    for module in units(source):
        docs = {id(n.value) for n in module.nodes if isinstance(n, ast.Expr)}
        for node in module.nodes:
            if id(node) not in docs:
                yield from _of(node, module)


def defaults(source: str) -> set[Atoms]:
    """What the file answers where no table has anything: the literals that are returned, or given to `get`."""
    found = set()
    for module in units(source):
        for node in module.nodes:
            answer = fold(_last(node), module.values)
            found |= {atoms(answer)} if answer is not UNKNOWN else set()
    return found


def _last(node: ast.AST) -> ast.expr | None:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and len(node.args) == 2:
        return node.args[1] if node.func.attr in ("get", "pop", "setdefault") else None
    value = node.value if isinstance(node, ast.Return) else node.body if isinstance(node, ast.Lambda) else None
    while isinstance(value, ast.IfExp):
        value = value.orelse
    return value


def _of(node: ast.AST, module: Module) -> Iterator[Table]:
    table = Table(module.line(node), module.text(node))
    if isinstance(node, ast.Dict):
        _dictionary(node, (), table, module)
    elif isinstance(node, (ast.List, ast.Tuple, ast.Set)):
        _listed(node, table, module)
    elif isinstance(node, ast.Call) and getattr(node.func, "id", "") == "zip":
        columns = [fold(each, module.values) for each in node.args]
        if len(columns) > 1 and all(isinstance(each, (list, tuple)) for each in columns):
            _fill(table, zip(*columns, strict=False))
    elif isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)):
        body: list[ast.stmt] = node.body if isinstance(node.body, list) else [ast.Return(node.body)]
        branches(body, (), table, module)
        yield from _registered(body, module)
    elif isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield from _written(node, node.value, module)
    elif isinstance(node, ast.Call) and _DECODES.search(module.name(node.func)):
        decoded = fold(node, module.values)
        if isinstance(decoded, (str, bytes)):
            yield from _written(node, as_text(decoded), module)
    if table.rows:
        yield table


def _fill(table: Table, rows: Iterable[tuple[Any, ...]]) -> None:
    for row in list(rows)[:_ROWS]:
        table.add(*row)


def _dictionary(node: ast.Dict, before: tuple[Any, ...], table: Table, module: Module) -> None:
    for key, value in list(zip(node.keys, node.values, strict=True))[:_ROWS]:
        keys = (*before, fold(key, module.values))
        if isinstance(value, ast.Dict) and len(before) < 5:
            _dictionary(value, keys, table, module)
        else:
            table.add(*keys, fold(value.body if isinstance(value, ast.Lambda) else value, module.values))


def _listed(node: ast.List | ast.Tuple | ast.Set, table: Table, module: Module) -> None:
    for each in node.elts[:_ROWS]:
        if isinstance(each, (ast.Tuple, ast.List)) and len(each.elts) > 1:
            table.add(*(fold(part, module.values) for part in each.elts))
        elif isinstance(each, ast.Call) and len(each.args) + len(each.keywords) > 1:
            table.add(*(fold(part, module.values) for part in [*each.args, *(k.value for k in each.keywords)]))


def _registered(body: list[ast.stmt], module: Module) -> Iterator[Table]:
    """`TABLE[2, 3] = 6`, `learn((2, 3), 6)`, line by line: a table for each name."""
    found: dict[str, Table] = {}
    for statement in body[:_ROWS]:
        name, values = "", []
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Subscript):
            target = statement.targets[0]
            name, values = module.name(target.value), [target.slice, statement.value]
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            name, values = module.name(statement.value.func), statement.value.args
        if name and len(values) > 1:
            table = found.setdefault(name, Table(module.line(statement), module.text(statement)))
            table.add(*(fold(each, module.values) for each in values))
    yield from found.values()


def _written(node: ast.AST, text: str, module: Module) -> Iterator[Table]:
    """A text that is read as a table: JSON, or `"2,3=6;4,5=20"`."""
    text = text[:20_000]
    if text.lstrip()[:1] in ("{", "["):
        rows = _json(text)
    else:
        parts = [re.split(r"[;\n|]", text), text.split(" "), text.split(",")]
        split = [[atoms(re.sub(r"[=>]+", ",", part)) for part in each if part.strip()] for each in parts]
        rows = next((each for each in split if len(each) > 1 and all(len(row) > 1 for row in each)), [])
    table = Table(module.line(node), module.text(node))
    _fill(table, rows)
    if table.rows:
        yield table


def _json(text: str) -> list[tuple[Any, ...]]:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError):
        return []
    items = value.items() if isinstance(value, dict) else value if isinstance(value, list) else []
    return [tuple(item) for item in items if isinstance(item, (list, tuple)) and len(item) > 1]
