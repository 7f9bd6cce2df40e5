"""What a soak measures: aigon's own time per iteration, memory, descriptors, and what piles up on disk."""

import itertools
import json
import os
import statistics
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from tests.lab import LOG, STATE, Lab

TIME, MEMORY = 1.5, 1.2
"""How much the last tenth may cost of what the first one does, and still be called flat. Descriptors: the same."""


@dataclass(frozen=True, slots=True)
class Flat:
    """The medians of the first and the last tenth of some numbers, and how far apart they may be."""

    what: str
    first: float
    last: float
    bound: float

    @property
    def good(self) -> bool:
        """Whether it did not grow."""
        return self.last <= self.first * self.bound

    def __str__(self) -> str:
        grown = self.last / self.first if self.first else 0.0
        said = "flat" if self.good else "GROWS"
        return f"{self.what:28} {self.first:10.3f} {self.last:10.3f} {grown:6.2f}x of {self.bound}  {said}"


def flat(what: str, numbers: Sequence[float], bound: float) -> Flat:
    """Compare the ends. Raises statistics.StatisticsError for no numbers."""
    tenth = max(1, len(numbers) // 10)
    return Flat(what, statistics.median(numbers[:tenth]), statistics.median(numbers[-tenth:]), bound)


def own_times(events: Iterable[dict[str, Any]]) -> list[float]:
    """Seconds of aigon's own from one finished iteration to the next: less the turn, and less the checks, which run
    side by side, from the start of the first to the end of the last of each look. Broken-off iterations are left out.
    """
    return [own for stretch in _stretches(events) if (own := _own(stretch)) is not None]


def _stretches(events: Iterable[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    stretch: list[dict[str, Any]] = []
    for event in events:
        stretch = [event] if event["event"] == "run_started" else [*stretch, event]
        if event["event"] == "iteration_finished":
            yield stretch
            stretch = [event]


def _own(stretch: Sequence[dict[str, Any]]) -> float | None:
    turns = [event["turn"]["duration"] for event in stretch if event["event"] == "turn_ended"]
    if stretch[0]["event"] != "iteration_finished" or len(turns) != 1:
        return None
    checks = [_at(event) for event in stretch if event["event"] in ("check_started", "check_finished")]
    checked = max(checks) - min(checks) if checks else 0.0
    return _at(stretch[-1]) - _at(stretch[0]) - float(turns[0]) - checked


def _at(event: dict[str, Any]) -> float:
    return datetime.fromisoformat(event["at"]).timestamp()


@dataclass(frozen=True, slots=True)
class Sample:
    """The loop while it waits for its agent: resident memory in KiB, open descriptors, processor time in ticks.

    That time is its own and that of what it started, which is git for the most part.
    """

    pid: int
    memory: int
    descriptors: int
    ticks: int


def samples(lab: Lab) -> list[Sample]:
    """What agents saw of the loop that started them."""
    lines = (lab.home / "samples").read_text().splitlines()
    return [Sample(*map(int, line.split())) for line in lines if len(line.split()) == 4]


def processor_times(seen: Sequence[Sample]) -> list[float]:
    """Seconds of processor time from one turn to the next of the same loop: no other load of the machine is in it."""
    tick = os.sysconf("SC_CLK_TCK")
    return [(b.ticks - a.ticks) / tick for a, b in itertools.pairwise(seen) if a.pid == b.pid]


def piled_up(lab: Lab) -> str:
    """What is on disk by now."""
    journal = sum(file.stat().st_size for file in lab.home.glob("state/repos/*/features/42/journal*.jsonl"))
    objects = dict(line.split(": ") for line in lab.git("count-objects", "-v").splitlines())
    sizes = {
        "journal": journal,
        "state file": _size(lab, STATE),
        "log": _size(lab, LOG),
        "loose objects, KiB": int(objects["size"]),
        "loose objects": int(objects["count"]),
        "run folder": sum(f.stat().st_size for f in lab.path(".aigon/runs").rglob("*") if f.is_file()),
    }
    return json.dumps(sizes)


def _size(lab: Lab, name: str) -> int:
    return lab.path(name).stat().st_size if lab.path(name).exists() else 0
