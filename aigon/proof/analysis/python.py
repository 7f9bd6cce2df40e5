"""The dotted name that an expression of Python stands for, whatever it is called here."""

import ast
import warnings
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from aigon.proof.analysis.folding import fold, text
from aigon.proof.analysis.languages import LONGEST
from aigon.proof.analysis.text import line_of


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


_STARRED = {
    "sys": ("modules", "argv", "exit", "_getframe", "orig_argv"),
    "os": ("_exit", "environ", "getenv", "environb", "kill", "getpid", "execv", "execve", "execvp", "execl"),
    "inspect": ("stack", "currentframe"),
}
"""What `from X import *` brings of what rules ask for."""

_SIMPLE = (ast.Name, ast.Attribute, ast.Call, ast.Subscript)


@dataclass(frozen=True, slots=True)
class Module:
    """`nodes` are all of the tree. `aliases` are the dotted names that names stand for, `values` the constants."""

    tree: ast.Module
    nodes: tuple[ast.AST, ...]
    source: str
    aliases: Mapping[str, str]
    values: Mapping[str, Any]

    def line(self, node: ast.AST) -> int:
        """The line that a node begins on, from 1."""
        return getattr(node, "lineno", 1)

    def text(self, node: ast.AST) -> str:
        """That line."""
        return line_of(self.source, self.line(node))

    def name(self, node: ast.AST) -> str:
        """`os.environ` for whatever stands for it here; "" for what is no name."""
        return dotted(node, self.aliases, self.values)


@lru_cache(maxsize=256)
def read(source: str) -> Module | None:
    """The file, or None where this Python cannot read it: it is no Python, is newer, too long or too deep."""
    tree = _parsed(source)
    if tree is None:
        return None
    values: dict[str, Any] = {}
    aliases: dict[str, str] = {}
    nodes = tuple(ast.walk(tree))
    for _ in range(2):  # a name may stand for a name that is given further down
        for node in nodes:
            _learn(node, aliases, values)
    return Module(tree, nodes, source, aliases, values)


def units(source: str, depth: int = 0) -> Iterator[Module]:
    """The file, and the code in it that is a constant given to exec, eval or compile."""
    module = read(source)
    if module is None:
        return
    yield module
    inside = 0
    for node in module.nodes if depth < 2 else ():
        if inside > _MOST:
            return
        if isinstance(node, ast.Call) and node.args and module.name(node.func).split(".")[-1] in _RUNS:
            inner = fold(node.args[0], module.values)
            if isinstance(inner, (str, bytes)) and len(inner) > 3:
                inside += 1
                yield from units(text(inner), depth + 1)


_MOST = 20
"""Texts with code that are read of one file."""
_RUNS = ("exec", "eval", "compile", "runsource", "runcode")


def _parsed(source: str) -> ast.Module | None:
    if len(source) > LONGEST:
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _learn(node: ast.AST, aliases: dict[str, str], values: dict[str, Any]) -> None:
    if isinstance(node, ast.Import):
        for each in node.names:
            aliases[each.asname or each.name.partition(".")[0]] = (
                each.name if each.asname else each.name.partition(".")[0]
            )
    elif isinstance(node, ast.ImportFrom):
        _learn_from(node, aliases)
    elif isinstance(node, (ast.Assign, ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            if isinstance(target, ast.Name):
                _learn_name(target.id, node.value, aliases, values)


def _learn_from(node: ast.ImportFrom, aliases: dict[str, str]) -> None:
    for each in node.names:
        if each.name == "*":
            aliases.update({name: f"{node.module}.{name}" for name in _STARRED.get(node.module or "", ())})
        else:
            aliases[each.asname or each.name] = f"{'.' * node.level}{node.module or ''}.{each.name}"


def _learn_name(name: str, value: ast.expr, aliases: dict[str, str], values: dict[str, Any]) -> None:
    constant = fold(value, values)
    if isinstance(constant, (str, bytes, int, float, list, tuple, dict)):
        values[name] = constant
    elif isinstance(value, _SIMPLE):
        stands_for = dotted(value, aliases, values)
        if stands_for and stands_for.split(".")[0].removesuffix("()") != name:
            aliases[name] = stands_for[:200]
