"""The sandbox of an agent: which mechanism works here, and how an agent is started in it.

With bubblewrap or aigon's own namespaces an agent has its own view of the file system and its own process numbers: what
is not granted does not exist, and what it started dies with it. With Landlock it sees the same file system and is
refused what is not granted.
"""

import functools
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from aigon.config.grants import (
    Grants,
    Mechanism,
    Network,
    WantedMechanism,
)
from aigon.errors import environment
from aigon.files.folders import TemporaryFolder, remove_tree
from aigon.isolation import landlock
from aigon.isolation.enclosure import make_bubblewrap_command, make_launcher_command, make_mount_plan
from aigon.isolation.mechanisms import LACKING, find_flaw, start_spawner
from aigon.isolation.mounts import list_mounts
from aigon.process.start import Program

IN_ORDER: tuple[Mechanism, ...] = ("namespaces", "bwrap", "landlock")
"""Best first: bubblewrap gives an agent no private copies of caches. Landlock neither gives it its own process numbers
nor hides sockets."""
CLOSES_NETWORK = 4
"""The version of Landlock's interface that began to refuse TCP."""
_DEAF = 'trap "" HUP INT QUIT TERM; exec "$@"'
"""Signals that end an agent go to its whole group. bubblewrap would die of them, and take the agent with it before it
could react: so it ignores them, and the launcher inside stops ignoring them."""


class Sandbox(Struct, frozen=True):
    """A mechanism and what it grants. `folder` is where the agent's own home and temporary files really lie.

    What it writes in private folders goes to `changes`. `temporary` holds `folder`. With `numbers` namespaces have
    process numbers of their own; None means as the machine can.
    """

    mechanism: Mechanism
    grants: Grants
    folder: Path
    changes: Path | None = None
    temporary: TemporaryFolder | None = None
    numbers: bool | None = None

    def command(self, argv: Sequence[str], cwd: Path, more: Grants | None = None) -> Program:
        """Return the program that runs `argv` in `cwd`, with the grants of this turn, else those of the run."""
        grants = more or self.grants
        closed = grants.network == "closed"
        if self.mechanism == "landlock":
            rules = {
                "hidden": _resolve_all((*grants.hidden, *grants.own)),
                "read": _resolve_all(grants.read),
                "write": _resolve_all((*grants.write, str(self.folder))),
                "closed": closed,
            }
            return Program([*argv], functools.partial(landlock.enter_sandbox, rules))
        if self.mechanism == "bwrap":
            view = make_bubblewrap_command(list_mounts(grants, self.folder), str(cwd), closed=closed)
            inner = make_launcher_command({"enter": "scopes"})
            return Program(["/bin/sh", "-c", _DEAF, "sh", *view, *inner, *argv])
        mounts = list_mounts(grants, self.folder, self.changes)
        numbers = has_process_numbers() if self.numbers is None else self.numbers
        plan = make_mount_plan(mounts, cwd, closed=closed, numbers=numbers, parent=os.getpid())
        return Program([*make_launcher_command(plan), *argv])

    def environment(self, env: Mapping[str, str]) -> dict[str, str]:
        """Return `env` with the folder for temporary files, if it is another one than outside."""
        if self.mechanism != "landlock":
            return dict(env)
        return {**env, **dict.fromkeys(("TMPDIR", "TMP", "TEMP"), str(self.folder))}

    def close(self) -> None:
        if self.temporary:
            self.temporary.close()
        if self.changes:
            remove_tree(self.changes)


def _resolve_all(paths: Iterable[str]) -> list[str]:
    return sorted({os.path.realpath(path) for path in paths})


def make_sandbox(mechanism: Mechanism, grants: Grants, changes: Path | None = None) -> Sandbox:
    """Make a sandbox with its own folder, and one for `changes` if it has private folders."""
    if changes:
        remove_tree(changes)
    temporary = TemporaryFolder("agent")
    start_spawner()
    return Sandbox(mechanism, grants, temporary.path, changes, temporary)


def choose_mechanism(wanted: WantedMechanism = "auto", network: Network = "open") -> Mechanism:
    """Return the mechanism to use: the wanted one, or the first that really works here.

    Raises AigonError (exit 7) if the wanted one does not work, or if nothing closes a network that is to be closed.
    """
    for name in IN_ORDER if wanted == "auto" else (wanted,):
        if name != "none" and not find_sandbox_flaw(name, network):
            return name
    if wanted in IN_ORDER:
        raise environment(
            f"Agents cannot be sandboxed by {wanted} on this machine: {find_sandbox_flaw(wanted, network)}",
            where=f"--sandbox {wanted}",
            hint=f"{LACKING[wanted]}; or use --sandbox auto",
        )
    if network == "open":
        return "none"
    if wanted == "none":
        raise environment(
            "Without a sandbox an agent's network cannot be closed",
            where="sandbox.network",
            hint='Leave --sandbox none out, or set sandbox.network to "open"',
        )
    raise environment(
        f"Nothing here can close an agent's network: {explain_no_mechanism(network)}",
        where="sandbox.network",
        hint=LACKING["bwrap"],
    )


def explain_no_mechanism(network: Network = "open") -> str:
    return "; ".join(f"{name}: {why}" for name in IN_ORDER if (why := find_sandbox_flaw(name, network)))


@functools.cache
def has_process_numbers() -> bool:
    """Return whether aigon's namespaces can have process numbers: in a container that hides parts of /proc none can."""
    return not _find_flaw_of("namespaces", "open", numbers=True)


PROBE = """
kill -0 $$ && echo alive
{ read -r secret < "$1/secret" && echo "$secret"; } 2>/dev/null
: > "$2/kept" && echo written
"""
"""Says that it runs and that it could write what is granted; shows a hidden file if it can."""


@functools.cache
def find_sandbox_flaw(mechanism: Mechanism, network: Network = "open") -> str:
    """Return what goes wrong if a program is really run in a sandbox, "" for nothing; tried once per process."""
    if mechanism == "landlock" and sys.platform.startswith("linux"):
        version = landlock.landlock_version()
        if not version:
            return "the kernel has no Landlock"
        if network == "closed" and version < CLOSES_NETWORK:
            since = f"before version {CLOSES_NETWORK} of its interface"
            return f"it closes no network {since}, and this kernel has {version}"
    numbers = mechanism == "namespaces" and has_process_numbers()
    return "" if numbers and network == "open" else _find_flaw_of(mechanism, network, numbers=numbers)


def _find_flaw_of(mechanism: Mechanism, network: Network, *, numbers: bool) -> str:
    def probe(folder: Path) -> tuple[Program, list[bytes]]:
        hidden, granted, own = (folder / name for name in ("hidden", "open", "own"))
        for path in (hidden, granted, own):
            path.mkdir()
        (hidden / "secret").write_text("seen\n")
        grants = Grants((str(granted),), hidden=(str(hidden),), network=network)
        sandbox = Sandbox(mechanism, grants, own, numbers=numbers)
        program = sandbox.command(["/bin/sh", "-c", PROBE, "sh", str(hidden), str(granted)], granted)
        return program, [b"alive", b"written"]

    return find_flaw(mechanism, probe, "what is hidden stays in reach")
