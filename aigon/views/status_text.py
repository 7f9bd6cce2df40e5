"""Where features stand, for people: a line each, and of a single one everything that is known."""

from collections.abc import Iterator, Sequence
from typing import Any

from aigon.model.criteria import VERDICT_WORDS
from aigon.model.outcomes import describe_status
from aigon.text.quoting import fold
from aigon.views.status import Lane, Row, Standing, State

_LONGEST = 400
"""Characters of a reason or a summary."""


def text(rows: Sequence[Row], *, detailed: bool) -> str:
    """A line per feature; for a single one its criteria, checks and agents too."""
    if not rows:
        return "There are no features yet. Write one: aigon feature-create NAME"
    lines = [line for row in rows for line in (_line(row), *(_details(row) if detailed else ()))]
    return "\n".join(lines)


def _line(row: Row) -> str:
    name = f"{row.feature.id or '-':>4}  {row.feature.stage:<13} {fold(row.title, 200)}"
    return f"{name}  [{'; '.join(_standings(row))}]"


def _standings(row: Row) -> Iterator[str]:
    resume = f"aigon feature-implement {row.feature.name_for_people} --resume"
    if row.standing.state or not row.lanes:
        yield _standing(row.standing, resume)
    if len(row.lanes) == 1 and row.lanes[0].candidate.mode == "worktree":
        yield f"{row.lanes[0].candidate.label}: {_standing(row.lanes[0].standing)}"
    elif row.lanes:
        yield _arena(row.lanes)


def _arena(lanes: Sequence[Lane]) -> str:
    """`arena: 3 agents, 1 proven, 2 running`."""
    found = [lane.standing.status for lane in lanes]
    words = {"met": "proven", "running": "running", "broken_off": "broken off"}
    counted = [f"{found.count(status)} {word}" for status, word in words.items() if status in found]
    return ", ".join([f"arena: {len(lanes)} agent{'s' if len(lanes) > 1 else ''}", *(counted or ["0 proven"])])


def _standing(standing: Standing, resume: str = "") -> str:
    state = standing.state
    if state is None:
        return "not started"
    status = describe_status(standing.status) + (f"; {resume}" if resume and standing.status == "broken_off" else "")
    return f"{status}, {state['criteria_met']}/{state['criteria_total']} criteria, iteration {state['iteration']}"


def _details(row: Row) -> Iterator[str]:
    yield f"      spec: {row.feature.path}"
    if state := row.standing.state:
        yield f"      branch: {state['branch']}"
        yield f"      log: {row.feature.log()}"
        yield from _how_it_went(row.standing, state, " " * 6)
        yield from (f"      check {c['name']}: {c['status']} ({fold(c['summary'], _LONGEST)})" for c in state["checks"])
        yield from (_criterion(criterion) for criterion in state["criteria"])
    for lane in row.lanes:
        yield from _lane(row, lane)


def _how_it_went(standing: Standing, state: State, indent: str) -> Iterator[str]:
    """Why it stopped, and where the branch stands, where that is not where it is best."""
    if state.get("stop_reason"):
        yield f"{indent}{fold(state['stop_reason'], _LONGEST)}"
    if went := state.get("rolled_back"):
        undone = ", ".join(map(str, went["undone"]))
        yield f"{indent}went back to {_place(went['number'])}; what came after it ({undone}) is parked as {went['ref']}"
    if best := standing.best:
        far = f"{best['criteria_met']} of {best['criteria_total']} proven"
        yield f"{indent}best checkpoint: {_place(best['number'])} ({str(best['checkpoint'])[:12]}), {far}"


def _place(number: Any) -> str:
    return f"iteration {number}" if number else "where the run began"


def _criterion(criterion: dict[str, Any]) -> str:
    box = "x" if criterion["verdict"] == "met" else " "
    word = VERDICT_WORDS.get(criterion["verdict"], fold(str(criterion["verdict"]), 40))
    why = fold(criterion.get("reason") or criterion.get("evidence") or "", _LONGEST)
    return f"      [{box}] {criterion['number']} {word}{f': {why}' if why else ''}"


def _lane(row: Row, lane: Lane) -> Iterator[str]:
    """An agent of its own: how far it is, where it works, what makes it go on."""
    who, state, indent = lane.candidate, lane.standing.state, " " * 10
    yield f"      {who.label}  ({fold(who.agent, 60)}, {who.mode}): {_standing(lane.standing)}"
    if state:
        yield from _how_it_went(lane.standing, state, indent)
        if open_ := [str(c["number"]) for c in state["criteria"] if c["verdict"] != "met"]:
            yield f"{indent}not proven: {', '.join(open_)}"
    yield f"{indent}branch: {who.branch}"
    yield f"{indent}worktree: {who.path}{'' if lane.there else ' (missing)'}"
    if state:
        yield f"{indent}log: {row.feature.log(who.label)}"
    if lane.next_command:
        yield f"{indent}next: {lane.next_command}"
