"""Runs on record: a summary of each, folded from its journal, and its events as they happen."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from aigon.errors import AigonError, usage
from aigon.files.locks import is_locked
from aigon.journal.events import RunFinished, RunStarted
from aigon.journal.records import Records, candidate_records, find_candidates, locate_records
from aigon.journal.replay import iterate_events
from aigon.journal.state import State
from aigon.model.outcomes import get_status
from aigon.process.running import loop_lock


class RunInfo(Struct, frozen=True):
    """One run. `status` is `running`, `broken_off` (killed; resume it) or how it ended.

    `cost` is in US dollars, without turns that did not say theirs (`unknown_costs`). `journal` is the file of its
    events; a later run of the feature renames it. `invocations` counts its start and its resumes.
    """

    run_id: str
    feature: str
    label: str
    agent: str
    mode: str
    branch: str
    started_at: str
    status: str
    iterations: int
    criteria_passed: int
    criteria_total: int
    cost: float
    unknown_costs: int
    journal: Path
    invocations: int = 1


def choose_run(
    home: Path | None, feature: str, runs: Sequence[RunInfo], agent: str | None, run_id: str | None
) -> RunInfo:
    """Return the run called `run_id`, or else the newest run of this agent.

    Raises AigonError: exit 2 if there is none or several are meant, exit 7 if the only journal is damaged.
    """
    labels = list(dict.fromkeys(run.label or run.agent for run in runs))
    wanted = [run for run in runs if agent in (None, run.label, run.agent) and run_id in (None, run.run_id)]
    if not wanted:
        for _, error in find_unreadable(home, feature):
            raise error
    if not runs:
        raise usage(f"Feature {feature} has not run", hint=f"aigon feature-implement {feature} --loop")
    if not wanted and run_id:
        newest = ", ".join(run.run_id for run in runs[-3:])
        raise usage(f"Feature {feature} has no run {run_id}", where="--run", hint=f"Its last runs are {newest}")
    if not wanted:
        raise usage(f"{agent} has not worked on feature {feature}", where="--agent", hint=f"There: {', '.join(labels)}")
    running = [run for run in wanted if run.status == "running"]
    if len(running) > 1:
        listed = ", ".join(run.label for run in running)
        raise usage(f"Several agents work on feature {feature}: {listed}", hint="Name one with --agent")
    return (running or wanted)[-1]


def find_unreadable(home: Path | None, feature: str) -> Iterator[tuple[Path, AigonError]]:
    """Yield the journals of a feature that cannot be read, and why."""
    for folder in sorted(home.glob("features/*/")) if home else ():
        records = Records(folder)
        for journal in records.journals() if feature in (records.name, folder.name) else ():
            try:
                for _ in iterate_events(journal):
                    pass
            except AigonError as error:
                yield journal, error


def list_runs(home: Path | None, feature: str | None = None, run_id: str | None = None) -> tuple[RunInfo, ...]:
    """Return the runs whose journals are in `home`, oldest first: all, those of `feature`, or the one called `run_id`.

    A journal that cannot be read is left out. Of one that is not asked for only the first event is read.
    """
    if home is None:
        return ()
    found = []
    for folder in sorted(home.glob("features/*/")):
        for journal in Records(folder).journals():
            try:
                info = _summarise_run(home, journal, feature, run_id)
            except AigonError:  # `aigon doctor` names it; one damaged journal must not hide the others
                continue
            found += [info] if info else []
    return tuple(sorted(found, key=lambda info: info.run_id))


def _summarise_run(home: Path, journal: Path, feature: str | None, run_id: str | None) -> RunInfo | None:
    state, first, end, invocations = State(), None, None, 0
    for event in iterate_events(journal):
        state = state.apply(event)
        if isinstance(event, RunStarted):
            if feature not in (None, event.feature_id or event.slug) or run_id not in (None, event.run_id):
                return None
            first, end, invocations = first or event, None, invocations + 1
        elif isinstance(event, RunFinished):
            end = event
    if first is None:
        return None
    name = first.feature_id or first.slug
    status = (
        get_status(end.outcome) if end else "running" if is_running(home, name, first.label, journal) else "broken_off"
    )
    verdicts = state.last.verdicts if state.last else ()
    return RunInfo(
        run_id=first.run_id,
        feature=name,
        label=first.label,
        agent=first.agent,
        mode=first.mode,
        branch=first.branch,
        started_at=first.at,
        status=status,
        iterations=state.last_number,
        criteria_passed=sum(verdict.status == "met" for verdict in verdicts),
        criteria_total=first.criteria_total,
        cost=state.spend.usd,
        unknown_costs=state.spend.unknown,
        journal=journal,
        invocations=invocations,
    )


def find_records(home: Path | None, name: str, agent: str | None) -> Records | None:
    """Return the records of a feature with a run of `agent`, or the only ones; None if no agent has worked on it.

    Raises AigonError (exit 2) if that is another agent, or several have.
    """
    known = [(each.label, each.agent, candidate_records(home, each)) for each in find_candidates(home, name) if home]
    known += [("", "", locate_records(home, name))] if home else []
    ran = [(label, who, records) for label, who, records in known if records.has_begun()]
    chosen = [records for label, who, records in ran if agent in (None, label, who)]
    listed = ", ".join(label or "this checkout" for label, _, _ in ran)
    if not ran and not agent:
        return None
    if not chosen:
        listed = listed or "nobody yet"
        raise usage(f"{agent} has not worked on feature {name}", where="--agent", hint=f"There: {listed}")
    if len(chosen) > 1:
        raise usage(f"Several agents work on feature {name}: {listed}", hint="Name one with --agent")
    return chosen[0]


def is_running(home: Path, feature: str, label: str, journal: Path) -> bool:
    """Return whether the run of this journal goes on: a later run may hold the lock, and has put the journal aside."""
    return journal == Records(journal.parent).journal and bool(is_locked(loop_lock(home, feature, label)))
