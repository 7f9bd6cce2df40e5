"""Python that asks whether it runs under a test."""

import ast
import base64
import binascii
import re
from collections.abc import Iterable, Iterator
from typing import Any

from aigon.model.changes import ConcernLevel
from aigon.proof.analysis.folding import strings
from aigon.proof.analysis.languages import extension, is_javascript
from aigon.proof.analysis.origins import Origin, Origins, origins
from aigon.proof.analysis.python import Module, units
from aigon.proof.analysis.sightings import Sighting
from aigon.proof.analysis.text import line_of, without_comments

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
_PY_ASKS = re.compile(
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


def find_python_questions(source: str, own: bool) -> Iterator[Sighting]:
    """Every statement that asks it. `own` is whether variables of aigon belong to the project."""
    for module in units(source):
        known = origins(module)
        for statement in _statements(module.nodes):
            seen = _python_sighting(statement, module, known, own)
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


def _python_sighting(statement: ast.AST, module: Module, known: Origins, own: bool) -> tuple[str, ConcernLevel] | None:
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
        return bool(_PY_ASKS.search(module.name(node.func).removesuffix("()"))) or isinstance(node.func, ast.Subscript)
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


_GLUED = re.compile(r"(['\"`])[ \t]*\+[ \t]*(['\"`])")
_JOINED = re.compile(r"\[([^\[\]\n]{1,300})\]\s{0,9}\.join\(\s{0,9}(?:'([^'\n]{0,9})'|\"([^\"\n]{0,9})\")\s{0,9}\)")
_ENCODED = re.compile(r"(?:atob\(|Buffer\.from\()\s{0,9}['\"]([A-Za-z0-9+/=]{4,400})['\"]")

Pattern = tuple[str, str, ConcernLevel]
"""What is looked for on a line, what it does, and how bad that is."""

_RUNNERS = r"jest|vitest|mocha|jasmine|ava\b|karma|node:test|cypress|playwright|\btests?\b|[./]spec\b"
_GLOBALS = r"(?:jest|vi|describe|it|test|expect|beforeEach|afterEach|__vitest\w*|__karma__|__coverage__)\b"
_OBJECTS = r"\b(?:globalThis|global|window|self)\s*(?:\?\.)?"
_GLOBAL = "asks for a global of a test runner"
_STARTED = "asks how the program was started"
_LOADED = "asks whether a test runner is loaded"
_IMPORTS = "imports a test runner into the product"
_MODE_SAYS = "asks the environment for a test mode"
_CALLERS = "looks for a test among its callers"
_ASKS = r"(?:includes|match|matchAll|indexOf|lastIndexOf|search|some|split|filter|find|startsWith|endsWith)"
_PACKAGES = r"['\"](?:@jest/globals|vitest|jest|mocha|node:test|@playwright/test)['\"]"

_JAVASCRIPT: tuple[Pattern, ...] = (
    (rf"\btypeof\s+(?:\w+\.)?{_GLOBALS}", _GLOBAL, "review"),
    (rf"{_OBJECTS}\s*\.?\s*(?!test\b){_GLOBALS}(?!\s*[:=](?!=))", _GLOBAL, "review"),
    (rf"['\"`]{_GLOBALS}['\"`]\s*\]?\s*in\s+(?:globalThis|global|window)", _GLOBAL, "review"),
    (rf"{_OBJECTS}\[\s*['\"`]{_GLOBALS}", _GLOBAL, "review"),
    (rf"\bprocess\s*\.\s*(?:argv0?|execArgv|title)\b.{{0,160}}?(?:{_RUNNERS})", _STARTED, "review"),
    (
        rf"\b(?:require\.main|require\.cache|process\.mainModule|module\.parent)\b.{{0,120}}?(?:{_RUNNERS})",
        _STARTED,
        "review",
    ),
    (rf"\.stack\b.{{0,80}}?{_ASKS}\(.{{0,60}}?['\"`/].{{0,40}}?(?:{_RUNNERS}|\.test)", _CALLERS, "review"),
    (rf"(?:{_RUNNERS}|\.test).{{0,20}}/\w{{0,3}}\.test\(.{{0,60}}\bstack\b", _CALLERS, "review"),
    (r"\bnpm_lifecycle_event\b.{0,60}test", _STARTED, "review"),
    (rf"\b(?:from|require\(|import\()\s*{_PACKAGES}", _IMPORTS, "review"),
    (r"\bimport\.meta\.vitest\b", "holds tests beside the code", "note"),
    (r"\bprocess\.env\.(?:CI|TEST(?:ING|_MODE)?)\b", _MODE_SAYS, "note"),
    (r"\bAIGON_[A-Z]+", "asks the environment for aigon", "review"),
)
_GO: tuple[Pattern, ...] = (
    (r"\bflag\.Lookup\(\s*\"test\.|\btesting\.Testing\(\)", _LOADED, "review"),
    (r"\bos\.Args\b.{0,80}\"[^\"]*\btest\b", _STARTED, "review"),
    (r"^\s*(?:import\s+)?\"testing\"\s*$", "imports testing into the product", "note"),
)
_RUST: tuple[Pattern, ...] = (
    (r"\bcfg!\s*\(.{0,40}\btest\b", "asks whether it is built for tests", "review"),
    (r"#\[cfg\(not\(test\)\)\]", "leaves out code when it is built for tests", "note"),
)
_RUBY: tuple[Pattern, ...] = (
    (r"defined\?\s*\(?\s*(?:::)?(?:RSpec|Minitest|Test::Unit)", _LOADED, "review"),
    (r"\$(?:PROGRAM_NAME|0)\b.{0,60}(?:rspec|minitest|test)", _STARTED, "review"),
    (r"\bRails\.env\.test\?", _MODE_SAYS, "note"),
)
_PHP: tuple[Pattern, ...] = ((r"PHPUNIT_|class_exists\(.{0,20}PHPUnit", _LOADED, "review"),)
_JVM: tuple[Pattern, ...] = ((r"\"[^\"\n]*(?:org\.junit|junit\.framework|org\.testng|kotest)", _LOADED, "review"),)
_NET: tuple[Pattern, ...] = ((r"\"[^\"\n]*(?:xunit|nunit|mstest|testhost)", _LOADED, "review"),)
_PYTHON: tuple[Pattern, ...] = (
    (r"\bsys\b.{0,40}\b(?:modules|argv)\b.{0,160}(?:pytest|unittest)", _LOADED, "review"),
    (r"(?:pytest|unittest).{0,160}\bsys\b.{0,40}\b(?:modules|argv)\b", _LOADED, "review"),
    (r"^\s*(?:import|from)\s+_?pytest\b", _IMPORTS, "review"),
)
"""For files that this Python cannot read."""
_LANGUAGES = {
    "py": _PYTHON,
    "go": _GO,
    "rs": _RUST,
    "rb": _RUBY,
    "php": _PHP,
    "java": _JVM,
    "kt": _JVM,
    "scala": _JVM,
    "cs": _NET,
}

_NODE_ENV = re.compile(
    r"\bNODE_ENV['\"\]]*\s*\)?\s*([!=]==?)\s*['\"]test|['\"]test['\"]\s*([!=]==?)\s*(?:process\.env\.)?NODE_ENV"
)
_STACK = re.compile(r"\.stack\b|require\.(?:cache|main)\b|getCallSites?\b|captureStackTrace")
_NAMES_A_TEST = re.compile(
    rf"{_ASKS}\(\s*['\"`/][^'\"`\n]{{0,60}}(?:jest|vitest|mocha|jasmine|\.test\b|\.spec\b|__tests__)"
)
_CONFIGURES = re.compile(r"config|knexfile|babel|logg|server|\benv\b", re.I)
_COMMON = re.compile(
    r"listen|log|morgan|level|silent|console|connect|start|debug|winston|pino|sentry|plugins|presets", re.I
)


def find_questions(path: str, text: str, own: bool) -> Iterator[Sighting]:
    """Every line that asks it. `own` is whether variables of aigon belong to the project."""
    lines = [line[:2000] for line in without_comments(text, path).split("\n")]
    stack = is_javascript(path) and any(_STACK.search(line) for line in lines)
    patterns = _JAVASCRIPT if is_javascript(path) else _LANGUAGES.get(extension(path), ())
    for number, line in enumerate(lines, 1):
        seen = _seen(_unfolded(line), patterns, own)
        if seen is None and is_javascript(path):
            seen = _far(line, stack) or _mode(path, lines, number)
        if seen:
            yield Sighting(number, line_of(text, number), *seen)


def _seen(line: str, patterns: tuple[Pattern, ...], own: bool) -> tuple[str, ConcernLevel] | None:
    if re.search(TELLING.pattern.replace("$", r"\b"), line):
        return "names what only a test runner sets", "review"
    for pattern, says, level in patterns:
        if not (own and "AIGON" in pattern) and re.search(pattern, line):
            return says, level
    return None


def _far(line: str, stack: bool) -> tuple[str, ConcernLevel] | None:
    """Where the callers are taken on one line and asked about on another."""
    return (_CALLERS, "review") if stack and _NAMES_A_TEST.search(_unfolded(line)) else None


def _mode(path: str, lines: list[str], number: int) -> tuple[str, ConcernLevel] | None:
    """NODE_ENV: servers commonly do not listen or log in tests; anything else that depends on it is suspicious."""
    if not _NODE_ENV.search(_unfolded(lines[number - 1])):
        return None
    common = _CONFIGURES.search(path) or _COMMON.search(" ".join(lines[number - 1 : number + 2]))
    return "behaves differently where NODE_ENV is test", "note" if common else "review"


def _unfolded(line: str) -> str:
    """The line with its strings put together as it would put them together when it runs."""
    line = _JOINED.sub(lambda m: _glue(m[1], m[2] or m[3] or ""), line)
    line = _ENCODED.sub(lambda m: f"'{_decoded(m[1])}'", line)
    return _GLUED.sub(lambda m: "" if m[1] == m[2] else m[0], line)


def _glue(items: str, separator: str) -> str:
    texts = re.findall(r"'([^'\n]*)'|\"([^\"\n]*)\"", items)
    return "'" + separator.join(a or b for a, b in texts) + "'"


def _decoded(text: str) -> str:
    try:
        return base64.b64decode(text).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return text
