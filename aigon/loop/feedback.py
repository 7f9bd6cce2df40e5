"""The digest: what the next iteration must know about the last look, and nothing an agent said about itself.

Grouping by fingerprint with one example each made 34 failing test runs 16 times shorter (10,583 to 516 characters).
"""

from collections.abc import Sequence
from dataclasses import dataclass

from aigon.model.checks import Finding
from aigon.model.criteria import VERDICT_WORDS, Criterion, Spec, Verdict
from aigon.model.failures import MAX_FAILURE_LINE_CHARS, FailedCheck, Failure, compare_failed_check, has_failed
from aigon.model.turns import Turn
from aigon.text.amounts import estimate_tokens, format_duration
from aigon.text.quoting import code_block, code_span, fold, list_item


@dataclass(frozen=True, slots=True)
class _Level:
    """How much is shown: lines of an example, groups of a check, names of a group, notes."""

    lines: int
    groups: int
    names: int
    notes: int


# From generous to the part that always stays: examples lose their later lines first, then checks their later groups.
_LEVELS = (
    *(_Level(lines, 20, 6, 10) for lines in (12, 6, 3, 1)),
    *(_Level(1, number, 4, 10) for number in (10, 5, 3, 2, 1)),
    _Level(1, 1, 0, 3),
)


REASON = 500
"""Characters of the reason for which a criterion failed: it may name some failing tests."""


def render_feedback(
    spec: Spec,
    findings: Sequence[Finding],
    verdicts: Sequence[Verdict],
    before: Sequence[Finding],
    base: Sequence[Finding],
    turn: Turn | None,
    notes: Sequence[str],
    logs: str,
    budget: int = 2000,
) -> str:
    """What is wrong with this tree, in at most `budget` estimated tokens.

    `before` are the findings of the look before this one, `base` those of the base; `notes` say what aigon put
    back; `logs` is the path of the whole logs. Criteria that are not proven and the first failure of each red check
    always stay, even over budget; the rest is shortened step by step, and the digest says by how much.
    """
    checks = [
        compare_failed_check(f, _of(f.check, before), _of(f.check, base), bool(before))
        for f in findings
        if has_failed(f)
    ]
    always = (_opening(findings, before), _open_criteria(spec, verdicts), _about(turn), _path(logs))
    text = ""
    for level in _LEVELS:
        text = _composed(always, checks, notes, level)
        if estimate_tokens(text) <= budget:
            break
    return text


def _of(check: str, findings: Sequence[Finding]) -> Finding | None:
    return next((f for f in findings if f.check == check), None)


def _composed(
    always: tuple[str, str, str, str], checks: Sequence[FailedCheck], notes: Sequence[str], level: _Level
) -> str:
    opening, criteria, turn, path = always
    shown = [_shown(check, level) for check in checks]
    parts = [opening, *shown, criteria, _notes(notes, level), turn, path, _left_out(checks, notes, level)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _opening(findings: Sequence[Finding], before: Sequence[Finding]) -> str:
    fixed = [f.title for f in findings if f.status == "pass" and has_failed(_of(f.check, before))]
    skipped = [f"{f.title} ({f.summary})" if f.summary else f.title for f in findings if f.status == "skipped"]
    red = sum(has_failed(f) for f in findings)
    lines = [f"Failing checks: {red} of {len(findings)}." if findings else "No check ran."]
    lines += [f"Fixed now: {_listed(fixed)}."] if fixed else []
    lines += [f"Skipped, which is not a pass: {_listed(skipped)}."] if skipped else []
    return "\n".join(lines)


def _listed(names: Sequence[str]) -> str:
    return ", ".join(code_span(name, 120) for name in names[:10]) + (f" and {len(names) - 10} more" * (len(names) > 10))


def _shown(check: FailedCheck, level: _Level) -> str:
    return "\n\n".join([check.heading, *(_block(failure, level) for failure in check.failures[: level.groups])])


def _block(failure: Failure, level: _Level) -> str:
    lines = failure.lines[-level.lines :] if failure.from_end else failure.lines[: level.lines]
    body = code_block("\n".join(lines)) if lines else ""
    return "\n".join(part for part in (failure.about, body, _more(failure, level)) if part)


def _more(failure: Failure, level: _Level) -> str:
    if not failure.more:
        return ""
    names = ", ".join(code_span(name, 120) for name in failure.names[: level.names])
    rest = ", ..." if failure.more > level.names else ""
    return f"and {failure.more} more like it" + (f": {names}{rest}" if names else "")


def _open_criteria(spec: Spec, verdicts: Sequence[Verdict]) -> str:
    by_number = {v.criterion: v for v in verdicts}
    lines = [_criterion(c, by_number.get(c.number)) for c in spec.criteria if not _met(by_number.get(c.number))]
    if not lines:
        return "Every acceptance criterion passes."
    title = f"Acceptance criteria not passed: {len(lines)} of {len(spec.criteria)}."
    return f"{title}\n{code_block(chr(10).join(lines))}"


def _met(verdict: Verdict | None) -> bool:
    return verdict is not None and verdict.status == "met"


def _criterion(criterion: Criterion, verdict: Verdict | None) -> str:
    status = VERDICT_WORDS[verdict.status if verdict else "unclear"]
    reason = (verdict.reason or verdict.evidence) if verdict else "not assessed"
    return f"{criterion.number}. {fold(criterion.text)}\n   {status}: {fold(reason, REASON) or 'no reason given'}"


def _notes(notes: Sequence[str], level: _Level) -> str:
    lines = [f"- {list_item(note, MAX_FAILURE_LINE_CHARS)}" for note in notes[: level.notes]]
    return "\n".join(["Put back by aigon after the last turn:", *lines]) if lines else ""


def _about(turn: Turn | None) -> str:
    """Facts of the turn. Never `said` nor `detail`: what an agent says of its work must not come back as truth."""
    if turn is None:
        return ""
    lines = [_ended(turn)] if turn.failed else []
    lines += [f"Permissions denied to the last turn: {_listed(turn.denied)}."] if turn.denied else []
    return "\n".join(lines)


def _ended(turn: Turn) -> str:
    if turn.end == "timed_out":
        took = format_duration(turn.duration)
        return f"The last turn was stopped at its time limit, after {took}: work in smaller steps."
    ending = f"exit code {turn.exit_code}" if turn.exit_code is not None else turn.end.replace("_", " ")
    return f"The last turn failed ({ending})."


def _path(logs: str) -> str:
    return f"Full logs: {code_span(logs, 1000)}" if logs else ""


def _left_out(checks: Sequence[FailedCheck], notes: Sequence[str], level: _Level) -> str:
    shown = [failure for check in checks for failure in check.failures[: level.groups]]
    cut = (
        (sum(max(len(failure.lines) - level.lines, 0) for failure in shown), "line", " of examples"),
        (sum(max(len(check.failures) - level.groups, 0) for check in checks), "group", " of failures"),
        (sum(check.unread for check in checks), "problem", " not listed"),
        (max(len(notes) - level.notes, 0), "note", " on what was put back"),
    )
    said = [f"{number} {noun}{'s' if number > 1 else ''}{what}" for number, noun, what in cut if number]
    return f"Left out here: {', '.join(said)}." if said else ""
