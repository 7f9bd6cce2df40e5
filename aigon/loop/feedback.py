"""The feedback: what the next iteration must know about the last assessment, and nothing an agent said about itself.

Grouping by fingerprint with one example each made 34 failing test runs 16 times shorter (10,583 to 516 characters).
"""

from collections.abc import Iterator, Sequence

from msgspec import Struct

from aigon.journal.events import IterationFinished
from aigon.model.checks import Finding
from aigon.model.criteria import VERDICT_WORDS, Spec, Verdict
from aigon.model.failures import MAX_FAILURE_LINE_CHARS, FailedCheck, Failure, compare_failed_check, has_failed
from aigon.model.turns import Turn
from aigon.text.amounts import estimate_tokens, format_duration
from aigon.text.quoting import code_block, code_span, fold, list_item

MAX_REASON_CHARS = 500
"""Characters of the reason for which a criterion failed: it may name some failing tests."""


class _Level(Struct, frozen=True):
    """A level of detail: lines of an example, groups of a check, names of a group, notes."""

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


def render_feedback(
    spec: Spec,
    look: IterationFinished,
    *,
    last: IterationFinished | None = None,
    base: IterationFinished | None = None,
    turn: Turn | None = None,
    notes: Sequence[str] = (),
    logs: str = "",
    budget: int = 2000,
) -> str:
    """Return what is wrong with the tree that `look` is about, in at most `budget` estimated tokens.

    `last` is the assessment before it, `base` the baseline; `notes` say what aigon put back; `logs` is the path of the
    whole logs. Criteria that are not proven and the first failure of each failed check always stay, even over budget;
    the rest is shortened step by step, and the feedback says by how much.
    """
    before = {finding.check: finding for finding in last.findings} if last else {}
    at_base = {finding.check: finding for finding in base.findings} if base else {}
    failed = [
        compare_failed_check(finding, before.get(finding.check), at_base.get(finding.check), bool(before))
        for finding in look.findings
        if has_failed(finding)
    ]
    opening = _count_checks(look.findings, [f.check for f in look.findings if has_failed(before.get(f.check))])
    criteria, facts = _list_criteria(spec, look.verdicts), "\n".join(_describe_turn(turn) if turn else ())
    path = f"Full logs: {code_span(logs, 1000)}" if logs else ""
    text = ""
    for level in _LEVELS:
        checks = [_render_check(check, level) for check in failed]
        parts = (opening, *checks, criteria, _list_notes(notes, level), facts, path, _count_rest(failed, notes, level))
        text = "\n\n".join(part for part in parts if part) + "\n"
        if estimate_tokens(text) <= budget:
            break
    return text


def _count_checks(findings: Sequence[Finding], failed_before: Sequence[str]) -> str:
    fixed = [f.title for f in findings if f.status == "pass" and f.check in failed_before]
    skipped = [f"{f.title} ({f.summary})" if f.summary else f.title for f in findings if f.status == "skipped"]
    red = sum(has_failed(f) for f in findings)
    lines = [f"Failing checks: {red} of {len(findings)}." if findings else "No check ran."]
    lines += [f"Fixed now: {_join_names(fixed)}."] if fixed else []
    lines += [f"Skipped, which is not a pass: {_join_names(skipped)}."] if skipped else []
    return "\n".join(lines)


def _join_names(names: Sequence[str]) -> str:
    return ", ".join(code_span(name, 120) for name in names[:10]) + (f" and {len(names) - 10} more" * (len(names) > 10))


def _render_check(check: FailedCheck, level: _Level) -> str:
    return "\n\n".join([check.heading, *(_render_failure(each, level) for each in check.failures[: level.groups])])


def _render_failure(failure: Failure, level: _Level) -> str:
    lines = failure.lines[-level.lines :] if failure.from_end else failure.lines[: level.lines]
    parts = [failure.about, code_block("\n".join(lines)) if lines else ""]
    if failure.more:
        names = ", ".join(code_span(name, 120) for name in failure.names[: level.names])
        rest = ", ..." if failure.more > level.names else ""
        parts.append(f"and {failure.more} more like it" + (f": {names}{rest}" if names else ""))
    return "\n".join(filter(None, parts))


def _list_criteria(spec: Spec, verdicts: Sequence[Verdict]) -> str:
    by_number = {v.criterion: v for v in verdicts}
    lines = []
    for criterion in spec.criteria:
        verdict = by_number.get(criterion.number)
        if verdict and verdict.status == "met":
            continue
        status = VERDICT_WORDS[verdict.status if verdict else "unclear"]
        reason = fold((verdict.reason or verdict.evidence) if verdict else "not assessed", MAX_REASON_CHARS)
        lines.append(f"{criterion.number}. {fold(criterion.text)}\n   {status}: {reason or 'no reason given'}")
    if not lines:
        return "Every acceptance criterion passes."
    return f"Acceptance criteria not passed: {len(lines)} of {len(spec.criteria)}.\n{code_block(chr(10).join(lines))}"


def _list_notes(notes: Sequence[str], level: _Level) -> str:
    lines = [f"- {list_item(note, MAX_FAILURE_LINE_CHARS)}" for note in notes[: level.notes]]
    return "\n".join(["Put back by aigon after the last turn:", *lines]) if lines else ""


def _describe_turn(turn: Turn) -> Iterator[str]:
    """Yield facts of the turn. What an agent says of its work (`said`, `detail`) must not come back as truth."""
    if turn.end == "timed_out":
        took = format_duration(turn.duration)
        yield f"The last turn was stopped at its time limit, after {took}: work in smaller steps."
    elif turn.failed:
        ending = f"exit code {turn.exit_code}" if turn.exit_code is not None else turn.end.replace("_", " ")
        yield f"The last turn failed ({ending})."
    if turn.denied:
        yield f"Permissions denied to the last turn: {_join_names(turn.denied)}."


def _count_rest(checks: Sequence[FailedCheck], notes: Sequence[str], level: _Level) -> str:
    shown = [failure for check in checks for failure in check.failures[: level.groups]]
    cut = (
        (sum(max(len(failure.lines) - level.lines, 0) for failure in shown), "line", " of examples"),
        (sum(max(len(check.failures) - level.groups, 0) for check in checks), "group", " of failures"),
        (sum(check.unread for check in checks), "problem", " not listed"),
        (max(len(notes) - level.notes, 0), "note", " on what was put back"),
    )
    counts = [f"{number} {noun}{'s' if number > 1 else ''}{what}" for number, noun, what in cut if number]
    return f"Left out here: {', '.join(counts)}." if counts else ""
