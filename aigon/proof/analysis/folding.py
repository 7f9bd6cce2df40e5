"""What calls of Python's own functions and methods come to, for constants that are put together piece by piece."""

import ast
import base64
import binascii
import codecs
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from aigon.proof.analysis.languages import words

UNKNOWN = object()
"""An expression that depends on more than the text."""
LONGEST = 20_000
"""Characters or items of a value."""

_METHODS = words(
    "join lower upper strip lstrip rstrip replace title capitalize casefold swapcase removeprefix removesuffix split"
    " encode decode hex"
)


def result(name: str, module: str, owner: Any, arguments: list[Any]) -> Any:
    """What `name` gives for these values; `module` is what stands before its dot, `owner` the value of that."""
    if (module, name) == ("codecs", "decode"):
        return _rotated(*arguments)
    if name in _FUNCTIONS:
        return _FUNCTIONS[name](*arguments)
    if name in _METHODS and isinstance(owner, (str, bytes)) and _stays_small(name, owner, arguments):
        return getattr(owner, name)(*arguments)
    return UNKNOWN


def _stays_small(name: str, owner: str | bytes, arguments: list[Any]) -> bool:
    if name == "join":
        return len(arguments) == 1 and len(owner) * len(arguments[0]) <= LONGEST
    return name != "replace" or len(owner) * max(len(argument) for argument in arguments) <= LONGEST


def _rotated(value: str, codec: str) -> Any:
    return codecs.decode(value, "rot13") if codec.replace("_", "").lower() == "rot13" else UNKNOWN


_FUNCTIONS: dict[str, Callable[..., Any]] = {
    "chr": chr,
    "str": str,
    "bytes": lambda items, *_: bytes(items) if isinstance(items, list) else UNKNOWN,
    "bytearray": lambda items: bytes(items) if isinstance(items, list) else UNKNOWN,
    "fromhex": bytes.fromhex,
    "unhexlify": binascii.unhexlify,
    "b64decode": base64.b64decode,
    "urlsafe_b64decode": base64.urlsafe_b64decode,
    "b32decode": base64.b32decode,
    "reversed": lambda items: list(items)[::-1],
    "list": lambda items: list(items),
    "tuple": lambda items: tuple(items),
}

_LARGEST = 10**30
_DEEPEST = 40

Values = Mapping[str, Any]


def fold(node: ast.AST | None, values: Values, depth: int = 0) -> Any:
    """The value, or UNKNOWN. `values` are the names that are known. Bounded, and never raises."""
    handler = _HANDLERS.get(type(node))
    if handler is None or depth > _DEEPEST:
        return UNKNOWN
    try:
        value = handler(node, values, depth + 1)
    except (ValueError, TypeError, ArithmeticError, LookupError, AttributeError, MemoryError):
        return UNKNOWN
    return UNKNOWN if _too_large(value) else value


def strings(node: ast.AST, values: Values) -> list[str]:
    """All texts that an expression is made of, put together where it puts them together."""
    found = []
    for each in ast.walk(node):
        value = fold(each, values) if isinstance(each, _TEXTUAL) else UNKNOWN
        items = value if isinstance(value, (list, tuple)) else [value]
        found += [text(item) for item in items if isinstance(item, (str, bytes))]
    return found


def word(node: ast.AST | None, values: Values) -> str:
    """The text that an expression comes to; "" where it comes to anything else."""
    value = fold(node, values)
    return value if isinstance(value, str) else ""


def text(value: str | bytes) -> str:
    """As text, whatever the bytes."""
    return value if isinstance(value, str) else value.decode("utf-8", "replace")


def _too_large(value: Any) -> bool:
    if isinstance(value, (str, bytes, list, tuple, dict, set)):
        return len(value) > LONGEST
    return isinstance(value, (int, float)) and abs(value) > _LARGEST


def _name(node: ast.Name, values: Values, _: int) -> Any:
    return values.get(node.id, UNKNOWN)


def _all(nodes: Sequence[ast.AST], values: Values, depth: int) -> list[Any]:
    found = [fold(node, values, depth) for node in nodes[:LONGEST]]
    if any(value is UNKNOWN for value in found):
        raise ValueError
    return found


def _joined(node: ast.JoinedStr, values: Values, depth: int) -> Any:
    parts = [each.value if isinstance(each, ast.FormattedValue) else each for each in node.values]
    return "".join(str(part) for part in _all(parts, values, depth))


def _dict(node: ast.Dict, values: Values, depth: int) -> Any:
    if any(key is None for key in node.keys):
        return UNKNOWN
    keys = _all([key for key in node.keys if key], values, depth)
    return dict(
        zip([tuple(k) if isinstance(k, list) else k for k in keys], _all(node.values, values, depth), strict=True)
    )


_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
}


_WIDE = re.compile(r"\*|\d{4}")
"""What makes a formatted text much longer than its format."""


def _binary(node: ast.BinOp, values: Values, depth: int) -> Any:
    left, right = _all([node.left, node.right], values, depth)
    if isinstance(node.op, ast.Mod):
        small = isinstance(left, (int, float)) or (len(left) < 200 and not _WIDE.search(text(left)))
        return left % right if small else UNKNOWN
    if isinstance(node.op, ast.Mult) and not all(isinstance(each, (int, float)) for each in (left, right)):
        times = next(each for each in (left, right) if isinstance(each, int))
        return left * right if 0 <= times * max(len(left if times is right else right), 1) <= LONGEST else UNKNOWN
    return _OPERATORS[type(node.op)](left, right)


def _unary(node: ast.UnaryOp, values: Values, depth: int) -> Any:
    (value,) = _all([node.operand], values, depth)
    if isinstance(node.op, ast.Not):
        return not value
    return -value if isinstance(node.op, ast.USub) else +value


def _either(node: ast.BoolOp, values: Values, depth: int) -> Any:
    # One certain operand can settle it, whatever the others are.
    settles = isinstance(node.op, ast.Or)
    found = [fold(each, values, depth) for each in node.values]
    if any(value is not UNKNOWN and bool(value) is settles for value in found):
        return settles
    return not settles if UNKNOWN not in found else UNKNOWN


def _subscript(node: ast.Subscript, values: Values, depth: int) -> Any:
    (value,) = _all([node.value], values, depth)
    if isinstance(node.slice, ast.Slice):
        bounds = [node.slice.lower, node.slice.upper, node.slice.step]
        return value[slice(*(fold(each, values, depth) if each else None for each in bounds))]
    return value[fold(node.slice, values, depth)]


def _comprehension(node: ast.GeneratorExp | ast.ListComp, values: Values, depth: int) -> Any:
    first = node.generators[0]
    nested = any(isinstance(each, (ast.ListComp, ast.GeneratorExp)) for each in ast.walk(node.elt))
    if nested or len(node.generators) > 1 or first.ifs or not isinstance(first.target, ast.Name):
        return UNKNOWN
    (items,) = _all([first.iter], values, depth)
    return [fold(node.elt, {**values, first.target.id: item}, depth) for item in list(items)[:200]]


def _call(node: ast.Call, values: Values, depth: int) -> Any:
    before = node.func.value if isinstance(node.func, ast.Attribute) else None
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name == "map" and len(node.args) == 2 and getattr(node.args[0], "id", "") == "chr":
        return [chr(code) for code in _all([node.args[1]], values, depth)[0]]
    owner = fold(before, values, depth) if before else UNKNOWN
    return result(name, getattr(before, "id", ""), owner, _all(node.args, values, depth))


_TEXTUAL = (ast.Constant, ast.JoinedStr, ast.BinOp, ast.Call, ast.Subscript, ast.Name)


_HANDLERS: dict[type[Any], Callable[[Any, Values, int], Any]] = {
    ast.Constant: lambda node, *_: node.value,
    ast.Name: _name,
    ast.JoinedStr: _joined,
    ast.Tuple: lambda node, values, depth: tuple(_all(node.elts, values, depth)),
    ast.List: lambda node, values, depth: _all(node.elts, values, depth),
    ast.Set: lambda node, values, depth: _all(node.elts, values, depth),
    ast.Dict: _dict,
    ast.BinOp: _binary,
    ast.UnaryOp: _unary,
    ast.BoolOp: _either,
    ast.Subscript: _subscript,
    ast.GeneratorExp: _comprehension,
    ast.ListComp: _comprehension,
    ast.Call: _call,
    ast.NamedExpr: lambda node, values, depth: fold(node.value, values, depth),
}
