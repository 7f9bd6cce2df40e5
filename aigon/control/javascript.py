"""Places in tests that are written in JavaScript or TypeScript: `expect(...)`, and `assert`."""

from collections.abc import Iterator

from aigon.control.places import ASSERTION, LITERAL, UNSURE, VALUE, AlterableTest, Draw, Place, Subject, Values, words
from aigon.syntax import Edit, Node, Source

_TESTS = words("it test specify")
_EQUAL = words("toBe toEqual toStrictEqual equal equals eq eql deepEqual strictEqual deepStrictEqual is same")
_LITERAL = _EQUAL | words("toHaveLength toContain toContainEqual toMatchObject toBeCloseTo toHaveProperty")
"""Matchers whose literal is what is expected; only that of the first ones can be exchanged whatever it is."""
_OPPOSITES = {
    "strictEqual": "notStrictEqual",
    "deepStrictEqual": "notDeepStrictEqual",
    "deepEqual": "notDeepEqual",
    "equal": "notEqual",
    "throws": "doesNotThrow",
    "rejects": "doesNotReject",
    "match": "doesNotMatch",
    "is": "not",
    "true": "false",
}
_OPPOSITES |= {opposite: name for name, opposite in _OPPOSITES.items()}
_SAME = (
    "if (a {operator} b || (a !== a && b !== b)) return true;"
    " if (!a || !b || typeof a !== 'object' || typeof b !== 'object') return false;"
    " for (const k in { ...a, ...b }) if (!q(a[k], b[k])) return false; return true;"
)
"""The body of a function that says whether two values are equal, or what is in them: by operators alone."""
_THROWS = ("(() => { try { (", ")(); } catch { return true; } return false; })()")
_CONDITIONS = {
    "assert": ("(", ")"),
    "ok": ("(", ")"),
    "toBeTruthy": ("(", ")"),
    "toBeFalsy": ("!(", ")"),
    "toBeNull": ("(", ") === null"),
    "toBeUndefined": ("(", ") === undefined"),
    "toBeDefined": ("(", ") !== undefined"),
    "toThrow": _THROWS,
    "throws": _THROWS,
}
"""What stands around the value in the condition that an assertion of this name makes."""
_LITERALS = words(
    "number string string_fragment escape_sequence true false null undefined array object pair property_identifier "
    "unary_expression"
)
_FUNCTIONS = words("arrow_function function_expression function generator_function")
_BRANCHES = words("if_statement for_statement for_in_statement while_statement try_statement switch_case")
_FAILS = "throw new Error('control');"
_WRAP = (
    "((v) => typeof v === 'number' ? (v + {step} === v ? -v : v + {step})"
    " : typeof v === 'string' ? v + '{word}' : typeof v === 'boolean' ? !v"
    " : Array.isArray(v) ? [...v, {step}] : v && Object.getPrototypeOf(v) === Object.prototype"
    " ? { ...v, {word}: {step} } : ({ {word}: {step} }))"
)


def _alter_text(source: Source, node: Node, draw: Draw) -> str | None:
    text = source.text(node)
    return f"{text[0]}{draw.alter_text(text[1:-1])}{text[-1]}" if "${" not in text else None


_VALUES = Values(
    {
        "number": lambda source, node, draw: draw.alter_number(source.text(node)),
        "string": _alter_text,
        "template_string": _alter_text,
        "true": lambda *_: "false",
        "false": lambda *_: "true",
        "null": lambda _source, _node, draw: str(draw.step),
        "undefined": lambda _source, _node, draw: str(draw.step),
    },
    words("array object pair property_identifier unary_expression identifier parenthesized_expression"),
    _WRAP,
    words("call_expression await_expression"),
)


def find_tests(source: Source, seed: str) -> Iterator[AlterableTest]:
    """Yield the tests of a file: calls of `it` or `test` with a title and a function."""
    for call in source.root.walk():
        function = call.get("function") if call.kind == "call_expression" else None
        if function is None or _TESTS.isdisjoint(source.text(function).split("(")[0].split(".")):
            continue
        arguments = _arguments(call)
        title, run = (arguments[0], arguments[-1]) if len(arguments) > 1 else (None, None)
        if title is None or run is None or title.kind not in _VALUES.alter or run.kind not in _FUNCTIONS:
            continue
        body, name = run.get("body"), source.text(title)[1:-1]
        if body and name:
            draw = Draw(seed, source.path, name)
            subject = Subject(source, run, draw, (title,))
            places = tuple(_find_places(subject, body, 0))
            if body.kind != "statement_block":  # an arrow function that is one expression
                broken = (body.start, body.end, f"{{ {_FAILS} }}")
                found = _alter_statement(subject, body)
                places = (*places, *(Place(edits, broken, rank, body.line) for edits, rank in found))
            end = next((n for n in range(len(name)) if name[n] in "%$\\"), len(name))
            breaking = (body.start, body.end, f"{{ {_FAILS} }}")
            yield AlterableTest(source.path, name[:end], call, places, breaking, is_title=True, is_open=end < len(name))


def find_in_script(source: Source, seed: str) -> AlterableTest:
    """Return a script as one test."""
    places = tuple(_find_places(Subject(source, source.root, Draw(seed, source.path)), source.root, 0))
    return AlterableTest(source.path, source.path, source.root, places, (0, len(source.data), _FAILS))


def _arguments(call: Node) -> list[Node]:
    """Return the arguments of a call, without brackets and comments."""
    arguments = call.get("arguments")
    children = arguments.children if arguments else ()
    return [child for child in children if child.kind[:1].isalpha() and child.kind != "comment"]


def _find_places(subject: Subject, node: Node, unsure: int) -> Iterator[Place]:
    for child in node.children:
        if child.kind == "expression_statement":
            for edits, rank in _alter_statement(subject, child.children[0]):
                breaking: Edit = (child.start, child.start, f"{_FAILS} ")
                yield Place(edits, breaking, rank + unsure, child.line, _reword(subject, child))
        inside = _find_places(subject, child, UNSURE if child.kind in _FUNCTIONS | _BRANCHES else unsure)
        yield from map(Place.as_it_is, inside) if child.kind == "try_statement" else inside


def _alter_statement(subject: Subject, value: Node) -> Iterator[tuple[tuple[Edit, ...], int]]:
    if value.kind == "await_expression":
        value = value.children[-1]
    call = value if value.kind == "call_expression" else None
    member = call.get("function") if call else value
    name = member and member.get("property")
    chain = subject.text(member) if member else ""
    arguments = _arguments(call) if call else []
    if member and name and chain.startswith(("expect(", "expect.")):
        if ".not." in chain:
            at = member.start + len(chain[: chain.rindex(".not.")].encode())
            yield ((at, at + len(".not"), ""),), ASSERTION
            return
        if subject.text(name) in _LITERAL and arguments:
            for edits, rank in _VALUES.compare(subject, arguments[:1]):
                if rank == LITERAL or subject.text(name) in _EQUAL:
                    yield edits, rank
        yield _exchange(subject, member) or ((name.start, name.start, "not."),), ASSERTION
    elif (member and name and call and "assert" in chain) or chain.startswith("t."):
        if name and subject.text(name) in _EQUAL and len(arguments) >= 2:
            yield from _VALUES.compare(subject, arguments[:2])
        if name and subject.text(name) == "ok" and arguments:
            yield _negate(arguments[0]), ASSERTION
        elif name and subject.text(name) in _OPPOSITES:
            yield ((name.start, name.end, _OPPOSITES[subject.text(name)]),), ASSERTION
    elif chain == "assert" and arguments:
        inside = arguments[0]
        sides = [side for side in (inside.get("left"), inside.get("right")) if side]
        if inside.kind == "binary_expression" and any(child.kind in ("==", "===") for child in inside.children):
            yield from (found for found in _VALUES.compare(subject, sides) if found[1] <= VALUE)
        yield _negate(inside), ASSERTION


def _exchange(subject: Subject, member: Node) -> tuple[Edit, ...]:
    """Return the edits that give a matcher a value that fits none: one that always passes can be turned round."""
    expect, name = member.get("object"), member.get("property")
    value = next(iter(_arguments(expect)), None) if expect and expect.kind == "call_expression" else None
    if not value or not name:
        return ()
    other = "void 0" if subject.text(name) in ("toBeTruthy", "toBeDefined") else f"Symbol('{subject.draw.word}')"
    return (value.start, value.start, "("), (value.end, value.end, f", {other})")


def _reword(subject: Subject, statement: Node) -> tuple[Edit, ...]:
    """Return the edits that make of an assertion a statement that throws another error."""
    call = statement.children[0]
    function = call.get("function") if call.kind == "call_expression" else None
    if not function:
        return ()
    object_, name = function.get("object"), subject.text(function.get("property") or function)
    is_expected = object_ and object_.kind == "call_expression" and subject.text(object_).startswith("expect(")
    if not is_expected and subject.text(object_ or function) not in ("assert", "t"):
        return ()
    sides = [*(_arguments(object_)[:1] if object_ and is_expected else ()), *_arguments(call)][:2]
    expected, step = subject.text(sides[-1]) if sides else "", subject.draw.step
    gaps: list[Edit] = []
    if sides and name in _CONDITIONS:
        sides, (before, after) = sides[:1], _CONDITIONS[name]
    elif name in _EQUAL and len(sides) > 1 and all(node.kind in _LITERALS for node in _walk_named(sides[1])):
        any_ = ": any" if subject.source.language in ("typescript", "tsx") else ""
        operator = "==" if name in ("equal", "deepEqual") else "==="
        before, between, after = "(", f") {operator} (", ")"
        if sides[1].kind in ("array", "object"):
            before = f"(function q(a{any_}, b{any_}) {{ {_SAME.replace('{operator}', operator)} }})(("
            between, after = "), (", "))"
        expected = f"{int(expected) - step} + {step}" if expected.isdecimal() else expected
        expected = f"'' + {expected}" if sides[1].kind == "string" else expected
        gaps = [(sides[0].end, sides[1].start, between), (sides[1].start, sides[1].end, expected)]
    else:
        return ()
    ends = f"{after})) throw new Error('{subject.draw.word}'); }}"
    return (statement.start, sides[0].start, f"{{ if (!({before}"), *gaps, (sides[-1].end, statement.end, ends)


def _walk_named(node: Node) -> Iterator[Node]:
    return (each for each in node.walk() if each.kind[:1].isalpha())


def _negate(value: Node) -> tuple[Edit, ...]:
    return (value.start, value.start, "!("), (value.end, value.end, ")")
