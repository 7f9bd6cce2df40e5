"""Limits of every tool: no start without criteria and a cost limit, no higher limit, no status that people decide."""

from typing import TYPE_CHECKING

from aigon.errors import usage
from aigon.mcp.results import STATUSES, TaskStatus

if TYPE_CHECKING:
    from aigon.api import Project, RunInfo, SpecInfo
    from aigon.views.status import RunStatus

_RESUMED = ("broken_off", "interrupted", "terminated")
"""How a run ended that another start continues."""


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
