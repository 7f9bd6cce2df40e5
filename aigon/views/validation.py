"""Plan and results of `aigon feature-validate`: a table that fits 80 columns, and data."""

from collections.abc import Iterator, Sequence

from msgspec import Struct, to_builtins

from aigon.checks.execution import render_command
from aigon.model.checks import Check, Finding
from aigon.model.failures import describe_first_problems
from aigon.model.outcomes import Interrupted, Outcome, Stopped, describe_outcome, get_exit_code, get_status
from aigon.observation import Observation
from aigon.profiles.resolution import describe_absent
from aigon.proof.bench import name_in_record
from aigon.proof.criteria import list_commands
from aigon.proof.vacuity import describe_passing
from aigon.run.validate import ValidationPlan, ValidationReport
from aigon.text.amounts import format_duration
from aigon.text.quoting import fold, strip_escapes, wrap_lines

PROBLEMS = 50
"""Problems of one check that are listed as data; a linter on a new project may have thousands."""
LONGEST = 1000
"""Characters of a command or a summary; `--json` has it whole."""
NAMED = 8
"""Problems of a failed check that are shown; `--json` has more."""
HEADS = ("Check", "Role", "Result", "Time")
_DETAILS = "    "
_REST = len("remembered") + 8
"""Columns of the last cell and of the blanks between all of them."""


class ValidationRow(Struct, frozen=True):
    """A check, its command as a person would type it, and its finding.

    `finding` is None if it has not run; `check` is None for what aigon itself checked; `reads` names what it read on
    the base, if a run saw it.
    """

    check: Check | None
    finding: Finding | None
    command: str = ""
    reads: str = ""

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
        "reads": row.reads,
        "cache": {"state": how.replace(" ", "_"), "why": why},
        "counts": to_builtins(found.counts) if found and found.counts else None,
        "problems": [
            {**to_builtins(each), "line": each.line or None, "message": strip_escapes(each.message)}
            for each in problems[:PROBLEMS]
        ],
        "problems_total": len(problems),
    }


def render_check_table(rows: Sequence[ValidationRow], width: int) -> list[str]:
    """Return a line for each check under one head, and below it what has no room in a column."""
    cells = [
        HEADS,
        *((row.name, row.role, row.finding.status if row.finding else "-", _show_time(row)) for row in rows),
    ]
    widths = [max(len(line[column]) for line in cells) for column in range(len(HEADS))]
    widths[0] = min(widths[0], max(width - sum(widths[1:]) - _REST, len(HEADS[0])))
    lines = [*_render_cells(HEADS, widths, "Cache")]
    for row, line in zip(rows, cells[1:], strict=True):
        lines += [*_render_cells(line, widths, explain_cache(row)[0]), *_render_details(row, width)]
    return lines


def _render_cells(cells: Sequence[str], widths: Sequence[int], last: str) -> Iterator[str]:
    """Yield the cells in their columns; a name that is too long has a line to itself."""
    name = cells[0]
    if len(name) > widths[0]:
        yield name
        name = ""
    rest = zip((name, *cells[1:]), widths, strict=True)
    yield "  ".join([*(f"{cell:<{width}}" for cell, width in rest), last])


def _show_time(row: ValidationRow) -> str:
    # A remembered pass did not run now.
    ran = row.finding and not row.finding.cached and row.finding.duration
    return format_duration(ran) if ran else "-"


def _render_details(row: ValidationRow, width: int) -> Iterator[str]:
    timeout = f", up to {format_duration(row.check.timeout)}" if row.check else ""
    details = (
        ("found:", row.finding.summary if row.finding else ""),
        ("command:", row.command),
        ("cache:", explain_cache(row)[1]),
        ("reads:", row.reads),
        ("source:", f"{row.source}{timeout}"),
    )
    for name, text in details:
        if text:
            yield from wrap_lines(f"{name:<9}{fold(text, LONGEST)}", width, _DETAILS, _DETAILS + " " * 9)


def build_plan_document(plan: ValidationPlan) -> dict[str, object]:
    """Return the project and its checks as data, before any of them has run."""
    project = plan.prepared.checks
    return {
        "feature_id": plan.prepared.feature.id,
        "profile": project.profile,
        "folders": dict(project.folders),
        "checks": [build_check_document(row) for row in list_rows(plan, ())],
        "missing": [{"check": c.name, "tool": c.missing, "hint": c.hint} for c in plan.checks if c.missing],
        "absent": [{"role": a.role, "why": a.why, "ecosystem": a.ecosystem} for a in project.absent],
    }


def build_report_document(report: ValidationReport) -> dict[str, object]:
    """Return everything that a validation found as data."""
    texts = {c.number: c.text for c in report.plan.prepared.spec.criteria}
    reads, rows = _list_reads(report), list_rows(report.plan, report.assessment.findings, report.observed)
    return {
        **build_plan_document(report.plan),
        "outcome": get_status(report.outcome),
        "exit_code": int(get_exit_code(report.outcome)),
        "checks": [build_check_document(row) for row in rows],
        "criteria": [
            {"number": v.criterion, "text": texts[v.criterion], "verdict": v.status, "method": v.method,
             "evidence": v.evidence, "reason": v.reason, "reads": reads.get(v.criterion, "")}
            for v in report.assessment.verdicts
        ],
    }  # fmt: skip


def _list_reads(report: ValidationReport) -> dict[int, str]:
    """Return by criterion what its own command read on the base."""
    commands = list_commands(report.plan.prepared.spec.criteria)
    read = {int(each.name.rpartition("-")[2]): report.observed.describe(name_in_record(each)) for each in commands}
    return {number: files for number, files in read.items() if files}


def list_rows(
    plan: ValidationPlan, findings: Sequence[Finding], observed: Observation | None = None
) -> list[ValidationRow]:
    """Return the checks with their findings, then what aigon itself checked."""
    by_name = {finding.check: finding for finding in findings}
    names = {check.name for check in plan.checks}
    return [
        *(
            ValidationRow(c, by_name.get(c.name), render_command(c), observed.describe(c.name) if observed else "")
            for c in plan.checks
        ),
        *(ValidationRow(None, finding) for finding in findings if finding.check not in names),
    ]


def render_plan(plan: ValidationPlan, width: int) -> str:
    """Return the profile, and what the project has and lacks, in lines of at most `width` columns."""
    project = plan.prepared.checks
    names = ", ".join(f"{check.name} (up to {format_duration(check.timeout)})" for check in plan.checks) or "none"
    lines = [
        *([] if project.folders and "." not in project.folders else [f"Profile: {project.profile}"]),
        *(f"  in {folder}: profile {profile}" for folder, profile in project.folders.items()),
        f"Checks: {names}",
        *(f"  not installed: {c.missing}, for {c.name}. {c.hint}" for c in plan.checks if c.missing),
        *(f"  {line}" for line in describe_absent(project.absent)),
    ]
    return "\n".join(part for line in lines for part in wrap_lines(line, width))


def render_report(report: ValidationReport, width: int = 0) -> str:
    """Return the outcome; with a width, a table of the checks comes first."""
    assessment = report.assessment
    lines = []
    if width:
        rows = list_rows(report.plan, assessment.findings, report.observed)
        reads = (f"Criterion {number} reads: {files}" for number, files in _list_reads(report).items())
        lines = [*render_check_table(rows, width), *(part for line in reads for part in wrap_lines(line, width)), ""]
    for finding in assessment.findings:
        if finding.status in ("fail", "error") and finding.problems:  # nothing keeps its log
            lines += [f"{finding.title}:", *(f"  {line}" for line in describe_first_problems(finding, NAMED)), ""]
    passed = assessment.passed_at_base if assessment.adds_nothing else ()
    lines += describe_passing(report.plan.prepared.spec.criteria, passed)
    proven = sum(v.status == "met" for v in assessment.verdicts)
    return "\n".join(
        [*lines, f"{proven} of {len(assessment.verdicts)} criteria passed. {_describe_end(report.outcome)}."]
    )


def _describe_end(outcome: Outcome) -> str:
    # No loop ran, so no guard stopped one, and there is no state to save.
    if isinstance(outcome, Interrupted):
        return f"Interrupted by {outcome.signal}; nothing was written"
    return outcome.reason.capitalize() if isinstance(outcome, Stopped) else describe_outcome(outcome)
