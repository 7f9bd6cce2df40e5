"""Dependencies of checks outside the tree: folders that git ignores (`.venv`), or the command that makes them.

A folder that is as it was before any agent ran is lent to the room. One that has changed since could hold anything, so
it is made anew by the project's set-up command, once per lock file. One that is new was not part of the baseline, and
is not there in the room.
"""

import hashlib
import shutil
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from aigon.checks import execution
from aigon.errors import environment
from aigon.git.objects import TreeEntry
from aigon.isolation.dependencies import fingerprint_folder
from aigon.job.world import World
from aigon.model.checks import Check
from aigon.profiles.ecosystem import Setup

TIMEOUT = 1800.0
"""Seconds for a set-up command."""
KEPT = 4
"""Sets of dependencies that are kept per repository; older ones go once they have been unused for `UNUSED` seconds."""
UNUSED = 86_400.0
"""A day: another loop may still use what it made hours ago."""


class Dependencies(Struct, frozen=True):
    """`lent` are folders of the workspace, `given` folders kept by aigon, by relative path in the room.

    `each_time` are commands that run in every room, `due` those whose folder has to be made first.
    """

    lent: tuple[str, ...] = ()
    given: Mapping[str, Path] = field(default_factory=dict)
    each_time: tuple[Setup, ...] = ()
    due: tuple[Setup, ...] = ()


def find_dependency_folders(root: Path, setups: Iterable[Setup]) -> dict[str, str]:
    """Return the dependency folders that are there, by relative path, with a name for what they hold.

    A link to one (`worktree.link`) counts, too: where it leads is a part of its name.
    """
    names: dict[str, str] = {}
    for place in dict.fromkeys(setup.makes for setup in setups if setup.makes):
        if name := fingerprint_folder(root / place):
            target = f"{(root / place).resolve()}\0" if (root / place).is_symlink() else ""
            names[place] = f"{target}{name}"
    return names


def choose_dependencies(
    root: Path, setups: Sequence[Setup], before: Mapping[str, str], tree: Mapping[str, TreeEntry]
) -> Dependencies:
    """Return which folders a room gets; `before` are those before any agent ran, `tree` the tree's files.

    Raises AigonError (exit 7) for a folder that has changed and that no set-up command of the project makes.
    """
    own = tuple(setup for setup in setups if not setup.lock)
    if own:
        return Dependencies(each_time=own)
    now = find_dependency_folders(root, setups)
    lent, due = [], []
    for place, name in before.items():
        if any(path == place or path.startswith(f"{place}/") for path in tree):
            continue
        if now.get(place) == name:
            lent.append(place)
            continue
        makers = (each for each in setups if each.makes == place and each.lock in tree and shutil.which(each.argv[0]))
        setup = next(makers, None)
        if setup is None:
            raise environment(
                f"{place} has changed since the first turn, and no command is known that rebuilds it",
                where=place,
                hint='Name one in .aigon/config.json: "proof": {"setup": "COMMAND"}, or "proof": "in-place"',
            )
        due.append(setup)
    return Dependencies(tuple(lent), due=tuple(due))


def run_setup(inside: World, setup: Setup, folder: Path) -> None:
    """Run a set-up command in a room. Raises AigonError (exit 7) with the end of what it printed."""
    check = Check(
        "setup",
        "script",
        setup.argv,
        parser="text",
        timeout=TIMEOUT,
        cwd=setup.cwd,
        source=execution.SETUP,
        remember=False,
    )
    finding = execution.run_check(inside, check, folder).finding
    if finding.status != "pass":
        raise environment(
            f"The set-up for the clean room failed: {finding.summary}",
            where=execution.render_command(check),
            hint=f'Its output is in {finding.log}; another command: "proof": {{"setup": "..."}} in .aigon/config.json',
        )


def locate_kept(
    home: Path, setup: Setup, tree: Mapping[str, TreeEntry], setups: Sequence[Setup], seen_as: Path
) -> Path:
    """Return where the folder that a set-up makes is kept: by the command, the lock files, and the place it is for."""
    files = sorted({each.lock for each in setups} | {path for path in tree if path.startswith("requirements")})
    parts = [*setup.argv, str(seen_as), *(f"{path} {tree[path].sha}" for path in files if path in tree)]
    name = hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()[:24]
    return home / "dependencies" / name / setup.makes


def keep_folder(made: Path, place: Path) -> None:
    """Move a folder that was made in a room to where it is kept, and let the oldest ones go."""
    place.parent.mkdir(parents=True, exist_ok=True)
    shutil.move(made, place)
    by_age = sorted(place.parent.parent.iterdir(), key=lambda folder: folder.stat().st_mtime, reverse=True)
    for old in by_age[KEPT:]:
        if time.time() - old.stat().st_mtime > UNUSED:
            shutil.rmtree(old, ignore_errors=True)
