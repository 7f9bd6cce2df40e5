"""Hooks: which there are, and what a person should know about them."""

import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import get_args

from msgspec import Struct

from aigon.config.models import HookConfig, HookPoint
from aigon.proof.frozen import LARGEST, Guarded
from aigon.proof.protection import started
from aigon.text.patterns import compile_re

HOOKS_FOLDER = ".aigon/hooks"
HOOK_POINTS: tuple[HookPoint, ...] = get_args(HookPoint)
_NO_HOOK = compile_re(r"\..*|.*~|.*\.(?:md|txt|sample|example|disabled|orig|rej|bak)|README.*")
"""Files in a folder of hooks that are not hooks."""
HookConfigs = Mapping[HookPoint, HookConfig]


class Hook(Struct, frozen=True):
    """A program to run at `point`; `name` says where it comes from. With `line`, `argv` runs a line in bash.

    `timeout` is in seconds, `files` are the paths of the project's files that it consists of, `passed` are variables
    that it sees although they look like credentials, `trouble` says why it cannot run and what to do.
    """

    point: str
    name: str
    argv: tuple[str, ...]
    timeout: float = 30.0
    veto: bool = False
    files: tuple[str, ...] = ()
    line: bool = False
    trouble: str = ""
    passed: tuple[str, ...] = ()


def list_hooks(
    config: HookConfigs, root: Path, guarded: Mapping[str, Guarded], env: Mapping[str, str]
) -> tuple[Hook, ...]:
    """Return all hooks in their order at each point: the executable, those of its folder, the configured command.

    Only what existed before any agent worked counts: `guarded` has the hook files as they were then, and they are put
    back after a turn. A file that is not among them cannot run.
    """
    hooks = []
    for point in HOOK_POINTS:
        section = config.get(point) or HookConfig()
        timeout, passed = float(section.timeout), tuple(section.pass_)
        veto = section.veto and point.startswith("before_")
        for path in _list_executables(point, root, guarded):
            trouble = _explain_unusable(root / path, path, guarded)
            argv = (str(root / path),)
            hooks.append(Hook(point, path, argv, timeout, veto, (path,), trouble=trouble, passed=passed))
        if command := section.command:
            name = f"hooks.{point}"
            hooks.append(make_command_hook(point, name, command, root, env, timeout, veto=veto, passed=passed))
    return tuple(hooks)


def _list_executables(point: str, root: Path, guarded: Mapping[str, Guarded]) -> list[str]:
    """Return the paths of a point's hooks in `.aigon/hooks/`: its own, then those of its folder by name."""
    own, folder = f"{HOOKS_FOLDER}/{point}", f"{HOOKS_FOLDER}/{point}.d"
    paths = {path for path in guarded if path == own or path.rpartition("/")[0] == folder}
    if os.path.lexists(root / own) and not (root / own).is_dir():
        paths.add(own)
    if (root / folder).is_dir():
        paths |= {f"{folder}/{entry.name}" for entry in (root / folder).iterdir() if not entry.is_dir()}
    hooks = (path for path in paths if not _NO_HOOK.fullmatch(path.rpartition("/")[2]))
    return sorted(hooks, key=lambda path: (path != own, path))


def _explain_unusable(file: Path, path: str, guarded: Mapping[str, Guarded]) -> str:
    """Return why an executable cannot run and what to do, or ""."""
    if path in guarded and guarded[path].whole:
        return "" if guarded[path].mode & 0o111 else f"it is not executable: chmod +x {path}"
    if file.is_symlink():
        return "it is a link: put the file itself there"
    if file.stat().st_size > LARGEST:
        return f"it is larger than {LARGEST >> 20} MB: let it start a program elsewhere"
    return (
        "it was not there before an agent worked, or `allow` or `protect` leaves it to agents: a person has to own it"
    )


def make_command_hook(
    point: str,
    name: str,
    command: Sequence[str] | str,
    root: Path,
    env: Mapping[str, str],
    timeout: float,
    *,
    veto: bool = False,
    passed: tuple[str, ...] = (),
) -> Hook:
    """Return the hook of a configured command: a text is a line for bash, a list is a program and its arguments.

    The program is looked up now, before an agent could leave another one of its name on PATH.
    """
    is_line = isinstance(command, str)
    program, *arguments = ("bash", "-c", command) if isinstance(command, str) else command
    if "/" in program:
        file = root / Path(program).expanduser()
        path = str(file) if file.is_file() else None
    else:
        path = shutil.which(program, path=env.get("PATH"))
    trouble = "" if path else f"there is no program {program} to start: install it, or fix the command"
    if path and not os.access(path, os.X_OK):
        trouble = f"{program} is not executable: chmod +x {program}"
    files = started(root, command)
    return Hook(point, name, (path or program, *arguments), timeout, veto, files, is_line, trouble, passed)


def describe_hook_problems(
    config: HookConfigs, hooks: tuple[Hook, ...], guarded: Mapping[str, Guarded]
) -> Iterator[str]:
    """Yield what a person should know about hooks before the first turn, a sentence each."""
    yield from (f"hook {hook.point} ({hook.name}) cannot run: {hook.trouble}" for hook in hooks if hook.trouble)
    points = {hook.point for hook in hooks}
    for point, section in config.items():
        if section.veto and not point.startswith("before_"):
            yield f"hooks.{point}.veto has no effect: only a hook before something can keep it from happening"
        if point not in points:
            yield f"hooks.{point} has no program: give it a command, or put an executable at {HOOKS_FOLDER}/{point}"
    for path in guarded:
        if path.startswith(f"{HOOKS_FOLDER}/") and (meant := _guess_point(path)):
            yield f"{path} is no hook: is {HOOKS_FOLDER}/{meant} meant?"


def _guess_point(path: str) -> str:
    """Return the point that a misspelt name probably means, or ""."""
    import difflib  # hardly ever

    name = path.removeprefix(f"{HOOKS_FOLDER}/").partition("/")[0]
    stem = name.removesuffix(".d").partition(".")[0]
    if name.removesuffix(".d") in HOOK_POINTS or _NO_HOOK.fullmatch(name):
        return ""
    near = difflib.get_close_matches(stem.replace("-", "_").lower(), HOOK_POINTS, n=1, cutoff=0.85)
    return near[0] + (".d" if name.endswith(".d") else "") if near else ""
