"""Work through the backlog: what an earlier start left unfinished, then the rest in order, one loop at a time."""

import time
from collections.abc import Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from aigon.agents.configured import resolve_agents
from aigon.arena.entrant import END_SECONDS
from aigon.arena.lane import LaneEnd
from aigon.config.models import Config
from aigon.errors import Exit
from aigon.files.home import STOP_FILES, ensure_home
from aigon.files.locks import is_locked
from aigon.git.person import Checkout
from aigon.job.options import Options, get_limit
from aigon.job.settings import apply_settings, find_kind
from aigon.job.spec_locations import list_spec_locations, locate_spec
from aigon.job.world import World
from aigon.journal.events import Event, TurnEnded
from aigon.journal.queue import QueueEntry, append_entry, read_queue
from aigon.journal.records import candidate_records, find_candidates
from aigon.journal.state import replay
from aigon.model.agents import Candidate
from aigon.process.running import loop_lock
from aigon.process.stop import POLL_SECONDS, Stop
from aigon.queue.backlog import CLOSED, plan_backlog
from aigon.queue.due import Tell, count_decisions
from aigon.queue.loops import LoopGroup, combine_task_codes
from aigon.run.approvals import write_pages
from aigon.run.seating import choose_default_agent
from aigon.spec.document import parse_spec
from aigon.text.amounts import format_count

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
