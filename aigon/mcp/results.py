"""Arguments and results of the tools: their schemas are made of these. Also, what is known of a task as one of them."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, Field

from aigon.model import criteria
from aigon.model.criteria import MAX_ITERATIONS, VERDICT_WORDS
from aigon.spec.features import LARGEST
from aigon.spec.writing import LONGEST_TITLE

if TYPE_CHECKING:
    from aigon.api import SpecInfo
    from aigon.views.status import FeatureStatus, RunStatus

TaskStatus = Literal["todo", "inprogress", "inreview", "done", "cancelled"]
STATUSES: dict[str, TaskStatus] = {
    "inbox": "todo",
    "backlog": "todo",
    "in-progress": "inprogress",
    "in-evaluation": "inreview",
    "done": "done",
    "paused": "cancelled",
    "cancelled": "cancelled",
}
"""What a task is called by the stage of its feature."""
LONGEST_PROMISE = 80
LONGEST_WAIT = 3600
LISTED = 20
"""Iterations of a run that `get_task` lists, the newest."""

ProjectId = Annotated[str, Field(description="The ID of a project from list_projects, or its path.")]
TaskId = Annotated[str, Field(description="The ID of a task, such as 42 or dark-mode.")]
Title = Annotated[str, Field(min_length=1, max_length=LONGEST_TITLE, description="A few words in one line.")]
Description = Annotated[
    str,
    Field(
        max_length=LARGEST,
        description="Markdown. Each thing that has to be true is an item `- [ ] ...` below a heading "
        "`## Acceptance Criteria`. Commands that would decide a criterion wait for a person's consent.",
    ),
]
UseRalph = Annotated[bool, Field(description="Whether the task says of itself that it is done in a loop.")]
Iterations = Annotated[int, Field(ge=1, le=MAX_ITERATIONS, description="Turns that a run of the task may take.")]
Promise = Annotated[
    str,
    Field(
        min_length=1,
        max_length=LONGEST_PROMISE,
        description="The exact phrase with which the agent claims to be done. aigon decides whether it is.",
    ),
]


class Project(BaseModel):
    """A repository that this server serves."""

    project_id: str
    name: str
    path: str


class Projects(BaseModel):
    """The repositories that this server serves."""

    projects: list[Project]


class Task(BaseModel):
    """A feature."""

    task_id: str
    project_id: str
    title: str
    status: TaskStatus
    stage: str
    path: str


class Tasks(BaseModel):
    """Features of a project; `total` counts those that a limit left out, too."""

    tasks: list[Task]
    total: int


class SavedTask(BaseModel):
    """A task that was written: how many criteria it has, and what comes next."""

    task_id: str
    path: str
    stage: str
    criteria: int
    next: str


class Criterion(BaseModel):
    """An acceptance criterion and what aigon last found out about it: `passed`, `failed`, `needs review`, or ""."""

    number: int
    text: str
    kind: str
    command: str | None
    verdict: str
    evidence: str


class Proposal(BaseModel):
    """An annotation that came with the description and does nothing until a person accepts it."""

    number: int
    text: str
    annotation: str


class Iteration(BaseModel):
    """A turn of an agent and the assessment after it."""

    number: int
    agent: str | None
    turn: str | None
    passed: int
    commit: str | None
    ended_at: str | None


class Run(BaseModel):
    """The last run of the task by one agent; `reason` says why it stopped, `cost_usd` leaves out unknown costs."""

    run_id: str
    agent: str
    status: str
    running: bool
    branch: str
    worktree: str | None
    iteration: int
    max_iterations: int
    criteria_passed: int
    criteria_total: int
    cost_usd: float
    reason: str
    iterations: list[Iteration]


class TaskDetail(Task):
    """A task with all that is known about it. `runs` are the last ones, one for each agent; criteria are the newest's.

    A Ralph field is null if the spec leaves it to the configuration.
    """

    description: str
    use_ralph_wiggum: bool
    ralph_max_iterations: int | None
    ralph_completion_promise: str | None
    criteria: list[Criterion]
    proposals: list[Proposal]
    runs: list[Run]


class StartedTask(BaseModel):
    """A run that has begun and goes on by itself."""

    task_id: str
    run_id: str
    agent: str
    pid: int
    next: str


class StoppedTask(BaseModel):
    """The runs that were asked to end after their iteration."""

    task_id: str
    asked: list[str]
    next: str


class TaskLog(BaseModel):
    """Lines of a run's log. `after` asks for the next ones; with `more` there are some already."""

    task_id: str
    run_id: str
    lines: list[str]
    after: str
    more: bool


class TaskProgress(BaseModel):
    """The progress of a task: `running` still, or ended for `reason`."""

    task_id: str
    running: bool
    status: str
    iteration: int
    criteria_passed: int
    criteria_total: int
    reason: str


def describe_task(task: Task, spec: "SpecInfo", status: "FeatureStatus") -> TaskDetail:
    """Return all that is known about a task."""
    newest = find_newest_run(status)
    verdicts = {each["number"]: each for each in (newest.state or {}).get("criteria", ())} if newest else {}
    promises = spec.settings.promises
    return TaskDetail(
        **task.model_dump(),
        description=spec.description,
        use_ralph_wiggum=spec.settings.mode == "ralph",
        ralph_max_iterations=spec.settings.max_iterations,
        ralph_completion_promise=", ".join(promises) or None,
        criteria=[_describe_criterion(each, verdicts.get(each.number, {})) for each in spec.criteria],
        proposals=[Proposal(number=p.number, text=p.text, annotation=p.annotation) for p in spec.proposals],
        runs=[_describe_run(run, worktree) for run, worktree in _list_runs(status)],
    )


def _describe_criterion(criterion: criteria.Criterion, found: Mapping[str, str]) -> Criterion:
    return Criterion(
        number=criterion.number,
        text=criterion.text,
        kind=criterion.kind,
        command=criterion.command,
        verdict=VERDICT_WORDS.get(found.get("verdict", ""), ""),
        evidence=found.get("reason") or found.get("evidence") or "",
    )


def _list_runs(status: "FeatureStatus") -> "list[tuple[RunStatus, str | None]]":
    """Return the last run in the checkout itself and of each agent with a worktree, and where that is."""
    runs: list[tuple[RunStatus, str | None]] = [(status.run, None)]
    runs += [(lane.run, lane.candidate.path) for lane in status.lanes]
    return [(run, worktree) for run, worktree in runs if run.state]


def find_newest_run(status: "FeatureStatus") -> "RunStatus | None":
    """Return the run that is under way, or else the last one."""
    runs = [run for run, _ in _list_runs(status)]
    return max(runs, key=lambda run: (run.running, str((run.state or {}).get("started_at"))), default=None)


def _describe_run(run: "RunStatus", worktree: str | None) -> Run:
    state = run.state or {}
    iterations = state.get("iterations", [])[-LISTED:]
    return Run(
        run_id=state.get("run_id") or "",
        agent=state.get("label") or state["agent"],
        status=run.status,
        running=run.running,
        branch=state["branch"],
        worktree=worktree,
        iteration=state["iteration"],
        max_iterations=state["max_iterations"],
        criteria_passed=state["criteria_met"],
        criteria_total=state["criteria_total"],
        cost_usd=state.get("spend", {}).get("usd", 0.0),
        reason=state.get("stop_reason") or "",
        iterations=[
            Iteration(
                number=each["number"],
                agent=each.get("agent"),
                turn=each.get("turn"),
                passed=sum(found.get("verdict") == "met" for found in each.get("criteria", ())),
                commit=each.get("checkpoint"),
                ended_at=each.get("ended_at"),
            )
            for each in iterations
        ],
    )
