"""Places in tests that are written in Rust: `assert_eq!`, `assert!`, and expected panics."""

from collections.abc import Iterator, Sequence

from aigon.control.definitions import list_functions
from aigon.control.places import ASSERTION, LITERAL, UNSURE, AlterableTest, Draw, Place, Subject, follow_names, words
from aigon.control.tables import join_tokens, list_items
from aigon.syntax import Edit, Node, Source
from aigon.text.patterns import compile_re

_IS_TEST = compile_re(r"#\[\s*(?:\w+::)*(?:test|rstest|test_case)\b")
_OPPOSITES = {"assert_eq": "assert_ne", "assert_ne": "assert_eq"}
_BRANCHES = words("if_expression for_expression while_expression loop_expression match_arm closure_expression")
_INTEGER = compile_re(r"(\d[\d_]*)((?:[iu](?:8|16|32|64|128|size))?)")
_FLOAT = compile_re(r"(\d[\d_]*\.[\d_]*)((?:_?f(?:32|64))?)")
_FAILS = 'panic!("control");'


def find_tests(source: Source, seed: str) -> Iterator[AlterableTest]:
    """Yield the functions with an attribute `test`, in whatever module they are."""
    for attributes, function in list_functions(source.root):
        yield from _read_function(source, function, attributes, seed)


def find_in_program(source: Source, seed: str) -> AlterableTest:
    """Return the function `main` as one test."""
    functions = (node for node in source.root.children if node.kind == "function_item")
    bodies = (node.get("body") for node in functions if (name := node.get("name")) and source.text(name) == "main")
    subject = Subject(source, source.root, Draw(seed, source.path))
    places = tuple(place for body in bodies if body for place in _find_places(subject, body, 0))
    return AlterableTest(source.path, "main", source.root, places, (0, 0, ""))


def _read_function(source: Source, function: Node, attributes: Sequence[Node], seed: str) -> Iterator[AlterableTest]:
    name, body = function.get("name"), function.get("body")
    if not name or not body or not any(_IS_TEST.match(source.text(each)) for each in attributes):
        return
    subject = Subject(source, function, Draw(seed, source.path, source.text(name)))
    places = list(_find_places(subject, body, 0))
    begins = (body.start + 1, body.start + 1, f" {_FAILS}")
    expected = [each for each in attributes if "should_panic" in source.text(each)]
    if expected:
        # A broken body panics as expected: without the attribute that fails.
        gone = (expected[0].start, expected[0].end, "")
        places = [Place((gone,), gone, LITERAL, expected[0].line)]
        begins = gone
    yield AlterableTest(source.path, source.text(name), function, tuple(places), begins)


def _find_places(subject: Subject, node: Node, unsure: int) -> Iterator[Place]:
    for child in node.children:
        if child.kind == "macro_invocation":
            start = child.start
            for edits, rank in _alter_macro(subject, child):
                yield Place(edits, (start, start, f"{_FAILS} "), rank + unsure, child.line, _reword(subject, child))
        else:
            yield from _find_places(subject, child, UNSURE if child.kind in _BRANCHES else unsure)


def _alter_macro(subject: Subject, call: Node) -> Iterator[tuple[tuple[Edit, ...], int]]:
    name = call.get("macro")
    tree = next((child for child in call.children if child.kind == "token_tree"), None)
    if not name or not tree:
        return
    sides = list_items(subject.source, tree)
    macro = subject.text(name).rpartition("::")[2]
    if macro == "assert_eq" and len(sides) >= 2:
        expected = next(filter(None, (list(_alter_literals(subject, side)) for side in reversed(sides[:2]))), [])
        yield from (((edit,), LITERAL) for edit in expected)
        if not expected:
            names = [_without_reference(side) for side in sides[:2]]
            yield from ((edits, LITERAL) for edits in follow_names(subject, names, _alter_literals))
    if macro in _OPPOSITES:
        yield ((name.end - len(macro), name.end, _OPPOSITES[macro]),), ASSERTION
    elif macro == "assert" and sides:
        yield ((sides[0].start, sides[0].start, "!("), (sides[0].end, sides[0].end, ")")), ASSERTION


def _reword(subject: Subject, call: Node) -> tuple[Edit, ...]:
    """Return the edits that make of `assert_eq!` a condition that panics."""
    tree = next((child for child in call.children if child.kind == "token_tree"), None)
    sides = list_items(subject.source, tree)[:2] if tree and subject.text(call).startswith("assert_eq!") else []
    if len(sides) < 2:
        return ()
    return (
        (call.start, sides[0].start, "if !(("),
        (sides[0].end, sides[1].start, ") == ("),
        (sides[1].end, call.end, f')) {{ panic!("{subject.draw.word}") }}'),
    )


def _without_reference(side: Node) -> Node:
    """Return an argument without the `&` or `*` before it."""
    marks = [child for child in side.children if child.kind in ("&", "*")]
    return join_tokens(side.children[len(marks) :]) if side.kind == "tokens" else side


def _alter_literals(subject: Subject, side: Node) -> Iterator[Edit]:
    """Yield an edit for each literal, unless the side calls more than constructors (`Some(5)`, `vec![1]`)."""
    previous = ""
    tokens = list(_list_tokens(side))
    for token in tokens:
        text = subject.text(token)
        if (text == "(" and previous[:1].islower()) or text == ".":
            return
        previous = text if token.kind == "identifier" else ""
    for token in tokens:
        if (other := _alter_literal(token.kind, subject.text(token), subject.draw)) is not None:
            yield token.start, token.end, other


def _list_tokens(node: Node) -> Iterator[Node]:
    """Yield the leaves; a literal is one."""
    if node.kind.endswith("_literal") or not node.children:
        yield node
    else:
        for child in node.children:
            yield from _list_tokens(child)


def _alter_literal(kind: str, text: str, draw: Draw) -> str | None:
    if kind == "integer_literal" and (match := _INTEGER.fullmatch(text)):
        return f"{draw.small(int(match[1].replace('_', '')))}{match[2]}"
    if kind == "float_literal" and (match := _FLOAT.fullmatch(text)):
        return f"{float(match[1].replace('_', '')) + draw.step}{match[2]}"
    if kind == "string_literal" and text.startswith('"'):
        return f'"{draw.alter_text(text[1:-1])}"'
    if kind == "char_literal":
        return "'q'" if text != "'q'" else "'z'"
    return {"true": "false", "false": "true"}.get(text) if kind in ("boolean_literal", "true", "false") else None
