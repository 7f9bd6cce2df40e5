"""The work that there is, the backlog in its order and tasks over all features, and what was done of it."""

from collections.abc import Iterator, Mapping
from typing import Literal

from msgspec import Struct

from aigon.errors import AigonError, usage
from aigon.files.home import ensure_home
from aigon.git.person import Checkout
from aigon.job.spec_locations import SpecLocation, find_dependencies, list_missing, list_spec_locations
from aigon.journal.decisions import find_decision
from aigon.journal.queue import QueueEntry, list_steps, read_queue
from aigon.journal.records import Records
from aigon.journal.state import State, replay
from aigon.model.criteria import Criterion, Spec
from aigon.process import running
from aigon.spec.document import parse_spec
from aigon.spec.features import Feature

CLOSED = ("done", "cancelled", "paused")
"""Stages of features that are no work to do."""
_RANKS = {"high": 0, "medium": 1, "low": 2}
TaskState = Literal["pending", "in-progress", "done", "skipped", "blocked"]


class PlannedFeature(Struct, frozen=True):
    """A feature of the backlog with its spec, and the features that it depends on and that are not merged."""

    feature: Feature
    spec: Spec
    missing: tuple[str, ...] = ()


def plan_backlog(main: Checkout) -> tuple[PlannedFeature, ...]:
    """Return the backlog in the order of `aigon run start`.

    Raises AigonError (exit 2) that names every spec that cannot be read, every unknown and every circular dependency.
    """
    places = list_spec_locations(main.root, main.common_dir)
    planned: dict[str, PlannedFeature] = {}
    errors: list[str] = []
    for place in places:
        if place.feature.stage == "backlog":
            try:
                spec = _read(place)
                missing = find_dependencies(places, place.feature, spec.settings)
            except AigonError as error:
                errors.append(f"{error.where}: {error.what}")
                continue
            names = tuple(each.feature.name_for_people for each in missing)
            planned[place.feature.name_for_people] = PlannedFeature(place.feature, spec, names)
    if errors:
        listed = "; ".join(dict.fromkeys(errors))  # each feature of a circle tells of the same one
        raise usage("The backlog cannot be worked through", where=listed, hint="Fix the specs it names")
    return tuple(planned[name] for name in _sort(planned))


def _read(place: SpecLocation) -> Spec:
    try:
        return parse_spec(place.read())
    except (AigonError, OSError, ValueError) as error:
        raise usage(str(error), where=place.where) from None


def _sort(planned: Mapping[str, PlannedFeature]) -> Iterator[str]:
    """Yield the names so that each comes after those of the backlog that it needs, else by priority and ID."""

    def rank(name: str) -> tuple[int, int, str]:
        each = planned[name]
        return _RANKS[each.spec.settings.priority or "medium"], int(each.feature.id or 10**9), name

    waiting = set(planned)
    while waiting:
        name = min((each for each in waiting if waiting.isdisjoint(planned[each].missing)), key=rank)
        waiting.remove(name)
        yield name


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
    """Return the status of watchers and starts. Raises AigonError (exit 7) if their record is damaged."""
    home = ensure_home(main.common_dir)
    alive = tuple(running.list_queues(home))
    return QueueStatus(alive, tuple(read_queue(home).values()), tuple(list_steps(home)[-tail:] if tail else ()))
