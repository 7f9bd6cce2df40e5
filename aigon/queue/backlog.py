"""The backlog in its order, tasks over all features, and `aigon run start`, which builds what is in the backlog."""

import time
from collections.abc import Iterator, Mapping
from typing import Any, Literal

from msgspec import Struct
from msgspec.structs import replace

from aigon.agents.configured import resolve_agents
from aigon.arena.entrant import END_SECONDS
from aigon.arena.lane import LaneEnd
from aigon.config.models import Config
from aigon.errors import AigonError, Exit, usage
from aigon.files.home import STOP_FILES, ensure_home
from aigon.files.locks import is_locked
from aigon.git.person import Checkout
from aigon.job.options import Options, get_limit
from aigon.job.spec_locations import SpecLocation, find_dependencies, list_missing, list_spec_locations, locate_spec
from aigon.job.world import World
from aigon.journal.decisions import find_decision
from aigon.journal.events import Event, TurnEnded
from aigon.journal.queue import QueueEntry, append_entry, list_steps, read_queue
from aigon.journal.records import Records, candidate_records, find_candidates
from aigon.journal.state import State, replay
from aigon.model.agents import Candidate
from aigon.model.criteria import Criterion, Spec
from aigon.process import running
from aigon.process.running import loop_lock
from aigon.process.stop import POLL_SECONDS, Stop
from aigon.queue.tasks import LoopGroup, Tell, combine_task_codes, count_decisions
from aigon.run.approvals import write_pages
from aigon.run.choices import apply_settings, find_kind
from aigon.run.seating import choose_default_agent
from aigon.spec.document import parse_spec
from aigon.spec.features import Feature
from aigon.text.amounts import format_count

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
                state = replay(records.each()) if records.journal.exists() else State()
                decisions = records.decisions()
            except AigonError:
                continue
            for criterion in spec.criteria:
                decision = find_decision(decisions, criterion, "")
                waived = decision.why if decision and decision.decision == "waive" else None
                status, note = _find_status(criterion, state, waived, missing)
                label = state.started.label if state.started else ""
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


_UNFINISHED = ("stopped", "interrupted", "unavailable", "broken_off", "refused")
"""How a run ended that the next start resumes."""


class StartOptions(Struct, frozen=True):
    """Options that a person gave: turns over all features of this invocation, US dollars, the agent."""

    max_iterations: int = 20
    max_cost: float | None = None
    agent: str = ""


class QueueRunner:
    """Runs the loops of a backlog one after the other, and counts their turns and failures together."""

    def __init__(self, main: Checkout, config: Config, options: StartOptions, stop: Stop, tell: Tell) -> None:
        self._main, self._config, self._options = main, config, options
        self._stop, self._tell = stop, tell
        self._home = ensure_home(main.common_dir)
        self._loops = LoopGroup(main.root, self._home, stop, self._hear)
        self._turns, self._failures, self._built = 0, 0, 0
        self._codes: list[int] = []

    def run(self) -> int:
        """Run until the list or a limit is at its end; return the exit code."""
        planned = plan_backlog(self._main)
        places = list_spec_locations(self._main.root, self._main.common_dir)
        closed = {each.feature.id for each in places if each.feature.stage in CLOSED}
        for entry in read_queue(self._home).values():
            if entry.source != "start" or entry.feature in closed or not self._is_unfinished(entry):
                continue
            if self._is_over():
                break
            self._build(entry)
        for each in planned:
            if self._is_over():
                break
            if each.missing:
                self._codes.append(Exit.STOPPED)
                self._tell("blocked", f"feature {each.feature.name_for_people} waits for {', '.join(each.missing)}: "
                           "a feature begins once those it depends on are merged",
                           feature=each.feature.name_for_people, waits_for=list(each.missing))  # fmt: skip
                continue
            self._build(QueueEntry("start", each.feature.name_for_people, "taken", "", slug=each.feature.slug))
        if not self._codes and not self._stop.asked:
            self._tell("idle", "nothing is in the backlog: aigon feature-prioritise NAME puts a feature there")
        return self._sum_up()

    def _sum_up(self) -> int:
        write_pages(self._main)
        count = f"{format_count(self._turns, 'turn')} of {self._options.max_iterations}"
        self._tell("finished", f"{count}, {format_count(self._built, 'feature')}", turns=self._turns)
        if self._stop.asked:
            return self._stop.exit_code
        return combine_task_codes(self._codes)

    def _is_unfinished(self, entry: QueueEntry) -> bool:
        if entry.state == "taken" or entry.outcome in _UNFINISHED:
            return True
        return entry.outcome == "needs_human" and count_decisions(self._home, entry) > entry.decisions

    def _is_over(self) -> bool:
        """Return whether nothing more may start, and say why."""
        root, limits = self._main.root, self._options
        most = get_limit(self._config, Options(feature=""), "max_consecutive_failures")
        why, code = "", Exit.STOPPED
        if self._stop.asked:
            return True
        if self._turns >= limits.max_iterations:
            why = f"all {format_count(limits.max_iterations, 'turn')} are used; aigon run start goes on"
        elif self._failures >= most:
            why = f"{format_count(self._failures, 'turn')} in a row failed, over features"
        elif limits.max_cost is not None and self._loops.spent >= limits.max_cost:
            why, code = "the cost limit is reached", Exit.SPENT
        elif found := next((name for name in STOP_FILES if (root / name).exists()), ""):
            why = f"{found} exists: remove it to go on"
        if why:
            self._codes.append(code)
            self._tell("held", why)
        return bool(why)

    def _build(self, entry: QueueEntry) -> None:
        """Run the loop of one feature to its end."""
        name = entry.feature or entry.path
        known = [each for each in find_candidates(self._home, name) if not entry.label or each.label == entry.label]
        agent = self._options.agent or (known[0].agent if known else "")
        (chosen,) = resolve_agents(self._main.root, [agent or choose_default_agent(self._main, Options(feature=""))])
        candidate = (
            known[0] if known else Candidate(name, entry.slug, chosen.label, chosen.agent, "worktree", 0, "", "")
        )
        self._wait_for_killed(candidate)
        records = candidate_records(self._home, candidate)
        resume = bool(known) and records.has_begun()
        entry = replace(entry, state="taken", at=World.now(), feature=name, label=candidate.label, outcome="")
        append_entry(self._home, entry)
        self._tell("started", f"feature {name} {'goes on' if resume else 'starts'} with {candidate.label}",
                   feature=name, label=candidate.label)  # fmt: skip
        most = get_limit(self._config, Options(feature=""), "max_consecutive_failures")
        options = Options(
            feature=name,
            loop=True,
            resume=resume,
            max_iterations=self._limit_turns(name, replay(records.each()).done if resume else 0),
            max_consecutive_failures=max(1, most - self._failures),
        )
        money = None if self._options.max_cost is None else self._options.max_cost - self._loops.spent
        self._built += 1
        self._loops.start(candidate, options, resume=resume, money=money)
        ended: dict[str, LaneEnd] = {}
        while not ended:
            if self._stop.asked:
                self._loops.end_all()
            ended = self._loops.listen()
        self._finish(entry, ended[name])

    def _wait_for_killed(self, candidate: Candidate) -> None:
        """Wait until the loop of a start that was killed has ended: it saves its state and goes."""
        lock = loop_lock(self._home, candidate.feature, candidate.label)
        patience = time.monotonic() + 3 * END_SECONDS
        while is_locked(lock) and time.monotonic() < patience and not self._stop.asked:
            self._stop.rest(POLL_SECONDS)

    def _limit_turns(self, name: str, done: int) -> int | None:
        """Return how many turns a feature may take now, None for its own limit; `done` are those of its run so far.

        A resumed run would go on with the limit that an earlier start gave it.
        """
        place = locate_spec(self._main.root, self._main.common_dir, name)
        spec = parse_spec(place.read())
        wanted = apply_settings(Options(feature=name), spec.settings, find_kind(self._config, spec, place.where))
        own = int(get_limit(self._config, wanted, "max_iterations"))
        if wanted.sources.get("max_iterations") == "kind":
            own = max(1, own - done)
        rest = self._options.max_iterations - self._turns
        return min(rest, own) if done or rest < own else None

    def _finish(self, entry: QueueEntry, end: LaneEnd) -> None:
        self._codes.append(end.exit_code)
        self._tell("ended", f"feature {entry.feature}: {end.summary}", feature=entry.feature, status=end.status,
                   exit_code=end.exit_code)  # fmt: skip
        entry = replace(entry, state="ended", at=World.now(), label=end.label, outcome=end.status, reason=end.summary)
        append_entry(self._home, replace(entry, decisions=count_decisions(self._home, entry)))

    def _hear(self, feature: str, document: Mapping[str, Any], event: Event | None) -> None:
        if isinstance(event, TurnEnded) and not event.turn.held:
            self._turns += 1
            self._failures = self._failures + 1 if event.turn.failed else 0
        self._tell("event", "", feature=feature, document=document, event=event)
