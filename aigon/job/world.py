"""The surroundings of a run: a frozen context, its workspace, and attendants that hold whatever changes."""

import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime
from pathlib import Path
from typing import Literal, TypeVar

from msgspec import Struct, field

from aigon.git.secret_files import SecretScanner
from aigon.git.workspace import Workspace
from aigon.model.checks import Durations
from aigon.model.resources import Probe
from aigon.process import orphans
from aigon.process.capacity import CheckSlots, read_file_size_limit
from aigon.process.meter import Meter
from aigon.process.stop import Stop
from aigon.process.watchdog import Watchdog

HOOK_OUTPUTS = "hooks"
"""The folder of a run folder with what hooks get and print."""
SaveAside = Callable[[str, str], str]
"""Keeps an object under a ref made of the name given; returns the ref."""


class Attendant:
    """Accompanies a run and holds what changes in it. A hook does nothing unless a subclass overrides it.

    `after_turn` and `after_checks` are called once no process of the agent or the checks is left; they return a
    sentence for each thing that they restored.
    """

    __slots__ = ()

    def before_turn(self) -> None:
        """Take what aigon keeps to be right as it is now."""

    def after_turn(self, _save_aside: SaveAside) -> tuple[str, ...]:
        """Restore what the agent must not change."""
        return ()

    def after_checks(self, _save_aside: SaveAside) -> tuple[str, ...]:
        """Restore what the programs of the checks must not change."""
        return ()

    def close(self) -> None:
        """Release what the run held."""


A = TypeVar("A", bound=Attendant)


class OwnFiles(Struct, Attendant):
    """The required content of spec and log in the workspace, byte for byte; None if a file must be absent."""

    contents: dict[str, bytes | None] = field(default_factory=dict)


class TurnNotes(Struct, Attendant):
    """Notes on the last turn: `sentences` about what was restored, and the agent's `commit_messages`."""

    sentences: list[str] = field(default_factory=list)
    commit_messages: list[str] = field(default_factory=list)

    def take(self) -> list[str]:
        """Return the sentences, which are reported only once."""
        taken, self.sentences = self.sentences, []
        return taken


class Availability(Struct, Attendant):
    """The agents that cannot work now: `away` until when (seconds since the epoch), for which `reasons`, how often.

    `waited` are the seconds since an agent worked last, `waited_in_all` those of the run; `gave_up`: no agent comes
    back in time; `assessed`: the tree was assessed after the last turn.
    """

    away: dict[str, float] = field(default_factory=dict)
    reasons: dict[str, str] = field(default_factory=dict)
    times: Counter[str] = field(default_factory=Counter)
    waited: float = 0.0
    waited_in_all: float = 0.0
    gave_up: bool = False
    assessed: bool = False

    def reset(self) -> None:
        """Forget who was away: an agent has worked."""
        self.away, self.reasons, self.times = {}, {}, Counter()
        self.waited, self.gave_up, self.assessed = 0.0, False, False


TreeUse = Literal["shared", "build", "own"]


class CheckStart(Struct, frozen=True):
    """A command that is about to run: its name, the folder outside of its tree that it may write, and what it may read.

    `tree` says who finds what it writes in a tree where commands are kept apart: no other ("own"), those that run after
    it ("build"), or all ("shared").
    """

    name: str = ""
    scratch: Path | None = None
    reads: tuple[str, ...] = ()
    tree: TreeUse = "shared"


UNNAMED = CheckStart()


class Confinement(Attendant):
    """A confinement of checks to the workspace; this one confines nothing."""

    __slots__ = ()

    def wrap_command(self, argv: Sequence[str], _cwd: Path, _start: CheckStart) -> Sequence[str]:
        """Return the command line that runs `argv` in the workspace."""
        return argv


class CheckEnvironment(Struct, frozen=True):
    """The surroundings of checks: `root` is the folder as they see it, `env` what they get.

    `wrap_command(argv, cwd, start)` returns the command line that runs `argv` there; `start_in` is the folder that it
    is started in, and `host_path` where the files really are, if elsewhere. With a folder
    for `changes`, each check writes in a tree of its own.
    """

    root: Path
    env: Mapping[str, str]
    wrap_command: Callable[[Sequence[str], Path, CheckStart], Sequence[str]] = Confinement().wrap_command
    start_in: Path | None = None
    host_path: Path | None = None
    changes: Path | None = None

    def find_files(self, start: CheckStart) -> Path:
        """Return the folder in which the files are that a command wrote in the tree."""
        if self.changes and start.scratch and start.tree == "own":
            return self.changes / start.scratch.name / "tree" / "changes"
        return self.host_path or self.root


class World(Struct, frozen=True):
    """Ids, paths, environments and services of a run, its workspace, and its attendants. Only attendants change.

    `checkout` is the main checkout, `folder` the run folder, `home` aigon's folder for this repository; `frozen` is the
    record of what decides, `rooms` where clean rooms are made; `keeps` says whether passes are remembered, `made_by`
    how a worktree was set up (passes count for worktrees of one kind); `place` is where checks run, None for the
    workspace itself; every program of the run has `invocation` in its environment; `aside` is for work that need not be
    waited for at once; `begun` is monotonic.
    """

    run_id: str
    workspace: Workspace
    checkout: Path
    folder: Path
    home: Path
    stop: Stop
    agent_env: Mapping[str, str]
    check_env: Mapping[str, str]
    redact: Callable[[bytes], bytes]
    begun: float = field(default_factory=time.monotonic)
    keeps: bool = True
    invocation: str = ""
    place: CheckEnvironment | None = None
    frozen: Path | None = None
    rooms: Path | None = None
    made_by: str = ""
    durations: Durations = field(default_factory=dict)
    guardian: Watchdog = field(default_factory=Watchdog)
    meter: Meter = field(default_factory=Meter)
    scanner: SecretScanner = field(default_factory=SecretScanner)
    slots: CheckSlots | None = None
    aside: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(2, thread_name_prefix="aside"))
    attendants: list[Attendant] = field(default_factory=list)

    def find(self, kind: type[A]) -> A | None:
        """Return the attendant of this class, or None."""
        for each in reversed(self.attendants):
            if isinstance(each, kind):
                return each
        return None

    def get(self, kind: type[A]) -> A:
        """Return the attendant of this class; one that is missing joins with its defaults."""
        return self.find(kind) or self.attend(kind())

    def attend(self, attendant: A) -> A:
        """Let `attendant` join, and replace an earlier one of its class. Return it."""
        self.attendants.append(attendant)
        return attendant

    @property
    def own_files(self) -> dict[str, bytes | None]:
        """The required content of spec and log in the workspace."""
        return self.get(OwnFiles).contents

    @property
    def checks_run_in(self) -> CheckEnvironment:
        """The folder in which checks run: the workspace, unless they were sent elsewhere."""
        box = self.find(Confinement) or Confinement()
        return self.place or CheckEnvironment(self.workspace.root, self.check_env, box.wrap_command)

    def before_turn(self) -> None:
        """Tell the attendants that an agent is about to work."""
        for each in self.attendants:
            each.before_turn()
        self.meter.begin()

    def after_turn(self, prefix: str) -> tuple[str, ...]:
        """Restore what the agent must not change, with refs that begin with `prefix`; return a sentence each."""
        return self._note(each.after_turn(self._save_aside(prefix)) for each in tuple(self.attendants))

    def after_checks(self, prefix: str) -> tuple[str, ...]:
        """Do the same for what the checks ran."""
        return self._note(each.after_checks(self._save_aside(prefix)) for each in tuple(self.attendants))

    def _note(self, restored: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
        sentences = tuple(sentence for some in restored for sentence in some)
        self.get(TurnNotes).sentences += sentences
        return sentences

    def _save_aside(self, prefix: str) -> SaveAside:
        return lambda name, commit: self.workspace.keep(f"{prefix}-{name}", commit)

    def sweep(self) -> None:
        """End whatever is left of the programs that were run. Nothing else may be running."""
        orphans.sweep()
        if not orphans.SUBREAPER and self.invocation:
            orphans.end_marked_survivors(self.invocation)
        self.guardian.over()

    def close(self) -> None:
        """Wait for what was put aside, end its thread, and let every attendant release what it held."""
        self.aside.shutdown()
        self.meter.close()
        for each in self.attendants:
            each.close()

    @staticmethod
    def now() -> str:
        """Return wall-clock time for people: ISO 8601 with offset, in milliseconds."""
        return datetime.now().astimezone().isoformat(timespec="milliseconds")

    @staticmethod
    def clock() -> float:
        """Return the seconds since the epoch: usage limits end by a calendar's clock."""
        return time.time()

    def elapsed(self) -> float:
        """Return the seconds since this invocation began, without the waiting for agents.

        Neither a suspended laptop nor a change of the time affects this clock.
        """
        return time.monotonic() - self.begun - self.get(Availability).waited_in_all

    def probe(self) -> Probe:
        """Return what the guards want to know of the world."""
        memory, volumes = self.meter.probe((self.home, self.folder))
        return Probe(
            elapsed=self.elapsed(),
            volumes=volumes,
            memory_free=memory.free if memory else None,
            memory_limit=memory.limit if memory else "",
            longest_file=read_file_size_limit(),
            interrupt=self.stop.reason if self.stop.asked else "",
            detail=self.stop.detail,
            given_up=self.get(Availability).gave_up,
        )

    def toolchain(self) -> list[tuple[str, int, int]]:
        """Return what is installed outside of git's tree, by time and inode: `npm install` changes what a check says.

        Two worktrees may have been installed at the same tick of the clock.
        A link to a folder that others share has the name of its target.
        """
        root = self.workspace.root
        places = [root / "node_modules" / ".package-lock.json", root / "node_modules"]
        places += [*root.glob(".venv/lib/*/site-packages"), *root.glob("venv/lib/*/site-packages")]
        installed = []
        for place in places:
            if place.exists():
                real = place.resolve()
                name = place.relative_to(root) if real.is_relative_to(root.resolve()) else real
                found = place.stat()
                installed.append((str(name), found.st_mtime_ns, found.st_ino))
        return installed

    def iteration_folder(self, number: int) -> Path:
        """Return where the prompt and the whole outputs of an iteration go."""
        return self.folder / f"{number:03d}"
