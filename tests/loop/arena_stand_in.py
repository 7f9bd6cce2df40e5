"""A stand-in for a loop of an arena, and a program that runs an arena of such stand-ins.

    python -m tests.loop.arena_stand_in loop LABEL BEHAVIOUR FOLDER
    python -m tests.loop.arena_stand_in arena FOLDER cc=met cx=waits    (in a checkout)

A stand-in sends the events of a short run and does nothing else. It writes `begin LABEL` and `end LABEL` into `order`
in FOLDER, and LABEL.begun once it is in its first turn; one that waits goes on when there is a file `go`.
"""

import os
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from aigon.job.options import Options
from aigon.journal.events import IterationFinished, IterationStarted, RunFinished, TurnEnded
from aigon.journal.sinks import NdjsonSink
from aigon.model.agents import Candidate
from aigon.model.outcomes import Interrupted, Met, Outcome, Stopped, get_exit_code, get_status
from aigon.model.turns import Turn
from aigon.process.stop import Stop
from aigon.process.watchdog import watch_parent
from tests.views.story import run_started, verdicts

ROOT = Path(__file__).parents[2]


def candidate(label: str) -> Candidate:
    """Whoever is called so."""
    branch = f"feature-42-{label}-dark-mode"
    return Candidate("42", "dark-mode", label, f"agent-{label}", "arena", 1, branch, f"/nowhere/{label}")


def looked(number: int, met: int) -> IterationFinished:
    """A look at which `met` of two criteria were proven."""
    return IterationFinished("", number, "", f"c{number}" if number else "", (), verdicts(met, 2), (), "", (met,), "")


class StandIn:
    """A loop that does as it is told by one word."""

    def __init__(self, label: str, behaviour: str, folder: Path) -> None:
        self.label, self.behaviour, self.folder = label, behaviour, folder
        self.sink = NdjsonSink(sys.stdout)

    def run(self, stop: Stop) -> int:
        """Send the events; the exit code."""
        self.note("begin")
        (self.folder / f"{self.label}.left").write_text(os.environ.get("AIGON_ARENA_LEFT", ""))
        if self.behaviour == "usage":
            print("aigon: There is no such option.\n  do:    read the help", file=sys.stderr)
            return 2
        self.sink(replace(run_started(), label=self.label, criteria_total=2))
        self.special()
        self.sink(looked(0, 0))
        self.sink(IterationStarted("", 1, "claude", "", 0, 1, 0))
        self.turn(stop)
        self.sink(TurnEnded("", Turn(1, "claude", "", "finished", 0, cost=0.25, cost_status="reported")))
        self.sink(looked(1, 2 if self.behaviour == "met" else 1))
        return self.end(stop)

    def special(self) -> None:
        """What some do before the look at the base."""
        if self.behaviour == "dies":
            print("out of memory", file=sys.stderr, flush=True)
            os.kill(os.getpid(), signal.SIGKILL)
        if self.behaviour == "babbles":
            print("no event\n[]\n" + "x" * 5_000_000 + '\n{"event": 3}\n\xff', flush=True)
            print("e" * 2_000_000, file=sys.stderr)
        while self.behaviour == "surveys" and not (self.folder / "go").exists():
            time.sleep(0.01)

    def turn(self, stop: Stop) -> None:
        """The turn of one that waits ends when it may go on, or has to end at once."""
        (self.folder / f"{self.label}.begun").touch()
        while self.behaviour == "waits" and not stop.look() and not (self.folder / "go").exists():
            time.sleep(0.01)
        while self.behaviour == "stubborn":
            time.sleep(1)

    def end(self, stop: Stop) -> int:
        """Say how it ended."""
        outcome: Outcome = Met() if self.behaviour == "met" else Stopped("iterations", "enough")
        if stop.reason in ("SIGINT", "SIGTERM", "SIGHUP"):
            outcome = Interrupted(stop.reason)
        code = int(get_exit_code(outcome))
        self.note(f"end {stop.reason or 'itself'}" if stop.reason else "end")
        self.sink(RunFinished("", outcome, get_status(outcome), code, "", "c1"))
        return code

    def note(self, word: str) -> None:
        """Add a line to the order of things."""
        with (self.folder / "order").open("a") as file:
            file.write(f"{word} {self.label}\n")


def command_line(behaviours: dict[str, str], folder: Path) -> Any:
    """What starts the stand-in of a candidate, for `run_arena`."""

    def line(one: Candidate, _options: Options, *, resume: bool) -> list[str]:  # noqa: ARG001 - as the real one
        words = ["loop", one.label, behaviours[one.label], str(folder)]
        return [sys.executable, "-c", _STARTS.format(root=str(ROOT)), *words]

    return line


_STARTS = "import sys; sys.path.insert(0, {root!r}); from tests.loop.arena_stand_in import main; main()"
"""The folder in which it starts is the checkout, and not the one that this module can be found from."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Be a loop, or an arena."""
    verb, *words = arguments or sys.argv[1:]
    if verb == "loop":
        label, behaviour, folder = words
        with Stop().handling() as stop:
            if behaviour == "stubborn":
                for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
                    signal.signal(number, signal.SIG_IGN)
            elif os.environ.get("AIGON_ARENA_STDIN"):
                watch_parent()
            code = StandIn(label, behaviour, Path(folder)).run(stop)
        sys.exit(code)
    sys.exit(_arena(Path(words[0]), dict(word.split("=") for word in words[1:])))


def _arena(folder: Path, behaviours: dict[str, str]) -> int:
    from aigon.arena.arena import run_arena
    from aigon.arena.entrant import list_entrants
    from aigon.files.home import find_home
    from aigon.git.person import Checkout
    from aigon.views.terminal.arena import ArenaNdjson

    with Checkout.open(Path.cwd()) as checkout:
        return run_arena(
            checkout,
            Options("42", loop=True, parallel=9),
            list_entrants(find_home(checkout.common_dir), [candidate(label) for label in behaviours], ()),
            observer=ArenaNdjson(sys.stdout, sys.stderr),
            folder=folder,
            command_line=command_line(behaviours, folder),
        ).exit_code


if __name__ == "__main__":
    main()
