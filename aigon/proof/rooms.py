"""Make the clean rooms of one proof: by which mechanism, with which dependencies."""

import mmap
import shutil
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Literal

from msgspec import Struct, field
from msgspec.structs import replace

from aigon.checks.reuse import Dependencies, choose_dependencies, keep_folder, locate_kept, run_setup
from aigon.files.folders import TemporaryFolder, discard_tree, remove_tree
from aigon.git import objects
from aigon.git.listings import SUBMODULE
from aigon.git.objects import TreeEntry
from aigon.git.trusted import TrustedGit
from aigon.isolation import clean_room, dependencies, mechanisms
from aigon.isolation.check_sandbox import CheckSandbox
from aigon.isolation.clean_room import CleanRoom
from aigon.isolation.dependencies import Bytecode
from aigon.isolation.enclosure import Isolation
from aigon.isolation.export import RoomTree, has_filters
from aigon.isolation.machine_paths import find_shared_tools, list_other_checkouts
from aigon.isolation.mechanisms import can_overlay
from aigon.job.job import Job
from aigon.job.world import Attendant, CheckEnvironment, CheckStart, World
from aigon.process.capacity import find_memory_folder

KEPT_PRODUCTS = 4
"""Trees of which products are kept: a proof is about two, and two rooms can be open at a time."""


Keeping = Literal["memory", "disk"]
"""Where the files of a room may be that its commands write in: in memory only if they write little."""


class Rooms(Struct, frozen=True):
    """The rooms of one proof: by which mechanism, with which dependencies, logging where.

    `hidden` are folders that no command in one reaches, except for what is `shown`. If they are `apart` they have no
    network but a loopback of their own, whatever the project asks for, so that two can be used at the same time: the
    other one's folder has a `suffix`. `entries` are the files of the tree to prove.
    """

    mechanism: Isolation
    needs: Dependencies
    logs: Path
    hidden: tuple[Path, ...] = ()
    shown: tuple[Path, ...] = ()
    apart: bool = False
    suffix: str = ""
    entries: Mapping[str, TreeEntry] = field(default_factory=dict)


def rooms_for(job: Job, world: World, tree: str, before: Mapping[str, str], logs: Path) -> Rooms:
    """Return what the rooms of one proof have in common. Dependencies that have changed are made here, once.

    `before` are the dependency folders as they were before any agent ran. Raises AigonError (exit 7).
    """
    root = world.workspace.root
    entries = objects.list_entries(world.workspace.trusted, tree)
    needs = choose_dependencies(root, job.proof.setups, before, entries)
    rooms = Rooms(
        mechanisms.choose_isolation(root, job.proof.isolation, job.proof.network),
        needs,
        logs,
        hidden=(world.home, *list_other_checkouts(root)),
        shown=find_shared_tools(root, world.check_env.get("PATH", ""), needs.lent),
        entries=entries,
    )
    for setup in needs.due:
        seen_as = root if rooms.mechanism in ("bwrap", "namespaces") else _locate_rooms(job, world)
        place = locate_kept(world.home, setup, entries, job.proof.setups, seen_as)
        if not place.exists():
            own = _keep_from_caches(job, world) if dependencies.has_linked_file(root / setup.makes) else (job, world)
            with open_room(*own, rooms, tree) as (inside, room):
                run_setup(_put_online(inside, room), setup, logs)
                keep_folder(room.root / setup.makes, place)
        place.parent.touch()  # in use: others that make theirs leave it alone
        needs = replace(needs, given={**needs.given, setup.makes: place})
        rooms = replace(rooms, needs=needs)
    return rooms


def _keep_from_caches(job: Job, world: World) -> tuple[Job, World]:
    """Return the same with download caches that are empty.

    Package managers link files of a cache into the folder: what was changed in one place was changed in both.
    """
    names = {name for name, place in job.proof.caches.items() if place.startswith(".cache/")}
    caches = {name: place for name, place in job.proof.caches.items() if name not in names}
    env = {name: value for name, value in world.check_env.items() if name not in names}
    plan = replace(job.proof, home="throwaway", caches=caches)
    return replace(job, proof=plan), replace(world, check_env=env)


@contextmanager
def open_room(
    job: Job,
    world: World,
    rooms: Rooms,
    tree: str,
    *,
    private: bool = True,
    keep: Keeping | None = None,
    products: Path | None = None,
) -> Iterator[tuple[World, CleanRoom]]:
    """Yield a world whose checks run in a room with `tree`.

    If it is `private`, and overlays can be made, each check has a tree and a HOME of its own, with the `products` of
    builds. With `keep` the files stay for later private rooms, and are in memory if they take little of it; those of
    another room only if its commands write little. Raises AigonError (exit 7) if no room can be made.
    """
    root = world.workspace.root
    box = world.find(CheckSandbox)
    parent = world.rooms or (box.folder if box else world.home).parent
    overlays = rooms.mechanism == "namespaces" and can_overlay(parent)
    folder = _locate_rooms(job, world, rooms.suffix)
    plan = clean_room.RoomPlan(
        rooms.mechanism,
        folder,
        rooms.hidden,
        rooms.shown,
        {**{name: root / name for name in rooms.needs.lent}, **rooms.needs.given},
        home=job.proof.home,
        places=job.proof.caches,
        box=box,
        private=private and overlays,
        products=products,
    )
    if (keep == "memory" or (keep and plan.private)) and not rooms.needs.each_time:  # which is made in the tree
        trees, git = world.get(RoomTrees), world.workspace.trusted
        plan = replace(plan, tree=trees.find(git, folder, rooms.entries, stays=plan.private))
    with clean_room.open_room(world.workspace.trusted, tree, world.check_env, plan) as made:
        compiled, room = world.find(Bytecode), made
        if compiled:
            room = compiled.lend(made, rooms.needs.lent, can_overlay=overlays)

        def wrap_command(argv: Sequence[str], cwd: Path, start: CheckStart) -> Sequence[str]:
            is_closed = job.proof.network == "closed" and not (box and box.opens_network(start.name))
            return (room.wrap_offline if is_closed or rooms.apart else room.wrap_command)(argv, cwd, start)

        changes = room.changes if plan.private else None
        place = CheckEnvironment(room.seen_as, room.env, wrap_command, room.scratch, room.root, changes)
        inside = replace(world, place=place, keeps=False)
        for setup in rooms.needs.each_time:
            run_setup(_put_online(inside, room), setup, rooms.logs)
        yield inside, room


def _put_online(inside: World, room: CleanRoom) -> World:
    """Return the same with a network, for what fetches dependencies."""
    assert inside.place is not None, "a room is a place"
    return replace(inside, place=replace(inside.place, wrap_command=room.wrap_command))


def _locate_rooms(job: Job, world: World, suffix: str = "") -> Path:
    """Return the same folder for each room of a feature, so that what is made for one fits the next."""
    return (world.rooms or world.home / "rooms") / f"{job.name}{suffix}"


class RoomTrees(Struct, Attendant):
    """The exports that the rooms of one proof share, by the folder of the rooms.

    They are in memory if they take little of it: writing thousands of files takes longer than most checks. None is left
    when an agent works, as one without a sandbox could change it.
    """

    trees: dict[Path, RoomTree] = field(default_factory=dict)
    held: ExitStack = field(default_factory=ExitStack)

    def find(self, git: TrustedGit, folder: Path, entries: Mapping[str, TreeEntry], *, stays: bool) -> RoomTree | None:
        """Return the export for the rooms in `folder`; None if it is neither in memory nor `stays`."""
        if folder not in self.trees:
            if any(entry.mode == SUBMODULE for entry in entries.values()):
                return None  # neither its size nor its files are known here
            place = None if has_filters(git) else find_memory_folder(_measure_files(git, entries))
            if place is None and not stays:
                return None
            disk = folder.with_name(f"{folder.name}-trees")
            remove_tree(disk)  # of a killed aigon
            disk.mkdir(parents=True)
            self.held.callback(discard_tree, disk)
            tree = RoomTree(disk / "tree")
            if place:
                tree = RoomTree(self.held.enter_context(TemporaryFolder("tree", place)) / "tree", spare=tree.folder)
            self.trees[folder] = tree
        return self.trees[folder]

    def before_turn(self) -> None:
        """Remove them."""
        self.close()

    def close(self) -> None:
        """Remove them."""
        self.trees.clear()
        self.held.close()


def _measure_files(git: TrustedGit, entries: Mapping[str, TreeEntry]) -> int:
    """Return the bytes that these files take at most, whole pages and once more in a pack."""
    sizes = objects.read_sizes(git, (entry.sha for entry in entries.values()))
    return sum(2 * sizes[entry.sha][1] + mmap.PAGESIZE for entry in entries.values() if entry.sha in sizes)


class Products(Struct, Attendant):
    """What builds made of trees in rooms of this process, for later rooms with the same tree.

    `folders` are the layers by tree, the oldest first, in the folder `place`.
    """

    place: Path | None = None
    folders: dict[str, Path] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def keep(self, job: Job, world: World, tree: str, room: CleanRoom) -> None:
        """Move what the builds of a room made of `tree` here."""
        made = room.made
        with self.lock:
            if not room.private or tree in self.folders or not made.is_dir():
                return
            if self.place is None:
                self.place = _locate_rooms(job, world, "-products")
                remove_tree(self.place)  # of a killed aigon
                self.place.mkdir(parents=True)
            self.folders[tree] = Path(shutil.move(made, self.place / tree))
            while len(self.folders) > KEPT_PRODUCTS:
                remove_tree(self.folders.pop(next(iter(self.folders))))

    def close(self) -> None:
        """Remove them."""
        if self.place:
            remove_tree(self.place)
