"""Tasks of a feature, and the attempts at it that failed: as text for people and as data for programs."""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from shutil import get_terminal_size

from msgspec import Struct

from aigon.journal.attempts import FailedAttempt, list_failures
from aigon.journal.memory import describe_changes
from aigon.journal.replay import read_journals
from aigon.journal.tasks import Tasks
from aigon.model.changes import FileChange
from aigon.model.criteria import VERDICT_WORDS
from aigon.queue.backlog import QueueTask
from aigon.spec.features import Feature
from aigon.spec.prd import Prd, PrdStatus, PrdTask
from aigon.text.amounts import format_count, format_timestamp, join_words
from aigon.text.quoting import fold
from aigon.views.status import FeatureStatus

_STAGES: dict[str, PrdStatus] = {
    "done": "done", "in-evaluation": "in-progress", "in-progress": "in-progress", "paused": "skipped",
    "cancelled": "skipped",
}  # fmt: skip


def render_tasks(tasks: Tasks, statuses: Sequence[str]) -> str:
    """Return a line for each task, or those in these states, with the last note of those that are open."""
    lines = _render_rows(
        (
            task.id,
            task.status.replace("_", " "),
            f"{'flagged: ' if task.manual_review else ''}{task.subject}",
            "",
            f"{task.notes[-1].iteration}: {task.notes[-1].text}" if task.notes and task.status != "completed" else "",
        )
        for task in tasks.all
        if not statuses or task.status in statuses
    )
    counts = [f"{count} {status.replace('_', ' ')}" for status, count in tasks.count().items() if count]
    return "\n".join([*lines, join_words(counts) if counts else "No tasks on record: an older aigon ran this feature."])


def render_queue_tasks(tasks: Sequence[QueueTask]) -> str:
    """Return a line for each criterion of the open features, and one below it with the reason of those that wait."""
    rows = ((each.id, each.status, each.title, each.label and f"  [{each.label}]", each.note) for each in tasks)
    return "\n".join(_render_rows(rows)) or "There are no such tasks."


def _render_rows(rows: Iterable[tuple[str, str, str, str, str]]) -> Iterator[str]:
    """Yield a line with each ID, status, title and what follows it, and below that its note, if it has one."""
    known = list(rows)
    width, column = max(40, get_terminal_size().columns), max((len(row[0]) for row in known), default=0)
    for ident, status, title, behind, note in known:
        head = f"{ident:<{column}}  {status:<11}  "
        yield head + fold(title, max(10, width - len(head) - len(behind))) + behind
        if note:
            yield f"{'':<{column}}  {fold(note, width - column - 2)}"


def build_features_table(features: Sequence[FeatureStatus], project: str) -> Prd:
    """Return the status of features as a table."""
    rows = []
    for each in features:
        state, status = each.run.state or {}, _STAGES.get(each.feature.stage, "pending")
        rows.append(
            PrdTask(
                each.feature.name_for_people,
                each.title,
                status="blocked" if each.run.status == "needs_human" else status,
                completed_at=str(state.get("updated_at") or "") if state.get("proven_commit") else "",
                commit_sha=str(state.get("proven_commit") or ""),
                iteration=state.get("iteration"),
                source=each.feature.path,
            )
        )
    return Prd(project, tuple(rows))


SHORT = 8
"""Digits of a fingerprint that people are shown."""
LINE = 100
FILES = 5
"""Changed files of an attempt that are named to people."""
_TOLD = ("agent", "model", "effort", "rung", "at", "detail", "better", "changed", "added", "removed")
"""What the document has of an attempt under the same name."""


class Failures(Struct, frozen=True):
    """The failures of a feature, oldest first, of how many `attempts`; `unread` says which journals told nothing."""

    feature: Feature
    failed: tuple[FailedAttempt, ...]
    attempts: int
    unread: tuple[str, ...] = ()


def read_failures(feature: Feature, journals: Sequence[Path]) -> Failures:
    """Return the failure log of `journals`, oldest first. A journal that cannot be read is listed in `unread`."""
    runs, unread = read_journals(journals)
    return Failures(feature, *list_failures(runs), tuple(f"{journal}: {why}" for journal, why in unread.items()))


def build_failures_document(found: Failures) -> dict[str, object]:
    return {
        "feature": {"id": found.feature.id or None, "slug": found.feature.slug, "spec": found.feature.path},
        "attempts": found.attempts,
        "failures": [_encode_failure(failed) for failed in found.failed],
        "repeated": [
            {"fingerprint": name, "times": len(numbers), "attempts": numbers}
            for name, numbers in _group_repeated(found.failed).items()
        ],
        "unread": list(found.unread),
    }


def _encode_failure(failed: FailedAttempt) -> dict[str, object]:
    attempt = failed.attempt
    return {
        "attempt": failed.number,
        "run_id": failed.run_id,
        "label": failed.label,
        "iteration": attempt.number,
        "fingerprint": attempt.fingerprint or None,
        "nth": failed.nth,
        "times": failed.times,
        "turn": attempt.end,
        **{key: getattr(attempt, key) for key in _TOLD},
        "changes": [{"path": c.path, "status": c.status, **_count_lines(c)} for c in attempt.changes],
        "checks": [
            {
                "name": check.check,
                "title": check.title,
                "status": check.status,
                "summary": check.summary,
                "complaints": [{"text": c.text, "where": c.where, "times": c.times} for c in check.complaints],
            }
            for check in attempt.failing
        ],
        "criteria": [{"number": o.criterion, "verdict": o.status, "reason": o.reason} for o in attempt.open],
    }


def _count_lines(change: FileChange) -> dict[str, int | None]:
    """Return the lines added and removed; None if git counts none (binary)."""
    added, removed = ((number if number >= 0 else None) for number in (change.added, change.removed))
    return {"added": added, "removed": removed}


def render_failures(found: Failures) -> str:
    failures = format_count(len(found.failed), "failure") if found.failed else "no failure"
    head = f"{failures} in {format_count(found.attempts, 'attempt')}" if found.attempts else "no attempt yet"
    lines = [f"Feature {found.feature.name_for_people}: {head}"]
    lines += [line for failed in found.failed for line in _render_failure(failed)]
    for name, numbers in _group_repeated(found.failed).items():
        lines.append(
            f"The same failure {name[:SHORT]} came {len(numbers)} times: attempts {', '.join(map(str, numbers))}"
        )
    return "\n".join([*lines, *(f"Not read: {fold(each, 300)}" for each in found.unread)])


def _render_failure(failed: FailedAttempt) -> list[str]:
    attempt = failed.attempt
    name = attempt.fingerprint[:SHORT] or "-"
    often = f" ({failed.nth} of {failed.times})" if failed.times > 1 else ""
    who = f"{fold(attempt.agent, 40) or 'no agent'}{f' {fold(attempt.model, 40)}' if attempt.model else ''}"
    step = f", step {attempt.rung + 1} of {attempt.rungs}" if attempt.rungs > 1 else ""
    label = f"{fold(failed.label, 40)}  " if failed.label else ""
    head = (
        f"{failed.number:>4}  {name}{often}  {label}iteration {attempt.number}  {format_timestamp(attempt.at) or '-'}"
    )
    detail = f" ({fold(attempt.detail, LINE)})" if attempt.detail else ""
    reasons = [] if attempt.end in ("finished", None) else [f"turn {str(attempt.end).replace('_', ' ')}{detail}"]
    reasons += [f"{fold(check.title, 40)}: {fold(check.summary, LINE) or check.status}" for check in attempt.failing]
    reasons += [
        f"criterion {o.criterion} {VERDICT_WORDS[o.status]}: {fold(o.reason, LINE) or 'no reason'}"
        for o in attempt.open
    ]
    tried = [f"      changed: {describe_changes(attempt, FILES)}"] if attempt.looked_at else []
    return [f"{head}  {who}{step}", f"      {'; '.join(reasons) or 'nothing is known of it'}", *tried]


def _group_repeated(failed: Sequence[FailedAttempt]) -> dict[str, list[int]]:
    """Return the numbers of the attempts with the same failure, by its fingerprint."""
    names = dict.fromkeys(each.attempt.fingerprint for each in failed if each.times > 1)
    return {name: [each.number for each in failed if each.attempt.fingerprint == name] for name in names}
