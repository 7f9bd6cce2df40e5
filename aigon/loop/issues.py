"""Issues that an assessment found: complaints of the checks, then the criteria that are not proven."""

import shlex
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from aigon.journal.state import State
from aigon.model.checks import OWN_ROLES, Finding
from aigon.model.criteria import Criterion, Verdict
from aigon.model.failures import FailureGroup, format_location, group_problems, has_failed
from aigon.profiles.profile import CONFIG
from aigon.text.quoting import code_span, fold, list_item

MAX_GROUPS = 10
"""Groups of problems of one check that are issues of their own; the rest is one more."""
MAX_ISSUES = 50
"""Issues that events and notifications carry."""
MAX_STEPS = 10
"""Steps of a plan before the last one."""


class Issue(Struct, frozen=True):
    """One point. `about` names the check or criterion; `complaint` is what a tool said, `reason` is aigon's own word.

    `rule`, `test` and `place` (file and line) say where the complaint is, which came `times`. A `warning` fails no
    check. `step` is what the plan says about it, "" for nothing.
    """

    about: str
    complaint: str = ""
    reason: str = ""
    rule: str = ""
    test: str = ""
    place: str = ""
    times: int = 1
    warning: bool = False
    step: str = ""

    def __str__(self) -> str:
        """Return the point in one line of plain text."""
        return fold(self._format(self.complaint, *filter(None, (self.rule, self.test, self.place))))

    def as_markdown(self) -> str:
        """Return the same for the log, with what tools chose in code spans."""
        places = (code_span(place, 120) for place in (self.rule, self.test, self.place) if place)
        return self._format(code_span(self.complaint), *places)

    def _format(self, complaint: str, *places: str) -> str:
        about, reason = list_item(self.about, 80), fold(self.reason)
        where_ = f" ({', '.join(places)})" if places else ""
        times = f", {self.times} times" if self.times > 1 else ""
        said = f"{complaint} ({reason})" if complaint and reason else complaint or reason
        return f"{about}: {'warning ' if self.warning else ''}{said}{where_}{times}"


def list_issues(findings: Sequence[Finding], verdicts: Sequence[Verdict], criteria: Sequence[Criterion]) -> list[Issue]:
    """Return what is wrong: the complaints of the checks in groups, then the criteria that are not proven."""
    complaints = [issue for finding in findings for issue in _list_complaints(finding)]
    return [*complaints, *_list_open_criteria(verdicts, criteria)]


def list_remaining(
    findings: Sequence[Finding], verdicts: Sequence[Verdict], criteria: Sequence[Criterion] = ()
) -> tuple[str, ...]:
    """Return what keeps a run from being proven, a line each; what needs no fix is left out."""
    failed = [finding for finding in findings if has_failed(finding)]
    texts = [str(issue) for issue in list_issues(failed, verdicts, criteria) if not issue.warning]
    return tuple(texts[:MAX_ISSUES])


def plan_next_steps(issues: Sequence[Issue]) -> list[str]:
    """Return what is to be done next, step by step; empty if nothing is open."""
    steps = list(dict.fromkeys(issue.step for issue in issues if issue.step))
    more = [f"Fix the other {len(steps) - MAX_STEPS} issues"] if len(steps) > MAX_STEPS else []
    return [*steps[:MAX_STEPS], *more, "Re-run validation"] if steps else []


def list_advice(state: State, folders: Mapping[str, str]) -> list[str]:
    """Return what a person can do about checks that never passed in this run; nothing if each passed once.

    `folders` are those that checks run in, by the check's name.
    """
    attempts = [state.tried.base, *state.tried.done]
    passed = {check.check for attempt in attempts if attempt for check in attempt.checks if not check.red}
    before = {check.check for check in state.tried.base.checks} if state.tried.base else set()
    findings = state.last.findings if state.last else ()
    never = [f for f in findings if has_failed(f) and f.role not in OWN_ROLES and f.check in before - passed]
    if not never:
        return []
    lines = []
    for finding in never:
        folder, command = folders.get(finding.check, "."), finding.command
        command = fold(command if folder == "." else f"cd {shlex.quote(folder)} && {command}", 200)
        lines.append(f"{finding.title} never passed, not even before the first turn. Run it: {command}")
    names = ", ".join(finding.check for finding in never)
    return [
        *lines,
        f"If it may stay broken: `known_failures: [{names}]` in the spec's frontmatter",
        f'If it does not belong here: "checks": {{"{never[0].check}": {{"enabled": false}}}} in {CONFIG}',
        "If a tool, a service or a login is missing: aigon doctor",
    ]


def _list_complaints(finding: Finding) -> Iterator[Issue]:
    groups = group_problems(finding.problems)
    if not groups and has_failed(finding):
        why = finding.summary or f"exit code {finding.exit_code}"
        yield Issue(finding.title, reason=why, step=f"Make {fold(finding.title, 80)} pass")
    yield from (_make_issue(finding.title, group) for group in groups[:MAX_GROUPS])
    if len(groups) > MAX_GROUPS:
        yield Issue(finding.title, reason=f"and {len(groups) - MAX_GROUPS} other kinds")


def _make_issue(title: str, group: FailureGroup) -> Issue:
    example = group.example
    complaint = next((line for line in example.message.splitlines() if fold(line)), "no message")
    place, warning = format_location(example), example.severity == "warning"
    at = code_span(example.test or place, 120)
    line = f" ({code_span(place, 120)})" if example.test and place else ""
    step = f"Fix {code_span(complaint, 120)}" + (f" in {at}{line}" if at else f" ({fold(title, 80)})")
    times = len(group.problems)
    return Issue(title, complaint, "", example.rule, example.test, place, times, warning, "" if warning else step)


def _list_open_criteria(verdicts: Sequence[Verdict], criteria: Sequence[Criterion]) -> Iterator[Issue]:
    texts = {criterion.number: fold(criterion.text, 120) for criterion in criteria}
    known = {verdict.criterion: verdict for verdict in verdicts}
    for number in texts or known:
        verdict, text = known.get(number), texts.get(number, "")
        if verdict and verdict.status == "met":
            continue
        why = (fold(verdict.reason or verdict.evidence) or "no reason given") if verdict else "not assessed"
        task = "Have a person decide" if verdict and verdict.method == "human" else "Prove"
        step = f"{task} criterion {number}{f': {text}' if text else ''}"
        yield Issue(f"Criterion {number}", reason=f"{text} ({why})" if text else why, step=step)
