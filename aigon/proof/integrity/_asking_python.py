"""Python that asks whether it runs under a test."""

import ast
import re
from collections.abc import Iterable, Iterator
from typing import Any

from aigon.model.changes import ConcernLevel
from aigon.proof.integrity._fold import strings
from aigon.proof.integrity._origins import Origin, Origins, origins
from aigon.proof.integrity._python import Module, units
from aigon.proof.integrity._sightings import Sighting

TELLING = re.compile(
    r"PYTEST_(CURRENT_TEST|VERSION|XDIST|ADDOPTS|PLUGINS|DISABLE)|JEST_WORKER_ID|VITEST(_WORKER_ID"
    r"|_POOL_ID|_MODE)?$"
    r"|NODE_TEST_CONTEXT|_called_from_test|pytest-of-|__pytest|_pytest\.|MOCHA_COLORS|COV_CORE_|TOX_(ENV|WORK)"
)
"""Names that mean only one thing: a test runner is at work. One way they are written in several languages."""

_RUNNER = re.compile(
    r"pytest|py\.test|unittest|nose2?\b|nosetest|conftest|doctest|\btox\b|xdist|testcase" r"|(?<![a-z])test_|_tests?\b",
    re.I,
)
_BARE = re.compile(r"(?<![a-z-])tests?(?![a-z])", re.I)
_RUNNER_VARIABLE = re.compile(
    r"_?(PY_?TEST|VITEST|JEST|MOCHA|TOX_|COV_CORE|COVERAGE_|NOSE|UNITTEST|XDIST|TEST_RUNNER)", re.I
)
_MODE = re.compile(
    r"\b(TEST(ING|_?MODE|_?ENV)?|UNIT_?TESTS?|IS_TEST\w*|IN_TEST\w*|RUNNING_TESTS?)\b|^(CI" r"|GITHUB_ACTIONS)$", re.I
)
_OWN_VARIABLE = re.compile(r"AIGON_")
_ASKS = re.compile(
    r"(startswith|endswith|find|rfind|index|count|search|match|fullmatch|findall|finditer|fnmatch"
    r"|fnmatchcase|get|pop"
    r"|__contains__|__getitem__|intersection|isdisjoint|issubset|issuperset|getenv|getenvb|eq|contains"
    r"|any|filter"
    r"|next|find_spec|hasattr|getattr|__eq__)$"
)
_READS_THE_CALLER = re.compile(
    r"code_context|f_locals|f_lasti|co_consts|co_code|co_positions|co_lines|getsource|getsourcelines"
    r"|getline|getlines|positions"
)
_NAMES_THE_CALLER = re.compile(r"co_name|co_filename|co_qualname|function|filename|f_lineno|lineno")

_EXPRESSIONS = (ast.Compare, ast.Call, ast.Subscript, ast.BinOp)


def asking(source: str, own: bool) -> Iterator[Sighting]:
    """Every statement that asks it. `own` is whether variables of aigon belong to the project."""
    for module in units(source):
        known = origins(module)
        for statement in _statements(module.nodes):
            seen = _seen(statement, module, known, own)
            if seen:
                yield Sighting(module.line(statement), module.text(statement), *seen)


def _statements(nodes: Iterable[ast.AST]) -> Iterator[ast.stmt | ast.match_case | ast.ExceptHandler]:
    docs = {id(n) for n in nodes if isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant)}
    for node in nodes:
        if isinstance(node, ast.stmt) and id(node) not in docs:
            yield node


def _own(statement: ast.AST) -> list[ast.AST]:
    """The expressions of a statement itself, without those of the statements in it."""
    fields: list[Any] = []
    for _, value in ast.iter_fields(statement):
        fields += value if isinstance(value, list) else [value]
    found: list[ast.AST] = [each for each in fields if isinstance(each, (ast.expr, ast.withitem, ast.arguments))]
    return found + [case.pattern for case in fields if isinstance(case, ast.match_case)]


def _seen(statement: ast.AST, module: Module, known: Origins, own: bool) -> tuple[str, ConcernLevel] | None:
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return _imported(statement)
    expressions = _own(statement)
    words = [word for each in expressions for word in strings(each, module.values)]
    names = [n.attr for each in expressions for n in ast.walk(each) if isinstance(n, ast.Attribute)]
    if any(TELLING.search(word) for word in [*words, *names]) and not _drops(statement, module):
        return "names what only a test runner sets", "review"
    where = frozenset[Origin]().union(*(known.of(each) for each in expressions)) if expressions else frozenset()
    if "stack" in where:
        return _stack(expressions, words, names, module)
    return _question(expressions, where, module, known, own) if where and words else None


def _imported(statement: ast.Import | ast.ImportFrom) -> tuple[str, ConcernLevel] | None:
    names = [each.name for each in statement.names]
    modules = names if isinstance(statement, ast.Import) else [statement.module or ""]
    tops = {module.partition(".")[0] for module in modules}
    if isinstance(statement, ast.ImportFrom) and statement.level:
        return None
    if tops & {"pytest", "_pytest", "nose", "nose2", "pytest_asyncio", "xdist"}:
        return "imports a test runner into the product", "review"
    return ("imports unittest into the product", "note") if "unittest" in tops else None


def _drops(statement: ast.AST, module: Module) -> bool:
    """Whether it only takes a variable out of the environment, for a program that is started."""
    if isinstance(statement, ast.Delete):
        return True
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and bool(re.search(r"(^|\.)(pop|delenv|unsetenv)$", module.name(call.func)))


def _stack(
    expressions: list[ast.AST], words: list[str], names: list[str], module: Module
) -> tuple[str, ConcernLevel] | None:
    called = [module.name(n.func) for each in expressions for n in ast.walk(each) if isinstance(n, ast.Call)]
    if any(re.search("test", word, re.I) for word in words):
        return "looks for a test among its callers", "review"
    if any(_READS_THE_CALLER.fullmatch(name.split(".")[-1]) for name in [*names, *called]):
        return "reads the code or the variables of its caller", "review"
    compared = any(isinstance(n, ast.Compare) for each in expressions for n in ast.walk(each))
    if compared and any(_NAMES_THE_CALLER.fullmatch(name) for name in names):
        return "compares the name or file of its caller", "note"
    return None


def _question(
    expressions: list[ast.AST], where: frozenset[Origin], module: Module, known: Origins, own: bool
) -> tuple[str, ConcernLevel] | None:
    answers = []
    for node in (n for each in expressions for n in ast.walk(each) if _asks(n, module)):
        for origin in known.of(node) & where:
            answers += [_answer(origin, word, node, module, own) for word in strings(node, module.values)]
    return min((answer for answer in answers if answer), key=lambda answer: answer[1] != "review", default=None)


def _asks(node: ast.AST, module: Module) -> bool:
    if isinstance(node, ast.Call):
        return bool(_ASKS.search(module.name(node.func).removesuffix("()"))) or isinstance(node.func, ast.Subscript)
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.BitAnd)
    return isinstance(node, (ast.Compare, ast.Subscript, ast.pattern))


def _answer(origin: Origin, word: str, node: ast.AST, module: Module, own: bool) -> tuple[str, ConcernLevel] | None:
    if origin == "env":
        return _environment(word, own)
    if origin == "modules" and (_RUNNER.search(word) or _BARE.search(word)):
        return "asks whether a test runner is loaded", "review"
    if _RUNNER.search(word) or (origin == "main" and _BARE.search(word)):
        return "asks whether a test runner started it", "review"
    if _BARE.search(word) and not word.startswith("-"):
        program = any(_is_program(n, module) for n in ast.walk(node))
        return "asks how the program was started", "review" if program else "note"
    return None


def _environment(word: str, own: bool) -> tuple[str, ConcernLevel] | None:
    if _RUNNER_VARIABLE.match(word) or (_OWN_VARIABLE.match(word) and not own):
        return "asks the environment for a test runner", "review"
    return ("asks the environment for a test mode", "note") if _MODE.search(word) else None


def _is_program(node: ast.AST, module: Module) -> bool:
    """Whether it is `sys.argv[0]`."""
    index = node.slice if isinstance(node, ast.Subscript) else None
    return isinstance(index, ast.Constant) and index.value == 0 and "argv" in module.name(node)
