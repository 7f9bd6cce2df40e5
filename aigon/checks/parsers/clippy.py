"""clippy: `--message-format=json`, cargo's messages one on a line, or what it prints for people."""

from collections.abc import Iterator

from aigon.checks.parsers import _json, cargo
from aigon.checks.parsers._problems import capped, problem
from aigon.checks.parsers._readings import foreign, lint
from aigon.checks.parsers._text import text, whole
from aigon.model.checks import ParsedOutput, Problem

_LEVELS = ("error", "warning")
_DEEPEST = 20
"""Macros that call macros."""


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Problems by lint, file and line. A file of several targets is reported for each: one is kept."""
    rows = [row for line in whole(output or report or b"").split("\n") if (row := _row(line))]
    if not rows:
        lines = text(output or report or b"")
        found = cargo.printed(lines)
        return lint(found.problems) if found else foreign(lines)
    problems = capped(each for row in rows for each in _problems(row))
    return lint(problems, _stated(rows, problems))


def _row(line: str) -> _json.Row:
    """A message of the compiler or the end of a build, without what no reading uses."""
    if not line.startswith('{"reason":'):
        return {}
    row = _json.line(line)
    if row.get("reason") == "compiler-message" and isinstance(message := row.get("message"), dict):
        return {key: message.get(key) for key in ("level", "message", "code", "spans")}
    return {"reason": row.get("reason")} if isinstance(row.get("reason"), str) else {}


def _stated(rows: list[_json.Row], problems: tuple[Problem, ...]) -> int:
    """How many there are in all; of more than are kept, those that are told apart by text and place."""
    if len(problems) < 200:
        return len(problems)
    return len({(str(row["message"]), str(row["spans"])) for row in rows if row.get("level") in _LEVELS})


def _problems(row: _json.Row) -> Iterator[Problem]:
    level, code = _json.string(row.get("level")), row.get("code")
    spans = _json.rows(row.get("spans"))
    if level not in _LEVELS and not level.startswith("error"):
        return
    rule = _json.string(code.get("code")) if isinstance(code, dict) else ""
    # Without a place: sums ("2 warnings emitted"), and errors of linking, which nothing else tells.
    if spans or (level != "warning" and not _json.string(row.get("message")).startswith("aborting due to")):
        yield problem(_json.string(row.get("message")), *_place(spans), rule=rule, severity=level)


def _place(spans: list[_json.Row]) -> tuple[str, int]:
    """Of the primary span; of what lies in a macro of elsewhere, where that was called."""
    span = next((each for each in spans if each.get("is_primary") is True), spans[0] if spans else {})
    for _ in range(_DEEPEST):
        called = span.get("expansion")
        outer = called.get("span") if isinstance(called, dict) else None
        if not isinstance(outer, dict) or not _json.string(span.get("file_name")).startswith(("/", "<")):
            break
        span = outer
    return _json.string(span.get("file_name")), _json.integer(span.get("line_start"))
