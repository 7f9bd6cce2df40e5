"""Arguments and results of the tools: their schemas are made of these."""

from typing import Annotated, Literal

from pydantic import BaseModel, Field

from aigon.model.criteria import MAX_ITERATIONS
from aigon.spec.features import LARGEST
from aigon.spec.writing import LONGEST_TITLE

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
