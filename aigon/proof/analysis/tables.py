"""Literal answers in a Python file: tables, chains of comparisons, registrations; whatever maps input to answer."""

import ast
import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from aigon.model.changes import ConcernLevel
from aigon.proof.analysis.examples import Atoms, atoms
from aigon.proof.analysis.folding import UNKNOWN, fold
from aigon.proof.analysis.folding import text as as_text
from aigon.proof.analysis.languages import is_python
from aigon.proof.analysis.literals import Literal, Table, branches, find_literals
from aigon.proof.analysis.python import Module, read, units
from aigon.proof.analysis.sightings import Sighting
from aigon.proof.analysis.text import line_of

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


_NEARLY_ALL = 0.8
"""Of the examples that a table covers, and of a table that consists of examples."""


@dataclass(frozen=True, slots=True)
class CopiedQuestion:
    """One function as the tests ask for it: every example as one row of input and answer, and the level of a table."""

    name: str
    rows: frozenset[Atoms]
    answers: Mapping[Atoms, Atoms]
    enough: int
    level: ConcernLevel


def answered(path: str, text: str, asked: list[CopiedQuestion]) -> Iterator[Sighting]:
    if is_python(path) and read(text) is not None:
        found = _in_python(text, asked)
    else:
        literals = find_literals(path, text)
        known = {atom for literal in literals for atom in literal.atoms}
        possible = [each for each in asked if _share(each.rows, known) >= _NEARLY_ALL]
        found = ((each, _run(each, literals, text)) for each in possible[:_MOST])
    for each, table in found:
        if table:
            says = f"answers what the tests ask of {each.name}, and hardly anything else"
            yield Sighting(table.line, table.text, says, each.level)


def _in_python(text: str, asked: list[CopiedQuestion]) -> Iterator[tuple[CopiedQuestion, Table | None]]:
    every = frozenset(row for each in asked for row in each.rows)
    held = [t for t in tables(text) if t.rows & every and len(t.rows & every) >= _NEARLY_ALL * t.size][:_MOST]
    rows = frozenset(row for table in held for row in table.rows)
    fallback = defaults(text) if held else set()
    for each in [each for each in asked if len(each.rows & rows) >= each.enough][:_MOST]:
        yield each, _copied(each, held, fallback)


def _share(rows: frozenset[Atoms], known: set[str]) -> float:
    """How many of the rows consist of what the text holds."""
    return sum(known.issuperset(row) for row in rows) / max(len(rows), 1)


def _copied(asked: CopiedQuestion, held: list[Table], fallback: set[Atoms]) -> Table | None:
    """The first of the tables that, together, were copied."""
    mine = [t for t in held if len(t.rows & asked.rows) >= _NEARLY_ALL * t.size and t.rows & asked.rows]
    hits = frozenset(row for table in mine for row in table.rows & asked.rows)
    if len(hits) < asked.enough:
        return None
    covered = len(hits) + sum(asked.answers[row] in fallback for row in asked.rows - hits)
    return mine[0] if covered >= _NEARLY_ALL * len(asked.rows) else None


def _run(asked: CopiedQuestion, found: list[Literal], text: str) -> Table | None:
    """The same where only literals are known: rows that stand close together, with little else among them."""
    longest = min(max(len(row) for row in asked.rows), _WIDEST)
    hits: set[Atoms] = set()
    others, at, last, first = 0, 0, -10, 0
    while at < len(found):
        if found[at].line - last > _FAR and len(hits) < asked.enough:
            hits, others, first = set(), 0, found[at].line
        elif found[at].line - last > _FAR:
            break
        last = found[at].line
        taken = _row(asked, found, at, longest)
        others += not taken
        if taken:
            hits.add(_joined(found[at : at + taken]))
            last = found[at + taken - 1].line
        at += taken or 1
    pure = len(hits) >= _NEARLY_ALL * (len(hits) + others / longest)
    if len(hits) >= asked.enough and pure and len(hits) >= _NEARLY_ALL * len(asked.rows):
        return Table(first, line_of(text, first))
    return None


_FAR = 3
"""Lines between two literals that no longer belong to one table."""
_WIDEST = 30
"""Literals of a row that are compared, in languages that are read by their literals."""
_MOST = 300
"""Functions, and tables that look copied, that are compared with each other."""


def _row(asked: CopiedQuestion, found: list[Literal], at: int, longest: int) -> int:
    """How many literals, from this one, are an example; 0 for none."""
    for length in range(1, longest + 1):
        if _joined(found[at : at + length]) in asked.rows:
            return length
    return 0


def _joined(found: list[Literal]) -> Atoms:
    return tuple(atom for literal in found for atom in literal.atoms)
