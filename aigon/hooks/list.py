"""Which hooks there are: executables of the project in `.aigon/hooks/`, and commands of the configuration.

Only what was there before any agent counts. `World.guarded` has these files as they were then, and they are put back
after a turn; a file that is not in it is nobody's hook.
"""

import difflib
import os
import re
import shutil
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import get_args

from aigon.config.models import HookConfig, HookPoint
from aigon.proof.frozen import LARGEST, Guarded
from aigon.proof.hook_programs import started

FOLDER = ".aigon/hooks"
POINTS: tuple[HookPoint, ...] = get_args(HookPoint)
_NO_HOOK = re.compile(r"\..*|.*~|.*\.(?:md|txt|sample|example|disabled|orig|rej|bak)|README.*")
"""Files beside hooks that nobody means to be run."""


@dataclass(frozen=True, slots=True)
class Hook:
    """A program to run at `point`; `name` says where it comes from. `timeout` in seconds; `line`: `argv` is for bash.

    `files` are those of the project that it consists of, by path; `passed` are variables that it sees although they
    look like credentials; `trouble` says why it cannot be run and what to do.
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


Config = Mapping[HookPoint, HookConfig]


def hooks_of(config: Config, root: Path, guarded: Mapping[str, Guarded], env: Mapping[str, str]) -> tuple[Hook, ...]:
    """Every hook in the order in which they run at each point: the executable, those of its folder, the command."""
    return tuple(hook for point in POINTS for hook in _at(point, config.get(point), root, guarded, env))


def to_mend(config: Config, hooks: tuple[Hook, ...], guarded: Mapping[str, Guarded]) -> Iterator[str]:
    """What a person should know about hooks before the first turn, a sentence each."""
    yield from (f"hook {hook.point} ({hook.name}) cannot run: {hook.trouble}" for hook in hooks if hook.trouble)
    there = {hook.point for hook in hooks}
    for point, each in config.items():
        if each.veto and not point.startswith("before_"):
            yield f"hooks.{point}.veto has no effect: only a hook before something can keep it from happening"
        if point not in there:
            yield f"hooks.{point} has no program: give it a command, or put an executable at {FOLDER}/{point}"
    for path in guarded:
        if path.startswith(f"{FOLDER}/") and (meant := _meant(path)):
            yield f"{path} is no hook: is {FOLDER}/{meant} meant?"


def _meant(path: str) -> str:
    """The point that a name was probably meant to be; empty for one that is a point, or nothing like it."""
    name = path.removeprefix(f"{FOLDER}/").partition("/")[0]
    stem = name.removesuffix(".d").partition(".")[0]
    if name.removesuffix(".d") in POINTS or _NO_HOOK.fullmatch(name):
        return ""
    near = difflib.get_close_matches(stem.replace("-", "_").lower(), POINTS, n=1, cutoff=0.85)
    return near[0] + (".d" if name.endswith(".d") else "") if near else ""


def _at(
    point: HookPoint, own: HookConfig | None, root: Path, guarded: Mapping[str, Guarded], env: Mapping[str, str]
) -> Iterator[Hook]:
    own = own or HookConfig()
    timeout, veto, passed = float(own.timeout), own.veto and point.startswith("before_"), tuple(own.pass_)
    for path in _executables(point, root, guarded):
        trouble = _cannot(root / path, path, guarded)
        yield Hook(point, path, (str(root / path),), timeout, veto, (path,), trouble=trouble, passed=passed)
    if own.command:
        yield command_of(point, f"hooks.{point}", own.command, root, env, timeout, veto=veto, passed=passed)


def _executables(point: str, root: Path, guarded: Mapping[str, Guarded]) -> list[str]:
    """The hooks of a point in `.aigon/hooks/`, by path: its own, then those of its folder by name."""
    place = root / FOLDER
    there = {*guarded, *(f"{FOLDER}/{point}.d/{name}" for name in _names(place / f"{point}.d"))}
    if os.path.lexists(place / point) and not (place / point).is_dir():
        there.add(f"{FOLDER}/{point}")
    folder = sorted(path for path in there if path.rpartition("/")[0] == f"{FOLDER}/{point}.d")
    return [path for path in (f"{FOLDER}/{point}", *folder) if path in there and not _passed_over(path)]


def _names(folder: Path) -> list[str]:
    return [entry.name for entry in folder.iterdir() if not entry.is_dir()] if folder.is_dir() else []


def _passed_over(path: str) -> bool:
    return bool(_NO_HOOK.fullmatch(path.rpartition("/")[2]))


def _cannot(place: Path, path: str, guarded: Mapping[str, Guarded]) -> str:
    """Why an executable is not run, and what to do; empty where it is."""
    if path in guarded and guarded[path].whole:
        return "" if guarded[path].mode & 0o111 else f"it is not executable: chmod +x {path}"
    if place.is_symlink():
        return "it is a link: put the file itself there"
    if place.stat().st_size > LARGEST:
        return f"it is larger than {LARGEST >> 20} MB: let it start a program elsewhere"
    return (
        "it was not there before an agent worked, or `allow` or `protect` leaves it to agents: a person has to own it"
    )


def command_of(
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
    """A configured command: a text is a line for bash; a list a program, by path from the main checkout, and words."""
    line = isinstance(command, str)
    program, *rest = ("bash", "-c", command) if isinstance(command, str) else command
    found = _program(root, env, program)
    trouble = "" if found else f"there is no program {program} to start: install it, or fix the command"
    if found and not os.access(found, os.X_OK):
        trouble = f"{program} is not executable: chmod +x {program}"
    argv = (found or program, *rest)
    return Hook(point, name, argv, timeout, veto, started(root, command), line, trouble, passed)


def _program(root: Path, env: Mapping[str, str], name: str) -> str | None:
    """Where a program is, settled before an agent could leave another of its name on PATH."""
    if "/" not in name:
        return shutil.which(name, path=env.get("PATH"))
    file = root / Path(name).expanduser()
    return str(file) if file.is_file() else None
