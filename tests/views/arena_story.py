"""An arena of three as its calls, and a program that plays it on the terminal it is started in.

python -m tests.views.arena_story [--until N] [--hold SECONDS] [--pace SECONDS] [--agents N]
"""

import argparse
import sys
import time
from collections.abc import Callable
from typing import Any

from msgspec.structs import replace

from aigon.arena.lane import ArenaEnd, ArenaPlan, Lane, LaneEnd, Parallelism
from aigon.journal.events import Event, IterationStarted, Waiting
from aigon.journal.replay import to_ndjson
from aigon.journal.spending import Spend
from aigon.model.agents import Candidate
from tests.views.story import at, run_started, story

PLAN = ArenaPlan("42", "multiply", 3, Parallelism(2, "--parallel 2"), max_cost=5.0)
WAIT = Waiting(at(9), 1, "codex", "hit your 5-hour limit", 3700.0, 0.0)
Call = Callable[[Any], None]


def lane(label: str, agent: str = "") -> Lane:
    """Somebody who has not begun."""
    path = f"/w/feature-42-{label}-multiply"
    return Lane(Candidate("42", "multiply", label, agent or label, "arena", 1, f"feature-42-{label}-multiply", path))


LANES = (lane("cc-opus", "claude:opus"), lane("cx", "codex"), lane("gg", "gemini"))


def sent(label: str, event: Event) -> Call:
    """A loop sends `event`."""
    return lambda observer: observer(label, to_ndjson(event), event)


def ended(label: str, status: str, code: int, summary: str, **more: Any) -> LaneEnd:
    """How one ended."""
    one = LaneEnd(label, label, f"feature-42-{label}-multiply", status, code, summary, 5, 5, 3, Spend(0.42, 1), 230.0)
    return replace(one, **more)


ENDS = (
    ended("cc-opus", "met", 0, "Every criterion is proven"),
    ended("cx", "broken_off", 1, "broken off by SIGKILL: no memory", criteria_met=0, resumable=True, own_word=False),
    ended("gg", "not_started", 130, "not started: stopped by SIGINT", criteria_met=0, criteria_total=0,
          iterations=0, spend=Spend(), seconds=0.0, own_word=False),
)  # fmt: skip
END = ArenaEnd(ENDS, 0)


def calls() -> list[Call]:
    """What an observer is told: one is proven in three iterations, one waits and is killed, one is never started."""
    mine = [sent("cc-opus", event) for event in story()]
    return [
        lambda observer: observer.began(PLAN, LANES),
        lambda observer: observer.started("cc-opus"),
        *mine[:13],
        lambda observer: observer.started("cx"),
        sent("cx", replace(run_started(), label="cx", agent="codex")),
        sent("cx", IterationStarted(at(8), 1, "codex", "", 0, 1, 0)),
        sent("cx", WAIT),
        *mine[13:16],
        lambda observer: observer.ended(ENDS[1]),
        lambda observer: observer.said("each finishes its iteration, then stops"),
        lambda observer: observer.ended(ENDS[2]),
        *mine[16:],
        lambda observer: observer.ended(ENDS[0]),
        lambda observer: observer.finished(END),
    ]


def main() -> None:
    """Play it on standard output."""
    from aigon.views.terminal.live import ArenaLive

    parser = argparse.ArgumentParser()
    parser.add_argument("--until", type=int, default=None)
    parser.add_argument("--hold", type=float, default=0.0)
    parser.add_argument("--pace", type=float, default=0.0)
    options = parser.parse_args()
    observer = ArenaLive(sys.stdout)
    try:
        for call in calls()[: options.until]:
            call(observer)
            time.sleep(options.pace)
        time.sleep(options.hold)
    finally:
        observer.close()


if __name__ == "__main__":
    main()
