"""Run the loops of several candidates of one feature side by side, each a process of its own, and wait for all."""

import logging
import signal
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

from aigon.arena.entrant import (
    Entrant,
    build_command_line,
    build_environment,
    find_followers,
    listen,
)
from aigon.arena.lane import (
    ArenaEnd,
    ArenaPlan,
    Lane,
    LaneEnd,
    choose_parallelism,
    combine_exit_codes,
    compute_time_left,
)
from aigon.config.loading import load_configuration, open_work_tree
from aigon.errors import Exit
from aigon.files.home import STOP_FILES, ensure_home, find_home
from aigon.git.person import Checkout
from aigon.job.options import Options, get_limit
from aigon.journal.events import Event, RunFinished
from aigon.journal.records import new_run_id
from aigon.model.agents import Candidate
from aigon.process.capacity import count_slots, measure_free_memory
from aigon.process.running import keep_note
from aigon.process.stop import Stop

POLITE = "each finishes its iteration, then stops. Ctrl+C again stops all at once; nothing is lost either way"
CommandLine = Callable[..., list[str]]


class ArenaObserver(Protocol):
    """Somebody who watches several loops at once; each call but `close` comes from one thread."""

    def began(self, plan: ArenaPlan, lanes: Sequence[Lane], /) -> None:
        """Hear what is about to happen, and with whom."""

    def started(self, label: str, /) -> None:
        """Hear that a loop was started."""

    def __call__(self, label: str, document: Mapping[str, Any], event: Event | None, /) -> None:
        """Hear an event of a loop: as the document it wrote, and as the event if this version knows it."""

    def said(self, text: str, /) -> None:
        """Hear a line for people on the arena as a whole."""

    def ended(self, ended: LaneEnd, /) -> None:
        """Hear that a loop has ended, or will not be started."""

    def finished(self, ended: ArenaEnd, /) -> None:
        """Hear that all have ended."""

    def close(self) -> None:
        """Give back what is held."""


def run_arena(
    checkout: Checkout,
    options: Options,
    entrants: Sequence[Entrant],
    *,
    observer: ArenaObserver,
    folder: Path,
    command_line: CommandLine = build_command_line,
) -> ArenaEnd:
    """Run a loop for each candidate, whose worktrees exist, from the main `checkout`, and return how all ended.

    The loops share what they know in `folder`. `command_line` makes what starts a loop.
    """
    stop = Stop([checkout.root / name for name in STOP_FILES])
    arena = _Arena(checkout, options, folder, observer, stop, command_line)
    home = ensure_home(checkout.common_dir)
    try:
        with stop.handling(), keep_note(home, new_run_id(), "", entrants[0].lane.candidate.feature, "") as running:
            stop.requests = (running.request,) if running.request else ()
            return arena.run(entrants)
    finally:
        with suppress(OSError):
            observer.close()
        stop.close()


class _Arena:
    """The loops of one arena: those that wait, run, or have ended. `_proven` is the label whose proof ends the others.

    The first of those that begin at one base is the scout: the others wait until it has assessed the base.
    """

    def __init__(
        self,
        checkout: Checkout,
        options: Options,
        folder: Path,
        observer: ArenaObserver,
        stop: Stop,
        command_line: CommandLine,
    ) -> None:
        self._checkout, self._options, self._folder = checkout, options, folder
        self._observer, self._stop, self._command_line = observer, stop, command_line
        self._proven, self._is_announced = "", False
        self._waiting: deque[Entrant] = deque()
        self._running: dict[str, Entrant] = {}
        self._ended: dict[str, LaneEnd] = {}
        self._scout, self._followers = "", frozenset[str]()

    def run(self, entrants: Sequence[Entrant]) -> ArenaEnd:
        """Run until the last one has ended. Raises AigonError (exit 2) for a malformed configuration."""
        self._waiting.extend(entrants)
        self._scout, self._followers = find_followers(find_home(self._checkout.common_dir), entrants)
        plan = self._plan(entrants[0].lane.candidate, len(entrants))
        self._deadline = None if plan.max_time is None else time.monotonic() + plan.max_time
        self._tell("began", plan, [each.lane for each in entrants])
        while self._waiting or self._running:
            self._pass_on_stop()
            self._start_next(plan.places.number)
            self._listen()
        ended = tuple(self._ended[each.label] for each in entrants)
        result = ArenaEnd(ended, combine_exit_codes([one.exit_code for one in ended]))
        self._tell("finished", result)
        return result

    def _plan(self, first: Candidate, count: int) -> ArenaPlan:
        config = load_configuration(open_work_tree(self._checkout.root))
        wanted, usual = self._options.parallel, config.arena.parallel
        cores, memory = count_slots(), measure_free_memory()
        at_a_time = choose_parallelism(count, wanted=wanted, configured=usual, cores=cores, memory=memory)
        limits = (get_limit(config, self._options, name) for name in ("max_cost", "max_time"))
        return ArenaPlan(first.feature, first.slug, count, at_a_time, *limits)

    def _pass_on_stop(self) -> None:
        """If something asks for the end, start no more loops and tell the others. They see stop files themselves."""
        stop, proven = self._stop, self._proven
        if not stop.asked and not proven:
            return
        code, why = Exit.STOPPED, f"{proven} was proven first"
        if stop.asked:
            code = stop.exit_code
            why = "a stop file exists" if stop.reason == "stop-file" else f"stopped by {stop.reason}"
        while self._waiting:
            self._end(self._waiting.popleft().lane.not_started(code, why))
        for each in self._running.values():
            if stop.now:
                each.insist(stop.received_signal)
            elif proven and each.label != proven:
                each.insist(signal.SIGTERM, why=f"{proven} was proven first")
            elif stop.asked:
                each.ask(signal.SIGINT)
        if stop.reason == "SIGINT" and not self._is_announced:
            self._is_announced = True
            self._tell("said", POLITE)

    def _start_next(self, places: int) -> None:
        for each in list(self._waiting):
            scout = self._running.get(self._scout)
            is_base_known = self._scout in self._ended or bool(scout and scout.lane.looked)
            if len(self._running) < places and (is_base_known or each.label not in self._followers):
                self._waiting.remove(each)
                self._start(each)

    def _start(self, each: Entrant) -> None:
        left = compute_time_left(self._deadline, time.monotonic())
        if left == 0:
            self._end(each.lane.not_started(Exit.SPENT, "the time of all is over"))
            return
        argv = self._command_line(each.lane.candidate, self._options, resume=each.resume)
        folder = self._checkout.root / ".aigon" / "runs" / f"arena-{each.lane.candidate.feature}"
        env = build_environment(self._folder, left)
        try:
            each.start(argv, cwd=self._checkout.root, env=env, log=folder / f"{each.label}.err")
        except OSError as error:
            self._end(each.lane.not_started(Exit.ENVIRONMENT, f"{error.strerror or error}: {argv[0]}"))
            return
        self._running[each.label] = each
        self._tell("started", each.label)

    def _listen(self) -> None:
        """Wait for what the loops send; a loop that has exited gives up its place."""
        for label, end in listen(self._running, self._stop, self._hear) if self._running else ():
            del self._running[label]
            self._end(end)

    def _hear(self, label: str, document: Mapping[str, Any], event: Event | None) -> None:
        if self._options.first_proven and isinstance(event, RunFinished) and event.status == "met":
            self._proven = self._proven or label
        self._tell("__call__", label, document, event)

    def _end(self, end: LaneEnd) -> None:
        self._ended[end.label] = end
        self._tell("ended", end)

    def _tell(self, call: str, *arguments: object) -> None:
        """Call the observer. An error of its own is logged, and the arena goes on."""
        try:
            getattr(self._observer, call)(*arguments)
        except Exception:
            logging.getLogger("aigon").exception("an observer failed; the arena continues")
