"""A file of Python with what its names stand for, whatever they are called there."""

import ast
import copy
import re
import warnings
from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from msgspec import Struct

from aigon.proof.analysis.folding import decode_text, fold
from aigon.proof.analysis.languages import LONGEST, is_python, line_of

_STARRED = {
    "sys": ("modules", "argv", "_getframe", "orig_argv"),
    "os": ("environ", "getenv", "environb"),
    "inspect": ("stack", "currentframe"),
}
"""What `from X import *` brings of what rules ask for."""
_SIMPLE = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)
_MOST = 20
"""Texts with code that are read of one file."""
_LONGEST_TEXT = 5000
_BODIES = ("finalbody", "orelse", "handlers", "cases", "body")
_RUNS = ("exec", "eval", "compile", "runsource", "runcode")


Statement = tuple[int, str]
"""The line of a statement, and how it is written with names resolved and texts put together."""


class Module(Struct, frozen=True):
    """`nodes` are all of the tree. `aliases` are the dotted names that names stand for, `values` the constants."""

    tree: ast.Module
    nodes: tuple[ast.AST, ...]
    source: str
    aliases: dict[str, str]
    values: dict[str, Any]

    def line(self, node: ast.AST) -> int:
        """Return the line that a node begins on, from 1."""
        return getattr(node, "lineno", 1)

    def text(self, node: ast.AST) -> str:
        """Return that line."""
        return line_of(self.source, self.line(node))

    def fold(self, node: ast.AST | None) -> Any:
        """Return the constant that an expression comes to, or UNKNOWN."""
        return fold(node, self.values)

    def name(self, node: ast.AST, depth: int = 0) -> str:
        """Return `os.environ` for whatever stands for it here; "" for what is no name.

        A call adds `()`, a subscript that is no plain name `[]`.
        """
        if depth > 20:
            return ""
        match node:
            case ast.Name():
                return self.aliases.get(node.id, node.id)
            case ast.Attribute():
                owner = self.name(node.value, depth + 1)
                return f"{owner}.{node.attr}" if owner else ""
            case ast.Subscript():
                return self._name_item(self.name(node.value, depth + 1), self.fold(node.slice))
            case ast.Call():
                return self._name_call(node, depth)
        return ""

    def _name_call(self, node: ast.Call, depth: int) -> str:
        function = self.name(node.func, depth + 1)
        arguments = [self.fold(each) for each in node.args[:2]]
        last = function.split(".")[-1]
        if last in ("getattr", "attrgetter") and len(arguments) == 2 and isinstance(arguments[1], str):
            return f"{self.name(node.args[0], depth + 1)}.{arguments[1]}"
        if last == "vars" and node.args:
            return f"{self.name(node.args[0], depth + 1)}.__dict__"
        imports = last in ("__import__", "import_module")
        gets = function in ("sys.modules.get", "sys.modules.__getitem__")
        if (imports or gets) and arguments and isinstance(arguments[0], str):
            return arguments[0]
        return f"{function}()" if function else ""

    def _name_item(self, owner: str, key: Any) -> str:
        if isinstance(key, str) and owner == "sys.modules":
            return key
        if isinstance(key, str) and owner in ("globals()", "__builtins__"):
            return self.aliases.get(key, key)
        if isinstance(key, str) and owner.endswith(".__dict__"):
            return f"{owner.removesuffix('.__dict__')}.{key}"
        return f"{owner}[]" if owner else ""

    def _learn(self, node: ast.AST) -> None:
        """Take up what an import or an assignment says about a name."""
        if isinstance(node, ast.Import):
            for each in node.names:
                top = each.name.partition(".")[0]
                self.aliases[each.asname or top] = each.name if each.asname else top
        elif isinstance(node, ast.ImportFrom):
            for each in node.names:
                if each.name == "*":
                    starred = _STARRED.get(node.module or "", ())
                    self.aliases.update({name: f"{node.module}.{name}" for name in starred})
                else:
                    self.aliases[each.asname or each.name] = f"{'.' * node.level}{node.module or ''}.{each.name}"
        elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
            for target in node.targets if isinstance(node, ast.Assign) else [node.target]:
                if isinstance(target, ast.Name):
                    self._learn_name(target.id, node.value)

    def _learn_name(self, name: str, value: ast.expr) -> None:
        constant = self.fold(value)
        if isinstance(constant, (str, bytes, int, float, list, tuple, dict)):
            self.values[name] = constant
        elif isinstance(value, _SIMPLE):
            stands_for = self.name(value)
            if stands_for and stands_for.split(".")[0].removesuffix("()") != name:
                self.aliases[name] = stands_for[:200]


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
def read_module(source: str) -> Module | None:
    """Return the file, or None if this Python cannot read it."""
    tree = parse_python(source)
    if tree is None:
        return None
    module = Module(tree, tuple(ast.walk(tree)), source, {}, {})
    for _ in range(2):  # a name may stand for a name that is given further down
        for node in module.nodes:
            module._learn(node)
    return module


def can_read(path: str, text: str) -> bool:
    """Return whether it is Python that can be read by its syntax tree."""
    return is_python(path) and read_module(text) is not None


def read_units(source: str, depth: int = 0) -> Iterator[Module]:
    """Yield the file, and the code in it that is a constant given to exec, eval or compile."""
    module = read_module(source)
    if module is None:
        return
    yield module
    inside = 0
    for node in module.nodes if depth < 2 else ():
        if inside > _MOST:
            return
        if isinstance(node, ast.Call) and node.args and module.name(node.func).split(".")[-1] in _RUNS:
            inner = module.fold(node.args[0])
            if isinstance(inner, (str, bytes)) and len(inner) > 3:
                inside += 1
                yield from read_units(decode_text(inner), depth + 1)


def list_statements(source: str) -> Iterator[Statement]:
    """Yield each statement of a file and of the code in its texts, without the statements inside of it."""
    for module in read_units(source):
        todo: list[ast.AST] = [*reversed(module.tree.body)]
        while todo:
            node = todo.pop()
            is_text = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            if isinstance(node, (ast.stmt, ast.match_case)) and not is_text:
                line = node.pattern.lineno if isinstance(node, ast.match_case) else module.line(node)
                yield line, _write_statement(node, module)
            for name in _BODIES:
                todo += reversed(getattr(node, name, ()))


def _write_statement(statement: ast.stmt | ast.match_case, module: Module) -> str:
    if isinstance(statement, ast.Try | ast.TryStar):
        return "try:"
    head = copy.copy(statement)
    for name in _BODIES:
        if getattr(head, name, None):
            setattr(head, name, [ast.Pass()] if name == "body" else [])
    try:
        return ast.unparse(_Plain(module).visit(copy.deepcopy(head))).replace("\n", " ")
    except (RecursionError, ValueError, TypeError, AttributeError):
        return module.text(statement)


class _Plain(ast.NodeTransformer):
    """Put texts in the place of what comes to them, and dotted names in the place of names that stand for them."""

    def __init__(self, module: Module) -> None:
        self.module = module

    def visit(self, node: ast.AST) -> Any:
        if isinstance(node, (ast.JoinedStr, ast.BinOp, ast.Call, ast.Subscript, ast.Name)):
            value = self.module.fold(node)
            if isinstance(value, (str, bytes)):
                return ast.Constant(decode_text(value)[:_LONGEST_TEXT])
            if isinstance(node, (ast.BinOp, ast.Call)) and _is_small(value):
                return ast.Name(repr(value))
        if isinstance(node, (ast.Name, ast.Call, ast.Subscript)) and not isinstance(getattr(node, "ctx", 0), ast.Store):
            owner = node.func if isinstance(node, ast.Call) else getattr(node, "value", node)
            name = "" if self.module.name(owner).startswith("sys.modules.") else self.module.name(node)
            if isinstance(node, ast.Subscript) and self.module.name(owner) == "sys.modules":
                name = ""  # what is asked for has to stay visible
            if name and (isinstance(node, ast.Name) or re.fullmatch(r"[\w.]+", name)):
                return ast.Name(name)
        return self.generic_visit(node)


def _is_small(value: Any, most: int = 500) -> bool:
    """Return whether it is a number, or rows of a table that are not too many to be written."""
    if isinstance(value, (list, tuple)):
        return 0 < len(value) <= most and all(isinstance(each, str) or _is_small(each, 20) for each in value)
    return isinstance(value, (int, float))
