"""Run checks on a clean export of a tree, where the workspace cannot be reached."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from aigon.checks.dependencies import Dependencies, choose_dependencies, keep_folder, locate_kept, run_setup
from aigon.checks.schedule import Schedule, run_checks
from aigon.git import objects
from aigon.isolation import clean_room, mechanisms
from aigon.isolation.clean_room import CleanRoom
from aigon.isolation.machine_paths import find_shared_tools, list_other_checkouts
from aigon.isolation.mechanisms import Isolation
from aigon.job.job import Job
from aigon.job.results import Result
from aigon.job.world import Place, World
from aigon.model.checks import Check


@dataclass(frozen=True, slots=True)
class Rooms:
    """How rooms are made for one proof: by which mechanism, with which dependencies, logging where."""

    mechanism: Isolation
    needs: Dependencies
    logs: Path


def rooms_for(job: Job, world: World, tree: str, before: Mapping[str, str], logs: Path) -> Rooms:
    """What the rooms of one proof have in common; dependencies that have changed are made here, once.

    `before` are the dependency folders as they were before any agent ran. Raises AigonError (exit 7).
    """
    root = world.workspace.root
    entries = objects.list_entries(world.workspace.trusted, tree)
    needs = choose_dependencies(root, job.proof.setups, before, entries)
    rooms = Rooms(mechanisms.choose_isolation(root, job.proof.isolation, job.proof.network), needs, logs)
    for setup in needs.due:
        seen_as = root if rooms.mechanism in ("bwrap", "namespaces") else _folder(job, world)
        place = locate_kept(world.home, setup, entries, job.proof.setups, seen_as)
        if not place.exists():
            with opened(job, world, rooms, tree) as (inside, room):
                run_setup(_online(inside, room), setup, logs)
                keep_folder(room.root / setup.makes, place)
        place.parent.touch()  # in use: others that make theirs let it be
        needs = replace(needs, given={**needs.given, setup.makes: place})
        rooms = replace(rooms, needs=needs)
    return rooms


@contextmanager
def opened(job: Job, world: World, rooms: Rooms, tree: str) -> Iterator[tuple[World, CleanRoom]]:
    """A world whose checks run in a room with `tree`. Raises AigonError (exit 7) where none can be made."""
    root = world.workspace.root
    with clean_room.open_room(
        world.workspace.trusted,
        tree,
        _folder(job, world),
        world.check_env,
        isolation=rooms.mechanism,
        hidden=(world.home, *list_other_checkouts(root)),
        shown=find_shared_tools(root, world.check_env.get("PATH", ""), rooms.needs.lent),
        lent=rooms.needs.lent,
        given=rooms.needs.given,
        home=job.proof.home,
        places=job.proof.caches,
    ) as room:
        enclosed = room.offline if job.proof.network == "closed" else room.enclosed
        place = Place(room.seen_as, room.env, enclosed, room.outside, room.root)
        inside = replace(world, place=place, keeps=False)
        if world.bytecode:
            world.bytecode.put(room, rooms.needs.lent)
        for setup in rooms.needs.each_time:
            run_setup(_online(inside, room), setup, rooms.logs)
        yield inside, room


def _online(inside: World, room: CleanRoom) -> World:
    """The same with a network, for what fetches dependencies."""
    assert inside.place is not None, "a room is a place"
    return replace(inside, place=replace(inside.place, enclosed=room.enclosed))


def _folder(job: Job, world: World) -> Path:
    """Where the rooms of a feature are made: the same place each time, so that what is made for it fits again."""
    return (world.rooms or world.home / "rooms") / job.name


def run_in(inside: World, checks: Sequence[Check], plan: Schedule) -> dict[str, Result]:
    """Run checks, by name, without telling every step: to those who watch, a proof is one check."""
    running = run_checks(inside, checks, plan)
    try:
        while True:
            next(running)
    except StopIteration as end:
        results: tuple[Result, ...] = end.value
        return {result.finding.check: result for result in results}


def plan_for(job: Job, logs: Path, durations: Mapping[str, float]) -> Schedule:
    """Every check, whatever another says; nothing that was remembered counts."""
    return Schedule(0, logs, lambda _paths: "", durations, job.slots, stop_on_first_failure=False, use_cache=False)
