"""Find out whether a type checker looks at the code of a change: a wrong type planted there has to be reported.

Code can be hidden from it in many ways: a branch that it takes for dead, a stub next to the module, a setting for one
file. None of them has to be known to see that a plant is missing in what is reported.
"""

import ast
import sys
from collections.abc import Iterator

from msgspec import Struct, field

MOST = 50
"""Functions of one file in which something is planted."""
_INSIDE = 'aigon_planted: int = ""'
_BESIDE = 'def aigon_planted_{}({}) -> int: return ""'
_PLATFORM = ("platform", "version_info")
"""What both checkers and interpreters decide by: code for another platform or version does not run here either."""
_Function = ast.FunctionDef | ast.AsyncFunctionDef


class Planted(Struct):
    """A text with plants. `functions` are the names of what they are in, by line; other lines have moved down."""

    text: str
    functions: dict[int, str] = field(default_factory=dict)

    def find_line(self, line: int) -> int:
        """Return the number of a line before anything was planted; 0 for a plant."""
        return 0 if line in self.functions else line - sum(planted < line for planted in self.functions)


def plant(text: str, base: str) -> Planted:
    """Return the text with a wrong type in or next to each function that `base` lacks, or that differs there."""
    try:
        known = {ast.dump(node) for node in ast.walk(ast.parse(base)) if isinstance(node, _Function)}
        tree = ast.parse(text)
        wanted = [each for each in _list_functions(tree, "") if ast.dump(each[0]) not in known][:MOST]
    except (SyntaxError, ValueError, RecursionError):
        return Planted(text)
    lines, planted = text.split("\n"), Planted("")
    places = sorted(((*_find_place(node, owner, n), node.name) for n, (node, owner) in enumerate(wanted)))
    for moved, (line, content, name) in enumerate(places):
        lines.insert(line - 1 + moved, content)
        planted.functions[line + moved] = name
    planted.text = "\n".join(lines)
    return planted


def plant_at_end(text: str) -> Planted:
    """Return the text with one wrong type in a function of its own."""
    lines = text.rstrip("\n").split("\n")
    return Planted("\n".join([*lines, _BESIDE.format(0, ""), ""]), {len(lines) + 1: "aigon_planted"})


def _list_functions(node: ast.AST, owner: str) -> Iterator[tuple[_Function, str]]:
    """Yield the functions that are in no other one, with the class that they are in."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _Function):
            yield child, owner
        elif isinstance(child, ast.If):
            yield from _list_functions(ast.Module(_list_running(child), []), owner)
        else:
            yield from _list_functions(child, child.name if isinstance(child, ast.ClassDef) else owner)


def _list_running(branch: ast.If) -> list[ast.stmt]:
    """Return the statements that can run on this platform: none if what they depend on is not known."""
    match branch.test:
        case ast.Compare(ast.Attribute(attr="platform"), [ast.Eq()], [ast.Constant(str(name))]):
            return branch.body if sys.platform == name else branch.orelse
        case ast.Compare(ast.Attribute(attr="platform"), [ast.NotEq()], [ast.Constant(str(name))]):
            return branch.body if sys.platform != name else branch.orelse
        case ast.Call(ast.Attribute(ast.Attribute(attr="platform"), "startswith"), [ast.Constant(str(name))]):
            return branch.body if sys.platform.startswith(name) else branch.orelse
    is_unknown = any(name in ast.dump(branch.test) for name in _PLATFORM)
    return [] if is_unknown else [*branch.body, *branch.orelse]


def _find_place(node: _Function, owner: str, number: int) -> tuple[int, str]:
    """Return the line before which to plant, and what."""
    first = node.body[0]
    if ast.get_docstring(node, clean=False) is not None and len(node.body) > 1:
        first = node.body[1]
    arguments = node.args
    everything = (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs)
    # Checkers may leave the body of a function without annotations alone: then what is beside it tells.
    annotated = node.returns is not None or any(each.annotation for each in everything)
    if annotated and first.lineno > node.lineno:
        start = min([first.lineno, *(each.lineno for each in getattr(first, "decorator_list", []))])
        return start, " " * first.col_offset + _INSIDE
    start = min([node.lineno, *(each.lineno for each in node.decorator_list)])
    return start, " " * node.col_offset + _BESIDE.format(number, "self" if owner else "")
