"""Places in tests that are written in Go: conditions before `t.Error` and its like, and testify's assertions."""

from collections.abc import Iterator

from msgspec.structs import replace

from aigon.control.places import ASSERTION, LITERAL, UNSURE, AlterableTest, Draw, Place, Subject, Values, words
from aigon.control.tables import list_items
from aigon.syntax import Edit, Node, Source
from aigon.text.patterns import compile_re

_FAILING = compile_re(r"\b(\w+)\.(?:Error|Errorf|Fatal|Fatalf|Fail|FailNow)\(")
_LOOPS = words("for_statement func_literal expression_case default_case")
_OPPOSITES = {"Equal": "NotEqual", "True": "False", "Nil": "NotNil", "NoError": "Error", "Empty": "NotEmpty"}
_OPPOSITES |= {opposite: name for name, opposite in _OPPOSITES.items()}
_TESTED = compile_re(r"\(\s*(\w+)\s+\*testing\.T\s*\)")
_PRINTS = compile_re(rb"(?is)//\s*(?:unordered )?output:\s*(?://)?[ \t]*([^\n]*\S)(?!.*//\s*output:)")


def _alter_integer(source: Source, node: Node, draw: Draw) -> str | None:
    text = source.text(node)
    return str(draw.small(int(text))) if text.isdigit() and (text == "0" or text[0] != "0") else None


def _alter_text(source: Source, node: Node, draw: Draw) -> str | None:
    text = source.text(node)
    return f"{text[0]}{draw.alter_text(text[1:-1])}{text[-1]}"


_VALUES = Values(
    {
        "int_literal": _alter_integer,
        "float_literal": lambda source, node, draw: draw.alter_number(source.text(node)),
        "interpreted_string_literal": _alter_text,
        "raw_string_literal": _alter_text,
        "true": lambda *_: "false",
        "false": lambda *_: "true",
    },
    words(
        "unary_expression composite_literal literal_value literal_element slice_type type_identifier "
        "array_type keyed_element map_type"
    ),
)


def find_tests(source: Source, seed: str) -> Iterator[AlterableTest]:
    """Yield the functions `TestX(t *testing.T)` and the examples that say what they print."""
    for node in source.root.children if source.path.endswith("_test.go") else ():
        name, body, takes = (node.get(field) for field in ("name", "body", "parameters"))
        if node.kind != "function_declaration" or not name or not body or not takes:
            continue
        subject = Subject(source, node, Draw(seed, source.path, source.text(name)))
        tested = _TESTED.fullmatch(source.text(takes))
        prints = None if tested else _PRINTS.search(source.data, body.start, body.end)
        kind = "Test" if tested else "Example" if prints else ""
        if not kind or not source.text(name).startswith(kind) or source.text(name)[len(kind) :][:1].islower():
            continue
        fails = f'{tested[1]}.Fatal("control")' if tested else 'panic("control")'
        breaking = (body.start + 1, body.start + 1, f" {fails};")
        places = list[Place]()
        if tested:
            same = tuple(_reword(subject, body, tested[1]))
            places = [replace(place, same=same) for place in _find_places(subject, body, tested[1], 0)]
        elif prints:
            line, draw = prints[1].decode("utf-8", "replace"), subject.draw
            edit = (prints.start(1), prints.end(1), draw.alter_number(line) or draw.alter_text(line))
            places = [Place((edit,), breaking, LITERAL, node.line)]
        yield AlterableTest(source.path, source.text(name), node, tuple(places), breaking)


def _find_places(subject: Subject, node: Node, tested: str, unsure: int) -> Iterator[Place]:
    for child in node.children:
        inside = unsure
        if child.kind == "if_statement":
            consequence = child.get("consequence")
            failing = _FAILING.search(subject.text(consequence)) if consequence else None
            condition = child.get("condition")
            if failing and condition and child.field != "alternative":
                breaking = (child.start, child.start, f'{failing[1]}.Fatal("control"); ')
                for edits, rank in _alter_condition(subject, condition):
                    yield Place(edits, breaking, rank + unsure, child.line)
            inside = UNSURE
        elif child.kind == "expression_statement":
            breaking = (child.start, child.start, f'{tested}.Fatal("control"); ')
            for edits, rank in _alter_call(subject, child.children[0]):
                yield Place(edits, breaking, rank + unsure, child.line)
        elif child.kind in _LOOPS:
            inside = UNSURE
        yield from _find_places(subject, child, tested, inside)


def _reword(subject: Subject, body: Node, tested: str) -> Iterator[Edit]:
    """Yield the edits that make a failure a panic, which no runner is asked about. The text changes in any case."""
    panic = f'panic("{subject.draw.word}")'
    yield body.start + 1, body.start + 1, f' _ = "{subject.draw.word}";'
    names = {tested, *_TESTED.findall(subject.text(body))}
    for statement in (node for node in body.walk() if node.kind == "expression_statement"):
        failing = _FAILING.match(subject.text(statement))
        if failing and failing[1] in names:
            yield statement.start, statement.start, f"{panic}; "
        elif compared := _find_compared(subject, statement.children[0]):
            expected, value = compared
            yield (
                statement.start,
                statement.end,
                f"if ({subject.text(value)}) != {subject.text(expected)} {{ {panic} }}",
            )


def _find_compared(subject: Subject, call: Node) -> list[Node]:
    """Return the literal and the value that testify's `Equal` compares."""
    function, arguments = call.get("function"), call.get("arguments")
    is_equal = function and subject.text(function) in ("assert.Equal", "require.Equal")
    values = list_items(subject.source, arguments)[1:3] if is_equal and arguments else []
    return values if len(values) == 2 and values[0].kind in _VALUES.alter else []


def _alter_condition(subject: Subject, condition: Node) -> Iterator[tuple[tuple[Edit, ...], int]]:
    sides = [side for side in (condition.get("left"), condition.get("right")) if side]
    call = condition.get("operand")  # `!reflect.DeepEqual(got, want)`
    function, arguments = (call.get("function"), call.get("arguments")) if call else (None, None)
    if function and arguments and subject.text(function).endswith("Equal") and condition.children[0].kind == "!":
        sides = list_items(subject.source, arguments)
    if len(sides) == 2 and (call or any(child.kind == "!=" for child in condition.children)):
        yield from _VALUES.compare(subject, sides)
    yield ((condition.start, condition.start, "!("), (condition.end, condition.end, ")")), ASSERTION


def _alter_call(subject: Subject, call: Node) -> Iterator[tuple[tuple[Edit, ...], int]]:
    function, arguments = call.get("function"), call.get("arguments")
    if not function or not arguments or not subject.text(function).startswith(("assert.", "require.")):
        return
    name = subject.text(function).partition(".")[2]
    values = list_items(subject.source, arguments)
    if name == "Equal" and len(values) >= 3:
        yield from _VALUES.compare(subject, (values[2], values[1]))  # testify takes what is expected first
    if name in _OPPOSITES:
        yield ((function.end - len(name), function.end, _OPPOSITES[name]),), ASSERTION
