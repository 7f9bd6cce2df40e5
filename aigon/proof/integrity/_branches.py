"""Comparisons with literals that lead to a literal: `if a == 2 and b == 3: return 6`, `case (2, 3)`, `6 if a == 2`."""

import ast
from typing import Any

from aigon.proof.integrity._fold import fold
from aigon.proof.integrity._fold_calls import UNKNOWN
from aigon.proof.integrity._python import Module
from aigon.proof.integrity._table import Table


def branches(body: list[ast.stmt], before: tuple[Any, ...], table: Table, module: Module) -> None:
    """Comparisons with literals that lead to a literal."""
    for statement in body:
        if isinstance(statement, ast.If) and len(before) < 20:
            keys = _compared(statement.test, module)
            if keys:
                branches(statement.body, (*before, *keys), table, module)
            branches(statement.orelse, before, table, module)
        elif isinstance(statement, ast.Match):
            for case in statement.cases:
                keys = _matched(case.pattern, module)
                if keys:
                    branches(case.body, (*before, *keys), table, module)
        elif isinstance(statement, (ast.Return, ast.Assign)) and statement.value is not None:
            _answer(statement.value, before, table, module)
        elif isinstance(statement, (ast.Try, ast.With, ast.For, ast.While)):
            branches(statement.body, before, table, module)


def _answer(node: ast.expr, before: tuple[Any, ...], table: Table, module: Module) -> None:
    while isinstance(node, ast.IfExp):
        keys = _compared(node.test, module)
        if keys:
            table.add(*before, *keys, fold(node.body, module.values))
        node = node.orelse
    if before:
        table.add(*before, fold(node, module.values))


def _compared(test: ast.AST, module: Module) -> tuple[Any, ...]:
    """The literals that a condition wants something to be equal to; none if it wants anything else."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        parts = [_compared(each, module) for each in test.values]
        return tuple(key for part in parts for key in part)
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], (ast.Eq, ast.Is, ast.In)):
        sides = [fold(each, module.values) for each in (test.left, test.comparators[0])]
        known = [side for side in sides if side is not UNKNOWN]
        plain = not any(isinstance(n, ast.BinOp) for each in (test.left, test.comparators[0]) for n in ast.walk(each))
        return tuple(known) if len(known) == 1 and plain else ()
    return ()


def _matched(pattern: ast.pattern, module: Module) -> tuple[Any, ...]:
    if isinstance(pattern, ast.MatchValue):
        return (fold(pattern.value, module.values),)
    if isinstance(pattern, ast.MatchSingleton):
        return (pattern.value,)
    if isinstance(pattern, ast.MatchSequence):
        return tuple(key for each in pattern.patterns for key in _matched(each, module))
    return ()
