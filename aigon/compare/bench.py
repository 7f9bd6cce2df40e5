"""Run tests for a comparison: in a clean room per tree, with a candidate's own checks, side by side.

The repository is only read: new git objects and everything else that a run leaves go into a temporary folder.
"""

import hashlib
import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path

from msgspec import Struct, field
from msgspec.structs import replace

from aigon.checks import execution
from aigon.checks.reports import ADDOPTS, add_pytest_options
from aigon.compare.stand import CheckRun, Stand, load_runs, open_stand, save_runs, summarize_result
from aigon.config.models import Config
from aigon.errors import AigonError, Exit, environment
from aigon.files.folders import remove_tree
from aigon.files.home import ensure_home
from aigon.files.locks import hold_lock
from aigon.git.person import Checkout
from aigon.git.trusted import TrustedGit
from aigon.isolation import dependencies
from aigon.isolation.dependencies import Bytecode
from aigon.journal.records import Records, new_run_id
from aigon.model.criteria import Spec
from aigon.process import capacity, orphans
from aigon.process.stop import Stop
from aigon.profiles.protection import Protection
from aigon.proof.protection import protection_of
from aigon.proof.rooms import open_room, rooms_for

NO_SPEC = Spec(b"", "", {}, (), None)


class Bench(Struct, frozen=True):
    """The tools of one comparison. `git` writes objects into `folder`; `records` are by label.

    `protection` says which files are tests. One tree under the same checks is run once, over comparisons.
    """

    checkout: Checkout
    config: Config
    records: Mapping[str, Records]
    stop: Stop
    home: Path
    folder: Path
    git: TrustedGit
    protection: Protection
    run_id: str
    held: ExitStack
    stands: dict[str, Stand] = field(default_factory=dict)
    compiled: list[Bytecode | None] = field(default_factory=list)
    lock: threading.RLock = field(default_factory=threading.RLock)
    numbers: Iterator[int] = field(default_factory=count)

    @staticmethod
    @contextmanager
    def open(checkout: Checkout, config: Config, records: Mapping[str, Records], stop: Stop) -> Iterator["Bench"]:
        """Yield the bench for these candidates, and end what their tests leave running. Raises AigonError.

        `stop` ends what runs at once.
        """
        run_id = f"compare-{new_run_id()}"
        home = ensure_home(checkout.common_dir)
        with _open_scratch(home) as folder:
            git = TrustedGit(checkout, folder / "git", folder / "objects")
            protection = protection_of(checkout.root, config, NO_SPEC, ())
            with ExitStack() as held:
                held.callback(orphans.end_leftovers_of_run, run_id)
                yield Bench(checkout, config, records, stop, home, folder, git, protection, run_id, held)

    def open_stand(self, label: str) -> Stand:
        """Return where a candidate's checks can be run. Raises AigonError (exit 7) if nothing is known of them."""
        with self.lock:
            if label not in self.stands:
                if label not in self.records:
                    raise environment("Nothing is recorded of this candidate", where=label)
                folder = self.folder / f"stand-{len(self.stands)}"
                stand = open_stand(self.checkout, self.config, self.records[label], folder, self.run_id, self.stop)
                self.stands[label] = self.held.enter_context(stand)
            return self.stands[label]

    def run_all(self, wanted: Sequence[tuple[str, str]]) -> list[tuple[CheckRun, ...] | AigonError]:
        """Run the tests of each label on a clean export of each tree, side by side in the slots of the machine.

        What a tree came to under the same checks is remembered. An error takes the place of its result.
        """
        for label in dict.fromkeys(label for label, _ in wanted):
            with suppress(AigonError):  # it is raised again below, where it belongs
                self.open_stand(label)
        with ThreadPoolExecutor(capacity.count_slots(), thread_name_prefix="compare") as pool:
            return list(pool.map(self._attempt, wanted))

    def _attempt(self, wanted: tuple[str, str]) -> tuple[CheckRun, ...] | AigonError:
        label, tree = wanted
        try:
            stand = self.open_stand(label)
            file = self.home / "compared" / f"{_hash_inputs(stand, tree)}.json"
            runs = load_runs(file)
            if runs is None:
                runs = self._run(stand, tree)
                save_runs(file, runs)
            return runs
        except AigonError as error:
            return error
        except OSError as error:
            return environment(f"It could not be run: {error.strerror or error}", where=str(error.filename or ""))

    def _run(self, stand: Stand, tree: str) -> tuple[CheckRun, ...]:
        self._require_going_on()
        number = str(next(self.numbers))
        folder, logs = self.folder / "rooms" / number, self.folder / "logs" / number
        with self.lock:  # what has to be installed or compiled is so once
            if not self.compiled:
                self.compiled.append(None)  # once, whatever comes of it; rooms with other dependencies do without
                with suppress(AigonError):
                    self.compiled[0] = compile_bytecode(stand, self.folder / "warm")
            attendants = [*stand.world.attendants, *filter(None, self.compiled)]
            world = replace(stand.world, rooms=folder, attendants=attendants)
            rooms = rooms_for(stand.job, world, tree, stand.record.folders, logs)
        with open_room(stand.job, world, rooms, tree) as (inside, _):
            runs = tuple(summarize_result(execution.run_check(inside, check, logs)) for check in stand.job.checks)
        self._require_going_on()
        return runs

    def _require_going_on(self) -> None:
        if self.stop.look():
            raise AigonError("The comparison was stopped", code=Exit.STOPPED)


def _hash_inputs(stand: Stand, tree: str) -> str:
    """Return a hash of everything that a result depends on."""
    checks = [replace(check, timeout=0.0) for check in stand.job.checks]
    folders = sorted(stand.record.folders.items())
    parts = [tree, repr(checks), repr(stand.job.proof), repr(folders), os.environ.get("PATH", "")]
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()


@contextmanager
def _open_scratch(home: Path) -> Iterator[Path]:
    """Yield a folder that no other comparison uses. Its names repeat, so that what a killed one left is removed."""
    with ExitStack() as held:
        for number in count(1):
            with suppress(AigonError):
                held.enter_context(hold_lock(home / "locks" / f"comparing-{number}.lock", "A comparison"))
                break
        place = home / "comparing" / str(number)
        remove_tree(place)
        place.mkdir(parents=True)
        held.callback(remove_tree, place)
        yield place


PREFIX = "PYTHONPYCACHEPREFIX"
COLLECT_SECONDS = 120.0
"""Seconds for collecting the tests of the base; without them the rooms begin cold."""


def compile_bytecode(stand: Stand, folder: Path) -> Bytecode | None:
    """Return what Python compiles while pytest collects the base's tests, and runs none.

    None if no check is pytest itself without a place of its own for bytecode. Raises AigonError (exit 7).
    """
    options = stand.world.check_env.get(ADDOPTS, "")
    checks = [
        replace(add_pytest_options(check, options, "--collect-only"), timeout=min(check.timeout, COLLECT_SECONDS))
        for check in stand.job.checks
        if check.parser == "pytest" and PREFIX not in check.env
    ]
    if not checks:
        return None
    world = replace(stand.world, rooms=folder / "rooms")
    rooms = rooms_for(stand.job, world, stand.record.base, stand.record.folders, folder)
    # In a private room each check keeps what it compiles to itself.
    with open_room(stand.job, world, rooms, stand.record.base, private=False) as (inside, room):
        for check in checks:
            execution.run_check(inside, check, folder)
        return dependencies.take_bytecode(room, folder / "bytecode", rooms.needs.lent)
