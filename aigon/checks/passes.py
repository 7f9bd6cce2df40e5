"""Remember a pass by tree, command and environment. Nothing but a pass is remembered."""

import hashlib
import json
import os
from pathlib import Path

from aigon.files.atomic import write_atomic
from aigon.job.results import Result, decode_result, encode_result
from aigon.job.world import World
from aigon.model.checks import Check

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
