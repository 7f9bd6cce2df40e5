"""Run the loops of several candidates of one feature side by side, each a process of its own, and wait for all."""

import logging
import signal
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Protocol

from aigon.arena import command_line as arena_line
from aigon.arena import entrant
from aigon.arena import lane as rules
from aigon.arena.entrant import Entrant
from aigon.arena.lane import ArenaEnd, ArenaPlan, Lane, LaneEnd, choose_parallelism
from aigon.config.loading import load_configuration, open_work_tree
from aigon.errors import Exit
from aigon.files.home import STOP_FILES, ensure_home, find_home
from aigon.git.person import Checkout
from aigon.job.options import Options, max_cost, max_time
from aigon.journal.events import Event, RunFinished
from aigon.journal.records import new_run_id
from aigon.model.candidates import Candidate
from aigon.process import children
from aigon.process.capacity import count_slots, measure_free_memory
from aigon.process.running import keep_note
from aigon.process.stop import POLL_SECONDS, Stop, StopReason


class ArenaObserver(Protocol):
    """Somebody who watches several loops at once; each call but `close` comes from one thread."""

    def began(self, plan: ArenaPlan, lanes: Sequence[Lane], /) -> None:
        """What is about to happen, and with whom."""

    def started(self, label: str, /) -> None:
        """A loop was started."""

    def __call__(self, label: str, document: Mapping[str, Any], event: Event | None, /) -> None:
        """A loop sent an event: as the document it wrote, and as the event where this version knows it."""

    def said(self, text: str, /) -> None:
        """A line for people on the arena as a whole."""

    def ended(self, ended: LaneEnd, /) -> None:
        """A loop has ended, or will not be started."""

    def finished(self, ended: ArenaEnd, /) -> None:
        """All have."""

    def close(self) -> None:
        """Give back what is held."""


class SafeObserver:
    """Passes on to an observer; where that fails it is logged, and the arena goes on."""

    def __init__(self, observer: ArenaObserver) -> None:
        self.observer = observer

    def tell(self, call: Callable[..., None], *arguments: object) -> None:
        """Make one of its calls."""
        try:
            call(*arguments)
        except Exception:
            logging.getLogger("aigon").exception("an observer failed; the arena goes on")

    def close(self) -> None:
        """Close it."""
        with suppress(OSError):
            self.observer.close()


POLITE = "each finishes its iteration, then stops. Ctrl+C again stops all at once; nothing is lost either way"
_CODES: dict[StopReason, Exit] = {"SIGINT": Exit.INTERRUPTED, "SIGTERM": Exit.TERMINATED, "SIGHUP": Exit.TERMINATED}
_SIGNALS: dict[StopReason, signal.Signals] = {
    "SIGINT": signal.SIGINT,
    "SIGTERM": signal.SIGTERM,
    "SIGHUP": signal.SIGHUP,
}


@dataclass(frozen=True, slots=True)
class ArenaStop:
    """Nobody is started any more: why, and the exit code of those that wait in vain."""

    why: str
    code: int


def find_stop_reason(stop: Stop, proven: str) -> ArenaStop | None:
    """Why nobody is started any more; `proven` is the label of one whose proof ends the others."""
    if stop.asked:
        why = "a stop file exists" if stop.reason == "stop-file" else f"stopped by {stop.reason}"
        return ArenaStop(why, _CODES.get(stop.reason, Exit.STOPPED))
    return ArenaStop(f"{proven} was proven first", Exit.STOPPED) if proven else None


def pass_on_stop(stop: Stop, proven: str, running: Iterable[Entrant]) -> None:
    """Let the loops that run know. Stop files they see themselves."""
    for each in running:
        if stop.now:
            each.insist(_SIGNALS.get(stop.reason))
        elif proven and each.label != proven:
            each.insist(signal.SIGTERM, why=f"{proven} was proven first")
        elif stop.asked:
            each.ask(signal.SIGINT)


def plan_arena(root: Path, options: Options, candidates: Sequence[Candidate], parallel: int | None) -> ArenaPlan:
    """The plan for these candidates of one feature. Raises AigonError (exit 2) for a malformed configuration."""
    config, first, count = load_configuration(open_work_tree(root)), candidates[0], len(candidates)
    at_a_time = choose_parallelism(
        count, wanted=parallel, configured=config.arena.parallel, cores=count_slots(), memory=measure_free_memory()
    )
    cost, time = max_cost(config, options), max_time(config, options)
    return ArenaPlan(first.feature, first.slug, count, at_a_time, cost, time)


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
    command_line: CommandLine = arena_line.build_command_line,
) -> ArenaEnd:
    """Run a loop for each candidate, whose worktrees are there, from the main `checkout`; how all of them ended.

    The runs of the labels in `resume` go on. `folder` is where they share what they share. `command_line` makes what
    starts a loop.
    """
    watching = SafeObserver(observer)
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
        watching: SafeObserver,
        stop: Stop,
        first_proven: bool,
        command_line: CommandLine,
    ) -> None:
        self._checkout, self._options, self._folder = checkout, options, folder
        self._watching, self._stop, self._command_line = watching, stop, command_line
        self._first_proven, self._proven, self._asked = first_proven, "", False
        self._waiting: deque[Entrant] = deque()
        self._running: dict[str, Entrant] = {}
        self._ended: dict[str, LaneEnd] = {}
        self._scout, self._behind = "", frozenset[str]()

    def run(self, candidates: Sequence[Candidate], resume: Collection[str], parallel: int | None) -> ArenaEnd:
        """Until the last one has ended."""
        home = find_home(self._checkout.common_dir)
        everybody = entrant.list_entrants(home, candidates, resume)
        self._waiting.extend(everybody)
        self._scout, self._behind = entrant.find_followers(home, everybody)
        plan = plan_arena(self._checkout.root, self._options, candidates, parallel)
        self._deadline = None if plan.max_time is None else time.monotonic() + plan.max_time
        self._tell("began", plan, [each.lane for each in everybody])
        while self._waiting or self._running:
            self._mind()
            self._start(plan.places.number)
            self._attend()
        ended = tuple(self._ended[each.label] for each in everybody)
        result = ArenaEnd(ended, rules.combine_exit_codes([one.exit_code for one in ended]))
        self._tell("finished", result)
        return result

    def _mind(self) -> None:
        """Pass on what asks for the end; then nobody is started any more."""
        end = find_stop_reason(self._stop, self._proven)
        if end is None:
            return
        while self._waiting:
            self._note(self._waiting.popleft().lane.not_started(end.code, end.why))
        pass_on_stop(self._stop, self._proven, self._running.values())
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
        left = rules.compute_time_left(self._deadline, time.monotonic())
        if left == 0:
            self._note(each.lane.not_started(Exit.SPENT, "the time of all is over"))
            return
        argv = self._command_line(each.lane.candidate, self._options, resume=each.resume)
        feature, label = each.lane.candidate.feature, each.label
        log = self._checkout.root / ".aigon" / "runs" / f"arena-{feature}" / f"{label}.err"
        try:
            each.start(argv, cwd=self._checkout.root, env=arena_line.build_environment(self._folder, left), log=log)
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

    def _note(self, ended: LaneEnd) -> None:
        self._ended[ended.label] = ended
        self._tell("ended", ended)

    def _tell(self, what: str, *arguments: object) -> None:
        self._watching.tell(getattr(self._watching.observer, what), *arguments)
