"""Places in tests that are written in Python: `assert`, unittest's methods, and expected exceptions."""

import ast
from collections.abc import Iterator, Sequence
from itertools import pairwise

from aigon.control.places import ASSERTION, LITERAL, UNSURE, AlterableTest, Draw, Place, Subject, Values, words
from aigon.syntax import Edit, Node, Source

_EQUAL = words(
    "assertEqual assertEquals assertListEqual assertDictEqual assertTupleEqual assertSetEqual "
    "assertSequenceEqual assertMultiLineEqual assertCountEqual assert_equal assert_array_equal eq_"
)
_RAISES = words("raises assertRaises assertRaisesRegex warns assertWarns assertWarnsRegex")
_OPPOSITES = {
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
_OPERATORS = {
    "self.assertEqual": "==",
    "self.assertNotEqual": "!=",
    "self.assertIs": "is",
    "self.assertIsNot": "is not",
    "self.assertIn": "in",
    "self.assertNotIn": "not in",
    "self.assertGreater": ">",
    "self.assertLess": "<",
}
_CONDITIONS = {
    "self.assertTrue": "",
    "self.assertFalse": "not ",
    "self.assertIsNone": "None is ",
    "self.assertIsNotNone": "None is not ",
}
_NEVER = ("BufferError", "ReferenceError", "StopAsyncIteration", "BlockingIOError")
"""Exceptions that hardly any code raises."""
_NEVER_WARNED = "BytesWarning"
_FAILS = "raise AssertionError('control')"
_WRAP = (
    "(lambda v: not v if isinstance(v, bool)"
    " else (v + {step} if v + {step} != v else -v) if isinstance(v, (int, float, complex))"
    " else v + '{word}' if isinstance(v, str) else v + b'{word}' if isinstance(v, bytes)"
    " else [*v, {step}] if type(v) is list else (*v, {step}) if type(v) is tuple"
    " else {**v, '{word}': {step}} if type(v) is dict else {*v, '{word}'} if type(v) is set"
    " else v + {step} if isinstance(v, __import__('numbers').Number) else object())"
)


def _alter_constant(source: Source, node: Node, draw: Draw) -> str | None:
    text = source.text(node)
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return None
    match value:
        case str() if text[1:-1] == value:
            return f"{text[0]}{draw.alter_text(value)}{text[-1]}"
        case bool():
            return str(not value)
        case int():
            return str(value + draw.step)
        case float():
            return repr(draw.alter_float(value))
        case str():
            return repr(draw.alter_text(value))
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
                    places = tuple(_find_places(Subject(source, child, draw), child, 0))
                    yield AlterableTest(source.path, name, child, places, (body[0].start, body[-1].end, _FAILS), owners)


def find_in_script(source: Source, seed: str) -> AlterableTest:
    """Return a script as one test."""
    places = tuple(_find_places(Subject(source, source.root, Draw(seed, source.path)), source.root, 0))
    return AlterableTest(source.path, source.path, source.root, places, (0, len(source.data), _FAILS))


def _find_places(subject: Subject, node: Node, unsure: int) -> Iterator[Place]:
    for statement in (*node.list("body"), *node.list("orelse"), *node.list("finalbody")):
        for edits, rank in _alter_statement(subject, statement):
            breaking: Edit = (statement.start, statement.end, _FAILS)
            yield Place(edits, breaking, rank + unsure, statement.line, _reword(subject, statement))
        if statement.kind in ("With", "AsyncWith"):
            if not any(_find_raises(subject, item) for item in statement.list("items")):
                yield from _find_places(subject, statement, unsure)
        elif statement.kind in ("If", "For", "AsyncFor", "While", "Try", "TryStar"):
            inside = _find_places(subject, statement, UNSURE)
            yield from map(Place.as_it_is, inside) if statement.kind.startswith("Try") else inside
            if any(child.kind == "Return" for child in statement.walk()):
                unsure = UNSURE  # for some parameters the test ends here


def _alter_statement(subject: Subject, statement: Node) -> Iterator[tuple[tuple[Edit, ...], int]]:
    if statement.kind == "Assert" and (test := statement.get("test")):
        for part in _split_and(test):
            yield from _alter_comparison(subject, part)
        yield ((test.start, test.start, "not ("), (test.end, test.end, ")")), ASSERTION
    elif statement.kind in ("With", "AsyncWith"):
        for call in filter(None, (_find_raises(subject, item) for item in statement.list("items"))):
            yield _exchange(subject, call), LITERAL
    elif statement.kind == "Expr" and (value := statement.get("value")):
        called = value.get("value") if value.kind == "Await" else value
        if called and called.kind == "Call":
            yield from _alter_call(subject, called)


def _reword(subject: Subject, statement: Node) -> tuple[Edit, ...]:
    """Return the edits that make of an assertion an expression that raises another exception."""
    test, call = statement.get("test"), statement.get("value")
    sides = call.list("args")[:2] if call and call.kind == "Call" else ()
    called = subject.text(call).partition("(")[0] if call else ""
    operator, condition = _OPERATORS.get(called, ""), _CONDITIONS.get(called)
    if statement.kind == "Assert" and test:
        sides, condition = (test,), ""
    elif condition is not None:
        sides = sides[:1]
    elif not operator or len(sides) < 2:
        return ()
    if not sides:
        return ()
    gaps = [(left.end, right.start, f") {operator} (") for left, right in pairwise(sides)]
    begins, ends = f"({condition or ''}(", f")) or {{}}[{subject.draw.word!r}]"
    edits = ((statement.start, sides[0].start, begins), *gaps, (sides[-1].end, statement.end, ends))
    return edits if operator.startswith("is") else (*edits, *_spell_differently(subject, sides))


def _spell_differently(subject: Subject, sides: Sequence[Node]) -> Iterator[Edit]:
    """Yield an edit for each number and text of a comparison by `==`."""
    compared = [side for side in sides if len(sides) > 1 or any(child.kind == "==" for child in side.children)]
    for node in (node for side in compared for node in side.walk() if node.kind == "Constant"):
        try:
            value = ast.literal_eval(subject.text(node))
        except (ValueError, SyntaxError):
            continue
        if isinstance(value, str | bytes):
            yield node.start, node.end, f"({value[:1]!r} + {value[1:]!r})"
        elif type(value) is int:
            yield node.start, node.end, f"({value - subject.draw.step} + {subject.draw.step})"


def _split_and(test: Node) -> Iterator[Node]:
    is_and = test.kind == "BoolOp" and any(child.kind == "and" for child in test.children)
    if not is_and:
        yield test
    for value in test.list("values") if is_and else ():
        yield from _split_and(value)


def _alter_comparison(subject: Subject, test: Node) -> Iterator[tuple[tuple[Edit, ...], int]]:
    left, others = test.get("left"), test.list("comparators")
    if test.kind != "Compare" or not left or len(others) != 1:
        return
    operator = [child for child in test.children if child.field == "" and child.kind in ("==", "is", "in", "not")]
    kinds = [child.kind for child in operator]
    if kinds == ["=="]:
        yield from _compare(subject, (left, others[0]))
    elif kinds == ["is"] and others[0].kind == "Constant":
        yield ((operator[0].start, operator[0].end, "is not"),), LITERAL
    elif kinds == ["in"] and left.kind == "Constant":
        yield from (((edit,), LITERAL) for edit in _VALUES.find_literals(subject, left))


def _compare(subject: Subject, sides: tuple[Node, ...]) -> Iterator[tuple[tuple[Edit, ...], int]]:
    for side in sides:
        arguments = side.list("args")
        if side.kind == "Call" and _last_name(subject, side) == "approx" and arguments:
            if side.list("keywords") or len(arguments) > 1:
                return  # with a tolerance of its own the whole assertion is turned round
            yield from ((edits, LITERAL) for edits in _VALUES.expect(subject, arguments))
            return
    yield from _VALUES.compare(subject, sides)


def _alter_call(subject: Subject, call: Node) -> Iterator[tuple[tuple[Edit, ...], int]]:
    name, arguments, function = _last_name(subject, call), call.list("args"), call.get("func")
    if name in _EQUAL and len(arguments) >= 2:
        yield from _compare(subject, arguments[:2])
    if name in _RAISES and len(arguments) >= 2:
        yield _exchange(subject, call), LITERAL
    if name in ("assertTrue", "assertFalse") and arguments:  # what always passes fails if it is exchanged, and not here
        yield ((arguments[0].start, arguments[0].start, "not ("), (arguments[0].end, arguments[0].end, ")")), ASSERTION
    elif name in _OPPOSITES and function:
        yield ((function.end - len(name), function.end, _OPPOSITES[name]),), ASSERTION


def _last_name(subject: Subject, call: Node) -> str:
    function = call.get("func")
    return subject.text(function).rpartition(".")[2] if function else ""


def _find_raises(subject: Subject, item: Node) -> Node | None:
    call = item.get("context_expr")
    found = call and call.kind == "Call" and call.list("args") and _last_name(subject, call) in _RAISES
    return call if found else None


def _exchange(subject: Subject, call: Node) -> tuple[Edit, ...]:
    expected = call.list("args")[0]
    text = subject.text(expected)
    if "warn" in _last_name(subject, call).lower():
        return ((expected.start, expected.end, _NEVER_WARNED if _NEVER_WARNED not in text else "ImportWarning"),)
    never = [name for name in _NEVER if name not in text]
    return ((expected.start, expected.end, never[subject.draw.step % len(never)]),)
