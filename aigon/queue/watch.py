"""Watch folders: every task file that a person brought becomes a feature in a worktree and a loop of its own."""

import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path, PurePosixPath
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from aigon.agents.configured import resolve_agents
from aigon.arena.lane import LaneEnd, choose_parallelism
from aigon.config.models import Config
from aigon.errors import AigonError, Exit
from aigon.files.home import STOP_FILES, ensure_home
from aigon.files.locks import is_locked
from aigon.git.person import Checkout
from aigon.job import bookkeeping
from aigon.job.bookkeeping import Committing
from aigon.job.job import find_checkout_lock
from aigon.job.options import Options
from aigon.job.spec_locations import SpecLocation, find_checked_out_feature, list_missing, list_spec_locations
from aigon.job.world import World
from aigon.journal.events import Event, RunFinished, RunStarted
from aigon.journal.queue import QueueEntry, read_queue
from aigon.journal.records import candidate_records, find_candidates
from aigon.model.agents import Candidate
from aigon.model.outcomes import Stopped
from aigon.process.capacity import count_slots, measure_free_memory
from aigon.process.start import capture_output
from aigon.process.stop import Stop
from aigon.queue.folders import take_up, update_spec
from aigon.queue.tasks import DueTask, DueTasks, LoopGroup, Tell, combine_task_codes, count_decisions
from aigon.run.approvals import write_pages
from aigon.run.seating import choose_default_agent
from aigon.spec import files
from aigon.spec.files import moved_to_stage
from aigon.text.amounts import format_dollars
from aigon.text.quoting import fold


class WatchOptions(Struct, frozen=True):
    """Options that a person gave. `folders` are relative to the main checkout; `interval` is in seconds."""

    folders: tuple[str, ...]
    max_cost: float
    interval: float = 5.0
    agent: str = ""
    parallel: int | None = None
    once: bool = False


class Watcher:
    """Looks at the folders, keeps as many loops running as fit, and writes down what came of each."""

    def __init__(self, main: Checkout, config: Config, options: WatchOptions, stop: Stop, tell: Tell) -> None:
        self._main, self._config, self._options = main, config, options
        self._stop, self._tell = stop, tell
        self._home = ensure_home(main.common_dir)
        self._due = DueTasks(main, config, options.folders, tell, once=options.once)
        self._loops = LoopGroup(main.root, self._home, stop, self._hear)
        self._blocked: dict[str, tuple[str, ...]] = {}
        self._locations: list[SpecLocation] | None = None
        self._places = 0
        self._said = ""
        self._no_money = f"the cost limit of {format_dollars(options.max_cost)} is reached: nothing starts"
        self._runs: dict[str, str] = {}
        self._halted: set[str] = set()
        self._codes: list[int] = []

    def run(self) -> int:
        """Watch until something asks for the end, or once; return the exit code."""
        next_look = 0.0
        while True:
            if self._stop.asked:
                self._loops.end_all()
            elif self._is_spent and len(self._loops):
                self._loops.finish_all()
                self._say_once(self._no_money)
            elif time.monotonic() >= next_look and not self._is_held():
                self._locations, cores, memory = None, count_slots(), measure_free_memory()
                wanted, usual = self._options.parallel, self._config.arena.parallel
                fits = choose_parallelism(1_000, wanted=wanted, configured=usual, cores=cores, memory=memory)
                self._places = fits.number
                for due in self._due.list_due(self._loops.features):
                    if self._stop.asked:
                        break
                    self._start(due)
                next_look = time.monotonic() + self._options.interval
            if self._due.is_page_missing:
                self._due.is_page_missing = False
                write_pages(self._main)
            if not len(self._loops) and (self._stop.asked or (self._options.once and not self._due.is_waiting)):
                return self._get_exit_code()
            for feature, end in self._loops.listen().items():
                self._finish(feature, end)
                next_look = 0.0

    def plan(self) -> Iterator[tuple[DueTask, str]]:
        """Yield what would be started now, and what it waits for."""
        for due in self._due.list_due(self._loops.features, record=False):
            waits = self._list_missing(due)
            yield due, f"waits for {', '.join(waits)}" if waits else ""

    def _list_missing(self, due: DueTask) -> tuple[str, ...]:
        """Return what a task waits for. Where specs are is looked up once per look at the folders."""
        if not due.spec.settings.depends_on:
            return ()
        if self._locations is None:
            self._locations = list_spec_locations(self._main.root, self._main.common_dir)
        return list_missing(self._locations, due.spec.settings)

    @property
    def _is_spent(self) -> bool:
        return self._loops.spent >= self._options.max_cost

    def _get_exit_code(self) -> int:
        if self._stop.asked:
            return self._stop.exit_code
        self._codes += [Exit.STOPPED] if self._blocked else []
        if self._said:
            self._codes.append(Exit.SPENT if self._said == self._no_money else Exit.STOPPED)
        waiting = any(each.state == "waiting" for each in self._due.queue.values())
        return combine_task_codes([*self._codes, *([Exit.NEEDS_HUMAN] if waiting else [])])

    def _is_held(self) -> bool:
        """Return whether nothing may start now, and say why once."""
        root, why = self._main.root, ""
        if found := next((name for name in STOP_FILES if (root / name).exists()), ""):
            why = f"{found} exists: nothing starts until it is removed"
        elif is_locked(find_checkout_lock(self._home, root)):
            why = "a loop works in this checkout: nothing new is taken from it"
        elif feature := find_checked_out_feature(root):
            why = f"the branch of feature {feature.name_for_people} is checked out: nothing is taken from it"
        if why:
            self._say_once(why)
        elif self._said != self._no_money:
            self._said = ""
        return bool(why)

    def _start(self, due: DueTask) -> None:
        if due.entry and due.entry.state == "taken" and due.entry.outcome == "met" and not due.is_new:
            self._conclude(due.entry)
            return
        task, missing = due.task, self._list_missing(due)
        if missing:
            if self._blocked.get(task.path) != missing:
                self._tell("blocked", f"{task.path} waits for {', '.join(missing)}: a feature begins once those it "
                           "depends on are merged", task=task.path, waits_for=list(missing))  # fmt: skip
            self._blocked[task.path] = missing
            return
        if self._is_spent:
            self._say_once(self._no_money)
        if self._is_spent or len(self._loops) >= self._places:
            return
        self._blocked.pop(task.path, None)
        self._take_up(due)

    def _take_up(self, due: DueTask) -> None:
        task = due.task
        begun = due.entry if due.entry and due.entry.feature else QueueEntry("watch", task.path, "taken", "")
        begun = replace(begun, state="taken", at=World.now(), sha=task.sha, outcome="", reason="")
        name = self._options.agent or choose_default_agent(self._main, Options(feature=""))
        try:
            (agent,) = resolve_agents(self._main.root, [name])
            candidate = take_up(self._main, task, due.content, agent, begun, self._note)
            resume = candidate_records(self._home, candidate).has_begun()
            options = Options(feature=candidate.feature, loop=due.spec.settings.mode == "ralph", resume=resume)
            if resume and due.is_new and due.entry:
                update_spec(candidate, due.content, self._note)
                options = replace(options, accept_spec=True, yes=True)
            self._loops.start(candidate, options, resume=resume, money=self._options.max_cost - self._loops.spent)
        except (AigonError, OSError) as error:
            self._due.settle(task, f"it cannot be started: {error}")
            return
        self._due.queue = read_queue(self._home)  # which has what was taken up
        verb = "goes on" if resume else "starts"
        self._tell("started", f"{task.path} {verb} as feature {candidate.feature} with {candidate.label}",
                   task=task.path, feature=candidate.feature, label=candidate.label)  # fmt: skip

    def _note(self, text: str) -> None:
        self._tell("note", text)

    def _say_once(self, why: str) -> None:
        if why != self._said:
            self._tell("held", why)
        self._said = why

    def _hear(self, feature: str, document: Mapping[str, Any], event: Event | None) -> None:
        if isinstance(event, RunStarted):
            self._runs[feature] = event.run_id
        outcome = event.outcome if isinstance(event, RunFinished) else None
        if isinstance(outcome, Stopped) and outcome.guard == "stop-file":
            self._halted.add(feature)
        self._tell("event", "", feature=feature, document=document, event=event)

    def _finish(self, feature: str, end: LaneEnd) -> None:
        """Write down how a loop ended. One that was killed, or ended by a stop file or the limit, goes on next time."""
        entry = next(each for each in self._due.queue.values() if each.feature == feature and each.source == "watch")
        if self._config.watch.logs and feature in self._runs:
            link_steps(self._main.root, self._config.watch.logs, entry.path, self._runs[feature])
        self._tell("ended", f"feature {feature}: {end.summary}", feature=feature, status=end.status,
                   exit_code=end.exit_code)  # fmt: skip
        is_cut = self._is_spent and end.status == "interrupted"
        self._codes.append(Exit.SPENT if is_cut else end.exit_code)
        if end.status == "broken_off":  # killed, and perhaps killed again: not by this watcher
            self._due.leave(entry)
        is_halted = self._stop.asked or feature in self._halted or self._is_spent
        self._halted.discard(feature)
        if end.status == "broken_off" or (is_halted and end.status != "met"):
            return
        ended = replace(entry, label=end.label, outcome=end.status, reason=end.summary)
        ended = replace(ended, decisions=count_decisions(self._home, ended))
        if end.status == "met":
            # Should this watcher be killed, only the rest is left to do.
            self._due.record(replace(ended, at=World.now()))
        self._conclude(ended)

    def _conclude(self, entry: QueueEntry) -> None:
        """Hand over what is proven, then write down that the task has ended."""
        known = find_candidates(self._home, entry.feature) if entry.outcome == "met" else ()
        for candidate in [each for each in known if each.label == entry.label]:
            hand_over(self._main, candidate, pr=self._config.watch.pr, note=self._note)
        self._due.record(replace(entry, state="ended", at=World.now()))
        self._due.is_page_missing = True


def hand_over(main: Checkout, candidate: Candidate, *, pr: bool, note: Callable[[str], None]) -> None:
    """Move what is proven to evaluation, or open a pull request; a person merges it. Doing it twice changes nothing."""
    try:
        with Checkout.open(Path(candidate.path)) as checkout:
            feature = files.locate_feature(checkout.root, candidate.feature)
            if feature.stage == "in-progress":  # where a person looks at it
                with moved_to_stage(checkout.root, feature, "in-evaluation") as (moved, paths):
                    message = f"docs(feature-{moved.id}): evaluate"
                    bookkeeping.commit_as_asked(checkout, paths, message, Committing(note, verify=False))
    except (AigonError, OSError) as error:
        note(f"feature {candidate.feature} is proven, and stays in progress: {error}")
    if pr:
        words = ["feature-done", candidate.feature, candidate.label, "--pr"]
        argv = [sys.executable, "-P", "-m", "aigon", *words]
        code, out, errors = capture_output(argv, cwd=main.root, env=os.environ)
        note(f"aigon {' '.join(words)}: {fold((out or errors).decode(errors='replace')) or f'exit code {code}'}")


def link_steps(root: Path, logs: str, task: str, run: str) -> None:
    """Link the steps of a run in the folder `logs`, by the name of its task file."""
    folder = root / logs / PurePosixPath(task).stem
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        for step in sorted((root / ".aigon" / "runs" / run).glob("step_*.md")):
            link = folder / step.name
            if link.is_symlink():
                link.unlink()
            if not link.exists():
                link.symlink_to(step)
