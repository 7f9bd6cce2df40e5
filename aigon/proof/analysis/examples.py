"""Values of different languages, brought into one form so that inputs and answers can be compared."""

import ast
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice, product
from typing import Any

from aigon.proof.analysis.folding import UNKNOWN, fold
from aigon.proof.analysis.languages import extension, is_javascript, is_python
from aigon.proof.analysis.python import Module, read
from aigon.proof.analysis.text import line_at, without_comments

Atoms = tuple[str, ...]
"""A value, flattened: `(2, "a")` is `("2", "'a")`; numbers as they count, texts with an apostrophe before them."""

_NUMBER = r"[+-]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?"
_NUMBERS = re.compile(rf"\s*[\[({{]?\s*{_NUMBER}(?:\s*[,;|:/_x*+@&=\s]\s*{_NUMBER})*\s*[\])}}]?\s*")
_DEEPEST = 6
_MOST_ATOMS = 300


def atoms(value: Any) -> Atoms:
    """The parts of a value, in order; a dictionary's keys and values one after the other. Of many, the first."""
    return tuple(islice(_flat(value, 0), _MOST_ATOMS))


def _flat(value: Any, depth: int) -> Iterator[str]:
    if isinstance(value, dict):
        value = [part for item in islice(value.items(), _MOST_ATOMS) for part in item]
    if isinstance(value, (list, tuple, set, frozenset)):
        for each in value if depth < _DEEPEST else ():
            yield from _flat(each, depth + 1)
    else:
        yield from _atom(value)


def _atom(value: Any) -> Atoms:
    if isinstance(value, (str, bytes)):
        return _of_text(value if isinstance(value, str) else value.decode("latin-1"))
    return (number(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else str(value),)


def number(value: float) -> str:
    """A number as it counts: 2 and 2.0 are the same."""
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)[:40]


def kind(values: Iterable[str]) -> str:
    """`numbers`, `texts` or `mixed`."""
    kinds = {"texts" if each.startswith("'") else "numbers" for each in values}
    return kinds.pop() if len(kinds) == 1 else "mixed"


def _of_text(text: str) -> Atoms:
    """A text; one that is nothing but numbers, as keys of a map are often written, stands for the numbers."""
    if len(text) < 200 and _NUMBERS.fullmatch(text):
        return tuple(number(float(each)) for each in re.findall(_NUMBER, text))
    return ("'" + text[:2000],)


_NAMES: dict[str, re.Pattern[str]] = {
    "js": re.compile(
        r"(?<![\w.$])(?:[xf]?(?:it|test|specify|describe|context|suite)|Deno\.test)"
        r"(?:\.(?:only|skip|todo|fails|failing|concurrent|sequential|each|skipIf|runIf)\b(?:\([^()\n]{0,400}\))?)*"
        r"\s*\(\s*(?:(['\"`])((?:\\.|(?!\1)[^\\\n]){1,300})\1)?"
    ),
    "go": re.compile(r"^func\s+(?P<name>(?:Test|Benchmark|Fuzz|Example)\w*)\s*\(", re.MULTILINE),
    "rs": re.compile(r"#\[(?:\w+::)*test\b[^\n]*\](?:\s*#\[[^\n]*\])*\s*(?:pub\s+)?(?:async\s+)?fn\s+(?P<name>\w+)"),
    "rb": re.compile(
        r"^[ \t]*(?:def\s+(?P<name>test_\w+)"
        r"|x?(?:it|specify|describe|context|test)\s*\(?\s*['\"](?P<title>[^'\"\n]{1,300}))",
        re.MULTILINE,
    ),
    "php": re.compile(r"\bfunction\s+(?P<name>test\w+)\s*\("),
    "java": re.compile(
        r"@(?:\w*Test|Fact|Theory|TestMethod|TestCase)\b"
        r"[^;{]{0,300}?\b(?:void|fun|Task)\s+`?(?P<name>[\w ]+?)`?\s*\("
    ),
}
_LIKE = {"kt": "java", "scala": "java", "groovy": "java", "cs": "java"}


@dataclass(frozen=True, slots=True)
class ExampleCase:
    """One test: its name (classes before it, dotted, in Python), first and last line, and its text without comments."""

    name: str
    start: int
    end: int
    text: str


@lru_cache(maxsize=256)
def cases(path: str, text: str) -> tuple[ExampleCase, ...]:
    """All tests of a file, in order."""
    if is_python(path):
        module = read(text)
        return tuple(_in_python(module.tree, "", text)) if module else ()
    end = "js" if is_javascript(path) else extension(path)
    pattern = _NAMES.get(_LIKE.get(end, end))
    return tuple(_elsewhere(pattern, path, text)) if pattern else ()


def _in_python(tree: ast.AST, before: str, text: str) -> Iterator[ExampleCase]:
    lines = text.split("\n")
    todo = [(tree, before)]
    while todo:
        node, prefix = todo.pop()
        for child in ast.iter_child_nodes(node):
            if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef)) and child.name.startswith("test"):
                start = min([child.lineno, *(mark.lineno for mark in child.decorator_list)])
                end = child.end_lineno or child.lineno
                yield ExampleCase(prefix + child.name, start, end, "\n".join(lines[start - 1 : end]))
            elif isinstance(child, ast.ClassDef):
                todo.append((child, f"{prefix}{child.name}."))
            elif isinstance(child, (ast.If, ast.Try, ast.With)):
                todo.append((child, prefix))


def _elsewhere(pattern: re.Pattern[str], path: str, text: str) -> Iterator[ExampleCase]:
    plain = without_comments(text, path)
    found = list(pattern.finditer(plain))
    for match, following in zip(found, [*found[1:], None], strict=False):
        groups = match.groupdict()
        name = groups.get("name") or groups.get("title") or (match[2] if "name" not in groups else "") or ""
        end = following.start() if following else len(plain)
        if name:
            yield ExampleCase(name, line_at(plain, match.start()), line_at(plain, end), plain[match.start() : end])


Examples = dict[str, dict[Atoms, Atoms]]
"""By function: the expected answer for each input."""

_MOST = 2000
"""Examples of one file that are taken, and ways to go through one test."""
_STEPS = 10_000
"""Statements of one test that are gone through."""


@dataclass(frozen=True, slots=True)
class ExampleQuestion:
    """A call with literal arguments, wherever its result is used."""

    name: str
    arguments: Atoms


Env = Mapping[str, Any]


def examples(source: str) -> Examples:
    """The examples in a test file; none where Python cannot read it."""
    module = read(source)
    found: Examples = {}
    if module is None:
        return found
    for node in module.nodes:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            for asked, expected in islice(_of_test(node, module), _MOST):
                if len(found) < _MOST:
                    found.setdefault(asked.name, {})[asked.arguments] = expected
    return found


def _of_test(test: ast.FunctionDef | ast.AsyncFunctionDef, module: Module) -> Iterator[tuple[ExampleQuestion, Atoms]]:
    tables = [table for mark in test.decorator_list for table in _parametrized(mark, module.values)]
    left = iter(range(_STEPS))
    for rows in islice(product(*tables), _MOST):
        env = {**module.values, **{name: value for row in rows for name, value in row.items()}}
        yield from islice(_of_body(test.body, env, left), _MOST)


def _parametrized(mark: ast.AST, env: Env) -> Iterator[list[dict[str, Any]]]:
    if isinstance(mark, ast.Call) and isinstance(mark.func, ast.Attribute) and mark.func.attr == "parametrize":
        given = [*mark.args, *(keyword.value for keyword in mark.keywords)][:2]
        names = fold(given[0], env) if len(given) == 2 else UNKNOWN
        if isinstance(names, (str, list, tuple)):
            listed = [n.strip() for n in names.split(",")] if isinstance(names, str) else list(names)
            yield [dict(zip(listed, row, strict=False)) for row in _rows(given[1], env, len(listed))][:_MOST]


def _rows(node: ast.AST, env: Env, width: int) -> Iterator[tuple[Any, ...]]:
    items: Iterable[Any] = node.elts if isinstance(node, (ast.List, ast.Tuple, ast.Set)) else _folded(node, env)
    for item in items:
        value = _row(item, env) if isinstance(item, ast.AST) else item
        if value is not UNKNOWN:
            yield value if isinstance(value, tuple) and width > 1 else tuple(value) if width > 1 else (value,)


def _row(item: ast.AST, env: Env) -> Any:
    if isinstance(item, ast.Call):  # pytest.param(2, 3, 6, id="small")
        values = tuple(fold(each, env) for each in item.args)
        if not values or any(value is UNKNOWN for value in values):
            return UNKNOWN
        return values if len(values) > 1 else values[0]
    return fold(item, env)


def _folded(node: ast.AST, env: Env) -> list[Any]:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "items":
        value = fold(node.func.value, env)
        return list(value.items()) if isinstance(value, dict) else []
    value = fold(node, env)
    return list(value) if isinstance(value, (list, tuple, dict)) else []


def _of_body(body: list[ast.stmt], env: dict[str, Any], left: Iterator[int]) -> Iterator[tuple[ExampleQuestion, Atoms]]:
    """The examples of some statements. `left` are the steps that may still be taken in this test."""
    for statement, _ in zip(body, left, strict=False):
        if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
            env[statement.targets[0].id] = value(statement.value, env)
        elif isinstance(statement, ast.For):
            for row, _ in zip(_folded(statement.iter, env)[:_MOST], left, strict=False):
                yield from _of_body(statement.body, {**env, **_bound(statement.target, row)}, left)
        elif isinstance(statement, (ast.With, ast.AsyncWith)):
            yield from _of_body(statement.body, env, left)
        elif isinstance(statement, ast.Assert):
            yield from _asserted(statement.test, env)
        elif isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            yield from _called(statement.value, env)


def _bound(target: ast.AST, row: Any) -> dict[str, Any]:
    if isinstance(target, ast.Name):
        return {target.id: row}
    if isinstance(target, (ast.Tuple, ast.List)) and isinstance(row, (list, tuple)):
        pairs = zip(target.elts, row, strict=False)
        return {name: each for part, item in pairs for name, each in _bound(part, item).items()}
    return {}


def _asserted(test: ast.AST, env: Env) -> Iterator[tuple[ExampleQuestion, Atoms]]:
    if isinstance(test, ast.BoolOp) and isinstance(test.op, ast.And):
        for each in test.values:
            yield from _asserted(each, env)
    elif isinstance(test, ast.Compare) and len(test.ops) == 1 and isinstance(test.ops[0], (ast.Eq, ast.Is)):
        yield from _pair(test.left, test.comparators[0], env)
    elif isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        yield from _pair(test.operand, ast.Constant(False), env)
    else:
        yield from _pair(test, ast.Constant(True), env)


_COMPARES = re.compile(r"assert(?!.*Not)\w*(Equals?|Is)")
_ANSWERS = {"assertTrue": True, "assertFalse": False, "assertIsNone": None}


def _called(call: ast.Call, env: Env) -> Iterator[tuple[ExampleQuestion, Atoms]]:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if name in _ANSWERS and call.args:
        yield from _pair(call.args[0], ast.Constant(_ANSWERS[name]), env)
    elif _COMPARES.fullmatch(name) and len(call.args) >= 2:
        yield from _pair(call.args[0], call.args[1], env)


def _pair(left: ast.AST, right: ast.AST, env: Env) -> Iterator[tuple[ExampleQuestion, Atoms]]:
    one, other = value(left, env), value(right, env)
    if isinstance(other, ExampleQuestion):
        one, other = other, one
    if (
        isinstance(one, ExampleQuestion)
        and one.arguments
        and not isinstance(other, ExampleQuestion)
        and other is not UNKNOWN
    ):
        yield one, atoms(other)


_WRAPPERS = ("round", "approx", "list", "tuple", "sorted", "set", "dict", "str", "repr", "float", "int", "bool", "len")


def value(node: ast.AST, env: Env, depth: int = 0) -> Any:
    """A literal, the call that an expression is about, or UNKNOWN."""
    if depth > 20:
        return UNKNOWN
    if isinstance(node, ast.Name) and isinstance(env.get(node.id), ExampleQuestion):
        return env[node.id]
    if isinstance(node, (ast.Attribute, ast.Subscript, ast.Await)):
        inner = value(node.value, env, depth + 1)
        return inner if isinstance(inner, ExampleQuestion) else fold(node, env)
    if isinstance(node, ast.Call):
        return _call(node, env, depth)
    return fold(node, env)


def _call(node: ast.Call, env: Env, depth: int) -> Any:
    name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
    given = [*node.args, *(keyword.value for keyword in node.keywords)]
    values = [value(each, env, depth + 1) for each in given]
    if name in _WRAPPERS and values:
        return values[0]
    owner = value(node.func.value, env, depth + 1) if isinstance(node.func, ast.Attribute) else None
    if any(each is UNKNOWN for each in values) or not name:
        return UNKNOWN
    before = owner.arguments if isinstance(owner, ExampleQuestion) else ()
    flat = tuple(
        part for each in values for part in (each.arguments if isinstance(each, ExampleQuestion) else atoms(each))
    )
    return ExampleQuestion(owner.name if isinstance(owner, ExampleQuestion) and not flat else name, (*before, *flat))
