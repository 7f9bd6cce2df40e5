"""What an assessment takes from earlier ones: passes of checks, and folders that checks depend on.

A pass is remembered by tree, command and environment; nothing but a pass is remembered. Dependencies outside the tree
are folders that git ignores (`.venv`), or the command that makes them. A folder that is as it was before any agent ran
is lent to the room. One that has changed since could hold anything, so it is made anew by the project's set-up command,
once per lock file. One that is new was not part of the baseline, and is not there in the room.
"""

import hashlib
import json
import os
import shutil
import time
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct, field

from aigon.checks import execution
from aigon.errors import environment
from aigon.files.atomic import write_atomic
from aigon.git.objects import TreeEntry
from aigon.isolation.dependencies import fingerprint_folder
from aigon.job.results import Result, decode_result, encode_result
from aigon.job.world import World
from aigon.model.checks import Check
from aigon.profiles.ecosystem import Setup

TERMINAL_VARIABLES = (
    *("_", "OLDPWD", "PWD", "SHLVL", "TERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TERM_SESSION_ID", "COLORTERM"),
    *("COLUMNS", "LINES", "WINDOWID", "TMUX", "TMUX_PANE", "STY", "GPG_TTY", "XDG_SESSION_ID", "DISPLAY"),
    *("WAYLAND_DISPLAY", "INVOCATION_ID", "JOURNAL_STREAM"),
)
"""Variables that tell one terminal from another, and nothing about what a check would say."""
TERMINAL_PREFIXES = ("AIGON_", "SSH_", "DBUS_", "VSCODE_")
"""The same, by how they begin: up to a `_`, because `STY` also begins STYLE."""
WORKTREE_VARIABLE = "COMPOSE_PROJECT_NAME"
"""The one variable that aigon sets per worktree without the prefix AIGON_."""
LARGEST_SCRIPT = 256 * 1024
"""Bytes up to which a program is identified by its content."""


def build_cache_key(world: World, check: Check, content: str) -> str:
    """Return a name for the tree without aigon's two files, the command and the environment.

    It is the same in every worktree that was set up alike: where the worktree lies is left out, unless the command or
    the environment says it.
    """
    command = [check.name, check.role, list(check.argv), _identify_programs(check), check.cwd, check.parser]
    try:  # which folders are checked out, if not all are
        sparse = (world.workspace.trusted.git_dir / "info" / "sparse-checkout").read_text(errors="surrogateescape")
    except OSError:
        sparse = ""
    env = sorted(_select_environment(world, check).items())
    parts = [content, command, env, world.toolchain(), world.made_by, sparse]
    return hashlib.sha256(json.dumps(parts, default=str).encode("utf-8", "surrogateescape")).hexdigest()


def _select_environment(world: World, check: Check) -> dict[str, str]:
    """Return the variables that may matter. One that differs between worktrees does only if the command names it."""
    named, root = "\0".join((*check.argv, *check.env.values())), world.workspace.root

    def is_irrelevant(name: str) -> bool:
        if name == WORKTREE_VARIABLE:
            return bool(world.made_by)
        return name in TERMINAL_VARIABLES or name.startswith(TERMINAL_PREFIXES)

    env = {k: v for k, v in world.check_env.items() if k in named or not is_irrelevant(k)} | dict(check.env)
    # Folders that are links to shared ones count by where they lead; the worktree's own make it another toolchain.
    path = (os.path.realpath(p) if p.startswith(f"{root}/") else p for p in env.get("PATH", "").split(os.pathsep))
    return {**env, "PATH": os.pathsep.join(path)}


def _identify_programs(check: Check) -> list[str]:
    """Return the files that the command names by their place, as they are now: the tree need not hold them.

    Scripts by their content, which a checkout does not change; large ones, which tools are, by size and time.
    """
    names = []
    for path in map(Path, check.argv):
        if path.is_absolute() and path.is_file():
            info = path.stat()
            is_script = info.st_size <= LARGEST_SCRIPT
            content = hashlib.sha256(path.read_bytes()).hexdigest() if is_script else ""
            names.append(content or f"{info.st_size} {info.st_mtime_ns}")
    return names


def find_pass(world: World, key: str, log: Path) -> Result | None:
    """Return the pass remembered under this name; None for what an older aigon wrote, without tests.

    The output of one from another worktree is copied to `log`.
    """
    try:
        known = decode_result(json.loads(_cache_file(world, key).read_bytes()), world.workspace.root, log)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return known if known.finding.status == "pass" else None


def save_pass(world: World, key: str, result: Result) -> None:
    """Keep a pass. Written whole, so that half a file is never read."""
    if world.keeps:
        path = _cache_file(world, key)
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, json.dumps(encode_result(result, world.workspace.root)).encode())


def forget_pass(world: World, key: str) -> None:
    """Remember a pass no longer."""
    if world.keeps:
        _cache_file(world, key).unlink(missing_ok=True)


def _cache_file(world: World, key: str) -> Path:
    return world.home / "cache" / key[:2] / f"{key}.json"


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
