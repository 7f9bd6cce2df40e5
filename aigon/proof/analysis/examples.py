"""The examples in test files: which function is called with which literals, and which answer is expected."""

import ast
import re
from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import islice, pairwise

from msgspec.structs import replace

from aigon.control.alteration import list_cases
from aigon.languages import is_python, without_comments, words
from aigon.proof.analysis.assertions import read_tests
from aigon.proof.analysis.python import list_statements
from aigon.syntax import Node, Source, parse
from aigon.text.patterns import compile_re

Atoms = tuple[str, ...]
"""A value, flattened: `(2, "a")` is `("2", "'a")`; numbers as they count, texts with an apostrophe before them."""
Examples = dict[str, dict[Atoms, Atoms]]
"""By function: the expected answer for each input."""
TABLE = "a table of the tests"
"""In the place of a function: rows of which no grammar tells what they are for."""

_NUMBER = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_NUMBERS = compile_re(rf"\s*[\[({{]?\s*{_NUMBER}(?:\s*[,;|:/_x*+@&=\s]\s*{_NUMBER})*\s*[\])}}]?\s*")
_MOST = 2000
"""Literals of one statement, and examples of one function, that are taken."""


def _write_number(value: float) -> str:
    """Return a number as it counts: 2 and 2.0 are the same."""
    if value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)[:40]


_LITERAL = (
    r"(?:\"(?:\\.|[^\"\\\n]){0,300}\"|'(?:\\.|[^'\\\n]){0,300}'|`[^`\\\n$]{0,300}`"
    r"|(?<![\w.])-?(?:\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?)(?:[a-zA-Z]\w{0,3})?|\b(?:true|false|null"
    r"|None|nil|undefined|True|False)\b)"
)
_ONE = compile_re(_LITERAL)
_WORDS = {"true": "True", "false": "False", "null": "None", "nil": "None", "undefined": "None"}
_MOST_LITERALS = 100_000
_LONGEST_LINE = 20_000
_TABLE = 6
"""Numbers in one text that make it a table."""
_MOST_CALLS = 500
"""Calls of one statement."""
_LONGEST = 300
"""Bytes of a literal."""


@lru_cache(maxsize=256)
def list_atoms(path: str, text: str) -> tuple[tuple[int, str], ...]:
    """Return the literals of a text in order, each part with its line; comments and docstrings are left out.

    What Python can put together is put together, and a text of many numbers is read as the table that it is.
    """
    lines: Iterable[tuple[int, str]] | None = list_statements(text) if is_python(path) else None
    if lines is None:
        tests = list_cases(path, text) if path.endswith(".rs") else ()  # the product cannot call these
        inside = {number for test in tests for number in range(test.start, test.end + 1)}
        rows = enumerate(without_comments(text, path).split("\n"), 1)
        lines = ((number, line) for number, line in rows if number not in inside)
    return tuple(islice(((number, atom) for number, line in lines for atom in _read_line(line)), _MOST_LITERALS))


def _read_line(line: str) -> Iterator[str]:
    for literal in _ONE.findall(line[:_LONGEST_LINE]):
        inside = literal[1:-1] if literal[0] in "\"'`" and len(re.findall(_NUMBER, literal)) >= _TABLE else ""
        for each in _ONE.findall(inside) or [literal]:
            yield from _parse_literal(each)


def _parse_literal(literal: str) -> Atoms:
    """Return the value of a literal, whatever the language."""
    if literal[0] in "\"'`":
        text = literal[1:-1]
        if len(text) < _LONGEST and _NUMBERS.fullmatch(text):  # the keys of a map are often written like this
            return tuple(_write_number(float(each)) for each in re.findall(_NUMBER, text))
        return (f"'{text}",)
    word = _WORDS.get(literal, literal)
    number = re.match(r"-?[\d_]+(?:\.\d+)?(?:[eE][+-]?\d+)?", word)
    return (_write_number(float(number[0].replace("_", ""))),) if number else (word,)


def read_examples(path: str, text: str) -> Examples:
    """Return, as far as its grammar tells, calls with literal arguments next to another literal, and rows of tables."""
    source = parse(path, f"{text}\n{_spell_out(text)}" if is_python(path) else text)
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
                _add(examples, TABLE, tuple(atom for each in given for atom in each), row[-1])
    return examples


def _spell_out(text: str) -> str:
    """Return what tests of Python assert for each row of their parameters and loops, a statement each."""
    asserted = sorted({each for test in read_tests(text) for each in test.asserts or ()})[:_MOST]
    return "\n".join(spelled for each in asserted if (spelled := _unwrap(each)))


def _unwrap(expression: str) -> str:
    """Return an expression without calls that only round or convert; "" for anything else."""
    try:
        return ast.unparse(_Unwrapping().visit(ast.parse(expression, mode="eval")))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ""


class _Unwrapping(ast.NodeTransformer):
    def visit_Call(self, node: ast.Call) -> ast.AST:
        self.generic_visit(node)
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        return node.args[0] if name in _WRAPPERS and node.args else node


_WRAPPERS = words("round approx list tuple sorted set dict str repr float int bool len")
_ROWS = ("array", "object", "array_expression", "tuple_expression", "literal_value", "Tuple", "List")
_PYTHON = words("Assert Assign AnnAssign Expr Return FunctionDef AsyncFunctionDef ClassDef For With If Try")
_PUNCTUATION = ("(", ")", "[", "]", "{", "}", ",", ";")


def _is_statement(node: Node) -> bool:
    return node.kind in _PYTHON or node.kind.endswith(("_statement", "_declaration", "let_declaration", "_item"))


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
        function, arguments = node.get("function", "func"), node.get("arguments")
        if node.kind == "Call":
            arguments = replace(node, children=tuple(each for each in node.children if each is not function))
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
    if given and len(examples.setdefault(name, {})) < _MOST:
        examples[name][given] = answer
