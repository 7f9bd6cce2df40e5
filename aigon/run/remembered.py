"""A pass on a tree is remembered, nothing else is."""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import get_args

from aigon.core.model import Check, Counts, Finding, Problem, TestResult
from aigon.ports.store import write_atomic
from aigon.run.result import Result
from aigon.run.world import World

OF_THE_TERMINAL = (
    *("_", "OLDPWD", "PWD", "SHLVL", "TERM", "TERM_PROGRAM", "TERM_PROGRAM_VERSION", "TERM_SESSION_ID", "COLORTERM"),
    *("COLUMNS", "LINES", "WINDOWID", "TMUX", "TMUX_PANE", "STY", "GPG_TTY", "XDG_SESSION_ID", "DISPLAY"),
    *("WAYLAND_DISPLAY", "INVOCATION_ID", "JOURNAL_STREAM"),
)
"""Variables that tell one terminal from another, and nothing about what a check would say."""
GROUPS_OF_THE_TERMINAL = ("AIGON_", "SSH_", "DBUS_", "VSCODE_")
"""The same, by how they begin: up to a `_`, because `STY` also begins STYLE."""
REMEMBERED_OUTPUT = 100_000
"""Bytes of output kept with a pass; a metric's number stands at its end."""
LARGEST_SCRIPT = 256 * 1024
"""Bytes up to which a program is told by its content."""


def cache_key(world: World, check: Check, content: str) -> str:
    """A name for (tree less aigon's two files, command, environment)."""
    env = {k: v for k, v in world.check_env.items() if not _of_the_terminal(k)} | dict(check.env)
    command = [check.name, check.role, list(check.argv), _programs(check), check.cwd, check.parser]
    parts = [content, command, sorted(env.items()), world.toolchain()]
    return hashlib.sha256(json.dumps(parts, default=str).encode("utf-8", "surrogateescape")).hexdigest()


def _of_the_terminal(name: str) -> bool:
    return name in OF_THE_TERMINAL or name.startswith(GROUPS_OF_THE_TERMINAL)


def _programs(check: Check) -> list[str]:
    """The files that the command names by their place, as they are now: the tree need not hold them.

    Scripts by their content, which a checkout does not change; large ones, which tools are, by size and time.
    """
    files = [path for path in map(Path, check.argv) if path.is_absolute() and path.is_file()]
    return [_identity(path) for path in files]


def _identity(path: Path) -> str:
    seen = path.stat()
    if seen.st_size > LARGEST_SCRIPT:
        return f"{seen.st_size} {seen.st_mtime_ns}"
    return hashlib.sha256(path.read_bytes()).hexdigest()


def cached(world: World, key: str) -> Result | None:
    """The pass remembered under this name; None for what an older aigon wrote, without tests."""
    try:
        document = json.loads(_cache_file(world, key).read_bytes())
        finding = _finding(document["finding"])
        return Result(finding, document["output"].encode("latin-1"), _tests(document["tests"]), document["reported"])
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _finding(document: dict[str, object]) -> Finding:
    known: dict[str, object] = dict(document)
    counts, problems = known.pop("counts"), known.pop("problems")
    known |= {
        "counts": Counts(**counts) if isinstance(counts, dict) else None,
        "problems": tuple(Problem(**each) for each in problems) if isinstance(problems, list) else (),
        "fingerprints": (),
        "cached": True,
    }
    return Finding(**known)  # type: ignore[arg-type]  # what it is not is a TypeError, and a miss


def _tests(document: Mapping[str, TestResult]) -> dict[str, TestResult]:
    if not set(document.values()) <= set(get_args(TestResult)):
        raise ValueError("no result of a test")
    return dict(document)


def remember(world: World, key: str, result: Result) -> None:
    """Keep a pass. Written whole, so that half a file is never read."""
    if not world.keeps:
        return
    path = _cache_file(world, key)
    path.parent.mkdir(parents=True, exist_ok=True)
    kept = {
        "finding": asdict(result.finding),
        "output": result.output[-REMEMBERED_OUTPUT:].decode("latin-1"),
        "tests": dict(result.tests),
        "reported": result.reported,
    }
    write_atomic(path, json.dumps(kept).encode())


def forget(world: World, key: str) -> None:
    """Remember a pass no longer."""
    if world.keeps:
        _cache_file(world, key).unlink(missing_ok=True)


def _cache_file(world: World, key: str) -> Path:
    return world.home / "cache" / key[:2] / f"{key}.json"
