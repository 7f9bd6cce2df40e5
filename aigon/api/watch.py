"""A run as a person watches it: its events, and between them what its agents do."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from aigon.agents.activity import ActivityFile, name_activity_file, name_log
from aigon.api.runs import RunInfo, is_running
from aigon.journal.events import Event, IterationStarted, TurnEnded
from aigon.journal.replay import tail_events
from aigon.model.activity import Step


def watch_run(
    root: Path, home: Path, run: RunInfo, interval: float, is_cancelled: Callable[[], bool], *, raw: bool = False
) -> Iterator[Event | Step | bytes]:
    """Yield the events of a run and the steps of its agents, until its end or `is_cancelled`.

    With `raw` the steps are the lines that the agents' programs printed. `root` is the main checkout, and new ones are
    looked for every `interval` seconds.
    """
    starts: Counter[int] = Counter()
    file: ActivityFile | None = None

    def is_live() -> bool:
        return not is_cancelled() and is_running(home, run.feature, run.label, run.journal)

    def read_new() -> Iterator[Step | bytes]:
        if file:
            yield from file.read_lines() if raw else file.read_new()

    for event in tail_events(run.journal, is_live):
        if event is None or isinstance(event, TurnEnded | IterationStarted):  # a killed turn has no end of its own
            yield from read_new()
        if isinstance(event, IterationStarted):
            starts[event.number] += 1
            folder = root / ".aigon" / "runs" / run.run_id / f"{event.number:03}"
            log = name_log(folder, starts[event.number])
            file = ActivityFile(log if raw else name_activity_file(log), event.number)
        if event is not None:
            yield event
        elif is_live():
            time.sleep(interval)
    yield from read_new()
