"""The code behind `python -c`: whether it edits something, and whether it only imports, calls and asserts."""

import ast
import re
from collections.abc import Iterator

from aigon.compile.rules.words import word_set

_ARE_FINE = word_set(
    "math cmath json re inspect unittest dataclasses typing decimal fractions datetime collections itertools functools "
    "string statistics textwrap enum abc operator numbers"
)
_STATEMENTS = (ast.Import, ast.ImportFrom, ast.Assert, ast.Expr, ast.Pass)
_REACH_OUT = word_set(
    "exec eval open compile input breakpoint globals locals vars setattr delattr getattr __import__ exit quit"
)
_DUNDERS = word_set("__all__ __version__ __doc__ __name__ __annotations__")
_CHANGES = re.compile(
    r"(?:^|_)(?:reset|delete|del|drop|remove|rm|write|save|store|send|post|put|patch|deploy|publish|install|create|make"
    r"|init|migrate|sync|push|upload|clean|clear|purge|kill|stop|start|run|main|serve|update|insert|commit|move|rename"
    r"|unlink|truncate|flush|download|fetch|request|execute|call|exec|system|spawn|popen|rmtree|mkdir|touch)(?:_|$)",
    re.IGNORECASE,
)
"""Parts of names that functions have which do more than compute."""
_SNAKE = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_EDITING = word_set(
    "remove unlink rmtree rmdir removedirs rename replace write_text write_bytes mkdir makedirs touch symlink "
    "hardlink copy copy2 copyfile copytree move system popen run call check_call check_output Popen execv execvp "
    "chmod chown truncate urlopen urlretrieve"
)
_MODULES_OF = {"replace": ("os", "shutil"), "run": ("subprocess",), "call": ("subprocess",), "copy": ("shutil",)}


def snippet_edits(code: str) -> str:
    """What `code` would change or start, as far as its calls tell; empty for nothing that shows."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError):
        return ""  # it fails before it does anything
    return next((f"`{name}`" for name in _edits(tree)), "")


def snippet_looks(code: str, own: frozenset[str]) -> bool:
    """Whether it only imports harmless modules or the project's `own`, calls functions that compute, and asserts."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError):
        return False
    return all(isinstance(each, _STATEMENTS) for each in tree.body) and all(_calm(n, own) for n in ast.walk(tree))


def _edits(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = _name(node.func)
            owner = _name(node.func.value) if isinstance(node.func, ast.Attribute) else ""
            if name == "open" and _mode(node):
                yield "open(..., to write)"
            if name in _EDITING and (name not in _MODULES_OF or owner in _MODULES_OF[name]):
                yield name


def _mode(call: ast.Call) -> bool:
    """Whether an `open` writes; a mode that is computed may."""
    first = 0 if isinstance(call.func, ast.Attribute) else 1
    given = [*call.args[first : first + 1], *(k.value for k in call.keywords if k.arg == "mode")]
    texts = [str(each.value) if isinstance(each, ast.Constant) else "w" for each in given]
    return any(set(text) & set("wax+") for text in texts)


def _calm(node: ast.AST, own: frozenset[str]) -> bool:
    if isinstance(node, ast.Import):
        return all(_known(alias.name, own) for alias in node.names)
    if isinstance(node, ast.ImportFrom):
        return not node.level and _known(node.module or "", own)
    if isinstance(node, ast.Attribute):
        return not node.attr.startswith("__") or node.attr in _DUNDERS
    if isinstance(node, ast.Name):
        return node.id not in _REACH_OUT
    if isinstance(node, ast.Call):  # what is handed over may be called there
        return not any(_CHANGES.search(_SNAKE.sub("_", _name(each))) for each in (node.func, *node.args))
    return True


def _known(module: str, own: frozenset[str]) -> bool:
    top = module.partition(".")[0]
    return top in _ARE_FINE or top in own


def _name(function: ast.expr) -> str:
    """The last part of what is called: `write_text` of `Path("x").write_text`."""
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""
