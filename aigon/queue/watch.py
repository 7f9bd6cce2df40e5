"""Watch folders: every task file that a person brought becomes a feature in a worktree and a loop of its own."""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from aigon.agents.configured import resolve_agents
from aigon.arena.lane import LaneEnd, choose_parallelism
from aigon.config.models import Config
from aigon.errors import AigonError, Exit
from aigon.files.atomic import read_bounded
from aigon.files.home import STOP_FILES, ensure_home
from aigon.files.locks import is_locked
from aigon.git.person import Checkout
from aigon.job import bookkeeping
from aigon.job.dependencies import list_missing
from aigon.job.options import Options
from aigon.job.seat import find_checkout_lock
from aigon.job.spec_locations import SpecLocation, find_checked_out_feature, list_spec_locations
from aigon.job.world import World
from aigon.journal.events import Event, RunFinished, RunStarted
from aigon.journal.queue import QueueEntry, append_entry, read_queue
from aigon.journal.records import candidate_records, find_candidates, locate_records
from aigon.model.criteria import Spec
from aigon.model.outcomes import Stopped
from aigon.process.capacity import count_slots, measure_free_memory
from aigon.process.running import loop_lock
from aigon.process.stop import Stop
from aigon.queue import intake
from aigon.queue.folders import (
    TaskFile,
    is_from_an_agent,
    list_committed_files,
    list_files_on_disk,
    read_task,
)
from aigon.queue.handover import hand_over, link_steps
from aigon.queue.loops import LoopGroup, combine_task_codes
from aigon.run.approvals import write_pages
from aigon.run.seating import choose_default_agent
from aigon.spec.document import parse_spec
from aigon.spec.features import LARGEST
from aigon.text.amounts import format_dollars

Tell = Callable[..., None]
"""Tells a person, or a program, of a step: `tell(kind, text, **data)`."""
NO_CRITERIA = "it has no acceptance criteria: say what has to be true"
_BY_AN_AGENT = "the work of an agent brought it; read it, change it and commit it yourself if it is to be built"


class WatchOptions(Struct, frozen=True):
    """What a person asked for. `folders` are relative to the main checkout; `interval` is in seconds."""

    folders: tuple[str, ...]
    max_cost: float
    interval: float = 5.0
    agent: str = ""
    parallel: int | None = None
    once: bool = False


class DueTask(Struct, frozen=True):
    """A task file that is to be built. `is_new` says that its content was not taken up before."""

    task: TaskFile
    content: bytes
    spec: Spec
    entry: QueueEntry | None
    is_new: bool


class Watcher:
    """Looks at the folders, keeps as many loops running as fit, and writes down what came of each."""

    def __init__(self, main: Checkout, config: Config, options: WatchOptions, stop: Stop, tell: Tell) -> None:
        self._main, self._config, self._options = main, config, options
        self._stop, self._tell = stop, tell
        self._home = ensure_home(main.common_dir)
        self._git = bookkeeping.open_own_git(main)
        self._loops = LoopGroup(main.root, self._home, stop, self._hear)
        self._queue = read_queue(self._home)
        self._settled: set[tuple[str, str]] = set()
        self._examined: dict[TaskFile, DueTask] = {}
        self._undecided: dict[str, int] = {}
        self._is_page_missing = True
        self._seen: dict[str, str] = {}
        self._blocked: dict[str, tuple[str, ...]] = {}
        self._is_waiting = False  # for the loop of a watcher that was killed
        self._locations: list[SpecLocation] | None = None
        self._places = 0
        self._head, self._said = "", ""
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
                self._locations, self._places, self._is_waiting = None, self._count_places(), False
                for due in self._list_due():
                    self._start(due)
                next_look = time.monotonic() + self._options.interval
            if self._is_page_missing:
                self._is_page_missing = False
                write_pages(self._main)
            if not len(self._loops) and (self._stop.asked or (self._options.once and not self._is_waiting)):
                return self._get_exit_code()
            for feature, end in self._loops.listen().items():
                self._finish(feature, end)
                next_look = 0.0

    def plan(self) -> Iterator[tuple[DueTask, str]]:
        """Yield what would be started now, and what it waits for."""
        for due in self._list_due(record=False):
            waits = self._list_missing(due)
            yield due, f"waits for {', '.join(waits)}" if waits else ""

    def _list_missing(self, due: DueTask) -> tuple[str, ...]:
        """Return what a task waits for. Where specs are is looked up once per look at the folders."""
        if not due.spec.settings.depends_on:
            return ()
        if self._locations is None:
            self._locations = list_spec_locations(self._main.root, self._main.common_dir)
        return list_missing(self._locations, due.spec.settings)

    def _count_places(self) -> int:
        """Return how many loops may run at a time now."""
        return choose_parallelism(
            1_000,
            wanted=self._options.parallel,
            configured=self._config.arena.parallel,
            cores=count_slots(),
            memory=measure_free_memory(),
        ).number

    @property
    def _is_spent(self) -> bool:
        return self._loops.spent >= self._options.max_cost

    def _get_exit_code(self) -> int:
        if self._stop.asked:
            return {"SIGINT": Exit.INTERRUPTED, "SIGTERM": Exit.TERMINATED, "SIGHUP": Exit.TERMINATED}.get(
                self._stop.reason, Exit.STOPPED
            )
        self._codes += [Exit.STOPPED] if self._blocked else []
        if self._said:
            self._codes.append(Exit.SPENT if self._said == self._no_money else Exit.STOPPED)
        waiting = any(each.state == "waiting" for each in self._queue.values())
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

    def _list_due(self, *, record: bool = True) -> Iterator[DueTask]:
        for task in self._list_tasks():
            if self._stop.asked:
                return
            entry = self._queue.get(task.path)
            if (task.path, task.sha) in self._settled and not (entry and self._is_decided(entry)):
                continue
            if entry and entry.feature in self._loops:
                continue
            if not self._needs_look(entry, task):
                continue
            if entry and self._is_winding_down(entry):
                self._is_waiting = self._is_waiting or entry.state == "taken"
                continue
            due = self._examined.get(task)
            if due is None or due.entry is not entry:
                due = self._examine(task, entry, record=record)
            if due:
                self._examined[task] = due  # it waits for a place or another feature: read once
                yield due

    def _list_tasks(self) -> Iterator[TaskFile]:
        if self._options.folders and self._config.watch.untracked:
            for task, _ in list_files_on_disk(self._main.root, self._options.folders):
                before, self._seen[task.path] = self._seen.get(task.path), task.sha
                if before == task.sha or self._options.once:  # it does not grow any more
                    yield task
            return
        head = self._main.ask("rev-parse", "HEAD") or ""
        if head != self._head:
            self._head, self._tasks = head, tuple(list_committed_files(self._git, head, self._options.folders))
        yield from self._tasks

    def _needs_look(self, entry: QueueEntry | None, task: TaskFile) -> bool:
        if entry is None or entry.state == "taken" or entry.sha != task.sha:
            return True
        return entry.state == "ended" and self._is_decided(entry)

    def _is_decided(self, entry: QueueEntry) -> bool:
        """Return whether a person decided something since the run of a task ended. What did not grow is not read."""
        if entry.state != "ended":
            return False
        try:
            size = locate_records(self._home, entry.feature, entry.label).decided.stat().st_size
        except OSError:
            return False
        if self._undecided.get(entry.path) == size:
            return False
        if self._count_decisions(entry) > entry.decisions:
            return True
        self._undecided[entry.path] = size
        return False

    def _count_decisions(self, entry: QueueEntry) -> int:
        with suppress(AigonError):
            return len(locate_records(self._home, entry.feature, entry.label).decisions())
        return 0

    def _is_winding_down(self, entry: QueueEntry) -> bool:
        """Return whether the loop of a watcher that was killed has not ended yet, or somebody else runs one."""
        return bool(entry.feature and is_locked(loop_lock(self._home, entry.feature, entry.label)))

    def _examine(self, task: TaskFile, entry: QueueEntry | None, *, record: bool) -> DueTask | None:
        """Return the task if it is to be built. What is not is settled until its content changes."""
        content, problem, spec = b"", task.problem, None
        if not problem:
            try:
                content = self._read(task)
                spec = parse_spec(content)
            except (AigonError, OSError, ValueError) as error:
                problem = str(error)
        if spec is None:
            is_meant = b"mode:" in content
            self._settle(task, entry, f"it cannot be read: {problem}" if is_meant else "", record=record)
            if not is_meant and record:
                self._tell("ignored", f"{task.path} is ignored: {problem}", task=task.path)
            return None
        if spec.settings.mode != "ralph" and not self._config.watch.normal:
            self._settle(task, entry, "", record=False)
            return None
        if not spec.criteria:
            self._settle(task, entry, NO_CRITERIA, record=record)
            return None
        is_new = entry is None or entry.sha != task.sha
        if is_new and not self._config.watch.untracked and is_from_an_agent(self._main, self._home, task.path):
            self._settle(task, entry, _BY_AN_AGENT, record=record)
            return None
        return DueTask(task, content, spec, entry, is_new)

    def _read(self, task: TaskFile) -> bytes:
        if self._config.watch.untracked:
            return read_bounded(self._main.root / task.path, LARGEST, "The task", hint="Shorten it")
        return read_task(self._git, task)

    def _settle(self, task: TaskFile, entry: QueueEntry | None, reason: str, *, record: bool) -> None:
        self._settled.add((task.path, task.sha))
        if reason and record and not (entry and entry.sha == task.sha and entry.state == "waiting"):
            base = entry or QueueEntry("watch", task.path, "waiting", "")
            self._record(replace(base, state="waiting", at=World.now(), sha=task.sha, reason=reason))
            self._tell("waiting", f"{task.path} waits for you: {reason}", task=task.path, reason=reason)
            self._is_page_missing = True

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
            candidate = intake.take_up(self._main, task, due.content, agent, begun, self._note)
            resume = candidate_records(self._home, candidate).begun()
            options = Options(feature=candidate.feature, loop=due.spec.settings.mode == "ralph", resume=resume)
            if resume and due.is_new and due.entry:
                intake.update_spec(candidate, due.content, self._note)
                options = replace(options, accept_spec=True, yes=True)
            self._loops.start(candidate, options, resume=resume, money=self._options.max_cost - self._loops.spent)
        except (AigonError, OSError) as error:
            self._settle(task, due.entry, f"it cannot be started: {error}", record=True)
            return
        self._queue = read_queue(self._home)
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
        entry = next(each for each in self._queue.values() if each.feature == feature and each.source == "watch")
        if self._config.watch.logs and feature in self._runs:
            link_steps(self._main.root, self._config.watch.logs, entry.path, self._runs[feature])
        self._tell("ended", f"feature {feature}: {end.summary}", feature=feature, status=end.status,
                   exit_code=end.exit_code)  # fmt: skip
        is_cut = self._is_spent and end.status == "interrupted"
        self._codes.append(Exit.SPENT if is_cut else end.exit_code)
        if end.status == "broken_off":  # killed, and perhaps killed again: not by this watcher
            self._settled.add((entry.path, entry.sha))
        is_halted = self._stop.asked or feature in self._halted or self._is_spent
        self._halted.discard(feature)
        if end.status == "broken_off" or (is_halted and end.status != "met"):
            return
        ended = replace(entry, label=end.label, outcome=end.status, reason=end.summary)
        ended = replace(ended, decisions=self._count_decisions(ended))
        if end.status == "met":
            self._record(replace(ended, at=World.now()))  # should this watcher be killed, only the rest is left to do
        self._conclude(ended)

    def _conclude(self, entry: QueueEntry) -> None:
        """Hand over what is proven, then write down that the task has ended."""
        known = find_candidates(self._home, entry.feature) if entry.outcome == "met" else ()
        for candidate in [each for each in known if each.label == entry.label]:
            hand_over(self._main, candidate, pr=self._config.watch.pr, note=self._note)
        self._record(replace(entry, state="ended", at=World.now()))
        self._is_page_missing = True

    def _record(self, entry: QueueEntry) -> None:
        append_entry(self._home, entry)
        self._queue[entry.path] = entry
