"""Run checks side by side, longest first, each to a finding."""

import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from pathlib import Path
from queue import SimpleQueue

from aigon.checks import one_check
from aigon.checks.copy import PlaceOf
from aigon.checks.result import Result as Result
from aigon.errors import AigonError
from aigon.files.error_words import Lacking, is_lack
from aigon.job.base_assessments import BaseLooks
from aigon.job.world import World
from aigon.journal.events import CheckFinished, CheckStarted, Event
from aigon.journal.state import State
from aigon.model.checks import Check

Events = Generator[Event, State, "tuple[Result, ...]"]


@dataclass(frozen=True, slots=True)
class Plan:
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
    base: BaseLooks | None = None
    place_of: PlaceOf = lambda world, _check: world


def run_checks(world: World, checks: Sequence[Check], plan: Plan) -> Events:
    """Run them all; findings come back in the order given. Checks marked `exclusive` run alone, after the others."""
    halt = threading.Event()
    results: dict[str, Result] = {}
    for group, slots in _groups(checks, plan):
        if group:
            results |= yield from _side_by_side(world, group, plan, slots, halt)
    return tuple(results[check.name] for check in checks)


def _groups(checks: Sequence[Check], plan: Plan) -> list[tuple[list[Check], int]]:
    """Those that may share the machine, longest first, then the exclusive ones one by one."""
    shared = [check for check in checks if not check.exclusive]
    shared.sort(key=lambda check: -plan.durations.get(check.name, check.timeout))
    return [(shared, plan.slots), ([check for check in checks if check.exclusive], 1)]


def _side_by_side(
    world: World, checks: Sequence[Check], plan: Plan, slots: int, halt: threading.Event
) -> Generator[Event, State, dict[str, Result]]:
    events: SimpleQueue[CheckStarted | tuple[CheckFinished, Result]] = SimpleQueue()
    results: dict[str, Result] = {}
    with _pool(world, slots, len(checks)) as submit:
        for check in checks:
            submit(_one, world, check, plan, halt, events.put)
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
def _pool(world: World, slots: int, checks: int) -> Iterator[Callable[..., None]]:
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


def _one(
    world: World,
    check: Check,
    plan: Plan,
    halt: threading.Event,
    put: Callable[[CheckStarted | tuple[CheckFinished, Result]], None],
) -> None:
    try:
        result = _result(world, check, plan, halt, put)
    except Exception as error:  # a thread's error would otherwise leave the loop waiting for a finding
        if isinstance(error, Lacking) or (isinstance(error, OSError) and is_lack(error.errno)):
            world.meter.trouble = world.meter.trouble or error
        why = error.what if isinstance(error, AigonError) else repr(error)
        result = Result(one_check.error(check, f"aigon could not run it: {why}"))
    if plan.stop_on_first_failure and _stops_others(check, result, plan):
        halt.set()
    put((CheckFinished(world.now(), plan.number, result.finding), result))


def _stops_others(check: Check, result: Result, plan: Plan) -> bool:
    """Return whether no further check starts. A criterion's command is red until the feature is there: that is news of
    no check."""
    expected = check.source == one_check.CRITERION or check.name in plan.known_failures
    return result.finding.status in ("fail", "error") and not expected


def _result(
    world: World,
    check: Check,
    plan: Plan,
    halt: threading.Event,
    put: Callable[[CheckStarted | tuple[CheckFinished, Result]], None],
) -> Result:
    if world.stop.now:
        return Result(one_check.skipped(check, "the run was stopped"))
    if halt.is_set():
        return Result(one_check.skipped(check, "another check failed first (stopOnFirstFailure)"))
    key = key_of(world, check, plan)
    if key and plan.use_cache and (found := _known(world, check, plan, key)):
        return found
    with _slot(world, check) as free:
        if not free:
            return Result(one_check.skipped(check, "the run was stopped"))
        put(CheckStarted(world.now(), plan.number, check.name, check.title))
        place = plan.place_of(world, check)
        result = one_check.run(place, check, plan.folder)
        if place is not world:
            result = _of_the_copy(result)
    if key and plan.later is not None:
        plan.later.append((key, result))
    elif key and result.finding.status == "pass":
        one_check.remember(world, key, result)
    return result


def _of_the_copy(result: Result) -> Result:
    """Say of a check that is red where it ran: files that git ignores are not in the copy."""
    if result.finding.status == "pass":
        return result
    summary = f"{result.finding.summary} (run on a copy of the files that git holds)"
    return replace(result, finding=replace(result.finding, summary=summary))


def _known(world: World, check: Check, plan: Plan, key: str) -> Result | None:
    """The remembered pass, or at the base the failure that another saw there; what is both is neither."""
    log = one_check.log_of(check, plan.folder)
    green = one_check.cached(world, key, log)
    red = plan.base.failure(key, world.workspace.root, log) if plan.base else None
    return None if green and red else green or red


def _slot(world: World, check: Check) -> AbstractContextManager[bool]:
    """A turn among the checks of all loops. The wait for it is none of the check's time."""
    return world.slots.acquire(world.stop, exclusive=check.exclusive) if world.slots else nullcontext(True)


def key_of(world: World, check: Check, plan: Plan) -> str:
    """The name of a pass; "" where none is remembered or believed: what ran elsewhere is another measurement."""
    if world.place or not check.remember:
        return ""
    return one_check.cache_key(world, check, plan.content_key(check.paths))
