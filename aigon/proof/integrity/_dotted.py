"""The dotted name that an expression of Python stands for, whatever it is called here."""

import ast
from collections.abc import Mapping
from typing import Any

from aigon.proof.integrity._fold import fold


def dotted(node: ast.AST, aliases: Mapping[str, str], values: Mapping[str, Any], depth: int = 0) -> str:
    """The dotted name of an expression; a call adds `()`, a subscript that is no plain name `[]`."""
    if depth > 20:
        return ""
    if isinstance(node, ast.Name):
        return aliases.get(node.id, node.id)
    if isinstance(node, ast.Attribute):
        owner = dotted(node.value, aliases, values, depth + 1)
        return _tidy(f"{owner}.{node.attr}") if owner else ""
    if isinstance(node, ast.Subscript):
        return _item(node, aliases, values, depth)
    return _called(node, aliases, values, depth) if isinstance(node, ast.Call) else ""


def _called(node: ast.Call, aliases: Mapping[str, str], values: Mapping[str, Any], depth: int) -> str:
    function = dotted(node.func, aliases, values, depth + 1)
    arguments = [fold(each, values) for each in node.args[:2]]
    last = function.split(".")[-1]
    if last in ("getattr", "attrgetter") and len(arguments) == 2 and isinstance(arguments[1], str):
        return f"{dotted(node.args[0], aliases, values, depth + 1)}.{arguments[1]}"
    if last in ("__import__", "import_module") and arguments and isinstance(arguments[0], str):
        return arguments[0]
    if last == "vars" and node.args:
        return f"{dotted(node.args[0], aliases, values, depth + 1)}.__dict__"
    if function in ("sys.modules.get", "sys.modules.__getitem__") and arguments and isinstance(arguments[0], str):
        return arguments[0]
    return f"{function}()" if function else ""


def _item(node: ast.Subscript, aliases: Mapping[str, str], values: Mapping[str, Any], depth: int) -> str:
    owner = dotted(node.value, aliases, values, depth + 1)
    key = fold(node.slice, values)
    if isinstance(key, str) and owner == "sys.modules":
        return key
    if isinstance(key, str) and owner in ("globals()", "__builtins__"):
        return aliases.get(key, key)
    if isinstance(key, str) and owner.endswith(".__dict__"):
        return f"{owner.removesuffix('.__dict__')}.{key}"
    return f"{owner}[]" if owner else ""


def _tidy(name: str) -> str:
    return name.replace("posix._exit", "os._exit").replace("nt._exit", "os._exit") if name.endswith("._exit") else name
