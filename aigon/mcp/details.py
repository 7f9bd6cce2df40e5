"""Tasks in full: a feature's spec, the verdicts on its criteria, and its runs."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from aigon.mcp import results
from aigon.model.criteria import VERDICT_WORDS, Criterion

if TYPE_CHECKING:
    from aigon.api import SpecInfo
    from aigon.views.status import FeatureStatus, RunStatus


def describe_task(task: results.Task, spec: "SpecInfo", status: "FeatureStatus") -> results.TaskDetail:
    """Return all that is known about a task."""
    newest = find_newest_run(status)
    verdicts = {each["number"]: each for each in (newest.state or {}).get("criteria", ())} if newest else {}
    promises = spec.settings.promises
    return results.TaskDetail(
        **task.model_dump(),
        description=spec.description,
        use_ralph_wiggum=spec.settings.mode == "ralph",
        ralph_max_iterations=spec.settings.max_iterations,
        ralph_completion_promise=", ".join(promises) or None,
        criteria=[_describe_criterion(each, verdicts.get(each.number, {})) for each in spec.criteria],
        proposals=[results.Proposal(number=p.number, text=p.text, annotation=p.annotation) for p in spec.proposals],
        runs=[_describe_run(run, worktree) for run, worktree in _list_runs(status)],
    )


def _describe_criterion(criterion: Criterion, found: Mapping[str, str]) -> results.Criterion:
    return results.Criterion(
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


def _describe_run(run: "RunStatus", worktree: str | None) -> results.Run:
    state = run.state or {}
    iterations = state.get("iterations", [])[-results.LISTED :]
    return results.Run(
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
            results.Iteration(
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
