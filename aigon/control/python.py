"""Places in tests that are written in Python: `assert`, unittest's methods, and expected exceptions."""

import ast
from collections.abc import Iterator

from aigon.control.places import ASSERTION, LITERAL, UNSURE, AlterableTest, Draw, Place, Values, words
from aigon.syntax import Edit, Node, Source
from aigon.text.patterns import compile_re

_EQUAL = words(
    "assertEqual assertEquals assertListEqual assertDictEqual assertTupleEqual assertSetEqual "
    "assertSequenceEqual assertMultiLineEqual assertCountEqual assert_equal assert_array_equal eq_"
)
_RAISES = words("raises assertRaises assertRaisesRegex warns assertWarns assertWarnsRegex")
_OPPOSITES = {
    "assertTrue": "assertFalse",
    "assertIs": "assertIsNot",
    "assertIsNone": "assertIsNotNone",
    "assertIn": "assertNotIn",
    "assertIsInstance": "assertNotIsInstance",
    "assertEqual": "assertNotEqual",
    "assertAlmostEqual": "assertNotAlmostEqual",
    "assertGreater": "assertLessEqual",
    "assertLess": "assertGreaterEqual",
    "assertRegex": "assertNotRegex",
}
_OPPOSITES |= {opposite: name for name, opposite in _OPPOSITES.items()}
_NEVER = ("BufferError", "ReferenceError", "StopAsyncIteration", "BlockingIOError")
"""Exceptions that hardly any code raises."""
_NEVER_WARNED = "BytesWarning"
_FAILS = "raise AssertionError('control')"
_WORD = compile_re(r"\w+")
_WRAP = (
    "(lambda v: not v if isinstance(v, bool)"
    " else (v + {step} if v + {step} != v else -v) if isinstance(v, (int, float, complex))"
    " else v + '{word}' if isinstance(v, str) else v + b'{word}' if isinstance(v, bytes)"
    " else [*v, {step}] if type(v) is list else (*v, {step}) if type(v) is tuple"
    " else {**v, '{word}': {step}} if type(v) is dict else {*v, '{word}'} if type(v) is set"
    " else v + {step} if isinstance(v, __import__('numbers').Number) else object())"
)


def _alter_constant(source: Source, node: Node, draw: Draw) -> str | None:
    try:
        value = ast.literal_eval(source.text(node))
    except (ValueError, SyntaxError):
        return None
    match value:
        case bool():
            return str(not value)
        case int():
            return str(value + draw.step)
        case float():
            return repr(draw.alter_float(value))
        case str():
            return repr(value + draw.word)
        case bytes():
            return repr(value + draw.word.encode())
    return str(draw.step) if value is None else None


_VALUES = Values(
    {"Constant": _alter_constant},
    words("Tuple List Dict Set UnaryOp Name"),
    _WRAP,
    words("Call Await"),
)


def find_tests(source: Source, seed: str) -> Iterator[AlterableTest]:
    """Yield the tests of a file: functions whose names begin with `test`, at the top or in classes."""
    pending: list[tuple[Node, tuple[str, ...]]] = [(source.root, ())]
    while pending:
        node, owners = pending.pop()
        for child in node.list("body"):
            if child.kind == "ClassDef":
                pending.append((child, (*owners, source.read_name(child))))
            elif child.kind in ("If", "Try"):
                pending.append((child, owners))
            elif child.kind in ("FunctionDef", "AsyncFunctionDef"):
                name, body = source.read_name(child), child.list("body")
                if name.startswith("test") and body:
                    draw = Draw(seed, source.path, *owners, name)
                    places = (*_find_places(source, child, draw, 0), *_find_in_rows(source, child, draw))
                    yield AlterableTest(source.path, name, child, places, (body[0].start, body[-1].end, _FAILS), owners)


def _find_in_rows(source: Source, test: Node, draw: Draw) -> Iterator[Place]:
    """Yield what a table of parameters expects, if nothing else is made of it: who reads the table reads it altered."""
    names = [source.text(node) for node in test.walk() if node.kind == "Name"]
    rows = {name: values for mark in test.list("decorator_list") for name, values in _read_rows(source, mark).items()}
    for statement in (node for node in test.walk() if node.kind == "Assert"):
        for part in _split_and(statement.children[1]) if rows else ():
            compared = (part.get("left"), part.get("comparators")) if any(c.kind == "==" for c in part.children) else ()
            for name in (source.text(side) for side in compared if side and side.kind == "Name"):
                edits = [next(_VALUES.find_literals(source, value, draw), None) for value in rows.get(name, ())]
                if edits and all(edits) and names.count(name) == 1:
                    breaking = (statement.start, statement.end, _FAILS)
                    yield Place(tuple(filter(None, edits)), breaking, LITERAL, statement.line)


def _read_rows(source: Source, mark: Node) -> dict[str, list[Node]]:
    """Return the values that `@pytest.mark.parametrize` gives by name; none if not all of them are written there."""
    arguments = mark.list("args")
    if mark.kind != "Call" or _last_name(source, mark) != "parametrize" or len(arguments) != 2:
        return {}
    given, table = arguments
    names = _WORD.findall(source.text(given))
    elements = table.list("elts")
    rows = [row.list("args") if _last_name(source, row) == "param" else row.list("elts") for row in elements]
    if mark.list("keywords") or len(names) < 2 or any(len(row) != len(names) for row in rows):
        return {}
    return {name: [row[number] for row in rows] for number, name in enumerate(names)}


def find_in_script(source: Source, seed: str) -> AlterableTest:
    """Return a script as one test."""
    places = tuple(_find_places(source, source.root, Draw(seed, source.path), 0))
    return AlterableTest(source.path, source.path, source.root, places, (0, len(source.data), _FAILS))


def _find_places(source: Source, node: Node, draw: Draw, unsure: int) -> Iterator[Place]:
    for statement in (*node.list("body"), *node.list("orelse"), *node.list("finalbody")):
        for edits, rank in _alter_statement(source, statement, draw):
            breaking: Edit = (statement.start, statement.end, _FAILS)
            yield Place(edits, breaking, rank + unsure, statement.line)
        if statement.kind in ("With", "AsyncWith"):
            if not any(_find_raises(source, item) for item in statement.list("items")):
                yield from _find_places(source, statement, draw, unsure)
        elif statement.kind in ("If", "For", "AsyncFor", "While", "Try", "TryStar"):
            yield from _find_places(source, statement, draw, UNSURE)
            if any(child.kind == "Return" for child in statement.walk()):
                unsure = UNSURE  # for some parameters the test ends here


def _alter_statement(source: Source, statement: Node, draw: Draw) -> Iterator[tuple[tuple[Edit, ...], int]]:
    if statement.kind == "Assert" and (test := statement.get("test")):
        for part in _split_and(test):
            yield from _alter_comparison(source, part, draw)
        yield ((test.start, test.start, "not ("), (test.end, test.end, ")")), ASSERTION
    elif statement.kind in ("With", "AsyncWith"):
        for call in filter(None, (_find_raises(source, item) for item in statement.list("items"))):
            yield _exchange(source, call, draw), LITERAL
    elif statement.kind == "Expr" and (value := statement.get("value")):
        called = value.get("value") if value.kind == "Await" else value
        if called and called.kind == "Call":
            yield from _alter_call(source, called, draw)


def _split_and(test: Node) -> Iterator[Node]:
    is_and = test.kind == "BoolOp" and any(child.kind == "and" for child in test.children)
    if not is_and:
        yield test
    for value in test.list("values") if is_and else ():
        yield from _split_and(value)


def _alter_comparison(source: Source, test: Node, draw: Draw) -> Iterator[tuple[tuple[Edit, ...], int]]:
    left, others = test.get("left"), test.list("comparators")
    if test.kind != "Compare" or not left or len(others) != 1:
        return
    operator = [child for child in test.children if child.field == "" and child.kind in ("==", "is", "in", "not")]
    kinds = [child.kind for child in operator]
    if kinds == ["=="]:
        yield from _compare(source, (left, others[0]), draw)
    elif kinds == ["is"] and others[0].kind == "Constant":
        yield ((operator[0].start, operator[0].end, "is not"),), LITERAL
    elif kinds == ["in"] and left.kind == "Constant":
        yield from (((edit,), LITERAL) for edit in _VALUES.find_literals(source, left, draw))


def _compare(source: Source, sides: tuple[Node, ...], draw: Draw) -> Iterator[tuple[tuple[Edit, ...], int]]:
    for side in sides:
        arguments = side.list("args")
        if side.kind == "Call" and _last_name(source, side) == "approx" and arguments:
            if side.list("keywords") or len(arguments) > 1:
                return  # with a tolerance of its own the whole assertion is turned round
            edits = list(_VALUES.find_literals(source, arguments[0], draw))
            yield from (((edit,), LITERAL) for edit in edits)
            return
    yield from _VALUES.compare(source, sides, draw)


def _alter_call(source: Source, call: Node, draw: Draw) -> Iterator[tuple[tuple[Edit, ...], int]]:
    name, arguments, function = _last_name(source, call), call.list("args"), call.get("func")
    if name in _EQUAL and len(arguments) >= 2:
        yield from _compare(source, arguments[:2], draw)
    if name in _RAISES and len(arguments) >= 2:
        yield _exchange(source, call, draw), LITERAL
    if name in _OPPOSITES and function:
        yield ((function.end - len(name), function.end, _OPPOSITES[name]),), ASSERTION


def _last_name(source: Source, call: Node) -> str:
    function = call.get("func")
    return source.text(function).rpartition(".")[2] if function else ""


def _find_raises(source: Source, item: Node) -> Node | None:
    call = item.get("context_expr")
    found = call and call.kind == "Call" and call.list("args") and _last_name(source, call) in _RAISES
    return call if found else None


def _exchange(source: Source, call: Node, draw: Draw) -> tuple[Edit, ...]:
    expected = call.list("args")[0]
    text = source.text(expected)
    if "warn" in _last_name(source, call).lower():
        return ((expected.start, expected.end, _NEVER_WARNED if _NEVER_WARNED not in text else "ImportWarning"),)
    never = [name for name in _NEVER if name not in text]
    return ((expected.start, expected.end, never[draw.step % len(never)]),)
