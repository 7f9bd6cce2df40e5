"""Product code that asks whether it runs under a test: it can then behave in tests as it behaves nowhere else.

`review`, because no check can find out: everything aigon runs is a test. Asking for a runner in `sys.modules`, the
command line, the callers, or by a variable that only runners set has hardly an honest reason in a product. What does
have one is a `note`: a test mode of the project's own (`TESTING`, `CI`), a sub-command called `test`, NODE_ENV if it
keeps a server from listening, unittest if helpers for tests are what is delivered. Reading the base's test files from
product code belongs here too, since expected values can be taken from there.
"""

import ast
import base64
import binascii
import posixpath
import re
from collections.abc import Iterable, Iterator
from typing import Any

from aigon.model.changes import Concern, Edits
from aigon.proof.analysis.folding import list_strings
from aigon.proof.analysis.languages import extension, is_code, is_javascript, list_product
from aigon.proof.analysis.origins import Origin, Origins, trace_origins
from aigon.proof.analysis.python import Module, can_read, read_units
from aigon.proof.analysis.sightings import Pattern, Sighting, Verdict, find_new, match_first, report, scan_lines
from aigon.proof.analysis.text import line_of, without_comments

RULE = "test-detection"
_WHY = (
    "Code that can tell a test from real use can pass every test without working. "
    "Make it behave the same everywhere, and hand in what tests need to vary from outside."
)
_QUOTED = re.compile(r"'([^'\n]{3,200})'|\"([^\"\n]{3,200})\"")
_LISTS = re.compile(r"\b(r?glob|iterdir|listdir|scandir|walk|read_text|readdir(Sync)?|readFile(Sync)?|open)\s*\(")
_HELPERS = re.compile(
    r"(^|/)(testing|test_?utils?|test_?helpers?|testkit|fixtures?|mocks?|pytest_[a-z_]*|[a-z_]*plugin)(/|\.[a-z]+$)"
)
_TELLING = (
    r"PYTEST_(CURRENT_TEST|VERSION|XDIST|ADDOPTS|PLUGINS|DISABLE)|JEST_WORKER_ID"
    r"|VITEST(_WORKER_ID|_POOL_ID|_MODE)?$|NODE_TEST_CONTEXT|_called_from_test|pytest-of-|__pytest|_pytest\."
    r"|MOCHA_COLORS|COV_CORE_|TOX_(ENV|WORK)"
)
"""Names that mean only one thing: a test runner is at work. One way they are written in several languages."""
_TELLS: Verdict = ("names what only a test runner sets", "review")


def look(edits: Edits) -> Iterator[Concern]:
    """Report every product file that asks for a test runner."""
    own = any(re.search(r"^[ \t]*(from|import) aigon\b", text[:20_000], re.MULTILINE) for text in edits.tests.values())
    # What product code could name test files by: their paths, and names that are no everyday words.
    bases = {posixpath.basename(path) for path in edits.tests}
    names = frozenset(edits.tests) | {name for name in bases if re.search(r"test|spec", name, re.I)}

    def see(path: str, text: str) -> Iterable[Sighting]:
        sightings = [*_see_questions(path, text, own), *_see_reading(path, text, names)]
        return {sighting.line: sighting for sighting in reversed(sightings)}.values()

    yield from report(RULE, find_new([e for e in list_product(edits) if is_code(e.path)], see), _WHY)


def _see_questions(path: str, text: str, own: bool) -> Iterator[Sighting]:
    """`own` is whether variables of aigon belong to the project."""
    for each in _see_python(text, own) if can_read(path, text) else _see_lines(path, text, own):
        is_helper = _HELPERS.search(path) and "imports" in each.says
        yield Sighting(each.line, each.text, each.says, "note") if is_helper else each


def _see_reading(path: str, text: str, names: frozenset[str]) -> Iterator[Sighting]:
    folders = {name.partition("/")[0] for name in names if "/" in name} & {"tests", "test", "spec", "__tests__"}
    for number, line in enumerate(without_comments(text, path).split("\n") if names else (), 1):
        quoted = (part for pair in _QUOTED.findall(line[:2000]) for part in pair if part)
        named = {part.removeprefix("./").removeprefix("../").rstrip("/") for part in quoted}
        if named & names and not re.search(r"write|run|call|spawn|exec|>>>", line):
            yield Sighting(number, line_of(text, number), "names a file of the tests")
        elif named & folders and _LISTS.search(line):
            yield Sighting(number, line_of(text, number), "reads the folder of the tests")


# Python, by its syntax tree.

_RUNNER = re.compile(
    r"pytest|py\.test|unittest|nose2?\b|nosetest|conftest|doctest|\btox\b|xdist|testcase|(?<![a-z])test_|_tests?\b",
    re.I,
)
_BARE = re.compile(r"(?<![a-z-])tests?(?![a-z])", re.I)
_RUNNER_VARIABLE = re.compile(
    r"_?(PY_?TEST|VITEST|JEST|MOCHA|TOX_|COV_CORE|COVERAGE_|NOSE|UNITTEST|XDIST|TEST_RUNNER)", re.I
)
_MODE = re.compile(
    r"\b(TEST(ING|_?MODE|_?ENV)?|UNIT_?TESTS?|IS_TEST\w*|IN_TEST\w*|RUNNING_TESTS?)\b|^(CI|GITHUB_ACTIONS)$", re.I
)
_PY_ASKS = re.compile(
    r"(startswith|endswith|find|rfind|index|count|search|match|fullmatch|findall|finditer|fnmatch|fnmatchcase|get|pop"
    r"|__contains__|__getitem__|intersection|isdisjoint|issubset|issuperset|getenv|getenvb|eq|contains|any|filter"
    r"|next|find_spec|hasattr|getattr|__eq__)$"
)
_READS_THE_CALLER = re.compile(
    r"code_context|f_locals|f_lasti|co_consts|co_code|co_positions|co_lines|getsource|getsourcelines"
    r"|getline|getlines|positions"
)
_NAMES_THE_CALLER = re.compile(r"co_name|co_filename|co_qualname|function|filename|f_lineno|lineno")


def _see_python(source: str, own: bool) -> Iterator[Sighting]:
    for module in read_units(source):
        known = trace_origins(module)
        for node in module.nodes:
            is_doc = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
            if isinstance(node, ast.stmt) and not is_doc and (verdict := _judge_statement(node, module, known, own)):
                yield module.sight(node, *verdict)


def _judge_statement(statement: ast.stmt, module: Module, known: Origins, own: bool) -> Verdict:
    if isinstance(statement, (ast.Import, ast.ImportFrom)):
        return _judge_import(statement)
    expressions = _list_expressions(statement)
    nodes = [node for each in expressions for node in ast.walk(each)]
    words = [word for each in expressions for word in list_strings(each, module.values)]
    names = [n.attr for n in nodes if isinstance(n, ast.Attribute)]
    if any(re.search(_TELLING, word) for word in [*words, *names]) and not _drops(statement, module):
        return _TELLS
    where = frozenset[Origin]().union(*(known.find(each) for each in expressions))
    if "stack" in where:
        return _judge_caller(nodes, words, names, module)
    answers = [
        _judge_word(origin, word, node, module, own)
        for node in (nodes if where and words else ())
        if _asks(node, module)
        for origin in known.find(node) & where
        for word in list_strings(node, module.values)
    ]
    return min((answer for answer in answers if answer), key=lambda answer: answer[1] != "review", default=None)


def _list_expressions(statement: ast.stmt) -> list[ast.AST]:
    """Return the expressions of a statement itself, without those of the statements in it."""
    fields: list[Any] = []
    for _, value in ast.iter_fields(statement):
        fields += value if isinstance(value, list) else [value]
    own: list[ast.AST] = [each for each in fields if isinstance(each, (ast.expr, ast.withitem, ast.arguments))]
    return own + [case.pattern for case in fields if isinstance(case, ast.match_case)]


def _judge_import(statement: ast.Import | ast.ImportFrom) -> Verdict:
    if isinstance(statement, ast.ImportFrom) and statement.level:
        return None
    names = [each.name for each in statement.names]
    modules = names if isinstance(statement, ast.Import) else [statement.module or ""]
    tops = {module.partition(".")[0] for module in modules}
    if tops & {"pytest", "_pytest", "nose", "nose2", "pytest_asyncio", "xdist"}:
        return _IMPORTS, "review"
    return ("imports unittest into the product", "note") if "unittest" in tops else None


def _drops(statement: ast.AST, module: Module) -> bool:
    """Whether it only takes a variable out of the environment, for a program that is started."""
    if isinstance(statement, ast.Delete):
        return True
    call = statement.value if isinstance(statement, ast.Expr) else None
    return isinstance(call, ast.Call) and bool(re.search(r"(^|\.)(pop|delenv|unsetenv)$", module.name(call.func)))


def _judge_caller(nodes: list[ast.AST], words: list[str], names: list[str], module: Module) -> Verdict:
    called = [module.name(node.func).split(".")[-1] for node in nodes if isinstance(node, ast.Call)]
    if any(re.search("test", word, re.I) for word in words):
        return _CALLERS, "review"
    if any(map(_READS_THE_CALLER.fullmatch, [*names, *called])):
        return "reads the code or the variables of its caller", "review"
    if any(isinstance(node, ast.Compare) for node in nodes) and any(map(_NAMES_THE_CALLER.fullmatch, names)):
        return "compares the name or file of its caller", "note"
    return None


def _asks(node: ast.AST, module: Module) -> bool:
    if isinstance(node, ast.Call):
        return bool(_PY_ASKS.search(module.name(node.func).removesuffix("()"))) or isinstance(node.func, ast.Subscript)
    if isinstance(node, ast.BinOp):
        return isinstance(node.op, ast.BitAnd)
    return isinstance(node, (ast.Compare, ast.Subscript, ast.pattern))


def _judge_word(origin: Origin, word: str, node: ast.AST, module: Module, own: bool) -> Verdict:
    if origin == "env":
        if _RUNNER_VARIABLE.match(word) or (word.startswith("AIGON_") and not own):
            return "asks the environment for a test runner", "review"
        return (_MODE_SAYS, "note") if _MODE.search(word) else None
    if origin == "modules" and (_RUNNER.search(word) or _BARE.search(word)):
        return _LOADED, "review"
    if _RUNNER.search(word) or (origin == "main" and _BARE.search(word)):
        return "asks whether a test runner started it", "review"
    if _BARE.search(word) and not word.startswith("-"):
        program = any(_is_program(n, module) for n in ast.walk(node))
        return _STARTED, "review" if program else "note"
    return None


def _is_program(node: ast.AST, module: Module) -> bool:
    """Whether it is `sys.argv[0]`."""
    index = node.slice if isinstance(node, ast.Subscript) else None
    return isinstance(index, ast.Constant) and index.value == 0 and "argv" in module.name(node)


# Other languages, by patterns on a line.

_GLUED = re.compile(r"(['\"`])[ \t]*\+[ \t]*(['\"`])")
_JOINED = re.compile(r"\[([^\[\]\n]{1,300})\]\s{0,9}\.join\(\s{0,9}(?:'([^'\n]{0,9})'|\"([^\"\n]{0,9})\")\s{0,9}\)")
_ENCODED = re.compile(r"(?:atob\(|Buffer\.from\()\s{0,9}['\"]([A-Za-z0-9+/=]{4,400})['\"]")

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
_STARTS = r"\b(?:require\.main|require\.cache|process\.mainModule|module\.parent)\b"
_JVM: tuple[Pattern, ...] = ((r"\"[^\"\n]*(?:org\.junit|junit\.framework|org\.testng|kotest)", _LOADED, "review"),)
_PATTERNS: dict[str, tuple[Pattern, ...]] = {
    "js": (
        (rf"\btypeof\s+(?:\w+\.)?{_GLOBALS}", _GLOBAL, "review"),
        (rf"{_OBJECTS}\s*\.?\s*(?!test\b){_GLOBALS}(?!\s*[:=](?!=))", _GLOBAL, "review"),
        (rf"['\"`]{_GLOBALS}['\"`]\s*\]?\s*in\s+(?:globalThis|global|window)", _GLOBAL, "review"),
        (rf"{_OBJECTS}\[\s*['\"`]{_GLOBALS}", _GLOBAL, "review"),
        (rf"\bprocess\s*\.\s*(?:argv0?|execArgv|title)\b.{{0,160}}?(?:{_RUNNERS})", _STARTED, "review"),
        (rf"{_STARTS}.{{0,120}}?(?:{_RUNNERS})", _STARTED, "review"),
        (rf"\.stack\b.{{0,80}}?{_ASKS}\(.{{0,60}}?['\"`/].{{0,40}}?(?:{_RUNNERS}|\.test)", _CALLERS, "review"),
        (rf"(?:{_RUNNERS}|\.test).{{0,20}}/\w{{0,3}}\.test\(.{{0,60}}\bstack\b", _CALLERS, "review"),
        (r"\bnpm_lifecycle_event\b.{0,60}test", _STARTED, "review"),
        (rf"\b(?:from|require\(|import\()\s*{_PACKAGES}", _IMPORTS, "review"),
        (r"\bimport\.meta\.vitest\b", "holds tests beside the code", "note"),
        (r"\bprocess\.env\.(?:CI|TEST(?:ING|_MODE)?)\b", _MODE_SAYS, "note"),
        (r"\bAIGON_[A-Z]+", "asks the environment for aigon", "review"),
    ),
    "py": (  # for files that this Python cannot read
        (r"\bsys\b.{0,40}\b(?:modules|argv)\b.{0,160}(?:pytest|unittest)", _LOADED, "review"),
        (r"(?:pytest|unittest).{0,160}\bsys\b.{0,40}\b(?:modules|argv)\b", _LOADED, "review"),
        (r"^\s*(?:import|from)\s+_?pytest\b", _IMPORTS, "review"),
    ),
    "go": (
        (r"\bflag\.Lookup\(\s*\"test\.|\btesting\.Testing\(\)", _LOADED, "review"),
        (r"\bos\.Args\b.{0,80}\"[^\"]*\btest\b", _STARTED, "review"),
        (r"^\s*(?:import\s+)?\"testing\"\s*$", "imports testing into the product", "note"),
    ),
    "rs": (
        (r"\bcfg!\s*\(.{0,40}\btest\b", "asks whether it is built for tests", "review"),
        (r"#\[cfg\(not\(test\)\)\]", "leaves out code when it is built for tests", "note"),
    ),
    "rb": (
        (r"defined\?\s*\(?\s*(?:::)?(?:RSpec|Minitest|Test::Unit)", _LOADED, "review"),
        (r"\$(?:PROGRAM_NAME|0)\b.{0,60}(?:rspec|minitest|test)", _STARTED, "review"),
        (r"\bRails\.env\.test\?", _MODE_SAYS, "note"),
    ),
    "php": ((r"PHPUNIT_|class_exists\(.{0,20}PHPUnit", _LOADED, "review"),),
    **dict.fromkeys(("java", "kt", "scala"), _JVM),
    "cs": ((r"\"[^\"\n]*(?:xunit|nunit|mstest|testhost)", _LOADED, "review"),),
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


def _see_lines(path: str, text: str, own: bool) -> Iterator[Sighting]:
    plain = without_comments(text, path)
    javascript = is_javascript(path)
    patterns = _PATTERNS.get("js" if javascript else extension(path), ())
    if own:
        patterns = tuple(each for each in patterns if "AIGON" not in each[0])
    # The callers may be taken on one line and asked about on another.
    stack = javascript and any(_STACK.search(line[:2000]) for line in plain.split("\n"))

    def judge(line: str) -> Verdict:
        line = _join_strings(line)
        if re.search(_TELLING.replace("$", r"\b"), line):
            return _TELLS
        if verdict := match_first(patterns, line):
            return verdict
        return (_CALLERS, "review") if stack and _NAMES_A_TEST.search(line) else None

    sightings = {each.line: each for each in scan_lines(text, plain, judge)}
    if javascript:
        sightings = {**{each.line: each for each in _see_modes(path, text, plain)}, **sightings}
    yield from (sightings[number] for number in sorted(sightings))


def _see_modes(path: str, text: str, plain: str) -> Iterator[Sighting]:
    """NODE_ENV: servers commonly do not listen or log in tests; anything else that depends on it is suspicious."""
    lines = [line[:2000] for line in plain.split("\n")]
    for number, line in enumerate(lines, 1):
        if _NODE_ENV.search(_join_strings(line)):
            common = _CONFIGURES.search(path) or _COMMON.search(" ".join(lines[number - 1 : number + 2]))
            says = "behaves differently where NODE_ENV is test"
            yield Sighting(number, line_of(text, number), says, "note" if common else "review")


def _join_strings(line: str) -> str:
    """Return the line with its strings put together as it would put them together when it runs."""
    line = _JOINED.sub(lambda m: _glue(m[1], m[2] or m[3] or ""), line)
    line = _ENCODED.sub(lambda m: f"'{_decode(m[1])}'", line)
    return _GLUED.sub(lambda m: "" if m[1] == m[2] else m[0], line)


def _glue(items: str, separator: str) -> str:
    texts = re.findall(r"'([^'\n]*)'|\"([^\"\n]*)\"", items)
    return "'" + separator.join(a or b for a, b in texts) + "'"


def _decode(text: str) -> str:
    try:
        return base64.b64decode(text).decode("utf-8", "replace")
    except (binascii.Error, ValueError):
        return text
