"""Run checks side by side, longest first, and on a copy of the tree those that would litter it."""

import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from queue import SimpleQueue
from threading import Lock

from aigon.checks import execution
from aigon.checks.dependencies import run_setup
from aigon.checks.passes import build_cache_key, find_pass, save_pass
from aigon.errors import AigonError
from aigon.files.system_errors import ResourceShortage, is_shortage
from aigon.git.trusted import TrustedGit
from aigon.isolation import clean_room, mechanisms
from aigon.job.base_assessments import BaselineResults
from aigon.job.job import Job
from aigon.job.results import Result
from aigon.job.world import Attendant, CheckEnvironment, World
from aigon.journal.events import CheckFinished, CheckStarted, Event
from aigon.journal.state import State
from aigon.model.checks import Check

ChooseWorld = Callable[[World, Check], World]
"""Returns the world in which a check runs."""


@contextmanager
def open_check_copy(job: Job, world: World, checks: Sequence[Check], number: int) -> Iterator[ChooseWorld]:
    """Yield a function that says where a check runs: on a copy of the snapshot if it litters, else in the workspace.

    The copy is made when the first of them runs, kept until the run ends, and only brought up to date at the next look:
    builds that look at what they built last stay quick. It is made as a clean room is, so that what works there works
    here, but with the person's own environment and dependency folders. Where the proof runs in place, so do all checks.
    """
    littering = find_littering(world.workspace.trusted, checks) if job.proof.mode == "clean-room" else set()
    tree = world.workspace.tree() if littering and not world.place else ""
    made: list[World] = []
    lock = Lock()
    with ExitStack() as room:

        def place_of(here: World, check: Check) -> World:
            if here.place or check.name not in littering:
                return here
            with lock:  # checks run side by side
                if not made:
                    made.append(room.enter_context(_open_copy(job, world, tree, number)))
            return made[0]

        yield place_of


def find_littering(git: TrustedGit, checks: Sequence[Check]) -> set[str]:
    """Return the names of the checks that write paths which git does not ignore."""
    paths = {check.name: [_sample_path(check, path) for path in check.writes] for check in checks if check.writes}
    ignored = git.find_ignored([path for some in paths.values() for path in some])
    return {name for name, some in paths.items() if not set(some) <= ignored}


def _sample_path(check: Check, path: str) -> str:
    """Return a path that a pattern for the output matches: a file in it, as git knows no empty folders."""
    inside = "" if check.cwd == "." else f"{check.cwd}/"
    return f"{inside}{path}{'file' if path.endswith('/') else ''}"


@dataclass(slots=True)
class CheckCopy(Attendant):
    """The folder of the copy on which checks run that would litter the workspace."""

    path: Path | None = None

    def close(self) -> None:
        """Remove it."""
        if self.path:
            clean_room.remove_room(self.path)


@contextmanager
def _open_copy(job: Job, world: World, tree: str, number: int) -> Iterator[World]:
    root, setups = world.workspace.root, job.proof.setups
    mechanism = mechanisms.choose_isolation(root, job.proof.isolation)
    copy = world.get(CheckCopy)
    copy.path = (world.rooms or world.home / "rooms") / f"{job.name}-copy"
    with clean_room.open_room(
        world.workspace.trusted,
        tree,
        copy.path,
        world.check_env,
        # Landlock mounts nothing: all it could do is to hide the workspace, and nothing has to be hidden.
        isolation=mechanism if mechanism in ("bwrap", "namespaces") else "none",
        lent=tuple(dict.fromkeys(setup.makes for setup in setups if setup.makes)),
        home="real",
        keep=True,
    ) as room:
        place = CheckEnvironment(room.seen_as, room.env, room.enclosed, room.outside, room.root)
        inside = replace(world, place=place)
        if room.exported.fresh:
            for setup in setups:
                if not setup.lock:
                    run_setup(inside, setup, world.iteration_folder(number))
        yield inside


Events = Generator[Event, State, "tuple[Result, ...]"]


@dataclass(frozen=True, slots=True)
class Schedule:
    """How to run a set of checks: `durations` are those of the last time, in seconds, by check name.

    `known_failures` are the checks whose failure is expected and stops no other. Results go to `later`, where there is
    such a list, in place of being remembered at once; `base` is what others know of a look at the base; `place_of` says
    where each check runs.
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


def run_checks(world: World, checks: Sequence[Check], plan: Schedule) -> Events:
    """Run them all; findings come back in the order given. Checks marked `exclusive` run alone, after the others."""
    halt = threading.Event()
    results: dict[str, Result] = {}
    for group, slots in _group_checks(checks, plan):
        if group:
            results |= yield from _run_group(world, group, plan, slots, halt)
    return tuple(results[check.name] for check in checks)


def _group_checks(checks: Sequence[Check], plan: Schedule) -> list[tuple[list[Check], int]]:
    """Those that may share the machine, longest first, then the exclusive ones one by one."""
    shared = [check for check in checks if not check.exclusive]
    shared.sort(key=lambda check: -plan.durations.get(check.name, check.timeout))
    return [(shared, plan.slots), ([check for check in checks if check.exclusive], 1)]


def _run_group(
    world: World, checks: Sequence[Check], plan: Schedule, slots: int, halt: threading.Event
) -> Generator[Event, State, dict[str, Result]]:
    events: SimpleQueue[CheckStarted | tuple[CheckFinished, Result]] = SimpleQueue()
    results: dict[str, Result] = {}
    with _open_pool(world, slots, len(checks)) as submit:
        for check in checks:
            submit(_run_one, world, check, plan, halt, events.put)
        running = len(checks)
        while running:
            event = events.get()
            if isinstance(event, CheckStarted):
                yield event
            else:
                finished, result = event
                running -= 1
                results[finished.finding.check] = result
                yield finished
    return results


@contextmanager
def _open_pool(world: World, slots: int, checks: int) -> Iterator[Callable[..., None]]:
    """Submits to threads for so many checks, a single one to the thread that is there; ends when the last has ended."""
    pool = world.aside if checks == 1 else ThreadPoolExecutor(min(slots, checks), thread_name_prefix="check")
    futures: list[Future[None]] = []
    try:
        yield lambda *call: futures.append(pool.submit(*call))
        for future in futures:
            future.result()
    finally:
        wait(futures)
        if pool is not world.aside:
            pool.shutdown()


def _run_one(
    world: World,
    check: Check,
    plan: Schedule,
    halt: threading.Event,
    put: Callable[[CheckStarted | tuple[CheckFinished, Result]], None],
) -> None:
    try:
        result = _obtain_result(world, check, plan, halt, put)
    except Exception as error:  # a thread's error would otherwise leave the loop waiting for a finding
        if isinstance(error, ResourceShortage) or (isinstance(error, OSError) and is_shortage(error.errno)):
            world.meter.trouble = world.meter.trouble or error
        why = error.what if isinstance(error, AigonError) else repr(error)
        result = Result(execution.make_error(check, f"aigon could not run it: {why}"))
    if plan.stop_on_first_failure and _stops_others(check, result, plan):
        halt.set()
    put((CheckFinished(world.now(), plan.number, result.finding), result))


def _stops_others(check: Check, result: Result, plan: Schedule) -> bool:
    """Return whether no further check starts. A criterion's command is red until the feature is there: that is news of
    no check."""
    expected = check.source == execution.CRITERION or check.name in plan.known_failures
    return result.finding.status in ("fail", "error") and not expected


def _obtain_result(
    world: World,
    check: Check,
    plan: Schedule,
    halt: threading.Event,
    put: Callable[[CheckStarted | tuple[CheckFinished, Result]], None],
) -> Result:
    if world.stop.now:
        return Result(execution.make_skipped(check, "the run was stopped"))
    if halt.is_set():
        return Result(execution.make_skipped(check, "another check failed first (stopOnFirstFailure)"))
    key = choose_cache_key(world, check, plan)
    if key and plan.use_cache and (found := _recall_result(world, check, plan, key)):
        return found
    with _acquire_slot(world, check) as free:
        if not free:
            return Result(execution.make_skipped(check, "the run was stopped"))
        put(CheckStarted(world.now(), plan.number, check.name, check.title))
        place = plan.place_of(world, check)
        result = execution.run_check(place, check, plan.folder)
        if place is not world:
            result = _mark_as_copy(result)
    if key and plan.later is not None:
        plan.later.append((key, result))
    elif key and result.finding.status == "pass":
        save_pass(world, key, result)
    return result


def _mark_as_copy(result: Result) -> Result:
    """Say of a check that is red where it ran: files that git ignores are not in the copy."""
    if result.finding.status == "pass":
        return result
    summary = f"{result.finding.summary} (run on a copy of the files that git holds)"
    return replace(result, finding=replace(result.finding, summary=summary))


def _recall_result(world: World, check: Check, plan: Schedule, key: str) -> Result | None:
    """The remembered pass, or at the base the failure that another saw there; what is both is neither."""
    log = execution.locate_log(check, plan.folder)
    green = find_pass(world, key, log)
    red = plan.base.failure(key, world.workspace.root, log) if plan.base else None
    return None if green and red else green or red


def _acquire_slot(world: World, check: Check) -> AbstractContextManager[bool]:
    """A turn among the checks of all loops. The wait for it is none of the check's time."""
    return world.slots.acquire(world.stop, exclusive=check.exclusive) if world.slots else nullcontext(True)


def choose_cache_key(world: World, check: Check, plan: Schedule) -> str:
    """The name of a pass; "" where none is remembered or believed: what ran elsewhere is another measurement."""
    if world.place or not check.remember:
        return ""
    return build_cache_key(world, check, plan.content_key(check.paths))
