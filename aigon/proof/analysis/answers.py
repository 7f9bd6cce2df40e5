"""Comparisons of Python classes that say yes to whatever they are given."""

import ast
from collections.abc import Iterator

from aigon.model.changes import ConcernLevel
from aigon.proof.analysis.folding import UNKNOWN, fold, word
from aigon.proof.analysis.python import Module

LEVELS: dict[str, ConcernLevel] = {
    "__eq__": "review",
    "__contains__": "review",
    "__instancecheck__": "review",
    "__subclasscheck__": "review",
    "__lt__": "note",
    "__le__": "note",
    "__gt__": "note",
    "__ge__": "note",
}
_BUILT_IN = {"int", "float", "str", "bytes", "bool", "complex", "list", "dict", "tuple", "object", "Number", "Real"}


def definitions(node: ast.AST, module: Module) -> Iterator[tuple[str, ast.AST]]:
    """Every way to give a class a method: name and function."""
    if isinstance(node, ast.FunctionDef):
        yield node.name, node
    elif isinstance(node, ast.Assign):
        for target in node.targets:
            yield target.attr if isinstance(target, ast.Attribute) else getattr(target, "id", ""), node.value
    elif isinstance(node, ast.Dict):
        for key, value in zip(node.keys, node.values, strict=True):
            yield word(key, module.values), value
    elif isinstance(node, ast.Call):
        yield from ((keyword.arg or "", keyword.value) for keyword in node.keywords)
        if module.name(node.func) in ("setattr", "type.__setattr__") and len(node.args) == 3:
            yield word(node.args[1], module.values), node.args[2]


def says_yes(function: ast.FunctionDef | ast.Lambda, name: str, module: Module) -> bool:
    """Whether some answer is yes, or may be, and none depends on what is compared."""
    body: list[ast.AST] = [function.body] if isinstance(function, ast.Lambda) else list(function.body)
    nodes = [node for each in body for node in ast.walk(each)]
    returned = [n.value for n in nodes if isinstance(n, ast.Return)] if isinstance(function, ast.FunctionDef) else body
    values = [_trivial_answer(each, module) for each in returned if each is not None and not _declines(each)]
    yes = [bool(value) for value in values if value is not UNKNOWN]
    if LEVELS[name] == "note":
        return len(yes) == len(values) == len(returned) and len(set(yes)) == 1
    if len(yes) == len(returned) and all(yes) and yes and isinstance(body[-1], (ast.Return, ast.expr)):
        return True
    possible = [value for value in values if value is UNKNOWN or value]
    return bool(possible) and not any(isinstance(n, ast.Raise) for n in nodes) and not _looks(function, body, module)


def _declines(node: ast.AST) -> bool:
    return isinstance(node, ast.Name) and node.id == "NotImplemented"


def _looks(function: ast.FunctionDef | ast.Lambda, body: list[ast.AST], module: Module) -> bool:
    """Whether it looks at what it is given, other than to ask whether it is one of Python's own types."""
    arguments = [*function.args.posonlyargs, *function.args.args][1:]
    given = {each.arg for each in [*arguments, function.args.vararg] if each}
    todo = list(body)
    while todo:
        node = todo.pop()
        if isinstance(node, ast.Name) and node.id in given:
            return True
        if not _is_trivial(node, module):
            todo += ast.iter_child_nodes(node)
    return False


def _is_trivial(node: ast.AST, module: Module) -> bool:
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        same = ast.dump(node.left) == ast.dump(node.comparators[0])
        return same or fold(node.comparators[0], module.values) is None
    return isinstance(node, (ast.Call, ast.BoolOp)) and _trivial_answer(node, module) is True


def _trivial_answer(node: ast.AST, module: Module) -> object:
    """What a comparison comes to, if that is certain: a constant, a thing compared with itself, any object at all."""
    if isinstance(node, ast.Compare) and len(node.ops) == 1:
        left, right = node.left, node.comparators[0]
        if isinstance(node.ops[0], (ast.Eq, ast.Is, ast.LtE, ast.GtE)) and ast.dump(left) == ast.dump(right):
            return True
        values = [fold(each, module.values) for each in (left, right)]
        if isinstance(node.ops[0], ast.Eq) and UNKNOWN not in values:
            return values[0] == values[1]
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "bool" and node.args:
        return fold(node.args[0], module.values)
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "isinstance" and len(node.args) == 2:
        named = {n.id for n in ast.walk(node.args[1]) if isinstance(n, ast.Name)}
        return True if named and named <= _BUILT_IN else UNKNOWN
    if (
        isinstance(node, ast.BoolOp)
        and isinstance(node.op, ast.Or)
        and any(_trivial_answer(v, module) is True for v in node.values)
    ):
        return True
    return fold(node, module.values)
