"""What `aigon feature-validate` will run and what it found: a table that fits 80 columns, and data."""

import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from aigon.model.checks import Check, Finding, Problem
from aigon.text.amounts import format_duration
from aigon.text.fingerprints import strip_escapes
from aigon.text.quoting import fold

PROBLEMS = 50
"""Problems of one check that are listed as data; a linter on a new project may have thousands."""
LONGEST = 1000
"""Characters of a command or a summary; `--json` has it whole."""
HEADS = ("Check", "Role", "Result", "Time")
_DETAILS = "    "
_REST = len("remembered") + 8
"""Columns of the last cell and of the blanks between all of them."""


@dataclass(frozen=True, slots=True)
class ValidationRow:
    """A check, its command as a person would type it, and its finding.

    `finding` is None if it has not run; `check` is None for what aigon itself checked.
    """

    check: Check | None
    finding: Finding | None
    command: str = ""

    @property
    def name(self) -> str:
        return self.check.name if self.check else self.finding.check if self.finding else ""

    @property
    def role(self) -> str:
        return self.check.role if self.check else self.finding.role if self.finding else ""

    @property
    def source(self) -> str:
        return self.check.source if self.check else "aigon itself"


def explain_cache(row: ValidationRow) -> tuple[str, str]:
    """Return `remembered`, `run` or `not run`, and why."""
    check, found = row.check, row.finding
    if found is None:
        return "not run", ""
    if found.cached:
        return "remembered", "it passed on these very files, with this command and environment"
    if found.status == "skipped" or (check and check.missing):
        return "not run", found.summary.removeprefix("skipped: ")
    if check and not check.remember:
        return "run", "never remembered: more than the files decides what it says"
    if check and found.status != "pass":
        return "run", "only a pass is remembered"
    return "run", "no pass on these files was remembered, and feature-validate keeps none" if check else ""


def build_check_document(row: ValidationRow) -> dict[str, object]:
    """Return one check as data."""
    check, found = row.check, row.finding
    how, why = explain_cache(row)
    problems = found.problems if found else ()
    return {
        "name": row.name,
        "role": row.role,
        "status": found.status if found else None,
        "summary": found.summary if found else "",
        "command": row.command,
        "source": row.source,
        "timeout": check.timeout if check else None,
        "missing": check.missing if check else "",
        "exit_code": found.exit_code if found else None,
        "duration": round(found.duration, 3) if found else None,
        "cached": bool(found and found.cached),
        "cache": {"state": how.replace(" ", "_"), "why": why},
        "counts": asdict(found.counts) if found and found.counts else None,
        "problems": [_problem(each) for each in problems[:PROBLEMS]],
        "problems_total": len(problems),
    }


def _problem(problem: Problem) -> dict[str, object]:
    """Return a problem as data; `line` is null if the tool names none."""
    return {
        "file": problem.file,
        "line": problem.line or None,
        "rule": problem.rule,
        "severity": problem.severity,
        "test": problem.test,
        "message": strip_escapes(problem.message),
    }


def render_check_table(rows: Sequence[ValidationRow], width: int) -> list[str]:
    """Return a line for each check under one head, and below it what has no room in a column."""
    cells = [HEADS, *((row.name, row.role, _result(row), _took(row)) for row in rows)]
    widths = [max(len(line[column]) for line in cells) for column in range(len(HEADS))]
    widths[0] = min(widths[0], max(width - sum(widths[1:]) - _REST, len(HEADS[0])))
    lines = [*_line(HEADS, widths, "Cache")]
    for row, line in zip(rows, cells[1:], strict=True):
        lines += [*_line(line, widths, explain_cache(row)[0]), *_details(row, width)]
    return lines


def _line(cells: Sequence[str], widths: Sequence[int], last: str) -> Iterator[str]:
    """Yield the cells in their columns; a name that is too long has a line to itself."""
    name = cells[0]
    if len(name) > widths[0]:
        yield name
        name = ""
    rest = zip((name, *cells[1:]), widths, strict=True)
    yield "  ".join([*(f"{cell:<{width}}" for cell, width in rest), last])


def _result(row: ValidationRow) -> str:
    return row.finding.status if row.finding else "-"


def _took(row: ValidationRow) -> str:
    # A remembered pass did not run now.
    ran = row.finding and not row.finding.cached and row.finding.duration
    return format_duration(ran) if ran else "-"


def _details(row: ValidationRow, width: int) -> Iterator[str]:
    timeout = f", up to {format_duration(row.check.timeout)}" if row.check else ""
    details = (
        ("found:", row.finding.summary if row.finding else ""),
        ("command:", row.command),
        ("cache:", explain_cache(row)[1]),
        ("source:", f"{row.source}{timeout}"),
    )
    for name, text in details:
        if text:
            yield from wrap_lines(f"{name:<9}{fold(text, LONGEST)}", width, _DETAILS, _DETAILS + " " * 9)


def wrap_lines(text: str, width: int, first: str = "", others: str = "    ") -> list[str]:
    """Return lines of at most `width` columns; what has no blank in it (a path) stays whole."""
    return textwrap.wrap(
        text,
        max(width, 40),
        initial_indent=first,
        subsequent_indent=others,
        break_long_words=False,
        break_on_hyphens=False,
    )
