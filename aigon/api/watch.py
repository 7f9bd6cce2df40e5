"""A run as a person watches it: its events and what its agents do, live, or once it is over again from its record."""

import json
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Any

from msgspec import Struct

from aigon.agents.activity import ActivityFile, name_activity_file, name_log
from aigon.api.runs import RunInfo, is_running
from aigon.errors import AigonError, usage
from aigon.git.person import Checkout
from aigon.journal.events import Event, IterationFinished, IterationStarted, RunStarted, TurnEnded
from aigon.journal.replay import iterate_events, tail_events
from aigon.journal.state import State
from aigon.journal.state_file import StateFileSink
from aigon.model.criteria import Spec
from aigon.model.turns import Step
from aigon.spec.document import parse_spec
from aigon.views.terminal.lines import LogText


class LogPage(Struct, frozen=True):
    """Some lines of a run's log. `mark` asks for the next ones; `is_whole` says that there are no more yet."""

    lines: tuple[str, ...]
    mark: str
    is_whole: bool


def watch_run(
    root: Path, home: Path, run: RunInfo, interval: float, is_cancelled: Callable[[], bool], *, raw: bool = False
) -> Iterator[Event | Step | bytes]:
    """Yield the events of a run and the steps of its agents, until its end or `is_cancelled`.

    With `raw` the steps are the lines that the agents' programs printed. `root` is the main checkout, and new ones are
    looked for every `interval` seconds.
    """

    def is_live() -> bool:
        return not is_cancelled() and is_running(home, run.feature, run.label, run.journal)

    for item in tail_run(root, run.journal, is_live, raw=raw):
        if item is not None:
            yield item
        elif is_live():
            time.sleep(interval)


def tail_run(
    root: Path, journal: Path, is_live: Callable[[], bool], *, raw: bool = False
) -> Iterator[Event | Step | bytes | None]:
    """Yield what `watch_run` yields, and None for each time that there is no more yet. It never waits."""
    starts: Counter[int] = Counter()
    file: ActivityFile | None = None
    run_id = ""

    def read_new() -> Iterator[Step | bytes]:
        if file:
            yield from file.read_lines() if raw else file.read_new()

    for event in tail_events(journal, is_live):
        if event is None or isinstance(event, TurnEnded | IterationStarted):  # a killed turn has no end of its own
            yield from read_new()
        if isinstance(event, RunStarted):
            run_id = event.run_id
        elif isinstance(event, IterationStarted):
            starts[event.number] += 1
            folder = root / ".aigon" / "runs" / run_id / f"{event.number:03}"
            log = name_log(folder, starts[event.number])
            file = ActivityFile(log if raw else name_activity_file(log), event.number)
        yield event
    yield from read_new()


def read_log(root: Path, home: Path, run: RunInfo, after: str, limit: int) -> LogPage:
    """Return at most `limit` lines of the log of a run behind the mark `after`; "" is before the first.

    A mark counts events and steps apart: an event may come to lie before steps that were read already.
    """
    events = steps = 0
    run_id, *counts = after.split(":") if after else (run.run_id, "0", "0")
    if len(counts) != 2 or not all(each.isdecimal() for each in counts):
        raise usage(f"{after!r:.80} is not a mark in a log", hint="Give the one that came with the lines before")
    seen_events, seen_steps = map(int, counts) if run_id == run.run_id else (0, 0)
    text, lines = LogText(), list[str]()
    for item in watch_run(root, home, run, 0, lambda: True):
        is_step = isinstance(item, Step)
        if len(lines) >= limit:
            return LogPage(tuple(lines), f"{run.run_id}:{events}:{steps}", False)
        events, steps = events + (not is_step), steps + is_step
        line = text.render(item)
        if line is not None and (steps > seen_steps if is_step else events > seen_events):
            lines.append(line)
    return LogPage(tuple(lines), f"{run.run_id}:{events}:{steps}", True)


class RecordClock(Struct):
    """The time of a record, in seconds since the epoch, as it passes again `speed` times as fast; 0 skips all waits.

    A pause before a resume is skipped, and so is a clock that was set back.
    """

    speed: float = 0.0
    at: float = 0.0
    _began: float = 0.0
    _since: float = 0.0

    def play(self, items: Iterable[Event | Step | bytes]) -> Iterator[Event | Step]:
        """Yield events and steps, each at its moment."""
        for item in items:
            assert not isinstance(item, bytes), "what a program printed has no moment"
            at = item.at if isinstance(item, Step) else datetime.fromisoformat(item.at).timestamp()
            if isinstance(item, RunStarted):
                self._began, self._since, self.at = at, time.monotonic(), at
            self.at = max(self.at, at)
            if self.speed:
                time.sleep(max(0.0, (self.at - self._began) / self.speed - (time.monotonic() - self._since)))
            yield item

    def now(self) -> float:
        """Return the moment of the record that is shown now."""
        passed = (time.monotonic() - self._since) * self.speed
        return max(self.at, self._began + passed) if self.speed else self.at


class PastState(Struct, frozen=True):
    """A run after iteration `number`: its assessment, the state file as it was, base, commit, and the turn's prompt."""

    number: int
    look: IterationFinished
    document: dict[str, Any]
    base: str
    commit: str
    prompt: str


def read_spec(root: Path, run: RunInfo) -> Spec | None:
    """Return the spec as the branch of a run has it, else as it was when the run began; None if both are gone."""
    started = next((event for event in iterate_events(run.journal) if isinstance(event, RunStarted)), None)
    with Checkout.open(root) as checkout, suppress(AigonError):
        for commit in (f"refs/heads/{run.branch}", started.head if started else ""):
            raw = checkout.ask("cat-file", "blob", f"{commit}:{started.spec_path}") if started else None
            if raw is not None:
                return parse_spec(raw.encode("utf-8", "surrogateescape"))
    return None


def read_past_state(root: Path, run: RunInfo, number: int) -> PastState:
    """Return the run after iteration `number`, 0 for the baseline. Raises AigonError (exit 2) if it had none."""
    state, sink, found, last = State(), StateFileSink(root), None, -1
    for event in iterate_events(run.journal):
        if isinstance(event, IterationStarted) and event.number > number and last >= number:
            break
        state = state.apply(event)
        sink.remember(event)
        if isinstance(event, IterationFinished):
            last = max(last, event.number)
            if event.number == number:
                found = event, state
    if found is None:
        numbers = f"It has the iterations 0 to {last}" if last >= 0 else "It has none"
        raise usage(f"Run {run.run_id} has no iteration {number}", where="--to", hint=numbers)
    event, state = found
    document = json.loads(sink.render(event, state))
    document["iterations"] = [each for each in document["iterations"] if each["number"] <= number]
    prompt = root / ".aigon" / "runs" / run.run_id / f"{number:03}" / "prompt.md"
    text = prompt.read_text(encoding="utf-8", errors="replace") if prompt.is_file() and not prompt.is_symlink() else ""
    base = state.started.base_commit if state.started else ""
    return PastState(number, event, document, base, event.checkpoint or state.checkpoint, text)
