"""A verdict for every criterion, on one tree, from what ran."""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from decimal import Decimal, InvalidOperation

from aigon.core.decisions import applying
from aigon.core.decisions import verdict as decided
from aigon.core.model import ROLES, Check, Criterion, Finding, Verdict, VerdictStatus
from aigon.core.spec import metric_parts
from aigon.run.checks import Result
from aigon.run.job import Job
from aigon.run.one_check import CRITERION

COMMAND_TIMEOUT = 600.0
"""Seconds for a criterion's own command."""
_COMPARE: Mapping[str, Callable[[Decimal, Decimal], bool]] = {
    ">=": operator.ge,
    "<=": operator.le,
    ">": operator.gt,
    "<": operator.lt,
    "==": operator.eq,
    "!=": operator.ne,
}
_NUMBER = re.compile(r"(?:(?<![\w.])[-+])?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?")


def commands(criteria: Sequence[Criterion]) -> tuple[Check, ...]:
    """The commands of `verify` and `metric` criteria, to be run like checks, but each time: they are judged anew."""
    return tuple(_command(c) for c in criteria if c.kind in ("verify", "metric"))


def _command(criterion: Criterion) -> Check:
    text = criterion.command or ""
    script = metric_parts(text)[0] if criterion.kind == "metric" else text
    return Check(
        _name(criterion), "script", ("bash", "-c", script), timeout=COMMAND_TIMEOUT, source=CRITERION, remember=False
    )


def _name(criterion: Criterion) -> str:
    return f"criterion-{criterion.number}"


def by_what_ran(
    job: Job, findings: Sequence[Finding], results: Sequence[Result], content: str, human_ticks: Sequence[int]
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
    human_ticks: Sequence[int],
) -> Verdict:
    if criterion.kind == "verify":
        return _by_exit(criterion, ran[_name(criterion)])
    if criterion.kind == "metric":
        return _by_number(criterion, ran[_name(criterion)])
    if criterion.kind == "check":
        return _by_check(job, criterion, findings)
    if decision := applying(job.decisions, criterion, content):
        return decided(decision)
    if criterion.kind == "human":
        return _by_person(criterion, human_ticks)
    return Verdict(criterion.number, "unclear", "judge", "", "no judge is configured: `aigon approve` decides")


def _by_exit(criterion: Criterion, result: Result) -> Verdict:
    finding = result.finding
    if finding.status == "pass":
        return Verdict(criterion.number, "met", "verify", f"exit 0: {criterion.command}", "")
    return Verdict(criterion.number, _not_met(finding), "verify", f"{criterion.command}", finding.summary)


def _not_met(finding: Finding) -> VerdictStatus:
    """What was not run was not seen to fail either."""
    return "unclear" if finding.status == "skipped" else "unmet"


def _by_number(criterion: Criterion, result: Result) -> Verdict:
    """The last number that the command printed, against the bound; exit codes other than 0 are no measurement."""
    _, symbol, bound = metric_parts(criterion.command or "")
    if (finding := result.finding).status != "pass":
        return Verdict(criterion.number, _not_met(finding), "metric", f"{criterion.command}", finding.summary)
    value = _last_number(result.output.decode(errors="replace"))
    if value is None:
        return Verdict(criterion.number, "unmet", "metric", f"{criterion.command}", "the command printed no number")
    wanted = f"{value} {symbol} {bound:g}"
    if _COMPARE[symbol](value, Decimal(str(bound))):
        return Verdict(criterion.number, "met", "metric", wanted, "")
    return Verdict(
        criterion.number, "unmet", "metric", f"{criterion.command}", f"it is {value}, wanted {symbol} {bound:g}"
    )


def _last_number(text: str) -> Decimal | None:
    numbers = _NUMBER.findall(text[-4000:])
    try:
        return Decimal(numbers[-1]) if numbers else None
    except InvalidOperation:
        return None


def _by_check(job: Job, criterion: Criterion, findings: Sequence[Finding]) -> Verdict:
    wanted = criterion.command or ""
    if job.demand.skip_validation:
        return Verdict(criterion.number, "unclear", f"check:{wanted}", "", "validation is skipped (--skip-validation)")
    bound = bound_findings(wanted, findings)
    if not bound:
        return Verdict(criterion.number, "unclear", f"check:{wanted}", "", f"this project has no check '{wanted}'")
    method = f"check:{bound[0].check}"
    for finding in sorted(bound, key=lambda f: f.status == "skipped"):
        if finding.status != "pass":
            why = f"{finding.title}: {finding.summary}"
            return Verdict(criterion.number, _not_met(finding), method, finding.command, why)
    return Verdict(criterion.number, "met", method, "; ".join(f"{f.title}: {f.summary}" for f in bound), "")


def bound_findings(wanted: str, findings: Sequence[Finding]) -> list[Finding]:
    """The findings a `check` criterion is bound to: by name, by role, else the script that stands in for a role."""
    by_name = [f for f in findings if f.check == wanted]
    by_role = [f for f in findings if f.role == wanted]
    stand_in = [f for f in findings if f.role == "script"] if wanted in ROLES else []
    return by_name or by_role or stand_in


def _by_person(criterion: Criterion, human_ticks: Sequence[int]) -> Verdict:
    if criterion.number in human_ticks:
        return Verdict(criterion.number, "met", "approval", "ticked by a person before the run", "")
    return Verdict(criterion.number, "unclear", "human", "", "a person decides: `aigon approve`")
