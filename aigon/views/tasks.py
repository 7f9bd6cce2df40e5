"""Tasks as text for people, and features as a table for programs."""

from collections.abc import Sequence
from shutil import get_terminal_size

from aigon.journal.tasks import Tasks
from aigon.queue.listing import QueueTask
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
    width = max(40, get_terminal_size().columns)
    shown = [task for task in tasks.all if not statuses or task.status in statuses]
    column = max((len(task.id) for task in shown), default=0)
    lines = []
    for task in shown:
        head = f"{task.id:<{column}}  {task.status.replace('_', ' '):<11}  "
        flag = "flagged: " if task.manual_review else ""
        lines.append(head + fold(f"{flag}{task.subject}", max(20, width - len(head))))
        if task.notes and task.status != "completed":
            note = task.notes[-1]
            lines.append(f"{'':<{column}}  {fold(f'{note.iteration}: {note.text}', width - column - 2)}")
    counts = [f"{count} {status.replace('_', ' ')}" for status, count in tasks.count().items() if count]
    return "\n".join([*lines, join_words(counts) if counts else "No tasks on record: an older aigon ran this feature."])


def render_queue_tasks(tasks: Sequence[QueueTask]) -> str:
    """Return a line for each criterion of the open features, and one below it with the reason of those that wait."""
    width = max(40, get_terminal_size().columns)
    column = max((len(task.id) for task in tasks), default=0)
    lines = []
    for task in tasks:
        head, agent = f"{task.id:<{column}}  {task.status:<11}  ", f"  [{task.label}]" if task.label else ""
        lines.append(head + fold(task.title, max(10, width - len(head) - len(agent))) + agent)
        lines += [f"{'':<{column}}  {fold(task.note, width - column - 2)}"] if task.note else []
    return "\n".join(lines) or "There are no such tasks."


def build_features_table(features: Sequence[FeatureStatus], project: str) -> Prd:
    """Return where features stand as a table."""
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
