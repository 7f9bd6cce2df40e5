"""Constants of Python that are put together piece by piece. Bounded, and never raises."""

import ast
import base64
import binascii
import codecs
import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from aigon.proof.analysis.languages import words
from aigon.text.patterns import compile_re

UNKNOWN = object()
"""An expression that depends on more than the text."""
LONGEST = 20_000
"""Characters or items of a value."""
_LARGEST = 10**30
_DEEPEST = 40
_WIDE = compile_re(r"\*|\d{4}")
"""What makes a formatted text much longer than its format."""
_METHODS = words(
    "join lower upper strip lstrip rstrip replace title capitalize casefold swapcase removeprefix removesuffix split"
    " encode decode hex"
)
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
    "list": list,
    "tuple": tuple,
    "zip": lambda *columns: [list(row) for row in zip(*columns, strict=False)],
}
_OPERATORS: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
}

Values = Mapping[str, Any]


def fold(node: ast.AST | None, values: Values, depth: int = 0) -> Any:
    """Return the value of an expression, or UNKNOWN. `values` are the names that are known."""
    if depth > _DEEPEST:
        return UNKNOWN
    try:
        value = _fold(node, values, depth + 1)
    except (ValueError, TypeError, ArithmeticError, LookupError, AttributeError, MemoryError):
        return UNKNOWN
    if isinstance(value, (str, bytes, list, tuple, dict, set)):
        return value if len(value) <= LONGEST else UNKNOWN
    return UNKNOWN if isinstance(value, (int, float)) and abs(value) > _LARGEST else value


def decode_text(value: str | bytes) -> str:
    """Return the value as text, whatever the bytes."""
    return value if isinstance(value, str) else value.decode("utf-8", "replace")


def _fold(node: ast.AST | None, values: Values, depth: int) -> Any:
    match node:
        case ast.Constant():
            return node.value
        case ast.Name():
            return values.get(node.id, UNKNOWN)
        case ast.NamedExpr():
            return fold(node.value, values, depth)
        case ast.Tuple():
            return tuple(_fold_all(node.elts, values, depth))
        case ast.List() | ast.Set():
            return _fold_all(node.elts, values, depth)
        case ast.JoinedStr():
            parts = [each.value if isinstance(each, ast.FormattedValue) else each for each in node.values]
            return "".join(str(part) for part in _fold_all(parts, values, depth))
        case ast.Dict() if None not in node.keys:
            keys = _fold_all([key for key in node.keys if key], values, depth)
            hashable = [tuple(key) if isinstance(key, list) else key for key in keys]
            return dict(zip(hashable, _fold_all(node.values, values, depth), strict=True))
        case ast.BinOp():
            return _fold_binary(node.op, *_fold_all([node.left, node.right], values, depth))
        case ast.UnaryOp():
            (value,) = _fold_all([node.operand], values, depth)
            return not value if isinstance(node.op, ast.Not) else -value if isinstance(node.op, ast.USub) else +value
        case ast.Subscript():
            (value,) = _fold_all([node.value], values, depth)
            if isinstance(node.slice, ast.Slice):
                bounds = [node.slice.lower, node.slice.upper, node.slice.step]
                return value[slice(*(fold(each, values, depth) if each else None for each in bounds))]
            return value[fold(node.slice, values, depth)]
        case ast.GeneratorExp() | ast.ListComp():
            return _fold_comprehension(node, values, depth)
        case ast.Call():
            return _fold_call(node, values, depth)
    return UNKNOWN


def _fold_all(nodes: Sequence[ast.AST], values: Values, depth: int) -> list[Any]:
    """Return the values of all nodes. Raises ValueError if one is unknown."""
    found = [fold(node, values, depth) for node in nodes[:LONGEST]]
    if any(value is UNKNOWN for value in found):
        raise ValueError
    return found


def _fold_binary(op: ast.operator, left: Any, right: Any) -> Any:
    if isinstance(op, ast.Mod):
        small = isinstance(left, (int, float)) or (len(left) < 200 and not _WIDE.search(decode_text(left)))
        return left % right if small else UNKNOWN
    if isinstance(op, ast.Mult) and not all(isinstance(each, (int, float)) for each in (left, right)):
        times, *_ = (each for each in (left, right) if isinstance(each, int))
        return left * right if 0 <= times * max(len(left if times is right else right), 1) <= LONGEST else UNKNOWN
    return _OPERATORS[type(op)](left, right)


def _fold_comprehension(node: ast.GeneratorExp | ast.ListComp, values: Values, depth: int) -> Any:
    first = node.generators[0]
    nested = any(isinstance(each, (ast.ListComp, ast.GeneratorExp)) for each in ast.walk(node.elt))
    if nested or len(node.generators) > 1 or first.ifs or not isinstance(first.target, ast.Name):
        return UNKNOWN
    (items,) = _fold_all([first.iter], values, depth)
    return [fold(node.elt, {**values, first.target.id: item}, depth) for item in list(items)[:200]]


def _fold_call(node: ast.Call, values: Values, depth: int) -> Any:
    before = node.func.value if isinstance(node.func, ast.Attribute) else None
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    if name == "map" and len(node.args) == 2 and getattr(node.args[0], "id", "") == "chr":
        return [chr(code) for code in _fold_all([node.args[1]], values, depth)[0]]
    owner = fold(before, values, depth) if before else UNKNOWN
    arguments = _fold_all(node.args, values, depth)
    if getattr(before, "id", "") == "codecs" and name == "decode":
        text, codec = arguments
        return codecs.decode(text, "rot13") if codec.replace("_", "").lower() == "rot13" else UNKNOWN
    if name in _FUNCTIONS:
        return _FUNCTIONS[name](*arguments)
    if name not in _METHODS or not isinstance(owner, (str, bytes)):
        return UNKNOWN
    length = 0
    if name == "join":
        length = len(owner) * len(arguments[0]) if len(arguments) == 1 else LONGEST + 1
    elif name == "replace":
        length = len(owner) * max(len(argument) for argument in arguments)
    return getattr(owner, name)(*arguments) if length <= LONGEST else UNKNOWN
