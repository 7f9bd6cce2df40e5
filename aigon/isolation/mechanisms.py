"""Find the mechanisms of isolation that work on this machine, by trying them."""

import functools
import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal

from aigon.config.grants import Network
from aigon.errors import environment
from aigon.files.folders import remove_tree
from aigon.isolation.enclosure import (
    LAUNCHER,
    Enclosure,
    Isolation,
    explain_no_bubblewrap,
    find_bubblewrap,
    make_launcher_command,
    make_mount_plan,
)
from aigon.isolation.mounts import Mount
from aigon.process import run
from aigon.process.spawner import Spawner
from aigon.process.start import Program

Wanted = Literal["auto", "bwrap", "namespaces", "landlock", "none"]
IN_ORDER: tuple[Isolation, ...] = ("namespaces", "bwrap", "landlock")
"""Best first. aigon's own namespaces come before bubblewrap: the command replaces the program that makes them, so it
gets every signal, its exit code is its own, and root keeps its abilities."""
CLOSING: tuple[Isolation, ...] = ("namespaces", "bwrap")
"""Those that can close the network and leave loopback open: Landlock refuses both or none."""
LACKING = {
    "bwrap": "Install bubblewrap, and allow user namespaces (sysctl kernel.unprivileged_userns_clone,"
    " kernel.apparmor_restrict_unprivileged_userns; in a container its seccomp profile)",
    "namespaces": "Allow user namespaces (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone,"
    " kernel.apparmor_restrict_unprivileged_userns; in a container its seccomp profile)",
    "landlock": "It takes Linux 5.13 or later with landlock among the modules in /sys/kernel/security/lsm",
}
PRIVATE = "private"
"""The folder of aigon's records where changes of private folders go."""
PROBE = 'read -r token < "$1/token" && echo "$token"; ls -A "$2/$3"'
"""Shows a file of the export, then what is seen of the workspace: nothing, or the export. The workspace's path comes in
two parts, or it would be translated."""


def choose_isolation(workspace: Path, wanted: Wanted = "auto", network: Network = "open") -> Isolation:
    """Return the mechanism to use: the wanted one, or the first that really works here, or "none".

    Raises AigonError (exit 7) if the wanted one does not work, or if none can close a `network` that is to be closed.
    """
    closed = network == "closed"
    among = [name for name in (CLOSING if closed else IN_ORDER) if wanted in ("auto", name)]
    flaws: dict[str, str] = {}
    for name in among:
        flaws[name] = find_isolation_flaw(workspace, name, closed=closed)
        if not flaws[name]:
            return name
    why = "; ".join(f"{name}: {flaw}" for name, flaw in flaws.items())
    if closed:
        raise environment(
            "The network of checks cannot be closed on this machine: "
            + (why or f"{wanted} leaves it open, or takes loopback"),
            where="sandbox.checksNetwork",
            hint=f'{LACKING["namespaces"]}; or set sandbox.checksNetwork to "open"',
        )
    if wanted in ("auto", "none"):
        return "none"
    raise environment(
        f"Commands cannot be isolated by {wanted} on this machine: {flaws[wanted]}",
        where="proof.isolation",
        hint=f'{LACKING[wanted]}; or set proof.isolation to "auto"',
    )


@functools.cache
def find_isolation_flaw(workspace: Path, isolation: Isolation, *, closed: bool = False) -> str:
    """Return what goes wrong if a program is really run in isolation from `workspace`, "" for nothing.

    With `closed` it is run without a network.
    """

    def probe(folder: Path) -> tuple[Program, list[bytes]]:
        export, scratch = folder / "export", folder / "scratch"
        for path in (export, scratch):
            path.mkdir()
        (export / "token").write_text("token\n")
        enclosure = Enclosure(isolation, workspace, export, scratch, closed=closed)
        parts = os.path.split(os.path.realpath(workspace))
        argv = enclosure.wrap_command(["sh", "-c", PROBE, "sh", str(enclosure.seen_as), *parts], Path())
        return Program(argv), [b"token"] * (2 if enclosure.mounts else 1)

    return find_flaw(isolation, probe, "the workspace stays in reach")


def find_flaw(mechanism: str, probe: Callable[[Path], tuple[Program, list[bytes]]], leak: str) -> str:
    """Run what `probe` returns and return why the output is not the expected words, `leak` for no reason."""
    if not sys.platform.startswith("linux"):
        return "it is Linux's"
    if mechanism == "bwrap" and not find_bubblewrap():
        return explain_no_bubblewrap()
    with tempfile.TemporaryDirectory(prefix="aigon-probe-") as folder:
        program, expected = probe(Path(os.path.realpath(folder)))
        if program.argv[: len(LAUNCHER)] == [*LAUNCHER]:
            start_spawner()
        asked = run.Command(program.argv, Path(folder), os.environ, merge=False, enter=program.enter)
        exited = run.run(asked)
    if exited.stdout.split() == expected:
        return ""
    return exited.stderr.decode(errors="replace").strip().removeprefix("aigon: ") or exited.start_error or leak


def start_spawner() -> None:
    """Start the process that starts all that takes a launcher, unless there is one; it ends with this process."""
    if not any(spawner.can_start(LAUNCHER) for spawner in run.spawners):
        spawner = Spawner(LAUNCHER)
        if spawner.start():
            run.spawners.append(spawner)


def find_mount_flaw(make_table: Callable[[Path], Sequence[Mount]]) -> str:
    """Return what goes wrong if a program is run with mounts that aigon makes, which `make_table` returns for a folder.

    The program has to be able to make a folder in `seen`, which is in that folder.
    """

    def probe(place: Path) -> tuple[Program, list[bytes]]:
        (place / "seen").mkdir()
        plan = make_mount_plan(make_table(place), place)
        argv = ["/bin/sh", "-c", "mkdir -p seen/made && cd seen/made && echo seen/made"]
        return Program([*make_launcher_command(plan), *argv]), [b"seen/made"]

    return find_flaw("namespaces", probe, "it shows something else")


@functools.cache
def can_overlay(folder: Path) -> bool:
    """Return whether changes of private folders can be kept in `folder`: not every file system can."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        changes = Path(tempfile.mkdtemp(prefix="probe-", dir=folder))
    except OSError:
        return False
    try:
        for name in ("changes", "work", "view"):
            (changes / name).mkdir()
        return not find_mount_flaw(lambda place: [("overlay", str(place / "seen"), str(changes), str(place / "seen"))])
    finally:
        remove_tree(changes)
