"""Tasks as text for people, and features as a table for programs."""

from collections.abc import Iterable, Iterator, Sequence
from shutil import get_terminal_size

from aigon.journal.tasks import Tasks
from aigon.queue.backlog import QueueTask
from aigon.spec.prd import Prd, PrdStatus, PrdTask
from aigon.text.amounts import join_words
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
