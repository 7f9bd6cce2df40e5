"""Tasks: the criteria of a feature as work to do. A fold of the journal, and nothing else changes them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

from msgspec import Struct, to_builtins
from msgspec.structs import replace

from aigon.journal.events import (
    CriterionJudged,
    Event,
    IterationFinished,
    IterationStarted,
    RunFinished,
    RunStarted,
    TurnEnded,
)
from aigon.model.criteria import Criterion, Verdict
from aigon.model.outcomes import describe_outcome
from aigon.model.requests import MAX_PROPOSALS, AgentRequest
from aigon.spec.prd import Prd, PrdStatus, PrdTask, split_label
from aigon.text.quoting import fold

TaskStatus = Literal["pending", "in_progress", "completed"]
MOST_IN_PROGRESS = 3
"""Tasks that a turn is taken to work on: the first that its prompt names."""
MAX_SUBJECT_CHARS = 300
"""Characters of a criterion's text that a task keeps."""
MAX_NOTES = 20
"""Notes of a task: the newest are kept, the journal has all."""


class TaskNote(Struct, frozen=True):
    """A note on a task in an iteration: why it is still open, or open again."""

    iteration: int
    at: str
    text: str


class Completion(Struct, frozen=True):
    """The iteration since which a criterion has passed, and its commit, "" for none; or a person `waived` it."""

    iteration: int
    at: str
    commit: str
    waived: bool = False


class Task(Struct, frozen=True):
    """A criterion as a task. `manual_review`: the run ended without it, and the last note says why. `why` is the last
    verdict that left it open.

    What an agent proposed for another feature is `enqueued`: it has no criterion (0), and is a person's to decide.
    """

    id: str
    criterion: int
    subject: str
    description: str
    status: TaskStatus = "pending"
    manual_review: bool = False
    notes: tuple[TaskNote, ...] = ()
    source: Literal["criterion", "enqueued"] = "criterion"
    completed: Completion | None = None
    why: str = ""

    def add_note(self, iteration: int, at: str, text: str, **changes: Any) -> "Task":
        """Return the task with one more note, and pending unless `changes` say otherwise."""
        notes = (*self.notes, TaskNote(iteration, at, text))[-MAX_NOTES:]
        return replace(self, **{"status": "pending", "completed": None, "notes": notes, **changes})


class Tasks(Struct, frozen=True):
    """The tasks of a run, after iteration `iteration`."""

    feature: str = ""
    run_id: str = ""
    iteration: int = 0
    all: tuple[Task, ...] = ()

    def apply(self, event: Event) -> "Tasks":
        """Return the tasks after `event`."""
        match event:
            case RunStarted():
                return self._begin(event)._enqueue(event.requests)
            case TurnEnded():
                return self._enqueue(event.requests)
            case CriterionJudged(verdict=verdict) if verdict.criterion not in {task.criterion for task in self.all}:
                # A journal of before tasks were recorded at its start.
                new = self._make(verdict.criterion, event.text, "")
                return replace(self, all=tuple(sorted((*self.all, new), key=lambda task: task.criterion)))
            case IterationStarted():
                first = event.tasks or [each.criterion for each in self.all if each.status != "completed"]
                return self._map(lambda task: _start(task, first[:MOST_IN_PROGRESS]))
            case IterationFinished():
                return self.assess(event)
            case RunFinished():
                return self._map(lambda task: _flag(task, self.iteration, event))
            case _:
                return self

    def assess(self, look: IterationFinished) -> "Tasks":
        """Return the tasks after an assessment, or after the branch went back to one."""
        verdicts = {verdict.criterion: verdict for verdict in look.verdicts}
        seen = Completion(look.number, look.at, look.checkpoint)
        assessed = replace(self, iteration=look.number)
        return assessed._map(lambda task: _assess(task, seen, verdicts.get(task.criterion)))

    def count(self) -> dict[str, int]:
        """Return how many tasks are in each state."""
        states = [task.status for task in self.all]
        return {status: states.count(status) for status in ("pending", "in_progress", "completed")}

    def _begin(self, event: RunStarted) -> "Tasks":
        """Make the tasks of a run. One that goes on keeps those whose criterion is the same."""
        feature = event.feature_id
        fresh = Tasks(feature, event.run_id, self.iteration if event.resumed else 0)
        known = {(task.criterion, task.subject): task for task in self.all if event.resumed}
        made = [replace(fresh, all=())._make(each.criterion, each.subject, each.description) for each in event.tasks]
        kept = tuple(known.get((task.criterion, task.subject), task) for task in made) or tuple(known.values())
        kept += tuple(task for task in known.values() if task.source == "enqueued" and task not in kept)
        return replace(fresh, all=kept)._map(
            lambda task: task if task.status == "completed" else replace(task, status="pending", manual_review=False)
        )

    def _enqueue(self, requests: Sequence[AgentRequest]) -> "Tasks":
        """Add what an agent proposed: as many as a person reads, each once."""
        tasks = list(self.all)
        for each in requests:
            known = [task.subject for task in tasks if task.source == "enqueued"]
            if each.kind == "enqueue" and each.text not in known and len(known) < MAX_PROPOSALS:
                name = f"{self.feature}.p{len(known) + 1}"
                tasks.append(Task(name, 0, each.text, "proposed for a feature of its own", source="enqueued"))
        return replace(self, all=tuple(tasks)) if len(tasks) > len(self.all) else self

    def _make(self, criterion: int, subject: str, description: str) -> Task:
        return Task(f"{self.feature}.{criterion}", criterion, subject, description)

    def _map(self, change: Any) -> "Tasks":
        return replace(self, all=tuple(change(task) for task in self.all))


def make_tasks(feature: str, criteria: Iterable[Criterion]) -> Tasks:
    """Return the tasks of a feature that has not run."""
    made = (Task(f"{feature}.{each.number}", each.number, fold(each.text, MAX_SUBJECT_CHARS), "") for each in criteria)
    return Tasks(feature, all=tuple(made))


def _start(task: Task, first: Sequence[int]) -> Task:
    if task.status == "completed":
        return task
    return replace(task, status="in_progress" if task.criterion in first else "pending", manual_review=False)


def _assess(task: Task, seen: Completion, verdict: Verdict | None) -> Task:
    if verdict is None:
        return task
    if verdict.status == "met":
        done = replace(task.completed or seen, waived=verdict.is_waived)
        return replace(task, status="completed", manual_review=False, completed=done, why="")
    number, at = seen.iteration, seen.at
    why = f"{verdict.status}: {verdict.reason or verdict.evidence or 'no reason given'}"
    task = replace(task, why=why)
    if task.completed:
        return task.add_note(number, at, f"was completed in iteration {task.completed.iteration}; {why}")
    return task.add_note(number, at, why) if task.status == "in_progress" else task


def _flag(task: Task, number: int, event: RunFinished) -> Task:
    if task.status == "completed":
        return task
    ended = f"the run ended: {describe_outcome(event.outcome)}"
    return task.add_note(number, event.at, f"{task.why} ({ended})" if task.why else ended, manual_review=True)


def build_task_document(task: Task) -> dict[str, object]:
    """Return a task as programs read it."""
    document: dict[str, object] = to_builtins(task)
    del document["completed"], document["why"]
    return document


def build_tasks_document(tasks: Tasks, statuses: Iterable[str] = ()) -> dict[str, object]:
    """Return the tasks as `.aigon/tasks-42.json` has them, or those in these states."""
    wanted = tuple(statuses)
    listed = [build_task_document(task) for task in tasks.all if not wanted or task.status in wanted]
    return {"schema_version": 1, "feature_id": tasks.feature, "run_id": tasks.run_id, "tasks": listed}


_WORDS: Mapping[TaskStatus, PrdStatus] = {"pending": "pending", "in_progress": "in-progress", "completed": "done"}


def build_tasks_table(tasks: Tasks, statuses: Iterable[str] = ()) -> Prd:
    """Return the tasks, or those in these states, as a table; one that the run ended without is blocked."""
    wanted = tuple(statuses)
    return Prd(
        tasks.feature,
        tuple(_make_row(task, tasks.feature) for task in tasks.all if not wanted or task.status in wanted),
    )


def _make_row(task: Task, feature: str) -> PrdTask:
    id, title = split_label(task.subject, task.id)
    done = task.completed
    return PrdTask(
        id,
        title,
        task.description,
        "skipped" if done and done.waived else "blocked" if task.manual_review else _WORDS[task.status],
        parent_id=feature,
        completed_at=done.at if done else "",
        commit_sha=done.commit if done else "",
        iteration=done.iteration if done else None,
        source=task.source,
    )
