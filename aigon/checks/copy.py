"""The copy of the tree on which checks run whose output would litter the work tree."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from threading import Lock

from aigon.checks.dependencies import set_up
from aigon.git.trusted import TrustedGit
from aigon.isolation import clean_room, mechanisms
from aigon.job.job import Job
from aigon.job.world import Place, World
from aigon.model.checks import Check

PlaceOf = Callable[[World, Check], World]
"""Returns the world in which a check runs."""


@contextmanager
def check_copy(job: Job, world: World, checks: Sequence[Check], number: int) -> Iterator[PlaceOf]:
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
                    made.append(room.enter_context(_copied(job, world, tree, number)))
            return made[0]

        yield place_of


def find_littering(git: TrustedGit, checks: Sequence[Check]) -> set[str]:
    """Return the names of the checks that write paths which git does not ignore."""
    paths = {check.name: [_sample(check, path) for path in check.writes] for check in checks if check.writes}
    ignored = git.find_ignored([path for some in paths.values() for path in some])
    return {name for name, some in paths.items() if not set(some) <= ignored}


def _sample(check: Check, path: str) -> str:
    """Return a path that a pattern for the output matches: a file in it, as git knows no empty folders."""
    inside = "" if check.cwd == "." else f"{check.cwd}/"
    return f"{inside}{path}{'file' if path.endswith('/') else ''}"


@contextmanager
def _copied(job: Job, world: World, tree: str, number: int) -> Iterator[World]:
    root, setups = world.workspace.root, job.proof.setups
    mechanism = mechanisms.best(root, job.proof.isolation)
    world.copy = (world.rooms or world.home / "rooms") / f"{job.name}-copy"
    with clean_room.opened(
        world.workspace.trusted,
        tree,
        world.copy,
        world.check_env,
        # Landlock mounts nothing: all it could do is to hide the workspace, and nothing has to be hidden.
        isolation=mechanism if mechanism in ("bwrap", "namespaces") else "none",
        lent=tuple(dict.fromkeys(setup.makes for setup in setups if setup.makes)),
        home="real",
        keep=True,
    ) as room:
        place = Place(room.seen_as, room.env, room.enclosed, room.outside, room.root)
        inside = replace(world, place=place)
        if room.exported.fresh:
            for setup in setups:
                if not setup.lock:
                    set_up(inside, setup, world.iteration_folder(number))
        yield inside
