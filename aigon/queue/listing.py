"""List what there is to do and what was done of it: tasks over all features, and steps of watchers and starts."""

from collections.abc import Iterator
from typing import Literal

from msgspec import Struct

from aigon.errors import AigonError
from aigon.files.home import ensure_home
from aigon.git.person import Checkout
from aigon.job.dependencies import list_missing
from aigon.job.spec_locations import list_spec_locations
from aigon.journal.decisions import find_decision
from aigon.journal.queue import QueueEntry, list_steps, read_queue
from aigon.journal.records import Records
from aigon.journal.state import State, replay
from aigon.model.criteria import Criterion, Spec
from aigon.process import running
from aigon.queue.backlog import CLOSED
from aigon.spec.document import parse_spec

TaskState = Literal["pending", "in-progress", "done", "skipped", "blocked"]


class QueueTask(Struct, frozen=True):
    """A criterion of an open feature. `note` says why it is blocked or skipped."""

    id: str
    title: str
    status: TaskState
    feature: str
    label: str = ""
    note: str = ""


def list_tasks(main: Checkout) -> Iterator[QueueTask]:
    """Yield the criteria of all open features, of each agent that works on them. What cannot be read is left out."""
    home = ensure_home(main.common_dir)
    places = list_spec_locations(main.root, main.common_dir)
    for place in sorted(places, key=lambda each: int(each.feature.id or 0)):
        name = place.feature.name_for_people
        if place.feature.stage in CLOSED or not place.feature.id:
            continue
        try:
            spec = parse_spec(place.read())
        except (AigonError, OSError, ValueError):
            continue
        missing = list_missing(places, spec.settings)
        folders = [*home.glob(f"features/{name}"), *home.glob(f"features/{name}-*")]
        for records in [Records(folder) for folder in folders] or [Records(home / "features" / name)]:
            try:
                yield from _list_of_run(name, spec, records, missing)
            except AigonError:
                continue


def _list_of_run(name: str, spec: Spec, records: Records, missing: tuple[str, ...]) -> Iterator[QueueTask]:
    state = replay(records.each()) if records.journal.exists() else State()
    label, decisions = state.started.label if state.started else "", records.decisions()
    for criterion in spec.criteria:
        decision = find_decision(decisions, criterion, "")
        waived = decision.why if decision and decision.decision == "waive" else None
        status, note = _find_status(criterion, state, waived, missing)
        yield QueueTask(f"{name}.{criterion.number}", criterion.text, status, name, label, note)


def _find_status(
    criterion: Criterion, state: State, waived: str | None, missing: tuple[str, ...]
) -> tuple[TaskState, str]:
    number = criterion.number
    task = next((each for each in state.tasks.all if each.criterion == number), None)
    if waived is not None:
        return "skipped", f"waived: {waived}"
    if task and task.status == "completed":
        return "done", ""
    if number in state.requests.skips:
        return "skipped", f"left to you: {state.requests.skips[number]}"
    if task and task.manual_review:
        return "blocked", task.notes[-1].text if task.notes else ""
    if missing and state.started is None:
        return "blocked", f"waits for {', '.join(missing)}"
    return ("in-progress" if task and task.status == "in_progress" else "pending"), ""


class QueueStatus(Struct, frozen=True):
    """The loops at work on tasks now, the newest step of each task, and the last steps of all, oldest first."""

    running: tuple[running.Invocation, ...]
    entries: tuple[QueueEntry, ...]
    steps: tuple[QueueEntry, ...]


def read_queue_status(main: Checkout, tail: int) -> QueueStatus:
    """Return where watchers and starts stand. Raises AigonError (exit 7) if their record is damaged."""
    home = ensure_home(main.common_dir)
    alive = tuple(running.list_queues(home))
    return QueueStatus(alive, tuple(read_queue(home).values()), tuple(list_steps(home)[-tail:] if tail else ()))
