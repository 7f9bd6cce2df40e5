"""The iteration log: one entry per iteration, committed with it, for people.

Text that aigon did not write is folded to one line and never stands at the beginning of one, so that no file name,
criterion or tool can start a heading, a box or another entry.
"""

import re
from collections.abc import Iterable, Sequence

from aigon.journal.events import IterationFinished
from aigon.journal.spending import format_cost
from aigon.loop.issues import list_issues, plan_next_steps
from aigon.model.changes import FileChange
from aigon.model.checks import Finding
from aigon.model.criteria import Criterion, Promise, Spec, Verdict
from aigon.model.turns import Turn
from aigon.text.amounts import format_duration
from aigon.text.quoting import code_span, fold

_FILES = 30
_CLAIM = 500
"""Characters of the agent's account of its turn that the log quotes."""
_HEADING = re.compile(r"^## Iteration (\d{1,9}) \(", re.MULTILINE | re.ASCII)


def render_header(feature_id: str, title: str, agent: str) -> str:
    """What a new log begins with."""
    return (
        f"# Iteration log: feature {fold(feature_id, 80)}, {fold(title, 200)}\n\n"
        f"Written by aigon, one entry per iteration of {code_span(agent, 80)}. "
        "A ticked box was proven by what aigon ran on exactly the committed files.\n\n"
    )


def render_entry(
    event: IterationFinished, spec: Spec, turn: Turn | None, when: str, *, rung: str = "", notes: Sequence[str] = ()
) -> str:
    """Return one iteration's entry. `when` is a local time; `rung` names the step of the escalation steps, if any.

    `notes` say what aigon put back or moved aside after the turn.
    """
    issues = list_issues(event.findings, event.verdicts, spec.criteria)
    lines = [
        f"## Iteration {event.number} ({fold(when, 40)})",
        "",
        "### Implementation",
        *_implementation(turn, event.changes, rung),
        *_promises(event.promises),
        *(f"- The agent is told: {fold(note)}" for note in notes),
        "### Validation Results",
        *(_validation(event.findings) or ["- ⚠️ Validation: skipped (no check ran)"]),
        "### Acceptance Criteria Status",
        *_criteria(spec.criteria, event.verdicts),
        "### Issues Found",
        *([f"{number}. {issue.as_markdown()}" for number, issue in enumerate(issues, 1)] or ["None."]),
        "### Next Iteration Plan",
        *([f"- {step}" for step in plan_next_steps(issues)] or ["- Nothing is open."]),
        "---",
    ]
    return "\n".join(lines) + "\n"


def read_iteration_numbers(text: str) -> list[int]:
    """The numbers of the iterations that a log tells of, in its order."""
    return [int(number) for number in _HEADING.findall(text)]


def _promises(promises: Sequence[Promise]) -> list[str]:
    kept = {True: "kept", False: "broken"}
    why = [f" ({fold(one.why)})" if one.why else "" for one in promises]
    return [
        f"- Promise {code_span(one.text, 80)}: {kept[one.kept]}{said}" for one, said in zip(promises, why, strict=True)
    ]


def _implementation(turn: Turn | None, changes: Sequence[FileChange], rung: str) -> list[str]:
    added, removed = (sum(max(n, 0) for n in column) for column in ([c.added for c in changes],
                                                                    [c.removed for c in changes]))  # fmt: skip
    files = f"- Files changed: {len(changes)} (+{added} -{removed})" if changes else "- No files changed"
    ladder = [f"- Rung: {fold(rung, 120)}"] if rung and turn else []
    return [*_turn(turn), *ladder, files, *_files(changes), *_claim(turn)]


def _claim(turn: Turn | None) -> list[str]:
    """The agent's own account, for people. No judge and no prompt is given it."""
    said = code_span(turn.said, _CLAIM) if turn else ""
    return [f"- The agent's account (its claim, not evidence): {said}"] if said else []


def _turn(turn: Turn | None) -> list[str]:
    if turn is None:
        return ["- Agent: none, this is a look at what was there"]
    model = f", model {code_span(turn.model, 80)}" if turn.model else ""
    exited = f" (exit code {turn.exit_code})" if turn.failed and turn.exit_code is not None else ""
    ended = f"{turn.end.replace('_', ' ')}{exited}"
    return [
        f"- Agent: {code_span(turn.agent, 80)}{model}",
        f"- Turn: {ended} after {format_duration(turn.duration)}",
        f"- Cost: {format_cost(turn.cost, turn.cost_status)}",
        *([f"- Denied permissions: {', '.join(code_span(each) for each in turn.denied)}"] if turn.denied else []),
    ]


def _files(changes: Sequence[FileChange]) -> list[str]:
    lines = [f"  - {code_span(c.path)} {_size(c)}" for c in changes[:_FILES]]
    return [*lines, f"  - and {len(changes) - _FILES} more"] if len(changes) > _FILES else lines


def _size(change: FileChange) -> str:
    return "binary" if change.added < 0 or change.removed < 0 else f"+{change.added} -{change.removed}"


def _validation(findings: Iterable[Finding]) -> list[str]:
    return [f"- {_result(f)}" for f in findings]


def _result(finding: Finding) -> str:
    title, summary = fold(finding.title, 80), fold(finding.summary)
    match finding.status:
        case "pass":
            mark = "⚠️" if any(p.severity == "warning" for p in finding.problems) else "✅"
            return f"{mark} {title}: {summary or 'passed'}"
        case "fail":
            return f"❌ {title}: Failed ({summary or f'exit code {finding.exit_code}'})"
        case "error":
            return f"❌ {title}: Error ({summary or 'it gave no result'})"
        case "skipped":
            return f"⚠️ {title}: skipped ({summary or 'no reason given'})"


def _criteria(criteria: Iterable[Criterion], verdicts: Iterable[Verdict]) -> list[str]:
    by_number = {v.criterion: v for v in verdicts}
    return [_criterion(c, by_number.get(c.number)) for c in criteria]


def _criterion(criterion: Criterion, verdict: Verdict | None) -> str:
    text = fold(criterion.text)
    if verdict is None:
        return f"- [ ] {text} (not assessed)"
    if verdict.status == "met":
        proof = fold(": ".join(part for part in (verdict.method.replace(":", " "), verdict.evidence) if part))
        return f"- [x] {text} ({proof})"
    reason = fold(verdict.reason or verdict.evidence) or "no reason given"
    return f"- [ ] {text} ({reason if verdict.status == 'unmet' else f'needs review: {reason}'})"
