"""How a command is kept from the workspace: which mechanisms this machine really has, found by trying them."""

import functools
import os
import sys
import tempfile
from pathlib import Path
from typing import Literal

from aigon.config.grants import Network
from aigon.errors import environment
from aigon.isolation.enclosure import Enclosure, explain_no_bubblewrap, find_bubblewrap
from aigon.isolation.enclosure import Isolation as Isolation
from aigon.process import run

Wanted = Literal["auto", "bwrap", "namespaces", "landlock", "none"]
IN_ORDER: tuple[Isolation, ...] = ("namespaces", "bwrap", "landlock")
"""Best first. Namespaces of aigon's own before bubblewrap: the command replaces the program that makes them, so it
gets every signal itself and its exit code is its own, and root stays able to do what root can."""
CLOSING: tuple[Isolation, ...] = ("namespaces", "bwrap")
"""Those that can close the network and leave loopback: Landlock refuses both or none."""
LACKING = {
    "bwrap": "Install bubblewrap, and allow user namespaces (sysctl kernel.unprivileged_userns_clone,"
    " kernel.apparmor_restrict_unprivileged_userns)",
    "namespaces": "Allow user namespaces (sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone,"
    " kernel.apparmor_restrict_unprivileged_userns; in a container its seccomp profile)",
    "landlock": "It takes Linux 5.13 or later with landlock among the modules in /sys/kernel/security/lsm",
}
PROBE = 'cat "$1/token"; ls -A "$2/$3"'
"""Shows a file of the export, then what is seen of the workspace (in two parts, or it would be taken for the export):
nothing, or the export."""


def choose_isolation(workspace: Path, wanted: Wanted = "auto", network: Network = "open") -> Isolation:
    """The mechanism to use: the first that really works here, or the one that is wanted.

    Each is tried once per process by running a program in it. "none" is what is left where nothing works. Raises
    AigonError (exit 7) for one that is wanted by name and does not work, saying what is missing, and where none can
    close a `network` that is to be closed.
    """
    if network == "closed":
        return _choose_closing(workspace, wanted)
    if wanted == "auto":
        return next((name for name in IN_ORDER if not find_isolation_flaw(workspace, name)), "none")
    if wanted != "none" and (why := find_isolation_flaw(workspace, wanted)):
        raise environment(
            f"Commands cannot be isolated by {wanted} on this machine: {why}",
            where="proof.isolation",
            hint=f'{LACKING[wanted]}; or set proof.isolation to "auto"',
        )
    return wanted


def _choose_closing(workspace: Path, wanted: Wanted) -> Isolation:
    """The first that works without a network, of those that are wanted. Raises AigonError (exit 7) where none does."""
    among = [name for name in CLOSING if wanted in ("auto", name)]
    lacks = {name: find_isolation_flaw(workspace, name, closed=True) for name in among}
    if found := next((name for name in among if not lacks[name]), None):
        return found
    why = "; ".join(f"{name}: {lack}" for name, lack in lacks.items()) or f"{wanted} leaves it open, or takes loopback"
    raise environment(
        f"The network of checks cannot be closed on this machine: {why}",
        where="sandbox.checksNetwork",
        hint=f'{LACKING["namespaces"]}; or set sandbox.checksNetwork to "open"',
    )


@functools.cache
def find_isolation_flaw(workspace: Path, isolation: Isolation, *, closed: bool = False) -> str:
    """What goes wrong when a program is really run in isolation from `workspace`; empty when nothing does.

    With `closed` it is run without a network.
    """
    if not sys.platform.startswith("linux"):
        return "it is Linux's"
    if isolation == "bwrap" and not find_bubblewrap():
        return explain_no_bubblewrap()
    with tempfile.TemporaryDirectory(prefix="aigon-probe-") as folder:
        return _try_isolation(workspace, isolation, Path(folder), closed=closed)


def _try_isolation(workspace: Path, isolation: Isolation, folder: Path, *, closed: bool) -> str:
    export, scratch = folder / "export", folder / "scratch"
    for made in (export, scratch):
        made.mkdir()
    (export / "token").write_text("token\n")
    enclosure = Enclosure(isolation, workspace, export, scratch, closed=closed)
    parts = os.path.split(os.path.realpath(workspace))
    argv = enclosure.enclosed(["sh", "-c", PROBE, "sh", str(enclosure.seen_as), *parts], Path())
    _, out, err = run.capture_output(argv, cwd=folder, env=os.environ)
    if out.split() == ([b"token"] * 2 if enclosure.mounts else [b"token"]):
        return ""
    return err.decode(errors="replace").strip().removeprefix("aigon: ") or "the workspace stays in reach"
