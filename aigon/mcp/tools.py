"""The tools: each is a method whose arguments and result make its schemas. Nothing here decides what is proven."""

from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import anyio
import anyio.to_thread
from mcp.server.mcpserver import Context
from pydantic import Field

from aigon.errors import environment, usage
from aigon.mcp import results
from aigon.mcp.results import (
    STATUSES,
    Description,
    Iterations,
    ProjectId,
    Promise,
    TaskId,
    TaskStatus,
    Title,
    UseRalph,
    describe_task,
    find_newest_run,
)

if TYPE_CHECKING:
    from aigon.api import FeatureInfo, Project, RunInfo, SpecInfo
    from aigon.mcp.server import ServedProjects
    from aigon.views.status import RunStatus

_RESUMED = ("broken_off", "interrupted", "terminated")
"""How a run ended that another start continues."""
_INTERVAL = 0.5
"""Seconds between looks at a run that is waited for."""


def require_movable(name: str, stage: str, status: TaskStatus | None) -> None:
    """Raise AigonError (exit 2) unless a tool may give a task this status."""
    if (status == "cancelled" and stage != "done") or (status == "todo" and stage in ("paused", "cancelled")):
        return
    ways: dict[str | None, str] = {
        "todo": f"aigon reopen {name}" if stage == "done" else "The status cancelled puts it aside first",
        "inprogress": "start_task starts it",
        "inreview": "A person moves its spec to the folder 04-in-evaluation",
        "done": f"A person merges what was proven: aigon feature-done {name}",
        "cancelled": f"A person takes it up again first: aigon reopen {name}",
    }
    what = f"A task that is {STATUSES.get(stage, stage)} cannot become {status} by a tool"
    raise usage(what, where=f"task {name}", hint=ways[status])


def require_criteria(spec: "SpecInfo", name: str) -> None:
    """Raise AigonError (exit 2) without criteria; it lists the proposals and what accepts them."""
    if spec.criteria:
        return
    lines = [f"{each.number}. {each.text or 'Validation'}: {each.annotation or 'judge'}" for each in spec.proposals]
    accept = f"A person accepts all or some of them: aigon spec-compile {name} --accept [N]..."
    write = "Write `- [ ] ...` items below `## Acceptance Criteria` with update_task"
    hint = "\n".join(["Proposals:", *lines, accept]) if lines else write
    raise usage(f"Task {name} has no acceptance criteria, so nothing could prove it", where=spec.where, hint=hint)


def require_limit(project: "Project", name: str, max_cost: float | None, resumed: "RunInfo | None") -> None:
    """Raise AigonError (exit 2) without a limit on cost, and for one above what a person set."""
    from aigon.config.loading import load_configuration, open_work_tree

    limit = load_configuration(open_work_tree(project.root)).guards.max_cost
    if max_cost is None and limit is None:
        hint = "Give max_cost in US dollars, or set guards.maxCost in .aigon/config.json"
        raise usage("A task starts only with a limit on cost", where="max_cost, guards.maxCost", hint=hint)
    if resumed:
        first = next(iter(project.follow(resumed, is_cancelled=lambda: True)), None)
        choices = getattr(first, "choices", None)
        limit = min(filter(None, (limit, choices and choices.max_cost)), default=None)
    if max_cost and limit and max_cost > limit:
        hint = f"Give at most {limit:g}. A person raises it: aigon feature-implement {name} --loop --max-cost USD"
        raise usage(
            f"max_cost is {max_cost:g}, above the limit of {limit:g} that is in force", where="max_cost", hint=hint
        )


def find_resumed(project: "Project", name: str, newest: "RunStatus | None") -> "RunInfo | None":
    """Return the run that a start continues: the newest, if it was interrupted."""
    if newest is None or newest.status not in _RESUMED:
        return None
    return next((run for run in reversed(project.runs(name)) if run.status in _RESUMED), None)


class TaskTools:
    """The tools for the projects of a server."""

    def __init__(self, served: "ServedProjects") -> None:
        self.served = served

    def list_projects(self) -> results.Projects:
        """List the repositories whose features are tasks here."""
        projects = self.served.open_all()
        return results.Projects(
            projects=[results.Project(project_id=p.id, name=p.root.name, path=str(p.root)) for p in projects]
        )

    def list_tasks(
        self,
        project_id: ProjectId,
        status: TaskStatus | None = None,
        limit: Annotated[int | None, Field(ge=1, description="How many at most.")] = None,
    ) -> results.Tasks:
        """List the tasks of a project."""
        project = self.served.find_project(project_id)
        found = [f for f in project.features() if status in (None, STATUSES.get(f.stage, "todo"))]
        tasks = [self._describe(project, each) for each in islice(found, limit)]
        return results.Tasks(tasks=tasks, total=len(found))

    def get_task(self, task_id: TaskId) -> results.TaskDetail:
        """Show a task: its criteria with verdicts and evidence, its runs, and why they stopped."""
        project, name = self.served.find_task(task_id)
        spec = project.spec(name)
        return describe_task(self._describe(project, spec.feature), spec, project.status(name)[0])

    def create_task(
        self,
        project_id: ProjectId,
        title: Title,
        description: Description,
        use_ralph_wiggum: UseRalph = False,
        ralph_max_iterations: Iterations = 10,
        ralph_completion_promise: Promise = "COMPLETE",
    ) -> results.SavedTask:
        """Create a task: a spec in the inbox, committed. Give acceptance criteria in the description."""
        project = self.served.find_project(project_id)
        settings = {
            "mode": "ralph" if use_ralph_wiggum else None,
            "max_iterations": ralph_max_iterations,
            "promise": ralph_completion_promise,
        }
        return self._describe_saved(project, project.create_feature(title, description, settings))

    def update_task(
        self,
        task_id: TaskId,
        title: Title | None = None,
        description: Description | None = None,
        status: TaskStatus | None = None,
        use_ralph_wiggum: UseRalph | None = None,
        ralph_max_iterations: Iterations | None = None,
        ralph_completion_promise: Promise | None = None,
    ) -> results.SavedTask:
        """Change a task that has not begun. What is left out stays; an empty description clears it.

        The status can be set to `cancelled` (put aside) and back to `todo`; the others follow from what was proven.
        """
        project, name = self.served.find_task(task_id)
        settings: dict[str, str | int | None] = {
            "mode": None if use_ralph_wiggum is None else "ralph" if use_ralph_wiggum else "",
            "max_iterations": ralph_max_iterations,
            "promise": ralph_completion_promise,
        }
        wanted = {key: value or None for key, value in settings.items() if value is not None}
        spec = project.spec(name)
        is_moved = status is not None and status != STATUSES.get(spec.feature.stage)
        if is_moved:
            require_movable(name, spec.feature.stage, status)
        if title is not None or description is not None or wanted:
            spec = project.update_feature(name, title=title, description=description, settings=wanted)
        if is_moved:
            _ = project.pause(name) if status == "cancelled" else project.reopen(name)
            spec = project.spec(name)
        return self._describe_saved(project, spec)

    def start_task(
        self,
        task_id: TaskId,
        agent: Annotated[str | None, Field(description="The agent to work, such as claude or codex:MODEL.")] = None,
        max_cost: Annotated[float | None, Field(gt=0, allow_inf_nan=False, description="US dollars.")] = None,
    ) -> results.StartedTask:
        """Start a loop on a task in a worktree of its own and return at once; wait_task waits for its end.

        It needs a limit on cost: `max_cost`, or `guards.maxCost` in the configuration of the project.
        """
        project, name = self.served.find_task(task_id)
        spec = project.spec(name)
        require_criteria(spec, name)
        newest = find_newest_run(project.status(name)[0])
        if newest and newest.running:
            hint = "wait_task waits for its end, stop_task ends it"
            raise environment(f"Task {name} is being worked on already", where=spec.where, hint=hint)
        resumed = find_resumed(project, name, newest)
        require_limit(project, name, max_cost, resumed)
        options: dict[str, Any] = {"resume": True} if resumed else {"worktree": True}
        options |= {"agents": (agent,)} if agent else {"agents": (resumed.label,)} if resumed and resumed.label else {}
        options |= {"max_cost": max_cost} if max_cost else {}
        project.plan(name, **options)  # what refuses to start does so before anything is changed
        started = project.start(name, **options)
        run = project.run(started.run_id)
        return results.StartedTask(
            task_id=self.served.name_task(project, started.feature),
            run_id=started.run_id,
            agent=run.label or run.agent,
            pid=started.pid,
            next="wait_task waits for its end; task_log shows what it does",
        )

    def stop_task(self, task_id: TaskId) -> results.StoppedTask:
        """Ask the runs of a task to end after their iteration, as Ctrl+C does; nothing is lost."""
        project, name = self.served.find_task(task_id)
        asked = project.stop(name)
        return results.StoppedTask(
            task_id=task_id,
            asked=[each.run_id for each in asked],
            next="wait_task waits for its end; start_task continues it",
        )

    def task_log(
        self,
        task_id: TaskId,
        after: Annotated[str, Field(max_length=200, description="`after` of the lines before; empty: all.")] = "",
    ) -> results.TaskLog:
        """Read what the last run of a task does, or did: events, and what the agent reads, edits and runs."""
        project, run = self.find_run(task_id)
        page = project.log(run, after)
        return results.TaskLog(
            task_id=task_id, run_id=run.run_id, lines=list(page.lines), after=page.mark, more=not page.is_whole
        )

    async def wait_task(
        self,
        task_id: TaskId,
        timeout: Annotated[float, Field(ge=0, le=results.LONGEST_WAIT, description="Seconds to wait at most.")],
        context: Context[Any, Any],
    ) -> results.TaskProgress:
        """Wait until no run of a task is under way, or the time is over; report progress meanwhile.

        The run goes on whatever becomes of the wait.
        """
        last: results.TaskProgress | None = None
        with anyio.move_on_after(timeout):
            while True:
                now = await anyio.to_thread.run_sync(partial(self._look, task_id), abandon_on_cancel=True)
                if now != last:
                    words = f"iteration {now.iteration}: {now.criteria_passed} of {now.criteria_total} criteria passed"
                    await context.report_progress(now.criteria_passed, now.criteria_total, words)
                last = now
                if not now.running:
                    return now
                await anyio.sleep(_INTERVAL)
        if last is None:
            last = await anyio.to_thread.run_sync(partial(self._look, task_id))
        return last

    def find_run(self, task_id: str) -> "tuple[Project, RunInfo]":
        """Return the run of a task that is under way, or else the last one. Raises AigonError (exit 2) without any."""
        project, name = self.served.find_task(task_id)
        runs = project.runs(name)
        if not runs:
            raise usage(f"Task {name} has not run", where=project.spec(name).where, hint="start_task starts it")
        return project, ([each for each in runs if each.status == "running"] or runs)[-1]

    def _look(self, task_id: str) -> results.TaskProgress:
        project, name = self.served.find_task(task_id)
        newest = find_newest_run(project.status(name)[0])
        state = (newest.state if newest else None) or {}
        return results.TaskProgress(
            task_id=task_id,
            running=newest.running if newest else False,
            status=newest.status if newest else "not_started",
            iteration=state.get("iteration", 0),
            criteria_passed=state.get("criteria_met", 0),
            criteria_total=state.get("criteria_total", len(project.spec(name).criteria) if not state else 0),
            reason=state.get("stop_reason") or "",
        )

    def _describe(self, project: "Project", feature: "FeatureInfo") -> results.Task:
        return results.Task(
            task_id=self.served.name_task(project, _name(feature)),
            project_id=project.id,
            title=feature.title,
            status=STATUSES.get(feature.stage, "todo"),
            stage=feature.stage,
            path=feature.spec,
        )

    def _describe_saved(self, project: "Project", spec: "SpecInfo") -> results.SavedTask:
        name, next_ = _name(spec.feature), "start_task starts it"
        if not spec.criteria and not spec.proposals:
            next_ = "Add `- [ ] ...` items below `## Acceptance Criteria` with update_task: nothing could prove it yet"
        elif spec.proposals:
            next_ = f"A person accepts what came with it and would decide criteria: aigon spec-compile {name} --accept"
        return results.SavedTask(
            task_id=self.served.name_task(project, name),
            path=spec.feature.spec,
            stage=spec.feature.stage,
            criteria=len(spec.criteria),
            next=next_,
        )


def _name(feature: "FeatureInfo") -> str:
    return feature.id or feature.slug
