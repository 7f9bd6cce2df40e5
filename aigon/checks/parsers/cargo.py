"""Parse rustc's messages, as `cargo build`, `cargo check` and clippy pass them on."""

import re
from collections.abc import Iterator

from aigon.checks.parsers.output import Row, decode, load_row, parse_number, read_text
from aigon.checks.parsers.readings import (
    KEPT_PROBLEMS,
    describe_unknown,
    keep_distinct,
    make_problem,
    summarize_lint,
    summarize_types,
)
from aigon.model.checks import ParsedOutput, Problem
from aigon.text.patterns import compile_re
from aigon.text.untrusted import count_at, object_at, objects_at, text_at

_HEAD = compile_re(
    r"^(?P<severity>error|warning)(?:\[(?P<code>[\w:-]{1,80})\])?: (?P<message>[^\n]+)$"
    r"(?P<between>(?:\n(?!error|warning| *-->)[^\n]*){0,12})"
    r"(?:\n *--> (?P<file>[^\n]+?):(?P<line>\d+):\d+$)?",
    re.M,
)
_BLANK = compile_re(r"\n[ \t]*\n")
_LINT = compile_re(
    r"#\[(?:warn|deny|forbid)\((?P<name>[\w:]+)\)\]|`-[DWF] (?P<flag>[\w:-]+)` implied|index\.html#(?P<clippy>\w+)"
)
_SUM = compile_re(
    r"could not compile |aborting due to |.* generated \d+ warnings?\b|\d+ warnings? emitted|build failed, waiting"
    r"|(?:doc)?test failed, to rerun|\d+ targets? failed|test run failed|no tests to run"
)
_UNCOMPILED = compile_re(r"^error: could not compile `(?P<crate>[^`\n]+)`(?: \((?P<target>[^\n]*?)\) due)?", re.M)
_BUILT = compile_re(r"^ +Finished (?:`(?!test`|bench`)[\w-]+` profile|(?!test |bench )[\w-]+ \[)", re.M)
_SPAN = 4000
"""Characters after a message in which its lint is named."""
_LEVELS = ("error", "warning")
_DEEPEST = 20
"""Macros that call macros."""


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return errors and warnings by code or lint, each once though several targets may share a file."""
    lines = read_text(output or report or b"")
    return _read_lines(lines) or describe_unknown(lines)


def _read_lines(lines: str) -> ParsedOutput | None:
    problems = keep_distinct(find_placed(lines))
    if not (problems or _BUILT.search(lines) or find_uncompiled(lines)):
        return None
    has_error = any(each.severity == "error" for each in problems)
    return summarize_types((*problems, *(() if has_error else keep_distinct(find_unplaced(lines)))))


def find_placed(lines: str) -> Iterator[Problem]:
    """Yield every error and warning that names a place."""
    for match in _HEAD.finditer(lines):
        if match["file"]:
            rule, line = match["code"] or _find_lint(lines, match.end()), parse_number(match["line"])
            yield make_problem(match["message"], match["file"], line, rule, match["severity"])


def find_unplaced(lines: str) -> Iterator[Problem]:
    """Yield errors without a place: of a linker, of a manifest, of a missing package. No sums, and no warnings."""
    for match in _HEAD.finditer(lines):
        if not match["file"] and match["severity"] == "error" and not _SUM.match(match["message"]):
            yield make_problem(match["message"], rule=match["code"] or "")


def find_errors(lines: str) -> list[Problem]:
    """Return the errors that name a place, or else those that name none."""
    return [each for each in find_placed(lines) if each.severity == "error"] or list(find_unplaced(lines))


def find_uncompiled(lines: str) -> list[str]:
    """Return the targets that could not be compiled, each once: `one (test "it")`."""
    return list(dict.fromkeys(f"{match['crate']} ({match['target']})" for match in _UNCOMPILED.finditer(lines)))


def _find_lint(lines: str, begin: int) -> str:
    """Return the lint below a message; rustc names it only the first time."""
    below = lines[begin : begin + _SPAN]
    end = _BLANK.search(below)
    match = _LINT.search(below, 0, end.start() if end else len(below))
    if match is None:
        return ""
    return match["name"] or (f"clippy::{match['clippy']}" if match["clippy"] else match["flag"].replace("-", "_"))


def read_clippy(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return problems by lint, from cargo's JSON messages, one on a line, or from the text for people.

    A file of several targets is reported for each: one is kept.
    """
    rows = [row for line in decode(output or report or b"").split("\n") if (row := _load_message(line))]
    if not rows:
        lines = read_text(output or report or b"")
        found = _read_lines(lines)
        return summarize_lint(found.problems) if found else describe_unknown(lines)
    problems = keep_distinct(each for row in rows for each in _read_message(row))
    stated = len(problems)
    if stated >= KEPT_PROBLEMS:
        stated = len({(str(row["message"]), str(row["spans"])) for row in rows if row.get("level") in _LEVELS})
    return summarize_lint(problems, stated)


def _load_message(line: str) -> Row:
    """Return a message of the compiler or the end of a build, without what no reading uses."""
    row = load_row(line) if line.startswith('{"reason":') else {}
    if row.get("reason") == "compiler-message" and isinstance(message := row.get("message"), dict):
        return {key: message.get(key) for key in ("level", "message", "code", "spans")}
    return {"reason": row.get("reason")} if isinstance(row.get("reason"), str) else {}


def _read_message(row: Row) -> Iterator[Problem]:
    level, message, spans = text_at(row, "level"), text_at(row, "message"), objects_at(row, "spans")
    if level not in _LEVELS and not level.startswith("error"):
        return
    # Without a place: sums ("2 warnings emitted"), and errors of linking, which nothing else tells.
    if spans or (level != "warning" and not message.startswith("aborting due to")):
        rule = text_at(row, "code", "code")
        yield make_problem(message, *_find_span(spans), rule=rule, severity=level)


def _find_span(spans: list[Row]) -> tuple[str, int]:
    """Return the place of the primary span, or where a foreign macro was called."""
    span = next((each for each in spans if each.get("is_primary") is True), spans[0] if spans else {})
    for _ in range(_DEEPEST):
        outer = object_at(span, "expansion").get("span")
        if not isinstance(outer, dict) or not text_at(span, "file_name").startswith(("/", "<")):
            break
        span = outer
    return text_at(span, "file_name"), count_at(span, "line_start")
