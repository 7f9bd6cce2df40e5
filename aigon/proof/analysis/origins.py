"""Where values of a Python file come from: which names hold something of the process that the code runs in."""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from aigon.proof.analysis.python import Module

Origin = Literal["modules", "argv", "env", "stack", "main"]

_SOURCES: dict[Origin, str] = {
    "modules": r"sys\.modules\b|importlib\.sys\.modules\b",
    "argv": r"sys\.(orig_)?argv\b|psutil\.Process\(\)\.(cmdline|name|parent)",
    "env": r"os\.(environb?|getenvb?)\b",
    "main": r"__main__\.|__main__$",
    "stack": r"inspect\.(stack|currentframe|getouterframes|getframeinfo)\b|sys\.(_getframe|_current_frames)"
    r"|traceback\.(extract_stack|walk_stack|format_stack|StackSummary)",
}
_LOSES = re.compile(r"(^|[._])(parse\w*|loads?|main|run|call|Popen|int|len)(\(\))?$")
"""Functions whose answer is no longer what they were given."""
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_ASSIGNS = (ast.Assign, ast.AnnAssign, ast.AugAssign, ast.NamedExpr)
_FLOWS = (*_FUNCTIONS, *_ASSIGNS, ast.For, ast.comprehension, ast.Call, ast.withitem)

Function = ast.FunctionDef | ast.AsyncFunctionDef


@dataclass(frozen=True, slots=True)
class Origins:
    """The origins of a module's names, by the name."""

    module: Module
    names: Mapping[str, frozenset[Origin]]

    def find(self, node: ast.AST) -> frozenset[Origin]:
        """Return what of the process an expression holds or is made of."""
        origins: set[Origin] = set()
        todo = [node]
        while todo:
            part = todo.pop()
            if isinstance(part, ast.Call) and _LOSES.search(self.module.name(part.func)):
                continue
            if isinstance(part, ast.Constant) and isinstance(part.value, str):
                if re.match(r"/proc/.*/(cmdline|comm|exe)", part.value):
                    origins.add("argv")
            elif isinstance(part, (ast.Name, ast.Attribute, ast.Call)):
                name = self.module.name(part)
                origins |= {origin for origin, pattern in _SOURCES.items() if re.match(pattern, name)}
                origins |= self.names.get(name.removesuffix("()"), frozenset())
            todo += ast.iter_child_nodes(part)
        return frozenset(origins)


def trace_origins(module: Module) -> Origins:
    """Follow values through assignments, loops, returns and the parameters of the module's own functions."""
    names: dict[str, frozenset[Origin]] = {}
    known = Origins(module, names)
    nodes = [n for n in module.nodes if isinstance(n, _FLOWS)]
    functions = {n.name: n for n in nodes if isinstance(n, _FUNCTIONS)}
    for _ in range(3):
        before = len(names)
        for node in nodes:
            for target, value in _list_flows(node, functions):
                if found := known.find(value):
                    names[target] = names.get(target, frozenset()) | found
        if len(names) == before:
            break
    return known


def _list_flows(node: ast.AST, functions: Mapping[str, Function]) -> Iterator[tuple[str, ast.AST]]:
    """Yield the names that an element gives a value to, and that value."""
    targets: list[ast.expr] = []
    value: ast.AST | None = None
    if isinstance(node, _ASSIGNS):
        targets, value = node.targets if isinstance(node, ast.Assign) else [node.target], node.value
    elif isinstance(node, (ast.For, ast.comprehension)):
        targets, value = [node.target], node.iter
    elif isinstance(node, ast.withitem) and node.optional_vars is not None:
        targets, value = [node.optional_vars], node.context_expr
    elif isinstance(node, _FUNCTIONS):
        returned = [n.value for n in ast.walk(node) if isinstance(n, ast.Return) and n.value is not None]
        yield from ((node.name, each) for each in returned)
    elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in functions:
        parameters = functions[node.func.id].args.args
        yield from ((parameter.arg, each) for parameter, each in zip(parameters, node.args, strict=False))
    if value is not None:
        yield from ((n.id, value) for target in targets for n in ast.walk(target) if isinstance(n, ast.Name))
