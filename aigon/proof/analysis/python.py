"""Files of Python: a line for each statement, with texts and numbers put together as they are when it runs."""

import ast
import base64
import binascii
import copy
import operator
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import lru_cache
from typing import Any

from aigon.languages import LONGEST, line_of, words

_BODIES = ("finalbody", "orelse", "handlers", "cases", "body")
_OPERATORS: Mapping[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_LARGEST = 10**15
_LONGEST_TEXT, _LONGEST_TABLE = 20_000, 500

_METHODS = words("decode lower upper strip title replace removeprefix removesuffix")
_LONGEST_ARGUMENT = 100
_DECODERS: Mapping[str, Callable[[Any], bytes]] = {
    "b64decode": base64.b64decode,
    "fromhex": bytes.fromhex,
    "unhexlify": binascii.unhexlify,
}
_MOST = 1_000_000
"""Characters that are written in the place of names."""

Statement = tuple[int, str]
"""The line of a statement, and how it is written."""


def parse_python(source: str, longest: int = LONGEST) -> ast.Module | None:
    """Return the tree; None if it is no Python, is newer than this one, too long or too deep."""
    if len(source) > longest:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


@lru_cache(maxsize=256)
def list_statements(source: str) -> tuple[Statement, ...] | None:
    """Return the statements of a file, each without those inside of it, and no docstring; None if it cannot be read."""
    tree = parse_python(source)
    return None if tree is None else tuple(_write_statements(tree, source))


def _write_statements(tree: ast.Module, source: str) -> Iterator[Statement]:
    folding = _Folding()
    todo: list[ast.AST] = [*reversed(tree.body)]
    while todo:
        node = todo.pop()
        is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
        if isinstance(node, (ast.stmt, ast.match_case)) and not is_text:
            line = (node.pattern if isinstance(node, ast.match_case) else node).lineno
            yield line, _write(node, folding) or line_of(source, line)
        for name in _BODIES:
            todo += reversed(getattr(node, name, ()))


def _write(statement: ast.stmt | ast.match_case, folding: "_Folding") -> str:
    if isinstance(statement, ast.Try | ast.TryStar):
        return "try:"
    head = copy.copy(statement)
    for name in _BODIES:
        if getattr(head, name, None):
            setattr(head, name, [ast.Pass()] if name == "body" else [])
    try:
        return ast.unparse(folding.visit(copy.deepcopy(head))).replace("\n", " ")
    except (RecursionError, MemoryError, ValueError, TypeError, AttributeError):
        return ""


class _Folding(ast.NodeTransformer):
    """Put constants together, replace names by their values, and write `getattr(a, "b")` as `a.b`."""

    def __init__(self) -> None:
        self.names: dict[str, ast.expr] = {}
        self.lists: dict[str, ast.expr] = {}
        self.left = _MOST

    def visit_Import(self, node: ast.Import) -> ast.AST:
        self.names |= {each.asname: ast.Name(each.name) for each in node.names if each.asname}
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        if not node.level:
            self.names |= {each.asname or each.name: ast.Name(f"{node.module}.{each.name}") for each in node.names}
        return node

    def visit_Assign(self, node: ast.Assign | ast.AnnAssign | ast.NamedExpr) -> ast.AST:
        self.generic_visit(node)
        match node.targets[0] if isinstance(node, ast.Assign) else node.target, node.value:
            case ast.Name(name), (ast.Constant(str(text)) as value) if len(text) < _LONGEST_TEXT:
                self.names[name] = value
            case ast.Name(name), (ast.List() | ast.Tuple() as value) if len(value.elts) < _LONGEST_TABLE:
                self.lists[name] = value
        return node

    visit_AnnAssign = visit_NamedExpr = visit_Assign

    def visit_Name(self, node: ast.Name) -> ast.AST:
        value = self.names.get(node.id, node) if isinstance(node.ctx, ast.Load) else node
        self.left -= len(str(value.value)) if isinstance(value, ast.Constant) else 0
        return value if self.left > 0 else node

    def visit_BinOp(self, node: ast.BinOp) -> ast.AST:
        self.generic_visit(node)
        try:
            left, right = ast.literal_eval(node.left), ast.literal_eval(node.right)
            if isinstance(left, str) == isinstance(right, str) and isinstance(left, str | int | float):
                value = _OPERATORS[type(node.op)](left, right)
                small = len(value) < _LONGEST_TEXT if isinstance(value, str) else abs(value) < _LARGEST
                return ast.Constant(value) if small else node
        except (ValueError, TypeError, ArithmeticError, LookupError):
            pass
        return node

    def visit_JoinedStr(self, node: ast.JoinedStr) -> ast.AST:
        self.generic_visit(node)
        parts = [each.value if isinstance(each, ast.FormattedValue) else each for each in node.values]
        texts = [str(each.value) for each in parts if isinstance(each, ast.Constant)]
        return ast.Constant("".join(texts)) if len(texts) == len(parts) else node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        match node:
            case ast.Subscript(
                ast.Constant(str(text)), ast.Slice(None, None, ast.UnaryOp(ast.USub(), ast.Constant(1)))
            ):
                return ast.Constant(text[::-1])
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        try:
            return self._fold_call(node)
        except (ValueError, TypeError, binascii.Error):
            return node

    def _fold_call(self, node: ast.Call) -> ast.AST:
        match node:
            case ast.Call(ast.Name("getattr"), [owner, ast.Constant(str(name))]) if name.isidentifier():
                return ast.Attribute(owner, name, ast.Load())
            case ast.Call(ast.Name("zip"), columns):
                lists = (self.lists.get(each.id, each) if isinstance(each, ast.Name) else each for each in columns)
                return ast.Name(repr([*zip(*map(ast.literal_eval, lists), strict=False)]))
            case ast.Call(ast.Name("map"), [ast.Name("chr"), codes]) | ast.Call(ast.Name("bytes"), [codes]):
                return ast.List([ast.Constant(chr(code)) for code in ast.literal_eval(codes)], ast.Load())
            case ast.Call(_, [ast.GeneratorExp(ast.Call(ast.Name("chr")), [ast.comprehension(iter=codes)])]):
                return ast.Constant("".join(map(chr, ast.literal_eval(codes))))
            case ast.Call(ast.Attribute(ast.Constant(str(separator)), "join"), [texts]):
                return ast.Constant(separator.join(ast.literal_eval(texts)))
            case ast.Call(ast.Attribute(ast.List() as letters, "decode"), []):
                return ast.Constant("".join(ast.literal_eval(letters)))
            case ast.Call(ast.Attribute(ast.Constant(str() as text), name), given) if name in _METHODS:
                arguments = [value for each in given if len(value := str(ast.literal_eval(each))) < _LONGEST_ARGUMENT]
                return ast.Constant(text if name == "decode" else getattr(text, name)(*arguments))
            case ast.Call(function, [ast.Constant(str() | bytes() as coded)]):
                name = ast.unparse(function).rpartition(".")[2]
                return ast.Constant(_DECODERS[name](coded).decode()) if name in _DECODERS else node
        return node
