"""Everything outside the process that a run touches, put together once."""

import shutil
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from aigon.git.secret_files import SecretScanner
from aigon.git.workspace import Workspace
from aigon.isolation import clean_room
from aigon.isolation.dependencies import Bytecode
from aigon.isolation.run_sandbox import RunSandbox
from aigon.job.base_assessments import BaselineResults
from aigon.job.free_space import measure_volumes
from aigon.job.ledger import Ledger
from aigon.job.partial import RollbackPolicy
from aigon.journal.durations import Durations
from aigon.model.resources import Probe
from aigon.process import orphans
from aigon.process.capacity import CheckSlots, measure_memory, read_file_size_limit
from aigon.process.meter import Meter
from aigon.process.stop import Stop
from aigon.process.watchdog import Watchdog
from aigon.proof.frozen import Guarded
from aigon.proof.watch import Watch


@dataclass(frozen=True, slots=True)
class Place:
    """Where checks run: `root` is the folder as they see it, `env` what they get.

    `enclosed` makes of a command line and its folder the command line that aigon starts; `outside` is the folder that
    it is started in, and `lies_at` where the files really are, where those are other ones.
    """

    root: Path
    env: Mapping[str, str]
    enclosed: Callable[[Sequence[str], Path], Sequence[str]] = field(default=lambda argv, _cwd: argv)
    outside: Path | None = None
    lies_at: Path | None = None


@dataclass(slots=True)
class Held:
    """Agents that cannot work now: until when they are `away` (seconds since the epoch), `why`, how many `times`.

    `waited` are the seconds since an agent worked last; `given_up`: nobody will come back in time; `looked_at`: the
    tree was judged after the last turn.
    """

    away: dict[str, float] = field(default_factory=dict)
    why: dict[str, str] = field(default_factory=dict)
    times: Counter[str] = field(default_factory=Counter)
    waited: float = 0.0
    given_up: bool = False
    looked_at: bool = False


@dataclass(slots=True)
class World:
    """The workspace, where records go, the environments of agents and checks, and what can end a run.

    `checkout` is the main checkout; `folder` the run folder; `home` aigon's folder for this repository; `own_files`
    what spec and log must look like in the workspace, byte for byte; `begun` is monotonic; `keeps` says whether
    passes are remembered; `place` is where checks run, None for the workspace itself; `guarded` are the files that are
    put back; `frozen` the record of what decides, None where there is none; `rooms` where clean rooms are made;
    `bytecode` what Python compiled in the first of them; `messages` those of commits that the agent made; `watch` puts
    back what it did to git and to aigon's records, `mended` says what that was; `aside` is for what need not be waited
    for at once; `held` is what is known of agents that cannot work now, `waited` for how many seconds the run
    waited for one; `partial` says what becomes of the branch if it stops short; `guardian` ends what runs when aigon
    itself is killed: what has the name of this `invocation` in its environment; `meter` sees what is taken of disk and
    memory; `scanner` looks for secrets beside aigon.

    In a worktree of aigon's own: `made_by` names how it was set up (passes stand for worktrees of one kind), `slots`
    are the turns that checks of all loops take. In an arena: `ledger` is what its agents spend together, `base` what
    they know of the base from one another. `copy` is the folder in which checks that litter run on a copy of the tree,
    `left` the paths that checks left and people were told of.
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
    own_files: dict[str, bytes | None]
    begun: float = field(default_factory=time.monotonic)
    keeps: bool = True
    invocation: str = ""
    place: Place | None = None
    guarded: Mapping[str, Guarded] = field(default_factory=dict)
    frozen: Path | None = None
    rooms: Path | None = None
    bytecode: Bytecode | None = None
    messages: list[str] = field(default_factory=list)
    watch: Watch | None = None
    mended: list[str] = field(default_factory=list)
    guardian: Watchdog = field(default_factory=Watchdog)
    held: Held = field(default_factory=Held)
    waited: float = 0.0
    durations: Durations = field(default_factory=dict)
    partial: RollbackPolicy = field(default_factory=RollbackPolicy)
    meter: Meter = field(default_factory=Meter)
    scanner: SecretScanner = field(default_factory=SecretScanner)
    made_by: str = ""
    boxed: RunSandbox = field(default_factory=RunSandbox)
    slots: CheckSlots | None = None
    ledger: Ledger | None = None
    base: BaselineResults | None = None
    copy: Path | None = None
    left: set[str] = field(default_factory=set)
    aside: ThreadPoolExecutor = field(default_factory=lambda: ThreadPoolExecutor(2, thread_name_prefix="aside"))

    @property
    def checks_run_in(self) -> Place:
        """Where checks run: the workspace, unless they were sent elsewhere."""
        return self.place or Place(self.workspace.root, self.check_env)

    def park(self, prefix: str) -> Callable[[str, str], str]:
        """A function that keeps an object under a ref that begins so."""
        return lambda name, commit: self.workspace.keep(f"{prefix}-{name}", commit)

    def sweep(self) -> None:
        """End whatever is left of the programs that were run. Nothing else may be running."""
        orphans.sweep()
        if not orphans.SUBREAPER and self.invocation:
            from aigon.process.orphans import end_marked_survivors

            end_marked_survivors(self.invocation)
        self.guardian.over()

    def close(self) -> None:
        """Wait for what was put aside, and end its thread; remove what only this process can trust.

        What others of the arena wait for is given back.
        """
        self.aside.shutdown()
        self.boxed.close()
        self.meter.close()
        if self.ledger:
            self.ledger.close()
        if self.base:
            self.base.close()
        if self.copy:
            clean_room.remove_room(self.copy)
        if self.bytecode:
            shutil.rmtree(self.bytecode.folder, ignore_errors=True)

    @staticmethod
    def now() -> str:
        """Wall-clock time for people: ISO 8601 with offset, in milliseconds."""
        return datetime.now().astimezone().isoformat(timespec="milliseconds")

    def elapsed(self) -> float:
        """Seconds since this invocation began, by a clock that a suspended laptop or a time change does not bend.

        Waiting for an agent that is held up does not count.
        """
        return time.monotonic() - self.begun - self.waited

    @staticmethod
    def clock() -> float:
        """Seconds since the epoch: usage limits end by a calendar's clock."""
        return time.time()

    def probe(self) -> Probe:
        """What the guards want to know of the world."""
        reason = self.stop.reason if self.stop.asked else ""
        room = measure_memory()
        return Probe(
            elapsed=self.elapsed(),
            volumes=measure_volumes(self.meter, (self.home, self.folder)),
            memory_free=room.free if room else None,
            memory_limit=room.limit if room else "",
            longest_file=read_file_size_limit(),
            interrupt=reason,
            detail=self.stop.detail,
            given_up=self.held.given_up,
        )

    def toolchain(self) -> list[tuple[str, int]]:
        """What is installed beside the tree, by modification time: `npm install` changes what a check would say."""
        root = self.workspace.root
        places = [root / "node_modules" / ".package-lock.json", root / "node_modules"]
        places += [*root.glob(".venv/lib/*/site-packages"), *root.glob("venv/lib/*/site-packages")]
        return [(_of_whom(place, root), place.stat().st_mtime_ns) for place in places if place.exists()]

    def iteration_folder(self, number: int) -> Path:
        """Where the prompt and the whole outputs of an iteration go."""
        return self.folder / f"{number:03d}"


def _of_whom(place: Path, root: Path) -> str:
    """A place by its name in the work tree; where that is a link to one that others share, by where it leads."""
    real = place.resolve()
    return str(place.relative_to(root)) if real.is_relative_to(root.resolve()) else str(real)
