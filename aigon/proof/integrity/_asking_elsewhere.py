"""JavaScript and other languages that ask whether they run under a test."""

import base64
import binascii
import re
from collections.abc import Iterator

from aigon.model.changes import ConcernLevel
from aigon.proof.integrity._asking_python import TELLING
from aigon.proof.integrity._languages import extension, is_javascript
from aigon.proof.integrity._scan import line_of, without_comments
from aigon.proof.integrity._sightings import Sighting

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


def asking(path: str, text: str, own: bool) -> Iterator[Sighting]:
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
