"""Run the loops of several candidates of one feature side by side, each as a process of its own, and wait for all."""

import time
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from aigon.arena import command_line as arena_line
from aigon.arena import field
from aigon.arena import outcome as rules
from aigon.arena.entrant import Entrant
from aigon.arena.observer import ArenaObserver as ArenaObserver
from aigon.arena.observer import Forgiven
from aigon.arena.outcome import ArenaEnded, Ended
from aigon.arena.plan import planned
from aigon.arena.stopping import POLITE, closed, pass_on
from aigon.errors import Exit
from aigon.files.home import STOP_FILES, ensure_home, find_home
from aigon.git.person import Checkout
from aigon.job.options import Options
from aigon.journal.events import Event, RunFinished
from aigon.journal.records import new_run_id
from aigon.model.candidates import Candidate
from aigon.process import children
from aigon.process.running import keep_note
from aigon.process.stop import POLL_SECONDS, Stop

CommandLine = Callable[..., list[str]]


def run_arena(
    checkout: Checkout,
    options: Options,
    candidates: Sequence[Candidate],
    *,
    resume: Collection[str],
    parallel: int | None,
    first_proven: bool,
    observer: ArenaObserver,
    folder: Path,
    command_line: CommandLine = arena_line.command_line,
) -> ArenaEnded:
    """Run a loop for each candidate, whose worktrees are there, from the main `checkout`; how all of them ended.

    The runs of the labels in `resume` go on. `folder` is where they share what they share. `command_line` makes what
    starts a loop.
    """
    watching = Forgiven(observer)
    stop = Stop([checkout.root / name for name in STOP_FILES])
    arena = _Arena(checkout, options, folder, watching, stop, first_proven, command_line)
    home = ensure_home(checkout.common_dir)
    try:
        with stop.handling(), keep_note(home, new_run_id(), "", candidates[0].feature, "") as running:
            stop.request = running.request
            return arena.run(candidates, resume, parallel)
    finally:
        watching.close()
        stop.close()


class _Arena:
    """The loops of one arena: who waits, who runs, who has ended."""

    def __init__(
        self,
        checkout: Checkout,
        options: Options,
        folder: Path,
        watching: Forgiven,
        stop: Stop,
        first_proven: bool,
        command_line: CommandLine,
    ) -> None:
        self._checkout, self._options, self._folder = checkout, options, folder
        self._watching, self._stop, self._command_line = watching, stop, command_line
        self._first_proven, self._proven, self._asked = first_proven, "", False
        self._waiting: deque[Entrant] = deque()
        self._running: dict[str, Entrant] = {}
        self._ended: dict[str, Ended] = {}
        self._scout, self._behind = "", frozenset[str]()

    def run(self, candidates: Sequence[Candidate], resume: Collection[str], parallel: int | None) -> ArenaEnded:
        """Until the last one has ended."""
        home = find_home(self._checkout.common_dir)
        everybody = field.entrants(home, candidates, resume)
        self._waiting.extend(everybody)
        self._scout, self._behind = field.behind(home, everybody)
        plan = planned(self._checkout.root, self._options, candidates, parallel)
        self._deadline = None if plan.max_time is None else time.monotonic() + plan.max_time
        self._tell("began", plan, [each.lane for each in everybody])
        while self._waiting or self._running:
            self._mind()
            self._start(plan.places.number)
            self._attend()
        ended = tuple(self._ended[each.label] for each in everybody)
        result = ArenaEnded(ended, rules.exit_code([one.exit_code for one in ended]))
        self._tell("finished", result)
        return result

    def _mind(self) -> None:
        """Pass on what asks for the end; then nobody is started any more."""
        end = closed(self._stop, self._proven)
        if end is None:
            return
        while self._waiting:
            self._note(self._waiting.popleft().lane.not_started(end.code, end.why))
        pass_on(self._stop, self._proven, self._running.values())
        if self._stop.reason == "SIGINT" and not self._asked:
            self._asked = True
            self._tell("said", POLITE)

    def _start(self, places: int) -> None:
        """Start whom there is a place for."""
        for each in list(self._waiting):
            if len(self._running) < places and not self._waits_for_the_base(each):
                self._waiting.remove(each)
                self._begin(each)

    def _waits_for_the_base(self, each: Entrant) -> bool:
        scout = self._running.get(self._scout)
        looked = self._scout in self._ended or bool(scout and scout.lane.looked)
        return each.label in self._behind and not looked

    def _begin(self, each: Entrant) -> None:
        left = rules.time_left(self._deadline, time.monotonic())
        if left == 0:
            self._note(each.lane.not_started(Exit.SPENT, "the time of all is over"))
            return
        argv = self._command_line(each.lane.candidate, self._options, resume=each.resume)
        feature, label = each.lane.candidate.feature, each.label
        log = self._checkout.root / ".aigon" / "runs" / f"arena-{feature}" / f"{label}.err"
        try:
            each.start(argv, cwd=self._checkout.root, env=arena_line.environment(self._folder, left), log=log)
        except OSError as error:
            self._note(each.lane.not_started(Exit.ENVIRONMENT, f"{error.strerror or error}: {argv[0]}"))
            return
        self._running[label] = each
        self._tell("started", label)

    def _attend(self) -> None:
        """Take in what comes; whoever has exited gives up the place."""
        if not self._running:
            return
        loops = [each.child for each in self._running.values() if each.child]
        waits_for = () if self._stop.now else (self._stop.fileno(),)
        ready = children.wait_for_ready(loops, waits_for, POLL_SECONDS)
        for label, each in list(self._running.items()):
            told = partial(self._hear, label)
            if each.take(ready, told):
                del self._running[label]
                self._note(each.finish(told))

    def _hear(self, label: str, document: Mapping[str, Any], event: Event | None) -> None:
        if self._first_proven and isinstance(event, RunFinished) and event.status == "met":
            self._proven = self._proven or label
        self._watching.tell(self._watching.observer, label, document, event)

    def _note(self, ended: Ended) -> None:
        self._ended[ended.label] = ended
        self._tell("ended", ended)

    def _tell(self, what: str, *arguments: object) -> None:
        self._watching.tell(getattr(self._watching.observer, what), *arguments)
