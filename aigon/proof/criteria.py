"""A verdict for every criterion, on one tree, from what ran."""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation

from aigon.checks.execution import CRITERION
from aigon.job.job import Job
from aigon.job.results import Result
from aigon.journal.decisions import decision_verdict as decided
from aigon.journal.decisions import find_decision
from aigon.model.checks import Check, Finding
from aigon.model.criteria import Criterion, Verdict, VerdictStatus, find_bound_checks
from aigon.spec.annotation import split_metric
from aigon.text.fingerprints import strip_escapes

COMMAND_TIMEOUT = 600.0
"""Seconds for a criterion's own command."""
NAMED_TESTS = 3
"""Failing tests that the reason of a red command names."""
LONGEST_MESSAGE = 200
"""Characters of what a failing test says; half of them if there are several."""
_COMPARE: Mapping[str, Callable[[Decimal, Decimal], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "==": operator.eq,
    "!=": operator.ne,
}
_RUN = re.compile(r"[\w.,/+\-\u2010-\u2015\u2212]+")
"""What belongs together: letters, digits and what may join numbers, typographic dashes and minus included."""
_NUMBER = re.compile(r"[-+]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][-+]?[0-9]+)?")
LONGEST_LINE = 4000
"""Bytes of the end of the output that are read; of a line as long as that nobody knows where it began."""


def list_commands(criteria: Sequence[Criterion]) -> tuple[Check, ...]:
    """The commands of `verify` and `metric` criteria, to be run like checks, but each time: they are judged anew."""
    return tuple(_command(c) for c in criteria if c.kind in ("verify", "metric"))


def _command(criterion: Criterion) -> Check:
    text = criterion.command or ""
    script = split_metric(text)[0] if criterion.kind == "metric" else text
    return Check(
        _name(criterion),
        "script",
        ("bash", "-c", script),
        parser="any",  # it describes: the exit code decides
        timeout=COMMAND_TIMEOUT,
        source=CRITERION,
        remember=False,
    )


def _name(criterion: Criterion) -> str:
    return f"criterion-{criterion.number}"


def judge_by_results(
    job: Job, findings: Sequence[Finding], results: Sequence[Result], content: str, human_ticks: Sequence[str]
) -> tuple[Verdict, ...]:
    """Everything but the judge's part: what that has to decide comes back as `unclear` with method `judge`."""
    ran = {result.finding.check: result for result in results}
    return tuple(_verdict(job, c, findings, ran, content, human_ticks) for c in job.spec.criteria)


def _verdict(
    job: Job,
    criterion: Criterion,
    findings: Sequence[Finding],
    ran: Mapping[str, Result],
    content: str,
    human_ticks: Sequence[str],
) -> Verdict:
    if criterion.kind == "verify":
        return _by_exit(criterion, ran[_name(criterion)])
    if criterion.kind == "metric":
        return _by_number(criterion, ran[_name(criterion)])
    if criterion.kind == "check":
        return _by_check(job, criterion, findings)
    if decision := find_decision(job.decisions, criterion, content):
        return decided(decision)
    if criterion.kind == "human":
        return _by_person(criterion, human_ticks)
    if job.judge is None:
        return Verdict(criterion.number, "unclear", "human", "", "no judge is configured: `aigon approve` decides")
    return Verdict(criterion.number, "unclear", "judge", "", "the judge has not been asked")


def judge_by_command(criteria: Sequence[Criterion], check: Check, result: Result) -> Verdict | None:
    """The verdict on the criterion whose command `check` is; None for a check of the project's own."""
    found = next((c for c in criteria if check.source == CRITERION and _name(c) == check.name), None)
    if found is None:
        return None
    return _by_number(found, result) if found.kind == "metric" else _by_exit(found, result)


def _by_exit(criterion: Criterion, result: Result) -> Verdict:
    finding = result.finding
    if finding.status == "pass":
        return Verdict(criterion.number, "met", "verify", f"exit 0: {criterion.command}", "")
    return Verdict(criterion.number, _not_met(finding), "verify", f"{criterion.command}", _why(finding))


def _why(finding: Finding) -> str:
    """Return what the command came to and, if its output names failing tests, the first of them."""
    failed = {
        p.test: p.message[:LONGEST_MESSAGE] for p in reversed(finding.problems) if p.test and p.severity == "error"
    }
    if not failed:
        return finding.summary
    names = [f"{test}: {message}" for test, message in reversed(failed.items())]
    more = f"; and {len(names) - NAMED_TESTS} more" if len(names) > NAMED_TESTS else ""
    return f"{finding.summary} ({'; '.join(names[:NAMED_TESTS])}{more})"


def _not_met(finding: Finding) -> VerdictStatus:
    """What was not run was not seen to fail either."""
    return "unclear" if finding.status == "skipped" else "unmet"


def _by_number(criterion: Criterion, result: Result) -> Verdict:
    """The number on the last line printed, against the bound; exit codes other than 0 are no measurement."""
    _, symbol, bound = split_metric(criterion.command or "")
    if (finding := result.finding).status != "pass":
        return Verdict(criterion.number, _not_met(finding), "metric", f"{criterion.command}", _why(finding))
    value = read_printed_number(result.output)
    if isinstance(value, str):
        return Verdict(criterion.number, "unmet", "metric", f"{criterion.command}", value)
    wanted = f"{value} {symbol} {bound:g}"
    if _COMPARE[symbol](value, Decimal(str(bound))):
        return Verdict(criterion.number, "met", "metric", wanted, "")
    return Verdict(
        criterion.number, "unmet", "metric", f"{criterion.command}", f"it is {value}, wanted {symbol} {bound:g}"
    )


def read_printed_number(output: bytes) -> Decimal | str:
    """The one number on the last line that is not empty, or why there is none.

    It has to stand for itself: `1,234`, `7/10`, `3-5` and `12ms` are none, and beside any other digits that are not
    part of a word (`py311`) nobody knows which is meant.
    """
    lines = strip_escapes(output.rstrip()[-LONGEST_LINE:].decode(errors="replace")).splitlines() or [""]
    runs = [run for run in _RUN.findall(lines[-1]) if not _is_word(run)]
    if len(runs) == 1 and len(lines[-1]) < LONGEST_LINE and (value := _number(runs[0])) is not None:
        return value
    if not any(character.isdigit() for character in lines[-1]):
        return "the command printed no number on its last line"
    return f"ambiguous: the last line has to hold exactly one plain number, it is '{lines[-1].strip()[:200]}'"


def _is_word(run: str) -> bool:
    """Whether its first letter or digit is a letter; a run without either is only a sign."""
    first = next((character for character in run if character.isalnum()), "-")
    return not first.isdigit()


def _number(run: str) -> Decimal | None:
    try:
        return Decimal(run) if _NUMBER.fullmatch(run) else None
    except InvalidOperation:
        return None


def _by_check(job: Job, criterion: Criterion, findings: Sequence[Finding]) -> Verdict:
    wanted = criterion.command or ""
    if job.demand.skip_validation:
        return Verdict(criterion.number, "unclear", f"check:{wanted}", "", "validation is skipped (--skip-validation)")
    found = list_bound_findings(wanted, findings)
    if not found:
        return Verdict(criterion.number, "unclear", f"check:{wanted}", "", f"this project has no check '{wanted}'")
    method = f"check:{found[0].check}"
    for finding in sorted(found, key=lambda f: f.status == "skipped"):
        if finding.status != "pass":
            why = f"{finding.title}: {finding.summary}"
            return Verdict(criterion.number, _not_met(finding), method, finding.command, why)
    return Verdict(criterion.number, "met", method, "; ".join(f"{f.title}: {f.summary}" for f in found), "")


def list_bound_findings(wanted: str, findings: Sequence[Finding]) -> list[Finding]:
    """The findings a `check` criterion is bound to, which all have to be green."""
    names = find_bound_checks(wanted, {f.check: f.role for f in findings})
    return [f for f in findings if f.check in names]


def _by_person(criterion: Criterion, human_ticks: Sequence[str]) -> Verdict:
    if criterion.text in human_ticks:
        return Verdict(criterion.number, "met", "approval", "ticked by a person before the run", "")
    return Verdict(criterion.number, "unclear", "human", "", "a person decides: `aigon approve`")
