"""A table of answers, wherever a file has it."""

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from aigon.proof.analysis.examples import Atoms, Examples, atoms
from aigon.proof.analysis.folding import UNKNOWN, fold
from aigon.proof.analysis.python import Module
from aigon.proof.analysis.text import without_comments


@dataclass(slots=True)
class Table:
    """Input and answer, one after the other, for every row. `line` is where it begins."""

    line: int
    text: str
    rows: set[Atoms] = field(default_factory=set)
    size: int = 0

    def add(self, *values: Any) -> None:
        """One row; what is not known from the text counts towards the size alone."""
        self.size += 1
        if not any(value is UNKNOWN for value in values):
            self.rows.add(tuple(part for value in values for part in atoms(value)))


def branches(body: list[ast.stmt], before: tuple[Any, ...], table: Table, module: Module) -> None:
    """Comparisons with literals that lead to a literal."""
    for statement in body:
        if isinstance(statement, ast.If) and len(before) < 20:
            keys = _compared(statement.test, module)
            if keys:
                branches(statement.body, (*before, *keys), table, module)
            branches(statement.orelse, before, table, module)
        elif isinstance(statement, ast.Match):
            for case in statement.cases:
                keys = _matched(case.pattern, module)
                if keys:
                    branches(case.body, (*before, *keys), table, module)
        elif isinstance(statement, (ast.Return, ast.Assign)) and statement.value is not None:
            _branch_answer(statement.value, before, table, module)
        elif isinstance(statement, (ast.Try, ast.With, ast.For, ast.While)):
            branches(statement.body, before, table, module)


def _branch_answer(node: ast.expr, before: tuple[Any, ...], table: Table, module: Module) -> None:
    while isinstance(node, ast.IfExp):
        keys = _compared(node.test, module)
        if keys:
            table.add(*before, *keys, fold(node.body, module.values))
        node = node.orelse
    if before:
        table.add(*before, fold(node, module.values))


def _compared(test: ast.AST, module: Module) -> tuple[Any, ...]:
    """The literals that a condition wants something to be equal to; none if it wants anything else."""
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        parts = [_compared(each, module) for each in test.values]
        return tuple(key for part in parts for key in part)
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], (ast.Eq, ast.Is, ast.In)):
        sides = [fold(each, module.values) for each in (test.left, test.comparators[0])]
        known = [side for side in sides if side is not UNKNOWN]
        plain = not any(isinstance(n, ast.BinOp) for each in (test.left, test.comparators[0]) for n in ast.walk(each))
        return tuple(known) if len(known) == 1 and plain else ()
    return ()


def _matched(pattern: ast.pattern, module: Module) -> tuple[Any, ...]:
    if isinstance(pattern, ast.MatchValue):
        return (fold(pattern.value, module.values),)
    if isinstance(pattern, ast.MatchSingleton):
        return (pattern.value,)
    if isinstance(pattern, ast.MatchSequence):
        return tuple(key for each in pattern.patterns for key in _matched(each, module))
    return ()


_LITERAL = (
    r"(?:\"(?:\\.|[^\"\\\n]){0,300}\"|'(?:\\.|[^'\\\n]){0,300}'|`[^`\\\n$]{0,300}`"
    r"|(?<![\w.])-?(?:\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?)(?:[a-zA-Z]\w{0,3})?|\b(?:true|false|null"
    r"|None|nil|undefined|True|False)\b)"
)
_ONE = re.compile(_LITERAL)
_FLAT = rf"{_LITERAL}|\[[^\[\](){{}}]{{0,200}}\]"
_CALL = re.compile(
    rf"([A-Za-z_]\w{{0,80}})[!?]?\(\s{{0,20}}((?:{_FLAT})(?:\s{{0,20}},\s{{0,20}}"
    rf"(?:{_FLAT})){{0,9}})\s{{0,20}},?\)"
)
_ROW = re.compile(r"(?<!\w)[\[({]([^\[\](){}\n]{3,300})[\])}]")
_ASSERTS = re.compile(r"assert|expect|should|equal|\beq\b|\bis\(|want|got|!=|==|require", re.I)
_NO_ANSWER = re.compile(r"throw|reject|raise|panic|error|\.not\b|!==?\s*nil", re.I)
_MATCHERS = re.compile(
    r"(to|be|not|eq|equals?|is|it|test|describe|context|assert\w*|expect|should\w*|[Ee]rrorf?"
    r"|[Ff]atalf?|log|printf?|t|run|close)$"
    r"|to[A-Z]\w*|assert\w*|strictEqual|deepEqual|deepStrictEqual|assert_eq"
)
_ROWS_OF = "a table of the tests"
_MOST_LITERALS = 5000


@dataclass(frozen=True, slots=True)
class Literal:
    """One literal of a text and the line that it is on."""

    line: int
    atoms: Atoms


def find_literals(path: str, text: str) -> list[Literal]:
    """All literals of a text, in order, comments left out."""
    found = []
    for number, line in enumerate(without_comments(text, path).split("\n"), 1):
        found += [Literal(number, parse_literal(each)) for each in _ONE.findall(line[:5000])[:500]]
        if len(found) > 20 * _MOST_LITERALS:
            break
    return found


def parse_literal(literal: str) -> Atoms:
    """What a literal stands for, whatever the language."""
    if literal[0] in "\"'`":
        return atoms(literal[1:-1])
    word = {"true": "True", "false": "False", "null": "None", "nil": "None", "undefined": "None"}.get(literal, literal)
    match = re.match(r"-?[\d_]+(?:\.\d+)?(?:[eE][+-]?\d+)?", word)
    return atoms(float(match[0].replace("_", ""))) if match else (word,)


def examples(path: str, text: str) -> Examples:
    """By function, as far as it can be told: calls with literal arguments in an assertion, and rows of tables."""
    found: Examples = {}
    plain = without_comments(text, path)
    for match in _CALL.finditer(plain):
        answer = _answer(plain, match)
        if answer is not None and not _MATCHERS.fullmatch(match[1]):
            _add(found, match[1], tuple(a for each in _ONE.findall(match[2]) for a in parse_literal(each)), answer)
    for row in _rows(plain):
        _add(found, _ROWS_OF, tuple(a for each in row[:-1] for a in each), row[-1])
    return found


def _add(found: Examples, name: str, given: Atoms, answer: Atoms) -> None:
    if given and len(found.setdefault(name, {})) < _MOST_LITERALS:
        found[name][given] = answer


def _answer(text: str, match: re.Match[str]) -> Atoms | None:
    """The literal that a call is compared with: the first after it in its statement, else the last before it."""
    after = re.split(r";|\n", text[match.end() : match.end() + 300], maxsplit=1)[0]
    before = re.split(r";|\n", text[max(match.start() - 300, 0) : match.start()])[-1]
    if not _ASSERTS.search(before + after) or _NO_ANSWER.search(before + after):
        return None
    behind, ahead = _ONE.findall(after), _ONE.findall(before)
    return parse_literal(behind[0]) if behind else parse_literal(ahead[-1]) if ahead else None


def _rows(text: str) -> Iterator[list[Atoms]]:
    """`[2, 3, 6]`, `{2, 3, 6}`, `{a: 2, b: 3, want: 6}`, a name for the case left out."""
    for match in list(_ROW.finditer(text))[:_MOST_LITERALS]:
        values = [parse_literal(each) for each in _ONE.findall(match[1])]
        rest = re.sub(r"\w+\s*:", "", _ONE.sub("", match[1]))
        if len(values) > 1 and not re.search(r"\w", rest):
            named = values[0][0].startswith("'") and len(values) > 2 and not values[1][0].startswith("'")
            yield values[1:] if named else values
