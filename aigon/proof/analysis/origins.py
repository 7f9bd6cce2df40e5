"""Where values of a Python file come from: which names hold something of the process that the code runs in."""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from aigon.proof.analysis.python import Module

Origin = Literal["modules", "argv", "env", "stack", "main"]

_SOURCES: tuple[tuple[Origin, re.Pattern[str]], ...] = (
    ("modules", re.compile(r"sys\.modules\b|importlib\.sys\.modules\b")),
    ("argv", re.compile(r"sys\.(orig_)?argv\b|psutil\.Process\(\)\.(cmdline|name|parent)")),
    ("env", re.compile(r"os\.(environb?|getenvb?)\b")),
    ("main", re.compile(r"__main__\.|__main__$")),
    (
        "stack",
        re.compile(
            r"inspect\.(stack|currentframe|getouterframes|getframeinfo)\b|sys\.(_getframe|_current_frames)"
            r"|traceback\.(extract_stack|walk_stack|format_stack|StackSummary)"
        ),
    ),
)
_LOSES = re.compile(r"(^|[._])(parse\w*|loads?|main|run|call|Popen|int|len)(\(\))?$")
"""Functions whose answer is no longer what they were given."""


@dataclass(frozen=True, slots=True)
class Origins:
    """The origins of a module's names, by the name."""

    module: Module
    names: Mapping[str, frozenset[Origin]]

    def of(self, node: ast.AST) -> frozenset[Origin]:
        """What of the process an expression holds or is made of."""
        return frozenset().union(*(self._own(each) for each in _flowing(node, self.module)))

    def _own(self, node: ast.AST) -> frozenset[Origin]:
        if isinstance(node, ast.Constant):
            is_proc = isinstance(node.value, str) and re.match(r"/proc/.*/(cmdline|comm|exe)", node.value)
            return frozenset({"argv"}) if is_proc else frozenset()
        if not isinstance(node, (ast.Name, ast.Attribute, ast.Call)):
            return frozenset()
        name = self.module.name(node)
        direct = frozenset(origin for origin, pattern in _SOURCES if pattern.match(name))
        return direct | self.names.get(name.removesuffix("()"), frozenset())


def origins(module: Module) -> Origins:
    """Follows values through assignments, loops, returns and the parameters of the module's own functions."""
    names: dict[str, frozenset[Origin]] = {}
    known = Origins(module, names)
    nodes = [n for n in module.nodes if isinstance(n, _FLOWS)]
    functions = {n.name: n for n in nodes if isinstance(n, _FUNCTIONS)}
    for _ in range(3):
        before = len(names)
        for node in nodes:
            for target, value in _flows(node, functions):
                found = known.of(value)
                if found:
                    names[target] = names.get(target, frozenset()) | found
        if len(names) == before:
            break
    return known


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_FLOWS = (
    *_FUNCTIONS,
    ast.Assign,
    ast.AnnAssign,
    ast.AugAssign,
    ast.NamedExpr,
    ast.For,
    ast.comprehension,
    ast.Call,
    ast.withitem,
)

Function = ast.FunctionDef | ast.AsyncFunctionDef


def _flowing(node: ast.AST, module: Module) -> Iterator[ast.AST]:
    """The parts of an expression whose value is still in its own."""
    todo = [node]
    while todo:
        each = todo.pop()
        if isinstance(each, ast.Call) and _LOSES.search(module.name(each.func)):
            continue
        yield each
        todo += ast.iter_child_nodes(each)


def _flows(node: ast.AST, functions: Mapping[str, Function]) -> Iterator[tuple[str, ast.AST]]:
    """The names that an element gives a value to, and that value."""
    if isinstance(node, (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr)) and node.value is not None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        yield from ((name, node.value) for target in targets for name in _names(target))
    elif isinstance(node, (ast.For, ast.comprehension)):
        yield from ((name, node.iter) for name in _names(node.target))
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        yield from ((name, node.context_expr) for name in _names(node.optional_vars))
    elif isinstance(node, _FUNCTIONS):
        returned = [n.value for n in ast.walk(node) if isinstance(n, ast.Return) and n.value is not None]
        yield from ((node.name, value) for value in returned)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in functions:
        parameters = functions[node.func.id].args.args
        yield from ((parameter.arg, value) for parameter, value in zip(parameters, node.args, strict=False))


def _names(target: ast.AST) -> list[str]:
    return [node.id for node in ast.walk(target) if isinstance(node, ast.Name)]
