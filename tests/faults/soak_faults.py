"""What goes wrong in a soak, one fault per invocation of aigon: between two of them, or while one is running."""

import random
import shutil
import signal
from collections.abc import Callable
from dataclasses import dataclass

from tests.lab import STATE, Lab
from tests.loop.processes import left_behind


def _nothing(_lab: Lab) -> None:
    """All is well."""


@dataclass(frozen=True, slots=True)
class Fault:
    """`before` is done before an invocation, `signals` are sent some time after one of its turns has begun."""

    name: str
    before: Callable[[Lab], None] = _nothing
    signals: tuple[signal.Signals, ...] = ()


def _torn_state(lab: Lab) -> None:
    file = lab.path(STATE)
    file.write_bytes(file.read_bytes()[: file.stat().st_size // 2])


def _no_state(lab: Lab) -> None:
    lab.path(STATE).unlink()


def _no_run_folder(lab: Lab) -> None:
    shutil.rmtree(lab.path(".aigon/runs"))


def _torn_journal(lab: Lab) -> None:
    for journal in lab.home.glob("state/repos/*/features/42/journal.jsonl"):
        with journal.open("ab") as file:
            file.write(b'0a1b2c3d {"event":"iteration_fin')


def _own_lock(lab: Lab) -> None:
    """A lock as aigon's own kill leaves it: with its private index in it, whole."""
    (index,) = lab.home.glob("state/repos/*/git/index")
    shutil.copyfile(index, lab.path(".git/index.lock"))


def _persons_commit(lab: Lab) -> None:
    if left_behind(lab) or lab.path(".git/index.lock").exists():
        return  # a person would wait, too
    count = len(list(lab.path("person").glob("*"))) if lab.path("person").exists() else 0
    lab.write(f"person/{count}.txt", "by hand\n")
    lab.git("add", "person")
    lab.git("commit", "-q", "-m", f"by hand {count}", "--", "person")


def _asks(name: str) -> Callable[[Lab], None]:
    """What agents and checks look for in the person's home, and do once."""

    def ask(lab: Lab) -> None:
        (lab.home / name).touch()

    return ask


EVERY = (
    Fault("none"),
    Fault("SIGKILL", signals=(signal.SIGKILL,)),
    Fault("SIGKILL again", signals=(signal.SIGKILL,)),
    Fault("SIGTERM", signals=(signal.SIGTERM,)),
    Fault("Ctrl+C", signals=(signal.SIGINT,)),
    Fault("Ctrl+C twice", signals=(signal.SIGINT, signal.SIGINT)),
    Fault("agent crashes", _asks("crash")),
    Fault("agent leaves a daemon", _asks("daemon")),
    Fault("check fails once", _asks("red")),
    Fault("state file torn", _torn_state),
    Fault("state file gone", _no_state),
    Fault("run folder gone", _no_run_folder),
    Fault("journal torn", _torn_journal),
    Fault("own index.lock", _own_lock),
    Fault("a person's commit", _persons_commit),
)


@dataclass(frozen=True, slots=True)
class Drawn:
    """A fault, and when: its signals `delay` seconds after the turn number `turn` of the invocation has begun."""

    fault: Fault
    turn: int
    delay: float


def drawn(numbers: random.Random, most: int) -> Drawn:
    """A fault for an invocation of at most so many turns."""
    return Drawn(numbers.choice(EVERY), numbers.randint(1, most), numbers.random() * 0.4)
