"""Alter what a change does, in Python: what its functions return, raise, and pass on."""

import ast
import functools
import inspect
from collections.abc import Collection
from typing import cast

from aigon.proof.worth.values import Drawn, aigon_alter

_Function = ast.FunctionDef | ast.AsyncFunctionDef


def alter(
    text: str, base: str, named: Collection[str] | None = None, *, inside: bool = False, drawn: Drawn | None = None
) -> str | None:
    """Return the text with every value altered that the functions which `base` lacks give to their callers.

    With `named` functions of these names are altered instead. With `inside` also values that they keep for themselves
    and pass on. None if nothing in it can be altered.
    """
    drawn = drawn or Drawn()
    try:
        tree = ast.parse(text)
        known = {ast.dump(node) for node in ast.walk(ast.parse(base)) if isinstance(node, ast.stmt)}
        altering = _Altering(known, named, inside, drawn.name)
        tree = cast(ast.Module, altering.visit(tree))
        if not altering.count:
            return None
        place = _find_place(tree)
        helper = ast.parse(drawn.fill(_read_helper())).body[0]
        tree.body.insert(place, helper)
        return ast.unparse(ast.fix_missing_locations(tree)) + "\n"
    except (SyntaxError, ValueError, RecursionError):
        return None


@functools.cache
def _read_helper() -> str:
    return inspect.getsource(aigon_alter)


def _find_place(tree: ast.Module) -> int:
    """Return where a definition may stand first: after the docstring and imports from the future."""
    ends = (
        number
        for number, node in enumerate(tree.body, 1)
        if (isinstance(node, ast.ImportFrom) and node.module == "__future__")
        or (number == 1 and isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
    )
    return max(ends, default=0)


class _Altering(ast.NodeTransformer):
    """Alters the functions that are wanted; `count` says how much was."""

    def __init__(self, known: Collection[str], named: Collection[str] | None, inside: bool, helper: str) -> None:
        self._known, self._named, self._inside, self._helper = known, named, inside, helper
        self._wanted: list[bool] = []
        self.count = 0

    def _visit_function(self, node: _Function) -> ast.AST:
        is_named = node.name in self._named if self._named is not None else ast.dump(node) not in self._known
        self._wanted.append(is_named or (bool(self._wanted) and self._wanted[-1]))
        self._visit_body(node)  # what decorates it and its defaults stay
        self._wanted.pop()
        return node

    visit_FunctionDef = _visit_function
    visit_AsyncFunctionDef = _visit_function

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        """Alter all methods of a class that is named."""
        self._wanted.append(self._named is not None and node.name in self._named)
        self._visit_body(node)
        self._wanted.pop()
        return node

    def _visit_body(self, node: _Function | ast.ClassDef) -> None:
        rest = ast.Module(node.body, [])
        self.generic_visit(rest)
        node.body = rest.body

    def visit_Return(self, node: ast.Return) -> ast.AST:
        """Alter what is returned."""
        self.generic_visit(node)
        if node.value is not None:
            node.value = self._wrap(node.value)
        return node

    def visit_Yield(self, node: ast.Yield) -> ast.AST:
        """Alter what is yielded."""
        self.generic_visit(node)
        if node.value is not None:
            node.value = self._wrap(node.value)
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        """Alter what a lambda returns."""
        self.generic_visit(node)
        node.body = self._wrap(node.body)
        return node

    def visit_Raise(self, node: ast.Raise) -> ast.AST | list[ast.AST]:
        """Return instead of raising."""
        if not self._is_wanted or node.exc is None:
            return node
        self.count += 1
        asked = ast.Call(ast.Name(self._helper, ast.Load()), [ast.Constant(True), ast.Constant(True)], [])
        return [ast.If(asked, [node], []), ast.Return(None)]

    def visit_Expr(self, node: ast.Expr) -> ast.AST:
        """Alter what is passed to a call that is made for its effect."""
        if self._inside and isinstance(node.value, ast.Call):
            call = node.value
            call.args = [each if isinstance(each, ast.Starred) else self._wrap(each) for each in call.args]
            for keyword in call.keywords:
                keyword.value = self._wrap(keyword.value) if keyword.arg else keyword.value
            return node
        return self.generic_visit(node)

    def _visit_assignment(self, node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> ast.AST:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        lasts = isinstance(node, ast.AugAssign) or any(not isinstance(each, ast.Name) for each in targets)
        is_dunder = bool(self._wanted) and any(isinstance(t, ast.Name) and t.id.startswith("__") for t in targets)
        # A new value of a module or a class counts as much as what a function returns.
        is_new = not self._is_wanted and self._named is None and ast.dump(node) not in self._known and not is_dunder
        if self._inside and node.value is not None and (lasts or is_new):
            node.value = self._wrap(node.value, always=is_new)
            return node
        return self.generic_visit(node)

    visit_Assign = visit_AnnAssign = visit_AugAssign = _visit_assignment

    @property
    def _is_wanted(self) -> bool:
        return bool(self._wanted) and self._wanted[-1]

    def _wrap(self, value: ast.expr, *, always: bool = False) -> ast.expr:
        if not (self._is_wanted or always):
            return value
        self.count += 1
        flag = [ast.Constant(True)] if self._inside else []
        return ast.copy_location(ast.Call(ast.Name(self._helper, ast.Load()), [value, *flag], []), value)
