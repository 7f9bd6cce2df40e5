"""Run checks side by side, longest first, and on a copy of the tree those that would litter it."""

import re
import shlex
import shutil
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from queue import SimpleQueue

from msgspec import Struct
from msgspec.structs import replace

from aigon.checks import execution
from aigon.checks.reuse import build_cache_key, find_pass, run_setup, save_pass
from aigon.errors import AigonError
from aigon.files.folders import remove_tree
from aigon.files.system_errors import ResourceShortage, is_shortage
from aigon.git.trusted import TrustedGit
from aigon.isolation import clean_room, mechanisms
from aigon.isolation.check_sandbox import CheckSandbox
from aigon.job.job import Job
from aigon.job.results import BaselineResults, Result
from aigon.job.world import Attendant, CheckEnvironment, World
from aigon.journal.events import CheckFinished, CheckStarted, Event
from aigon.journal.state import State
from aigon.model.checks import Check

TIDYING = frozenset({"PYTHONDONTWRITEBYTECODE"})
"""Variables of a check that keep it from leaving files, and change nothing else."""
ChooseWorld = Callable[[World, Check], World]
"""Returns the world in which a check runs."""


@contextmanager
def open_check_copy(job: Job, world: World, checks: Sequence[Check], number: int) -> Iterator[ChooseWorld]:
    """Yield a function that says where a check runs: on a copy of the snapshot if it litters, else in the workspace.

    Tests and commands of criteria run where the builds do, as they may use what a build made.
    The copy is made when the first of them runs, kept until the run ends, and only brought up to date at the next look:
    builds that look at what they built last stay quick. It is made as a clean room is, so that what works there works
    here, but with the person's own environment and dependency folders. Where the proof runs in place, so do all checks.
    """
    littering = find_littering(world.workspace.trusted, checks) if job.proof.mode == "clean-room" else set()
    tree = world.workspace.tree() if littering and not world.place else ""
    has_built_there = any(check.makes_products and check.name in littering for check in checks)
    made: list[World] = []
    lock = threading.Lock()
    with ExitStack() as room:

        def place_of(here: World, check: Check) -> World:
            follows = has_built_there and (check.role == "tests" or check.source == execution.CRITERION)
            if here.place or not (follows or check.name in littering):
                return here
            with lock:  # checks run side by side
                if not made:
                    made.append(room.enter_context(_open_copy(job, world, tree, number)))
            return made[0]

        yield place_of


def find_littering(git: TrustedGit, checks: Sequence[Check]) -> set[str]:
    """Return the names of the checks that write paths which git does not ignore."""
    paths: dict[str, list[str]] = {}
    for check in checks:
        inside = "" if check.cwd == "." else f"{check.cwd}/"
        # A folder stands for a file in it, as git knows no empty folders.
        samples = [f"{inside}{path}{'file' if path.endswith('/') else ''}" for path in check.writes]
        paths |= {check.name: samples} if samples else {}
    ignored = git.find_ignored([path for some in paths.values() for path in some])
    return {name for name, some in paths.items() if not set(some) <= ignored.keys()}


class CheckCopy(Struct, Attendant):
    """The folder of the copy on which checks run that would litter the workspace."""

    path: Path | None = None

    def close(self) -> None:
        """Remove it."""
        if self.path:
            remove_tree(self.path)


@contextmanager
def _open_copy(job: Job, world: World, tree: str, number: int) -> Iterator[World]:
    root, setups = world.workspace.root, job.proof.setups
    mechanism = mechanisms.choose_isolation(root, job.proof.isolation)
    copy = world.get(CheckCopy)
    copy.path = (world.rooms or world.home / "rooms") / f"{job.name}-copy"
    plan = clean_room.RoomPlan(
        # Landlock mounts nothing: all it could do is to hide the workspace, and nothing has to be hidden.
        mechanism if mechanism in ("bwrap", "namespaces") else "none",
        copy.path,
        lent={setup.makes: root / setup.makes for setup in setups if setup.makes},
        home="real",
        keep=True,
        box=world.find(CheckSandbox),
    )
    with clean_room.open_room(world.workspace.trusted, tree, world.check_env, plan) as room:
        place = CheckEnvironment(room.seen_as, room.env, room.wrap_command, room.scratch, room.root)
        inside = replace(world, place=place)
        if room.exported.fresh:
            for setup in setups:
                if not setup.lock:
                    run_setup(inside, setup, world.iteration_folder(number))
        yield inside


class Schedule(Struct, frozen=True):
    """The order of a set of checks: `durations` are those of the last time, in seconds, by check name.

    `known_failures` are the checks whose failure is expected and stops no other. If there is a list `later`, results go
    there instead of being remembered at once; `base` holds what others know of an assessment of the base; `place_of`
    says where each check runs.
    """

    number: int
    folder: Path
    content_key: Callable[[tuple[str, ...]], str]
    durations: Mapping[str, float]
    slots: int
    stop_on_first_failure: bool
    use_cache: bool
    known_failures: tuple[str, ...] = ()
    later: list[tuple[str, Result]] | None = None
    base: BaselineResults | None = None
    place_of: ChooseWorld = lambda world, _check: world


def run_checks(world: World, checks: Sequence[Check], plan: Schedule) -> Generator[Event, State, tuple[Result, ...]]:
    """Run them all, builds first, then the longest first, and return the results in the order given.

    Checks marked `exclusive` run alone, after the others. What only repeats the command of another is not run. In a
    room whose tree checks share, commands of criteria run last, so that nothing that they leave there decides a check.
    """
    answering = find_answering(checks, world.checks_run_in.env.get("PATH", ""))
    own = [check for check in checks if check.name not in answering]
    is_shared = world.place is not None and not world.place.changes
    runner, stages = _Runner(world, plan), (list[Check](), list[Check](), list[Check]())
    for check in own:
        stages[0 if check.makes_products else 2 if is_shared and check.source == execution.CRITERION else 1].append(
            check
        )
    if stages[0]:  # what it makes is not remembered
        runner.rebuilds = not all(runner.recalls(check) for check in own if not check.makes_products)
    for stage in stages:
        for group, slots in _list_groups(stage, plan):
            yield from runner.run_group(group, slots)
    for check in (check for check in checks if check.name in answering):
        result = runner.results[answering[check.name]]
        finding = replace(result.finding, check=check.name, role=check.role, title=check.title, duration=0.0)
        runner.results[check.name] = replace(result, finding=finding)
        yield CheckFinished(world.now(), plan.number, finding)
    return tuple(runner.results[check.name] for check in checks)


def _list_groups(stage: Sequence[Check], plan: Schedule) -> Iterator[tuple[list[Check], int]]:
    """Yield the checks that run side by side, with the slots for them."""
    shared = [check for check in stage if not check.exclusive]
    shared.sort(key=lambda check: -plan.durations.get(check.name, check.timeout))
    for group, slots in ((shared, plan.slots), ([check for check in stage if check.exclusive], 1)):
        if group:
            yield group, slots


def add_builds(checks: Sequence[Check], known: Sequence[Check]) -> list[Check]:
    """Return `checks`, with those of the `known` builds before them that they lack."""
    names = {check.name for check in checks}
    return [*(check for check in known if check.makes_products and check.name not in names), *checks]


def find_answering(checks: Sequence[Check], path: str) -> dict[str, str]:
    """Return for checks of which only the exit code counts the other one that runs the very same command."""
    commands = {command: check for check in reversed(checks) if (command := _spell_command(check))}
    found = ((check, commands.get(check.argv[-1].strip())) for check in checks if check.by_exit)
    return {check.name: other.name for check, other in found if other and _starts_same(check, other, path)}


def _spell_command(check: Check) -> str:
    """Return the command of a check as a script would say it; "" for one that runs elsewhere or in another way."""
    places = ("{report}", "{scratch}")
    parts = [part for part in check.argv if not re.fullmatch(r"--[\w-]+=\{report\}", part)]
    is_filled = any(place in text for text in (*parts, *check.env.values()) for place in places)
    if check.by_exit or check.cwd != "." or check.env.keys() - TIDYING or check.missing or is_filled:
        return ""
    is_script = parts[:2] == ["bash", "-c"] and len(parts) == 3
    return parts[2].strip() if is_script else shlex.join([Path(parts[0]).name, *parts[1:]])


def _starts_same(check: Check, other: Check, path: str) -> bool:
    """Return whether the first word of a script is the program that another check starts."""
    program = other.argv[0]
    return not program.startswith("/") or shutil.which(check.argv[-1].split()[0], path=path) == program


class _Runner:
    """Runs groups of checks in threads and yields their events in its own."""

    def __init__(self, world: World, plan: Schedule) -> None:
        self._world, self._plan = world, plan
        self._halt = threading.Event()
        self._events: SimpleQueue[CheckStarted | tuple[CheckFinished, Result]] = SimpleQueue()
        self.results: dict[str, Result] = {}
        self.rebuilds = False

    def run_group(self, checks: Sequence[Check], slots: int) -> Generator[Event, State, None]:
        """Run these checks side by side, in at most so many slots."""
        with self._open_pool(slots, len(checks)) as submit:
            for check in checks:
                submit(self._run_one, check)
            running = len(checks)
            while running:
                event = self._events.get()
                if isinstance(event, CheckStarted):
                    yield event
                else:
                    finished, result = event
                    running -= 1
                    self.results[finished.finding.check] = result
                    yield finished

    @contextmanager
    def _open_pool(self, slots: int, checks: int) -> Iterator[Callable[..., None]]:
        """Submit to threads for so many checks, a single one to the thread that is there; wait until all have ended."""
        aside = self._world.aside
        pool = aside if checks == 1 else ThreadPoolExecutor(min(slots, checks), thread_name_prefix="check")
        futures: list[Future[None]] = []
        try:
            yield lambda *call: futures.append(pool.submit(*call))
            for future in futures:
                future.result()
        finally:
            wait(futures)
            if pool is not aside:
                pool.shutdown()

    def _run_one(self, check: Check) -> None:
        world, plan = self._world, self._plan
        try:
            result = self._obtain_result(check)
        except Exception as error:  # a thread's error would otherwise leave the loop waiting for a finding
            if isinstance(error, ResourceShortage) or (isinstance(error, OSError) and is_shortage(error.errno)):
                world.meter.trouble = world.meter.trouble or error
            why = error.what if isinstance(error, AigonError) else repr(error)
            result = Result(execution.make_error(check, f"aigon could not run it: {why}"))
        # A criterion's command fails until the feature is there: that is no reason to stop the checks.
        is_expected = check.source == execution.CRITERION or check.name in plan.known_failures
        if plan.stop_on_first_failure and result.finding.status in ("fail", "error") and not is_expected:
            self._halt.set()
        self._events.put((CheckFinished(world.now(), plan.number, result.finding), result))

    def _obtain_result(self, check: Check) -> Result:
        world, plan = self._world, self._plan
        if world.stop.now:
            return Result(execution.make_skipped(check, "the run was stopped"))
        if self._halt.is_set():
            return Result(execution.make_skipped(check, "another check failed first (stopOnFirstFailure)"))
        key = choose_cache_key(world, check, plan)
        is_needed = self.rebuilds and check.makes_products
        if key and plan.use_cache and not is_needed and (known := self._recall_result(check, key)):
            return known
        # A turn among the checks of all loops. The wait for it is none of the check's time.
        turn = world.slots.acquire(world.stop, exclusive=check.exclusive) if world.slots else nullcontext(True)
        with turn as is_free:
            if not is_free:
                return Result(execution.make_skipped(check, "the run was stopped"))
            self._events.put(CheckStarted(world.now(), plan.number, check.name, check.title))
            place = plan.place_of(world, check)
            result = execution.run_check(place, check, plan.folder)
        finding = result.finding
        if place is not world and finding.status != "pass":
            # Files that git ignores are not in the copy: that may be why it failed.
            summary = f"{finding.summary} (run on a copy of the files that git holds)"
            result = replace(result, finding=replace(finding, summary=summary))
        if key and plan.later is not None:
            plan.later.append((key, result))
        elif key and finding.status == "pass":
            save_pass(world, key, result)
        return result

    def recalls(self, check: Check) -> bool:
        """Return whether a remembered result takes the place of a run."""
        key = choose_cache_key(self._world, check, self._plan) if self._plan.use_cache else ""
        return bool(key and self._recall_result(check, key))

    def _recall_result(self, check: Check, key: str) -> Result | None:
        """Return the remembered pass, or at the base the failure that another saw; what is both is neither."""
        plan, log = self._plan, execution.locate_log(check, self._plan.folder)
        passed = find_pass(self._world, key, log)
        failed = plan.base.failure(key, self._world.workspace.root, log) if plan.base else None
        return None if passed and failed else passed or failed


def choose_cache_key(world: World, check: Check, plan: Schedule) -> str:
    """Return the name of a pass; empty if none is remembered or believed: what ran elsewhere is another measurement."""
    if world.place or not check.remember:
        return ""
    return build_cache_key(world, check, plan.content_key(check.paths))
