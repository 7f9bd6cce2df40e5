"""Where Python code ends the process, and whether that happens on import."""

import ast
import re
from collections.abc import Iterator

from aigon.model.changes import ConcernLevel
from aigon.proof.integrity._fold import fold
from aigon.proof.integrity._fold_calls import UNKNOWN
from aigon.proof.integrity._languages import is_script
from aigon.proof.integrity._python import Module, units
from aigon.proof.integrity._sightings import Sighting

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_EXIT = re.compile(r"(sys\.)?exit|quit|builtins\.(exit|quit)|SystemExit|builtins\.SystemExit|site\.(exit|quit)")
_REPLACES = re.compile(
    r"os\.(execv|execve|execvp|execvpe|execl|execle|execlp|execlpe|abort|kill|killpg)|signal\.raise_signal"
)
_FOREIGN = re.compile(r"(ctypes\.(CDLL|cdll|PyDLL|pythonapi).*|libc.*)\.(_exit|exit|_Exit|quick_exit|Py_Exit|kill)$")


def exits(path: str, source: str) -> Iterator[Sighting]:
    """Every place."""
    for module in units(source):
        forks = {id(f) for f in module.nodes if isinstance(f, _FUNCTIONS) and _forks(f, module)}
        leaving = {f.name for f in module.tree.body if isinstance(f, ast.FunctionDef) and _leaves(f, module)}
        for node, functions in _walk(module.tree, ()):
            seen = _hard(node, module, any(id(f) in forks for f in functions))
            if seen is None and not functions:
                seen = _on_import(node, module, leaving, script=is_script(path) or source.startswith("#!"))
            if seen:
                yield Sighting(module.line(node), module.text(node), *seen)


def _walk(node: ast.AST, functions: tuple[ast.AST, ...]) -> Iterator[tuple[ast.AST, tuple[ast.AST, ...]]]:
    """Every node with the functions around it; what runs only when the file is the program is left out."""
    todo: list[tuple[ast.AST, tuple[ast.AST, ...]]] = [(node, functions)]
    while todo:
        each, around = todo.pop()
        yield each, around
        if isinstance(each, ast.If) and _is_main(each.test):
            todo += [(child, (*around, each)) for child in each.body]
            todo += [(child, around) for child in each.orelse]
        elif isinstance(each, _FUNCTIONS):
            body = each.body if isinstance(each.body, list) else [each.body]
            todo += [(child, (*around, each)) for child in body]
            todo += [(child, around) for child in [*getattr(each, "decorator_list", []), each.args]]
        else:
            todo += [(child, around) for child in ast.iter_child_nodes(each)]


def _is_main(test: ast.AST) -> bool:
    """Whether it is `__name__ == "__main__"` and nothing that is true on import as well."""
    if not (isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], ast.Eq)):
        return False
    sides = [test.left, *test.comparators]
    return {getattr(s, "id", getattr(s, "value", "")) for s in sides} == {"__name__", "__main__"}


def _hard(node: ast.AST, module: Module, forked: bool) -> tuple[str, ConcernLevel] | None:
    """What ends the process past every handler, wherever it stands."""
    if not isinstance(node, (ast.Name, ast.Attribute, ast.Call)):
        return None
    name = module.name(node)
    if name == "os._exit":
        return ("ends a forked process", "note") if forked else ("ends the process past every handler", "review")
    if _FOREIGN.match(name):
        return "ends the process by a function of the C library", "review"
    return None


def _on_import(node: ast.AST, module: Module, leaving: set[str], script: bool) -> tuple[str, ConcernLevel] | None:
    if isinstance(node, ast.Raise) and node.exc is not None and not isinstance(node.exc, ast.Call):
        return ("ends the program when it is imported", "review") if _EXIT.fullmatch(module.name(node.exc)) else None
    if not isinstance(node, ast.Call):
        return None
    name = module.name(node.func)
    level: ConcernLevel = "note" if script else "review"
    if (_EXIT.fullmatch(name) and _may_be_success(node, module)) or name in leaving:
        return "ends the program when it is imported", level
    return ("sends the process away when it is imported", "review") if _REPLACES.fullmatch(name) else None


def _may_be_success(call: ast.Call, module: Module) -> bool:
    """Whether the status may be 0: an import that fails says so by itself."""
    if not call.args:
        return True
    status = fold(call.args[0], module.values)
    return status is UNKNOWN or status is None or (isinstance(status, int) and status == 0)


def _leaves(function: ast.AST, module: Module) -> bool:
    """Whether a function of the module can end the program with success."""
    return any(
        isinstance(n, ast.Call) and _EXIT.fullmatch(module.name(n.func)) and _may_be_success(n, module)
        for n in ast.walk(function)
    )


def _forks(function: ast.AST, module: Module) -> bool:
    return any(isinstance(n, ast.Call) and module.name(n.func) in ("os.fork", "os.forkpty") for n in ast.walk(function))
