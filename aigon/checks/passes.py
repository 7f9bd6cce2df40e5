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
"""A name that aigon gives to each worktree of its own, beside those that begin with AIGON_."""
LARGEST_SCRIPT = 256 * 1024
"""Bytes up to which a program is told by its content."""


def build_cache_key(world: World, check: Check, content: str) -> str:
    """A name for (tree less aigon's two files, command, environment).

    The same in every worktree that was set up alike: where it lies is left out, unless command or environment say it.
    """
    env = _relevant_environment(world, check)
    command = [check.name, check.role, list(check.argv), _identify_programs(check), check.cwd, check.parser]
    parts = [content, command, sorted(env.items()), world.toolchain(), world.made_by, _read_sparse_checkout(world)]
    return hashlib.sha256(json.dumps(parts, default=str).encode("utf-8", "surrogateescape")).hexdigest()


def _relevant_environment(world: World, check: Check) -> dict[str, str]:
    """Return the variables that may matter. What tells worktrees apart does where the command names it."""
    named = "\0".join((*check.argv, *check.env.values()))
    env = {k: v for k, v in world.check_env.items() if k in named or not _is_irrelevant(world, k)} | dict(check.env)
    return {**env, "PATH": _resolve_path_links(env.get("PATH", ""), world.workspace.root)}


def _is_irrelevant(world: World, name: str) -> bool:
    if name == WORKTREE_VARIABLE:
        return bool(world.made_by)
    return name in TERMINAL_VARIABLES or name.startswith(TERMINAL_PREFIXES)


def _resolve_path_links(value: str, root: Path) -> str:
    """Folders of the work tree that are links to shared ones by where they lead; its own make it another toolchain."""
    parts = value.split(os.pathsep)
    return os.pathsep.join(os.path.realpath(p) if p.startswith(f"{root}/") else p for p in parts)


def _read_sparse_checkout(world: World) -> str:
    """Which folders are checked out, where not all are."""
    try:
        return (world.workspace.trusted.git_dir / "info" / "sparse-checkout").read_text(errors="surrogateescape")
    except OSError:
        return ""


def _identify_programs(check: Check) -> list[str]:
    """Return the files that the command names by their place, as they are now: the tree need not hold them.

    Scripts by their content, which a checkout does not change; large ones, which tools are, by size and time.
    """
    files = [path for path in map(Path, check.argv) if path.is_absolute() and path.is_file()]
    return [_identify_file(path) for path in files]


def _identify_file(path: Path) -> str:
    seen = path.stat()
    if seen.st_size > LARGEST_SCRIPT:
        return f"{seen.st_size} {seen.st_mtime_ns}"
    return hashlib.sha256(path.read_bytes()).hexdigest()


def find_pass(world: World, key: str, log: Path) -> Result | None:
    """Return the pass remembered under this name; None for what an older aigon wrote, without tests.

    The output of one from another worktree is copied to `log`.
    """
    try:
        found = decode_result(json.loads(_cache_file(world, key).read_bytes()), world.workspace.root, log)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
    return found if found.finding.status == "pass" else None


def save_pass(world: World, key: str, result: Result) -> None:
    """Keep a pass. Written whole, so that half a file is never read."""
    if not world.keeps:
        return
    path = _cache_file(world, key)
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, json.dumps(encode_result(result, world.workspace.root)).encode())


def forget_pass(world: World, key: str) -> None:
    """Remember a pass no longer."""
    if world.keeps:
        _cache_file(world, key).unlink(missing_ok=True)


def _cache_file(world: World, key: str) -> Path:
    return world.home / "cache" / key[:2] / f"{key}.json"
