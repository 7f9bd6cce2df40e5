"""A run as a person watches it: its events, and between them what its agents do."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from msgspec import Struct

from aigon.agents.activity import ActivityFile, name_activity_file, name_log
from aigon.api.runs import RunInfo, is_running
from aigon.errors import usage
from aigon.journal.events import Event, IterationStarted, RunStarted, TurnEnded
from aigon.journal.replay import tail_events
from aigon.model.activity import Step
from aigon.views.terminal.lines import LogText


class LogPage(Struct, frozen=True):
    """Some lines of a run's log. `mark` asks for those behind them; `is_whole` says that there are none yet."""

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
