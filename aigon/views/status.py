"""The status of each feature, as data and as text, read from what its runs left. No loop notices."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from msgspec import Struct

from aigon.errors import environment
from aigon.journal.state_document import NewerState, parse_state
from aigon.model.agents import Candidate, format_run_command
from aigon.model.criteria import VERDICT_WORDS, WAIVED
from aigon.model.outcomes import describe_status
from aigon.process.running import is_loop_alive
from aigon.spec.features import Feature
from aigon.text.amounts import format_count
from aigon.text.quoting import fold

SHOWN = ("status", "branch", "iteration", "criteria_met", "criteria_total", "checks", "criteria")
"""Keys without which a state says nothing."""

State = dict[str, Any]


class RunStatus(Struct, frozen=True):
    """A run as its state file tells it: `state` is None before the first, `running` whether its process is there."""

    state: State | None
    running: bool

    @property
    def status(self) -> str:
        """`not_started`, `running`, `broken_off` or how the last run ended."""
        if self.state is None:
            return "not_started"
        status = str(self.state["status"])
        return "broken_off" if status == "running" and not self.running else status

    @property
    def best(self) -> State | None:
        """Return the best iteration commit, unless the branch is there."""
        found = self.state.get("best") if self.state else None
        return found if isinstance(found, dict) and not found.get("latest", True) else None


class CandidateStatus(Struct, frozen=True):
    """An agent with a worktree of its own. `there` says whether that folder exists.

    If the feature is `done`, it is merged, and the branch may be gone.
    """

    candidate: Candidate
    run: RunStatus
    there: bool
    done: bool = False

    @property
    def next_command(self) -> str:
        """Return the command that continues it; "" while it works, and if everything is proven or merged."""
        who, status = self.candidate, self.run.status
        if self.done or status in ("running", "met"):
            return ""
        if status == "not_started":
            return f"aigon feature-implement {who.feature} --loop --worktree --agent {who.agent}"
        return format_run_command(who.feature, who.label)


class FeatureStatus(Struct, frozen=True):
    """A feature, its run in the checkout itself, and the agents that have worktrees for it."""

    feature: Feature
    title: str
    run: RunStatus
    lanes: tuple[CandidateStatus, ...] = ()


def read_feature_status(
    root: Path, feature: Feature, title: str, home: Path | None, candidates: Sequence[Candidate] = (), main: str = ""
) -> FeatureStatus:
    """Return how far a feature is; `home` is aigon's folder for the repository, if there is one.

    The state of its `candidates` is in the `main` checkout. Raises AigonError (exit 7) for a state that cannot be read
    or is from a newer version.
    """
    there, done = Path(main) if main else root, feature.stage == "done"
    lanes = [
        CandidateStatus(
            each, _read_run_status(there / feature.state_file(each.label), home), Path(each.path).is_dir(), done
        )
        for each in candidates
    ]
    return FeatureStatus(feature, title, _read_run_status(root / feature.state_file(), home), tuple(lanes))


def _read_run_status(path: Path, home: Path | None) -> RunStatus:
    if not path.exists():
        return RunStatus(None, False)
    try:
        state = parse_state(path.read_bytes())
        _ = [state[key] for key in SHOWN]
    except NewerState:
        raise environment("The state file is from a newer aigon", where=str(path), hint="Upgrade aigon") from None
    except (OSError, ValueError, KeyError) as error:
        hint = "aigon doctor --repair   # keeps it, and rebuilds it from the journal"
        raise environment(f"The state file cannot be read ({error})", where=str(path), hint=hint) from None
    return RunStatus(state, is_loop_alive(state, home))


def build_status_document(rows: Sequence[FeatureStatus]) -> dict[str, object]:
    """Return all features as data. `best` is None if the branch is at its best iteration commit."""
    return {
        "features": [
            {
                "id": row.feature.id or None,
                "slug": row.feature.slug,
                "title": row.title,
                "stage": row.feature.stage,
                "spec": row.feature.path,
                "running": row.run.running,
                "state": row.run.state,
                "best": row.run.best,
                "candidates": [_build_candidate_document(lane) for lane in row.lanes],
            }
            for row in rows
        ]
    }


def _build_candidate_document(lane: CandidateStatus) -> dict[str, object]:
    who, run = lane.candidate, lane.run
    return {
        "label": who.label,
        "agent": who.agent,
        "mode": who.mode,
        "branch": who.branch,
        "worktree": who.path,
        "worktree_there": lane.there,
        "status": run.status,
        "running": run.running,
        "best": run.best,
        "next": lane.next_command or None,
        "state": run.state,
    }


_LONGEST = 400
"""Characters of a reason or a summary."""


def render_status(rows: Sequence[FeatureStatus], *, detailed: bool) -> str:
    """Return a line per feature; if `detailed`, its criteria, checks and agents too."""
    if not rows:
        return "There are no features yet. Write one: aigon feature-create NAME"
    lines = [line for row in rows for line in (_render_feature(row), *(_render_details(row) if detailed else ()))]
    return "\n".join(lines)


def _render_feature(row: FeatureStatus) -> str:
    name = f"{row.feature.id or '-':>4}  {row.feature.stage:<13} {fold(row.title, 200)}"
    return f"{name}  [{'; '.join(_describe_runs(row))}]"


def _describe_runs(row: FeatureStatus) -> Iterator[str]:
    resume = f"aigon feature-implement {row.feature.name_for_people} --resume"
    if row.run.state or not row.lanes:
        yield _describe_run(row.run, resume)
    if len(row.lanes) == 1 and row.lanes[0].candidate.mode == "worktree":
        yield f"{row.lanes[0].candidate.label}: {_describe_run(row.lanes[0].run)}"
    elif row.lanes:  # `arena: 3 agents, 1 proven, 2 running`
        found = [lane.run.status for lane in row.lanes]
        counted = [
            f"{found.count(status)} {describe_status(status)}"
            for status in ("met", "running", "broken_off")
            if status in found
        ]
        yield ", ".join([f"arena: {format_count(len(found), 'agent')}", *(counted or ["0 proven"])])


def _describe_run(run: RunStatus, resume: str = "") -> str:
    state = run.state
    if state is None:
        return "not started"
    status = describe_status(run.status) + (f"; {resume}" if resume and run.status == "broken_off" else "")
    return f"{status}, {state['criteria_met']}/{state['criteria_total']} criteria, iteration {state['iteration']}"


def _render_details(row: FeatureStatus) -> Iterator[str]:
    yield f"      spec: {row.feature.path}"
    if state := row.run.state:
        yield f"      branch: {state['branch']}"
        yield f"      log: {row.feature.log()}"
        yield from _explain_end(row.run, state, " " * 6)
        yield from (f"      check {c['name']}: {c['status']} ({fold(c['summary'], _LONGEST)})" for c in state["checks"])
        yield from (_render_criterion(criterion) for criterion in state["criteria"])
    for lane in row.lanes:
        yield from _render_candidate(row, lane)


def _explain_end(run: RunStatus, state: State, indent: str) -> Iterator[str]:
    """Yield why it stopped, and the best iteration commit if the branch is not there."""
    if state.get("stop_reason"):
        yield f"{indent}{fold(state['stop_reason'], _LONGEST)}"
    if went := state.get("rolled_back"):
        undone = ", ".join(map(str, went["undone"]))
        back = f"went back to {_name_iteration(went['number'])}"
        yield f"{indent}{back}; what came after it ({undone}) is saved aside as {went['ref']}"
    if best := run.best:
        far = f"{best['criteria_met']} of {best['criteria_total']} passed"
        where = f"{_name_iteration(best['number'])} ({str(best['checkpoint'])[:12]})"
        yield f"{indent}best iteration commit: {where}, {far}"


def _name_iteration(number: Any) -> str:
    return f"iteration {number}" if number else "where the run began"


def _render_criterion(criterion: dict[str, Any]) -> str:
    box = "x" if criterion["verdict"] == "met" else " "
    word = VERDICT_WORDS.get(criterion["verdict"], fold(str(criterion["verdict"]), 40))
    if criterion.get("method") == WAIVED:
        box, word = " ", WAIVED
    why = fold(criterion.get("reason") or criterion.get("evidence") or "", _LONGEST)
    return f"      [{box}] {criterion['number']} {word}{f': {why}' if why else ''}"


def _render_candidate(row: FeatureStatus, lane: CandidateStatus) -> Iterator[str]:
    """Yield how far an agent is, where it works, and what continues it."""
    who, state, indent = lane.candidate, lane.run.state, " " * 10
    yield f"      {who.label}  ({fold(who.agent, 60)}, {who.mode}): {_describe_run(lane.run)}"
    if state:
        yield from _explain_end(lane.run, state, indent)
        if open_ := [str(c["number"]) for c in state["criteria"] if c["verdict"] != "met"]:
            yield f"{indent}not passed: {', '.join(open_)}"
    yield f"{indent}branch: {who.branch}"
    yield f"{indent}worktree: {who.path}{'' if lane.there else ' (missing)'}"
    if state:
        yield f"{indent}log: {row.feature.log(who.label)}"
    if lane.next_command:
        yield f"{indent}next: {lane.next_command}"
