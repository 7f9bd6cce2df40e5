"""Assertions of each test of a Python file, in a form that a moved, split, joined or parametrised test shares.

`assert total(3, 4) == 7`, `self.assertEqual(total(3, 4), 7)` and `assert total(a, b) == c` with the row `(3, 4, 7)` are
one assertion. One under an `if` or in a loop that cannot be unrolled counts with its condition.
"""

import ast
from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from functools import lru_cache
from itertools import islice, product

from msgspec import Struct

from aigon.proof.analysis.python import parse_python

_MOST_ROWS = 1000
_MOST_STEPS = 20_000
"""Statements of one test that are gone through, over all rows. What a test with more asserts is unknown."""
_LARGEST = 2000
"""Nodes of an expression that is put in the place of its name."""
Names = Mapping[str, ast.expr]
Function = ast.FunctionDef | ast.AsyncFunctionDef


class AssertingTest(Struct, frozen=True):
    """A test function: the classes around it, its name, what it asserts, and its body word for word.

    `rows` is how often its parameters let it run; `asserts` is None if unknown.
    """

    classes: tuple[str, ...]
    name: str
    asserts: frozenset[str] | None
    body: str
    rows: int


@lru_cache(maxsize=256)
def read_tests(text: str) -> tuple[AssertingTest, ...]:
    """Return the tests of a file; none if this Python cannot read it."""
    tree = parse_python(text)
    if tree is None:
        return ()
    constants = {
        node.targets[0].id: node.value
        for node in tree.body
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name) and _is_constant(node.value)
    }
    try:
        return tuple(_read_test(test, classes, constants) for test, classes in list_test_functions(tree))
    except RecursionError:
        return ()


def list_test_functions(node: ast.AST, classes: tuple[str, ...] = ()) -> Iterator[tuple[Function, tuple[str, ...]]]:
    """Yield the test functions of a file or a class, with the classes around each."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, Function) and child.name.startswith("test"):
            yield child, classes
        elif isinstance(child, ast.ClassDef):
            yield from list_test_functions(child, (*classes, child.name))
        elif isinstance(child, (ast.If, ast.Try, ast.With)):
            yield from list_test_functions(child, classes)


def _read_test(test: Function, classes: tuple[str, ...], constants: Names) -> AssertingTest:
    tables = [table for mark in test.decorator_list if (table := _read_parameters(mark, constants)) is not None]
    rows = [dict(pair for row in chosen for pair in row.items()) for chosen in islice(product(*tables), _MOST_ROWS + 1)]
    walk = _Walk()
    found = {each for row in rows for each in walk.list_asserts(test.body, {**constants, **row}, "")}
    is_known = len(rows) <= _MOST_ROWS and walk.steps < _MOST_STEPS
    body = "\n".join([*map(_render, test.decorator_list), *map(ast.dump, _without_docstring(test.body))])
    return AssertingTest(classes, test.name, frozenset(found) if is_known else None, body, len(rows))


def _without_docstring(body: Sequence[ast.stmt]) -> Sequence[ast.stmt]:
    first = body[0]
    is_text = (
        isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str)
    )
    return body[1:] if is_text else body


def _read_parameters(mark: ast.expr, constants: Names) -> list[dict[str, ast.expr]] | None:
    """Return what `@pytest.mark.parametrize` gives the arguments, a mapping for each row; None for another mark."""
    if not isinstance(mark, ast.Call) or not _render(mark.func).endswith("parametrize"):
        return None
    given: dict[str | None, ast.expr] = dict(zip(("argnames", "argvalues"), mark.args, strict=False))
    given |= {keyword.arg: keyword.value for keyword in mark.keywords}
    listed, values = given.get("argnames"), _list_items(given.get("argvalues"), constants)
    names = [each.value for each in getattr(listed, "elts", [listed]) if isinstance(each, ast.Constant)]
    if isinstance(listed, ast.Constant):
        names = [name.strip() for name in str(listed.value).split(",") if name.strip()]
    rows = []
    for value in values or ():
        parts: Sequence[ast.expr] = getattr(value, "elts", [value]) if len(names) > 1 else [value]
        if isinstance(value, ast.Call) and _render(value.func).endswith("param"):
            if any(keyword.arg == "marks" for keyword in value.keywords):
                continue
            parts = value.args
        rows.append(dict(zip(map(str, names), parts, strict=False)))
    return rows if values is not None else None


def _list_items(node: ast.expr | None, constants: Names) -> list[ast.expr] | None:
    """Return the expressions of a literal list or of a constant of the module that is one; None for anything else."""
    if isinstance(node, ast.Name):
        node = constants.get(node.id)
    return list(node.elts) if isinstance(node, ast.List | ast.Tuple | ast.Set) else None


def _is_constant(node: ast.expr) -> bool:
    if isinstance(node, ast.List | ast.Tuple | ast.Set):
        return True
    try:
        ast.literal_eval(node)
    except (ValueError, TypeError, RecursionError):
        return False
    return True


class _Substitution(ast.NodeTransformer):
    """Replace names by their values."""

    def __init__(self, names: Names) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.names.get(node.id, node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Return the call with `*(3, 4)` written out."""
        self.generic_visit(node)
        parts = ((a.value.elts if _is_written_out(a) else [a]) for a in node.args)  # type: ignore[attr-defined]
        node.args = [each for part in parts for each in part]
        return node


def _is_written_out(node: ast.expr) -> bool:
    return isinstance(node, ast.Starred) and isinstance(node.value, ast.List | ast.Tuple)


def _write(node: ast.AST, names: Names) -> str:
    return _render(_Substitution(names).visit(deepcopy(node)))


def _render(node: ast.AST) -> str:
    """Return a node as source, or as a dump: before 3.12 Python writes no f-string with a backslash in its braces."""
    try:
        return ast.unparse(node)
    except ValueError:
        return ast.dump(node)


_COMPARED: Mapping[str, ast.cmpop] = {
    f"assert{name}": getattr(ast, kind)()
    for name, kind in (
        *(("Equal", "Eq"), ("NotEqual", "NotEq"), ("Greater", "Gt"), ("GreaterEqual", "GtE"), ("Less", "Lt")),
        *(("LessEqual", "LtE"), ("Is", "Is"), ("IsNot", "IsNot"), ("In", "In"), ("NotIn", "NotIn")),
    )
}
"""unittest's way to write a comparison."""


class _Walk:
    """One way through a test, row by row."""

    def __init__(self) -> None:
        self.steps = 0

    def list_asserts(self, body: Sequence[ast.stmt], names: Names, when: str) -> Iterator[str]:
        """Yield what these statements assert and call, each with the condition `when` it does so."""
        known = dict(names)
        for statement in body:
            self.steps += 1
            if self.steps >= _MOST_STEPS or isinstance(statement, ast.Return | ast.Raise | ast.Break | ast.Continue):
                return
            match statement:
                case (
                    ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name), value=ast.expr())
                ):
                    value = statement.value
                    assert value is not None, "the pattern says so"
                    meant = _Substitution(known).visit(deepcopy(value))
                    is_small = sum(1 for _ in islice(ast.walk(meant), _LARGEST)) < _LARGEST
                    known[name] = meant if is_small else ast.Name(name)
                case ast.Assert():
                    yield from (f"{when}{_write(each, known)}" for each in _split(statement.test))
                case ast.Expr(value=ast.Call() as call):
                    yield f"{when}{_write(_read_call(call), known)}"
                case ast.For(target=target) if (items := _list_items(statement.iter, known)) is not None:
                    for item in items:
                        yield from self.list_asserts(statement.body, {**known, **_bind(target, item)}, when)
                case ast.With() | ast.AsyncWith():
                    yield from self._read_with(statement, known, when)
                case ast.Expr(value=ast.Constant()):
                    pass
                case _:
                    yield from self._read_block(statement, known, when)

    def _read_with(self, statement: ast.With | ast.AsyncWith, names: Names, when: str) -> Iterator[str]:
        """Yield what is expected to be raised, with what raises it, and what is asserted besides."""
        raises = [item for item in statement.items if _is_raises(item.context_expr)]
        inside = when
        for item in raises:
            call = item.context_expr
            assert isinstance(call, ast.Call), "what is asked for"
            arguments = ", ".join(_write(each, names) for each in (*call.args, *call.keywords))
            body = "; ".join(_write(each, names) for each in statement.body)
            yield f"{when}raises({arguments}): {body}"
        if len(raises) < len(statement.items):
            inside += "".join(f"with {_write(i, names)}: " for i in statement.items if i not in raises)
        if not raises:
            yield from self.list_asserts(statement.body, names, inside)

    def _read_block(self, statement: ast.stmt, names: Names, when: str) -> Iterator[str]:
        """Yield what is asserted only under a condition, or again and again."""
        if isinstance(statement, Function | ast.ClassDef):
            return
        for part in ("body", "orelse", "finalbody"):
            if inner := getattr(statement, part, None):
                head = [statement.test] if isinstance(statement, ast.If | ast.While) else []
                head += [statement.target, statement.iter] if isinstance(statement, ast.For | ast.AsyncFor) else []
                said = " ".join(_write(each, names) for each in head)
                yield from self.list_asserts(inner, names, f"{when}{type(statement).__name__} {said} {part}: ")


def _split(test: ast.expr) -> list[ast.expr]:
    """Return the parts of `a and b`, each of which has to hold."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        return [part for value in test.values for part in _split(value)]
    return [test]


def _read_call(call: ast.Call) -> ast.expr:
    """Return unittest's `self.assertEqual(a, b)` as the comparison that it is; any other call as it is."""
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    match name, call.args:
        case "assertTrue", [value, *_]:
            return value
        case "assertFalse", [value, *_]:
            return ast.UnaryOp(ast.Not(), value)
        case (("assertIsNone" | "assertIsNotNone"), [value, *_]):
            return ast.Compare(value, [ast.Is() if name == "assertIsNone" else ast.IsNot()], [ast.Constant(None)])
        case _, [left, right, *_] if name in _COMPARED:
            return ast.Compare(left, [_COMPARED[name]], [right])
    return call


def _is_raises(node: ast.expr) -> bool:
    """Return whether it is `pytest.raises(...)` or `self.assertRaises(...)`."""
    name = _render(node.func).rpartition(".")[2] if isinstance(node, ast.Call) else ""
    return name in ("raises", "assertRaises")


def _bind(target: ast.expr, item: ast.expr) -> dict[str, ast.expr]:
    if isinstance(target, ast.Name):
        return {target.id: item}
    pairs = zip(getattr(target, "elts", ()), getattr(item, "elts", ()), strict=False)
    return {name: value for part, each in pairs for name, value in _bind(part, each).items()}
