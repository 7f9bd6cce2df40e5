"""The task files of the watched folders that are to be built or wait for a person, and the loops that build tasks.

A loop is a process, started, heard and ended as those of an arena.
"""

import os
import signal
from collections.abc import Callable, Container, Iterator, KeysView, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from aigon.arena.entrant import Entrant, build_command_line, list_entrants, listen
from aigon.arena.lane import RANKS, LaneEnd
from aigon.config.models import Config
from aigon.errors import AigonError, Exit
from aigon.files.atomic import read_bounded
from aigon.files.home import ensure_home
from aigon.files.locks import is_locked
from aigon.git import objects
from aigon.git.person import Checkout
from aigon.job import bookkeeping
from aigon.job.options import Options
from aigon.job.world import World
from aigon.journal.events import Event
from aigon.journal.queue import QueueEntry, append_entry, read_queue
from aigon.journal.records import locate_records
from aigon.model.agents import Candidate
from aigon.model.criteria import Spec
from aigon.process.running import loop_lock
from aigon.process.stop import POLL_SECONDS, Stop
from aigon.queue.folders import TaskFile, find_agents_files, list_committed_files, list_files_on_disk
from aigon.spec.document import parse_spec
from aigon.spec.features import LARGEST

Tell = Callable[..., None]
"""Tells a person, or a program, of a step: `tell(kind, text, **data)`."""
NO_CRITERIA = "it has no acceptance criteria: say what has to be true"
_BY_AN_AGENT = "the work of an agent brought it; read it, change it and commit it yourself if it is to be built"


class DueTask(Struct, frozen=True):
    """A task file that is to be built. `is_new` says that its content was not taken up before."""

    task: TaskFile
    content: bytes
    spec: Spec
    entry: QueueEntry | None
    is_new: bool


def count_decisions(home: Path, entry: QueueEntry) -> int:
    """Return how many decisions of people there are on the run of a task."""
    with suppress(AigonError):
        return len(locate_records(home, entry.feature, entry.label).decisions())
    return 0


class DueTasks:
    """Looks at the folders, and keeps the record of what was taken up. What does not change is read once.

    `queue` has the newest step of each task. `is_page_missing`: a task waits for a person since the last look.
    """

    def __init__(self, main: Checkout, config: Config, folders: Sequence[str], tell: Tell, *, once: bool) -> None:
        self._main, self._config, self._folders, self._once = main, config, folders, once
        self._tell = tell
        self._home = ensure_home(main.common_dir)
        self._git = bookkeeping.open_own_git(main)
        self.queue = read_queue(self._home)
        self.is_page_missing = True
        self._settled: set[tuple[str, str]] = set()
        self._examined: dict[TaskFile, DueTask] = {}
        self._undecided: dict[str, int] = {}
        self._seen: dict[str, str] = {}
        self._head, self._committed = "", tuple[TaskFile, ...]()
        self.is_waiting = False  # for the loop of a watcher that was killed

    def list_due(self, running: Container[str], *, record: bool = True) -> Iterator[DueTask]:
        """Yield what is to be built and not `running`. With `record`, write down and say what is not."""
        self.is_waiting = False
        wanted = [task for task in self._list_tasks() if self._may_be_due(task, self.queue.get(task.path), running)]
        fresh = [task for task in wanted if not self._find_examined(task)]
        committed = [] if self._config.watch.untracked else fresh
        readable = [task for task in committed if not task.problem]
        blobs = objects.read_blobs(self._git, [task.sha for task in readable]) if readable else {}
        contents = {task.path: blobs[task.sha] for task in readable}
        new = [task for task in committed if self._is_new(task)]
        theirs = find_agents_files(self._main, self._home, new, self._folders) if new else ()
        for task in wanted:
            due = self._find_examined(task)
            if due is None:
                is_theirs = task.path in theirs
                due = self._examine(task, contents.get(task.path, b""), is_theirs=is_theirs, record=record)
            if due:
                self._examined[task] = due  # it waits for a place or another feature: read once
                yield due

    def _may_be_due(self, task: TaskFile, entry: QueueEntry | None, running: Container[str]) -> bool:
        if (task.path, task.sha) in self._settled and not (entry and self._is_decided(entry)):
            return False
        if entry is None:
            return True
        is_open = entry.state == "taken" or entry.sha != task.sha or self._is_decided(entry)
        if entry.feature in running or not is_open:
            return False
        if entry.feature and is_locked(loop_lock(self._home, entry.feature, entry.label)):
            # The loop of a watcher that was killed has not ended yet, or somebody else runs one.
            self.is_waiting = self.is_waiting or entry.state == "taken"
            return False
        return True

    def _find_examined(self, task: TaskFile) -> DueTask | None:
        due = self._examined.get(task)
        return due if due and due.entry is self.queue.get(task.path) else None

    def _list_tasks(self) -> Iterator[TaskFile]:
        if self._folders and self._config.watch.untracked:
            for task in list_files_on_disk(self._main.root, self._folders):
                before, self._seen[task.path] = self._seen.get(task.path), task.sha
                if before == task.sha or self._once:  # it does not grow any more
                    yield task
            return
        head = self._main.ask("rev-parse", "HEAD") or ""
        if head != self._head:
            self._head, self._committed = head, tuple(list_committed_files(self._git, head, self._folders))
        yield from self._committed

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
        if count_decisions(self._home, entry) > entry.decisions:
            return True
        self._undecided[entry.path] = size
        return False

    def _is_new(self, task: TaskFile) -> bool:
        entry = self.queue.get(task.path)
        return entry is None or entry.sha != task.sha

    def _examine(self, task: TaskFile, content: bytes, *, is_theirs: bool, record: bool) -> DueTask | None:
        """Return the task if it is to be built. What is not is settled until its content changes."""
        problem, spec = task.problem, None
        if not problem:
            try:
                if self._config.watch.untracked:
                    content = read_bounded(self._main.root / task.path, LARGEST, "The task", hint="Shorten it")
                spec = parse_spec(content)
            except (AigonError, OSError, ValueError) as error:
                problem = str(error)
        if spec is None:
            is_meant = b"mode:" in content
            self.settle(task, f"it cannot be read: {problem}" if is_meant else "", record=record)
            if not is_meant and record:
                self._tell("ignored", f"{task.path} is ignored: {problem}", task=task.path)
            return None
        if spec.settings.mode != "ralph" and not self._config.watch.normal:
            self.settle(task, "", record=False)
            return None
        if not spec.criteria or is_theirs:
            self.settle(task, _BY_AN_AGENT if spec.criteria else NO_CRITERIA, record=record)
            return None
        return DueTask(task, content, spec, self.queue.get(task.path), self._is_new(task))

    def settle(self, task: TaskFile, reason: str, *, record: bool = True) -> None:
        """Leave this content of a task alone from now on; with a reason, it waits for a person."""
        self._settled.add((task.path, task.sha))
        entry = self.queue.get(task.path)
        if reason and record and not (entry and entry.sha == task.sha and entry.state == "waiting"):
            base = entry or QueueEntry("watch", task.path, "waiting", "")
            self.record(replace(base, state="waiting", at=World.now(), sha=task.sha, reason=reason))
            self._tell("waiting", f"{task.path} waits for you: {reason}", task=task.path, reason=reason)
            self.is_page_missing = True

    def leave(self, entry: QueueEntry) -> None:
        """Take up this content of a task no more."""
        self._settled.add((entry.path, entry.sha))

    def record(self, entry: QueueEntry) -> None:
        """Write down the newest step of a task."""
        append_entry(self._home, entry)
        self.queue[entry.path] = entry


Hear = Callable[[str, Mapping[str, Any], Event | None], None]
"""Hears each event of a loop, by the feature."""


class LoopGroup:
    """The loops that run, by feature. Each ends when this process is gone, and its state is saved."""

    def __init__(self, main: Path, home: Path, stop: Stop, hear: Hear) -> None:
        self._main, self._home, self._stop, self._hear = main, home, stop, hear
        self._running: dict[str, Entrant] = {}
        self._spent_before: dict[str, float] = {}
        self._spent_by_ended = 0.0

    def __len__(self) -> int:
        return len(self._running)

    @property
    def features(self) -> KeysView[str]:
        """The features whose loops run now."""
        return self._running.keys()

    @property
    def spent(self) -> float:
        """Return what all loops of this group have spent, in US dollars, without what their runs had spent before."""
        return self._spent_by_ended + sum(map(self._get_own_spend, self._running))

    def _get_own_spend(self, feature: str) -> float:
        return max(0.0, self._running[feature].lane.spend.usd - self._spent_before[feature])

    def start(self, candidate: Candidate, options: Options, *, resume: bool, money: float | None = None) -> None:
        """Start the loop of a candidate, which may spend `money` more than its run did so far. Raises OSError."""
        (entrant,) = list_entrants(self._home, [candidate], [candidate.label] if resume else [])
        before = entrant.lane.spend.usd
        if money is not None:
            options = replace(options, max_cost=before + money)
        argv = build_command_line(candidate, options, resume=resume)
        log = self._main / ".aigon" / "runs" / "queue" / f"{candidate.feature}-{candidate.label}.err"
        entrant.start(argv, cwd=self._main, env={**os.environ, "AIGON_ARENA_STDIN": "1"}, log=log)
        self._running[candidate.feature], self._spent_before[candidate.feature] = entrant, before

    def finish_all(self) -> None:
        """Ask every loop to end with its iteration."""
        for each in self._running.values():
            each.ask(signal.SIGINT)

    def end_all(self) -> None:
        """Pass on what asks this process to end. Stop files the loops see themselves."""
        if not self._stop.now:
            self.finish_all()
            return
        for each in self._running.values():
            each.insist(self._stop.received_signal)

    def listen(self, seconds: float = POLL_SECONDS) -> dict[str, LaneEnd]:
        """Wait for what the loops send, and return those that ended."""
        ended = dict(listen(self._running, self._stop, self._hear, seconds))
        for feature in ended:
            self._spent_by_ended += self._get_own_spend(feature)
            del self._running[feature]
        return ended


def combine_task_codes(codes: Sequence[int]) -> int:
    """Return the exit code of a queue: 0 if every task is proven, else the first in the documented order."""
    return next((int(code) for code in RANKS if code != Exit.MET and code in codes), int(Exit.MET))
