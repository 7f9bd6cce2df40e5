"""The examples in test files: which function is called with which literals, and which answer is expected."""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import islice, pairwise, product
from typing import Any

from aigon.proof.analysis.folding import UNKNOWN, fold
from aigon.proof.analysis.python import Module, read_module
from aigon.proof.analysis.text import without_comments
from aigon.syntax import Node, Source, parse

Atoms = tuple[str, ...]
"""A value, flattened: `(2, "a")` is `("2", "'a")`; numbers as they count, texts with an apostrophe before them."""
Examples = dict[str, dict[Atoms, Atoms]]
"""By function: the expected answer for each input."""
Env = Mapping[str, Any]

_NUMBER = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_NUMBERS = re.compile(rf"\s*[\[({{]?\s*{_NUMBER}(?:\s*[,;|:/_x*+@&=\s]\s*{_NUMBER})*\s*[\])}}]?\s*")
_DEEPEST = 6
_MOST_ATOMS = 300
_MOST = 2000
"""Examples of one file that are taken, and ways to go through one test."""
_STEPS = 10_000
"""Statements of one test that are gone through."""


def flatten(value: Any) -> Atoms:
    """Return the parts of a value in order, of many the first. Keys and values of a dictionary alternate."""
    return tuple(islice(_flatten(value, 0), _MOST_ATOMS))


def _flatten(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, dict):
        value = [part for item in islice(value.items(), _MOST_ATOMS) for part in item]
    if isinstance(value, (list, tuple, set, frozenset)):
        for each in value if depth < _DEEPEST else ():
            yield from _flatten(each, depth + 1)
    elif isinstance(value, (str, bytes)):
        text = value if isinstance(value, str) else value.decode("latin-1")
        if len(text) < 200 and _NUMBERS.fullmatch(text):  # the keys of a map are often written like this
            yield from (_write_number(float(each)) for each in re.findall(_NUMBER, text))
        else:
            yield "'" + text[:2000]
    else:
        is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
        yield _write_number(value) if is_number else str(value)


def _write_number(value: float) -> str:
    """Return a number as it counts: 2 and 2.0 are the same."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)[:40]


@dataclass(frozen=True, slots=True)
class ExampleCall:
    """A call with literal arguments, wherever its result is used."""

    name: str
    arguments: Atoms


def read_python_examples(source: str) -> Examples:
    """Return the examples in a test file; none if Python cannot read it."""
    module = read_module(source)
    examples: Examples = {}
    for node in module.nodes if module else ():
        if module and isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for call, expected in islice(_walk_test(node, module), _MOST):
                if len(examples) < _MOST:
                    examples.setdefault(call.name, {})[call.arguments] = expected
    return examples


def _walk_test(test: ast.FunctionDef | ast.AsyncFunctionDef, module: Module) -> Iterator[tuple[ExampleCall, Atoms]]:
    tables = [table for mark in test.decorator_list for table in _read_parameters(mark, module.values)]
    steps = iter(range(_STEPS))
    for rows in islice(product(*tables), _MOST):
        env = {**module.values, **{name: value for row in rows for name, value in row.items()}}
        yield from islice(_walk_body(test.body, env, steps), _MOST)


def _read_parameters(mark: ast.AST, env: Env) -> Iterator[list[dict[str, Any]]]:
    if isinstance(mark, ast.Call) and isinstance(mark.func, ast.Attribute) and mark.func.attr == "parametrize":
        given = [*mark.args, *(keyword.value for keyword in mark.keywords)][:2]
        names = fold(given[0], env) if len(given) == 2 else UNKNOWN
        if isinstance(names, (str, list, tuple)):
            listed = [n.strip() for n in names.split(",")] if isinstance(names, str) else list(names)
            yield [dict(zip(listed, row, strict=False)) for row in _read_rows(given[1], env, len(listed))][:_MOST]


def _read_rows(node: ast.AST, env: Env, width: int) -> Iterator[tuple[Any, ...]]:
    items: Iterable[Any] = node.elts if isinstance(node, (ast.List, ast.Tuple, ast.Set)) else _fold_items(node, env)
    for item in items:
        value = item
        if isinstance(item, ast.Call):  # pytest.param(2, 3, 6, id="small")
            values = tuple(fold(each, env) for each in item.args)
            is_known = values and not any(each is UNKNOWN for each in values)
            value = UNKNOWN if not is_known else values if len(values) > 1 else values[0]
        elif isinstance(item, ast.AST):
            value = fold(item, env)
        if value is not UNKNOWN:
            yield value if isinstance(value, tuple) and width > 1 else tuple(value) if width > 1 else (value,)


def _fold_items(node: ast.AST, env: Env) -> list[Any]:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "items":
        value = fold(node.func.value, env)
        return list(value.items()) if isinstance(value, dict) else []
    value = fold(node, env)
    return list(value) if isinstance(value, (list, tuple, dict)) else []


def _walk_body(body: list[ast.stmt], env: dict[str, Any], steps: Iterator[int]) -> Iterator[tuple[ExampleCall, Atoms]]:
    """Yield the examples of some statements. `steps` are those that may still be taken in this test."""
    for statement, _ in zip(body, steps, strict=False):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name), *_]):
                env[name] = _evaluate(statement.value, env)
            case ast.For():
                for row, _ in zip(_fold_items(statement.iter, env)[:_MOST], steps, strict=False):
                    yield from _walk_body(statement.body, {**env, **_bind(statement.target, row)}, steps)
            case ast.With() | ast.AsyncWith():
                yield from _walk_body(statement.body, env, steps)
            case ast.Assert():
                yield from _read_assertion(statement.test, env)
            case ast.Expr(value=ast.Call() as call):
                yield from _read_unittest(call, env)


def _bind(target: ast.AST, row: Any) -> dict[str, Any]:
    if isinstance(target, ast.Name):
        return {target.id: row}
    if isinstance(target, (ast.Tuple, ast.List)) and isinstance(row, (list, tuple)):
        pairs = zip(target.elts, row, strict=False)
        return {name: each for part, item in pairs for name, each in _bind(part, item).items()}
    return {}


def _read_assertion(test: ast.AST, env: Env) -> Iterator[tuple[ExampleCall, Atoms]]:
    match test:
        case ast.BoolOp(op=ast.And()):
            for each in test.values:
                yield from _read_assertion(each, env)
        case ast.Compare(ops=[ast.Eq() | ast.Is()]):
            yield from _pair(test.left, test.comparators[0], env)
        case ast.UnaryOp(op=ast.Not()):
            yield from _pair(test.operand, ast.Constant(False), env)
        case _:
            yield from _pair(test, ast.Constant(True), env)


_COMPARES = re.compile(r"assert(?!.*Not)\w*(Equals?|Is)")
_ANSWERS = {"assertTrue": True, "assertFalse": False, "assertIsNone": None}


def _read_unittest(call: ast.Call, env: Env) -> Iterator[tuple[ExampleCall, Atoms]]:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if name in _ANSWERS and call.args:
        yield from _pair(call.args[0], ast.Constant(_ANSWERS[name]), env)
    elif _COMPARES.fullmatch(name) and len(call.args) >= 2:
        yield from _pair(call.args[0], call.args[1], env)


def _pair(left: ast.AST, right: ast.AST, env: Env) -> Iterator[tuple[ExampleCall, Atoms]]:
    call, answer = _evaluate(left, env), _evaluate(right, env)
    if isinstance(answer, ExampleCall):
        call, answer = answer, call
    is_known = not isinstance(answer, ExampleCall) and answer is not UNKNOWN
    if isinstance(call, ExampleCall) and call.arguments and is_known:
        yield call, flatten(answer)


_WRAPPERS = ("round", "approx", "list", "tuple", "sorted", "set", "dict", "str", "repr", "float", "int", "bool", "len")


def _evaluate(node: ast.AST, env: Env, depth: int = 0) -> Any:
    """Return a literal, the call that an expression is about, or UNKNOWN."""
    if depth > 20:
        return UNKNOWN
    if isinstance(node, ast.Name) and isinstance(env.get(node.id), ExampleCall):
        return env[node.id]
    if isinstance(node, (ast.Attribute, ast.Subscript, ast.Await)):
        inner = _evaluate(node.value, env, depth + 1)
        return inner if isinstance(inner, ExampleCall) else fold(node, env)
    if not isinstance(node, ast.Call):
        return fold(node, env)
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    values = [_evaluate(e, env, depth + 1) for e in (*node.args, *(keyword.value for keyword in node.keywords))]
    if name in _WRAPPERS and values:
        return values[0]
    owner = _evaluate(node.func.value, env, depth + 1) if isinstance(node.func, ast.Attribute) else None
    if any(each is UNKNOWN for each in values) or not name:
        return UNKNOWN
    flat = tuple(a for each in values for a in (each.arguments if isinstance(each, ExampleCall) else flatten(each)))
    if isinstance(owner, ExampleCall):
        return ExampleCall(name if flat else owner.name, (*owner.arguments, *flat))
    return ExampleCall(name, flat)


# Other languages: by their literals.

_LITERAL = (
    r"(?:\"(?:\\.|[^\"\\\n]){0,300}\"|'(?:\\.|[^'\\\n]){0,300}'|`[^`\\\n$]{0,300}`"
    r"|(?<![\w.])-?(?:\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?)(?:[a-zA-Z]\w{0,3})?|\b(?:true|false|null"
    r"|None|nil|undefined|True|False)\b)"
)
_ONE = re.compile(_LITERAL)
_WORDS = {"true": "True", "false": "False", "null": "None", "nil": "None", "undefined": "None"}
_MOST_LITERALS = 5000
_MOST_CALLS = 500
"""Calls of one statement."""
_LONGEST = 300
"""Bytes of a literal."""


@dataclass(frozen=True, slots=True)
class Literal:
    """One literal of a text and the line that it is on."""

    line: int
    atoms: Atoms


def find_literals(path: str, text: str) -> list[Literal]:
    """Return all literals of a text, in order, comments left out."""
    found: list[Literal] = []
    for number, line in enumerate(without_comments(text, path).split("\n"), 1):
        found += [Literal(number, _parse_literal(each)) for each in _ONE.findall(line[:5000])[:500]]
        if len(found) > 20 * _MOST_LITERALS:
            break
    return found


def _parse_literal(literal: str) -> Atoms:
    """Return what a literal stands for, whatever the language."""
    if literal[0] in "\"'`":
        return flatten(literal[1:-1])
    word = _WORDS.get(literal, literal)
    number = re.match(r"-?[\d_]+(?:\.\d+)?(?:[eE][+-]?\d+)?", word)
    return flatten(float(number[0].replace("_", ""))) if number else (word,)


def read_examples(path: str, text: str) -> Examples:
    """Return, as far as its grammar tells, calls with literal arguments beside another literal, and rows of tables."""
    source = parse(path, text)
    examples: Examples = {}
    for statement in _list_statements(source.root) if source else ():
        assert source is not None, "only a source has statements"
        literals = list(islice(_list_literals(source, statement), _MOST))
        for name, call, group in islice(_list_calls(source, statement), _MOST_CALLS):
            given = _read_values(source, group)
            after = next((atoms for node, atoms in literals if node.start >= call.end), None)
            before = next((atoms for node, atoms in reversed(literals) if node.end <= call.start), None)
            if given and (answer := after or before):
                _add(examples, name, tuple(atom for each in given for atom in each), answer)
        for node in _walk_statement(statement):
            row = _read_values(source, node) if node.kind in _ROWS else None
            if row and len(row) > 1 and any(len(value) == 1 for value in row):  # else it is a row of rows
                # The first text of a row is the name of its case.
                is_named = row[0][0].startswith("'") and len(row) > 2 and not row[1][0].startswith("'")
                given = row[1:-1] if is_named else row[:-1]
                _add(examples, "a table of the tests", tuple(atom for each in given for atom in each), row[-1])
    return examples


_ROWS = ("array", "object", "array_expression", "tuple_expression", "literal_value")
_PUNCTUATION = ("(", ")", "[", "]", "{", "}", ",", ";")


def _is_statement(node: Node) -> bool:
    return node.kind.endswith(("_statement", "_declaration", "let_declaration", "_item"))


def _list_statements(root: Node) -> Iterator[Node]:
    yield root
    yield from (node for node in root.walk() if _is_statement(node))


def _walk_statement(statement: Node) -> Iterator[Node]:
    """Yield what belongs to a statement, without the statements in it."""
    pending = [statement]
    while pending:
        node = pending.pop()
        yield node
        pending += [child for child in reversed(node.children) if not _is_statement(child)]


def _list_literals(source: Source, statement: Node) -> Iterator[tuple[Node, Atoms]]:
    """Yield the literals of a statement in order, `-2` as one."""
    done = minus = -1
    for node in _walk_statement(statement):
        sign = "-" if node.start == minus else ""
        if node.start >= done and (atoms := _read_literal(source, node, sign)):
            done = node.end
            yield node, atoms
        if node.kind == "-" and source.language == "rust":  # macros have no signs, only tokens
            minus = node.end


def _list_calls(source: Source, statement: Node) -> Iterator[tuple[str, Node, Node]]:
    """Yield name, call and arguments of each call by a name; in a macro of Rust a call is a name before brackets."""
    for node in _walk_statement(statement):
        function, arguments = node.get("function"), node.get("arguments")
        if function and arguments and re.fullmatch(r"[\w.:$]+", source.text(function)):
            yield re.split(r"[.:]", source.text(function))[-1], node, arguments
        if node.kind == "token_tree":
            for name, group in pairwise(node.children):
                if name.kind == "identifier" and group.kind == "token_tree":
                    yield source.text(name), replace(name, end=group.end), group


def _read_values(source: Source, group: Node) -> list[Atoms] | None:
    """Return the literals in brackets, the values of a mapping; None if anything else is among them."""
    values: list[Atoms] = []
    sign = ""
    for child in group.children:
        if child.kind == "-":
            sign = "-"
        elif child.kind not in _PUNCTUATION and "comment" not in child.kind:
            value = child.children[-1] if child.kind in ("pair", "keyed_element") and child.children else child
            atoms = _read_literal(source, value, sign)
            if atoms is None:
                return None
            values.append(atoms)
            sign = ""
    return values


def _read_literal(source: Source, node: Node, sign: str = "") -> Atoms | None:
    text = source.text(node) if node.end - node.start < _LONGEST else ""
    if _ONE.fullmatch(sign + text):
        return _parse_literal(sign + text)
    if node.kind == "literal_element" and node.children:
        return _read_literal(source, node.children[0], sign)
    if node.kind in _ROWS and (inner := _read_values(source, node)):
        return tuple(atom for each in inner for atom in each)
    return None


def _add(examples: Examples, name: str, given: Atoms, answer: Atoms) -> None:
    if given and len(examples.setdefault(name, {})) < _MOST_LITERALS:
        examples[name][given] = answer
