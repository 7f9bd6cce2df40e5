"""Inputs and answers in languages that are read by their literals alone: what stands next to each other."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from aigon.proof.integrity._atoms import Atoms, atoms
from aigon.proof.integrity._examples import Examples
from aigon.proof.integrity._scan import without_comments

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
_MOST = 5000


@dataclass(frozen=True, slots=True)
class Literal:
    """One literal of a text and the line that it is on."""

    line: int
    atoms: Atoms


def literals(path: str, text: str) -> list[Literal]:
    """All literals of a text, in order, comments left out."""
    found = []
    for number, line in enumerate(without_comments(text, path).split("\n"), 1):
        found += [Literal(number, read(each)) for each in _ONE.findall(line[:5000])[:500]]
        if len(found) > 20 * _MOST:
            break
    return found


def read(literal: str) -> Atoms:
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
            _add(found, match[1], tuple(a for each in _ONE.findall(match[2]) for a in read(each)), answer)
    for row in _rows(plain):
        _add(found, _ROWS_OF, tuple(a for each in row[:-1] for a in each), row[-1])
    return found


def _add(found: Examples, name: str, given: Atoms, answer: Atoms) -> None:
    if given and len(found.setdefault(name, {})) < _MOST:
        found[name][given] = answer


def _answer(text: str, match: re.Match[str]) -> Atoms | None:
    """The literal that a call is compared with: the first after it in its statement, else the last before it."""
    after = re.split(r";|\n", text[match.end() : match.end() + 300], maxsplit=1)[0]
    before = re.split(r";|\n", text[max(match.start() - 300, 0) : match.start()])[-1]
    if not _ASSERTS.search(before + after) or _NO_ANSWER.search(before + after):
        return None
    behind, ahead = _ONE.findall(after), _ONE.findall(before)
    return read(behind[0]) if behind else read(ahead[-1]) if ahead else None


def _rows(text: str) -> Iterator[list[Atoms]]:
    """`[2, 3, 6]`, `{2, 3, 6}`, `{a: 2, b: 3, want: 6}`, a name for the case left out."""
    for match in list(_ROW.finditer(text))[:_MOST]:
        values = [read(each) for each in _ONE.findall(match[1])]
        rest = re.sub(r"\w+\s*:", "", _ONE.sub("", match[1]))
        if len(values) > 1 and not re.search(r"\w", rest):
            named = values[0][0].startswith("'") and len(values) > 2 and not values[1][0].startswith("'")
            yield values[1:] if named else values
