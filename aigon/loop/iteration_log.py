"""The record of an iteration in the repository: its entry in the log, committed with it, and the message of its commit.

Text that aigon did not write is folded to one line and never begins one, so that no file name, criterion or tool can
start a heading, a box or another entry. By the messages git alone tells how far a run is.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal
from urllib.parse import quote

from aigon.journal.attempt import count_passed_checks
from aigon.journal.events import IterationFinished
from aigon.journal.spending import format_cost
from aigon.loop.issues import list_issues, plan_next_steps
from aigon.model.changes import FileChange
from aigon.model.checks import Finding
from aigon.model.criteria import Spec, Verdict
from aigon.model.turns import Turn
from aigon.text.amounts import format_duration
from aigon.text.patterns import compile_re
from aigon.text.quoting import clip, code_span, fold, list_item

_MAX_FILES = 30
_MAX_CLAIM_CHARS = 500
"""Characters of the agent's account of its turn that the log quotes."""
_HEADING = compile_re(r"^## Iteration (\d{1,9}) \(", re.MULTILINE | re.ASCII)
_PART_LINK = compile_re(r"^- \[Iterations \d+ to \d+\]\(", re.MULTILINE | re.ASCII)
LARGEST = 64 * 1024
"""Bytes of entries with which a log is full: an iteration reads, writes and commits the whole file."""


def render_header(feature_id: str, title: str, agent: str) -> str:
    """Return the beginning of a new log."""
    return (
        f"# Iteration log: feature {fold(feature_id, 80)}, {fold(title, 200)}\n\n"
        f"Written by aigon, one entry per iteration of {code_span(agent, 80)}. "
        "A ticked box was proven by what aigon ran on exactly the committed files.\n\n"
    )


def render_entry(
    event: IterationFinished, spec: Spec, turn: Turn | None, when: str, *, rung: str = "", notes: Sequence[str] = ()
) -> str:
    """Return one iteration's entry. `when` is a local time; `rung` describes the escalation step, if there are several.

    `notes` say what aigon put back or moved aside after the turn.
    """
    issues = list_issues(event.findings, event.verdicts, spec.criteria)
    verdicts = {verdict.criterion: verdict for verdict in event.verdicts}
    lines = [
        f"## Iteration {event.number} ({fold(when, 40)})",
        "",
        "### Implementation",
        *_describe_turn(turn, rung),
        *_list_changes(event.changes),
        *_quote_claim(turn),
        *(
            f"- Promise {code_span(promise.text, 80)}: {'kept' if promise.kept else 'broken'}"
            + (f" ({fold(promise.why)})" if promise.why else "")
            for promise in event.promises
        ),
        *(f"- The agent is told: {fold(note)}" for note in notes),
        "### Validation Results",
        *([_describe_finding(each) for each in event.findings] or ["- ⚠️ Validation: skipped (no check ran)"]),
        "### Acceptance Criteria Status",
        *(_describe_criterion(fold(each.text), verdicts.get(each.number)) for each in spec.criteria),
        "### Issues Found",
        *([f"{number}. {issue.as_markdown()}" for number, issue in enumerate(issues, 1)] or ["None."]),
        "### Next Iteration Plan",
        *([f"- {step}" for step in plan_next_steps(issues)] or ["- Nothing is open."]),
        "---",
    ]
    return "\n".join(lines) + "\n"


def read_iteration_numbers(text: str) -> list[int]:
    """Return the numbers of the iterations that a log has entries of, in its order."""
    return [int(number) for number in _HEADING.findall(text)]


def move_to_part(path: str, log: bytes) -> tuple[bytes, dict[str, bytes]]:
    """Return the log at `path` without its entries, and the part by path that has them, if the log is full.

    The head of the log lists its parts. The same log always has the same part: a kill leaves nothing that the next try
    does not write again.
    """
    text = log.decode("utf-8", "surrogateescape")
    found = [*_HEADING.finditer(text)] if len(log) > LARGEST else []
    head = text[: found[0].start()] if found else text
    if not found or len(log) - len(head.encode("utf-8", "surrogateescape")) < LARGEST:
        return log, {}
    first, last = int(found[0][1]), int(found[-1][1])
    name, part = path.rpartition("/")[2], f"{first:04d}-{last:04d}.md"
    title, _, _ = head.lstrip().partition("\n")
    entries = (
        f"{title.rstrip() or '# Iteration log'}, iterations {first} to {last}\n\n"
        f"The newest are in [{name}](../{quote(name)}).\n\n{text[found[0].start() :]}"
    )
    head = head.rstrip() + ("\n" if _PART_LINK.search(head) else "\n\n")
    head += f"- [Iterations {first} to {last}]({quote(name.removesuffix('.md'))}/{part})\n\n"
    return head.encode("utf-8", "surrogateescape"), {
        f"{path.removesuffix('.md')}/{part}": entries.encode("utf-8", "surrogateescape")
    }


def _describe_turn(turn: Turn | None, rung: str) -> Iterator[str]:
    if turn is None:
        yield "- Agent: none, this assesses what was there"
        return
    model = f", model {code_span(turn.model, 80)}" if turn.model else ""
    yield f"- Agent: {code_span(turn.agent, 80)}{model}"
    exited = f" (exit code {turn.exit_code})" if turn.failed and turn.exit_code is not None else ""
    yield f"- Turn: {turn.end.replace('_', ' ')}{exited} after {format_duration(turn.duration)}"
    yield f"- Cost: {format_cost(turn.cost, turn.cost_status)}"
    if turn.denied:
        yield f"- Denied permissions: {', '.join(code_span(each) for each in turn.denied)}"
    if rung:
        yield f"- Step: {fold(rung, 120)}"


def _list_changes(changes: Sequence[FileChange]) -> Iterator[str]:
    if not changes:
        yield "- No files changed"
        return
    added, removed = sum(max(c.added, 0) for c in changes), sum(max(c.removed, 0) for c in changes)
    yield f"- Files changed: {len(changes)} (+{added} -{removed})"
    for change in changes[:_MAX_FILES]:
        yield f"  - {code_span(change.path)} {change.size}"
    if len(changes) > _MAX_FILES:
        yield f"  - and {len(changes) - _MAX_FILES} more"


def _quote_claim(turn: Turn | None) -> Iterator[str]:
    """Yield the agent's own account, for people. No judge and no prompt is given it."""
    if turn and (said := code_span(turn.said, _MAX_CLAIM_CHARS)):
        yield f"- The agent's account (its claim, not evidence): {said}"


def _describe_finding(finding: Finding) -> str:
    title, summary = fold(finding.title, 80), fold(finding.summary)
    match finding.status:
        case "pass":
            mark = "⚠️" if any(p.severity == "warning" for p in finding.problems) else "✅"
            return f"- {mark} {title}: {summary or 'passed'}"
        case "fail":
            return f"- ❌ {title}: Failed ({summary or f'exit code {finding.exit_code}'})"
        case "error":
            return f"- ❌ {title}: Error ({summary or 'it gave no result'})"
        case "skipped":
            return f"- ⚠️ {title}: skipped ({summary or 'no reason given'})"


def _describe_criterion(text: str, verdict: Verdict | None) -> str:
    if verdict is None:
        return f"- [ ] {text} (not assessed)"
    if verdict.status == "met":
        proof = fold(": ".join(part for part in (verdict.method.replace(":", " "), verdict.evidence) if part))
        if verdict.is_waived:
            return f"- [ ] {text} ({verdict.evidence}: {fold(verdict.reason)})"
        return f"- [x] {text} ({proof})"
    reason = fold(verdict.reason or verdict.evidence) or "no reason given"
    return f"- [ ] {text} ({reason if verdict.status == 'unmet' else f'needs review: {reason}'})"


Built = Literal["changed", "unchanged", "failed", "ticked"]
"""What an iteration brought: changed files, none, what a failed turn left, or only boxes that a resume ticked."""
SUBJECT_CHARS = 72
"""Characters of a subject line that git and forges show whole."""


def render_iteration_message(
    draft: IterationFinished,
    *,
    feature_id: str,
    run_id: str,
    agent: str,
    rung: str = "",
    skipped: bool = False,
    built: Built = "changed",
) -> str:
    """Return the message of an iteration commit: subject, blank line, trailers.

    `rung` is the escalation step, "" for an agent with only one; `skipped`: validation was.
    """
    passed, of = [v for v in draft.verdicts if v.status == "met"], len(draft.verdicts)
    proven = sum(not verdict.is_waived for verdict in passed)
    trailers = {
        "Feature": feature_id,
        "Run": run_id,
        "Iteration": str(draft.number),
        "Agent": agent,
        **({"Rung": rung} if rung else {}),
        "Checks": "validation skipped" if skipped else _list_results(draft.findings),
        "Criteria": f"{len(passed)}/{of}",
    }
    scope = f"(feature-{fold(feature_id, 40)})"
    if built == "ticked":
        subject = f"docs{scope}: tick the criteria proven after iteration {draft.number}"
    else:
        nothing = {"unchanged": "no files changed, ", "failed": "turn failed, "}.get(built, "")
        kind = "chore" if nothing else "feat"
        whole = f"{kind}{scope}: iteration {draft.number}: {nothing}{proven}/{of} criteria proven"
        words = ["validation skipped"] if skipped else _describe_checks(draft.findings)
        # The longest wording that fits: the names of the failed checks, their number, or no word on them.
        subject = next((text for word in words if len(text := f"{whole}, {word}") <= SUBJECT_CHARS), whole)
    return "\n".join([subject, "", *_format_trailers(trailers)]) + "\n"


def render_squash_message(
    *, feature_id: str, title: str, agent: str, findings: Sequence[Finding], criteria: Sequence[tuple[Verdict, str]]
) -> str:
    """Return the message of the one commit that a whole feature becomes: what is proven and by what, then the trailers.

    `criteria` are the verdicts with the texts of their criteria.
    """
    name = fold(title, 200)
    subject = f"feat(feature-{fold(feature_id, 40)}): {name[:1].lower()}{name[1:] or 'done'}"
    proven = [(v, text) for v, text in criteria if v.status == "met" and not v.is_waived]
    trailers = {
        "Feature": feature_id,
        "Agent": agent,
        "Checks": _list_results(findings),
        "Criteria": f"{len(proven)}/{len(criteria)}",
    }
    lines = [f"- {list_item(text, 200)} ({fold(v.method, 40)})" for v, text in proven]
    body = ["Proven by aigon:", *lines, ""] if proven else []
    return "\n".join([clip(subject, SUBJECT_CHARS), "", *body, *_format_trailers(trailers)]) + "\n"


def _format_trailers(values: Mapping[str, str]) -> list[str]:
    return [f"Aigon-{key}: {fold(value, 2000) or 'none'}" for key, value in values.items()]


def _list_results(findings: Sequence[Finding]) -> str:
    return " ".join(f"{_to_word(finding.check)}={finding.status}" for finding in findings)


def _to_word(name: str) -> str:
    """Return a check's name without what separates names in the trailer."""
    return re.sub(r"[\s=]+", "-", fold(name, 80)) or "unnamed"


def _describe_checks(findings: Sequence[Finding]) -> list[str]:
    """Return wordings of the results, from long to short."""
    red = [_to_word(f.check) for f in findings if f.status in ("fail", "error")]
    names = red or [_to_word(f.check) for f in findings if f.status == "skipped"]
    if names:
        word = "red" if red else "skipped"
        return [f"{', '.join(names)} {word}", f"{len(names)} check{'s' if len(names) > 1 else ''} {word}"]
    return ["checks green"] if count_passed_checks(findings)[1] else ["no checks"]
