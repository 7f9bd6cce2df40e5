"""The sandbox that an agent runs in: which mechanism works here, and the command line that starts an agent in it.

With bubblewrap an agent has a view of the file system and process numbers of its own: what is not granted is not there,
and whatever it started dies with it. With Landlock it sees the same file system and is refused what is not granted.
"""

import contextlib
import functools
import marshal
import os
import shutil
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from aigon.config.grants import Grants, Mechanism, Network, WantedMechanism
from aigon.errors import environment
from aigon.isolation import landlock
from aigon.isolation.enclosure import bubblewrap, no_bubblewrap
from aigon.isolation.sandbox_view import options
from aigon.process import run

IN_ORDER: tuple[Mechanism, ...] = ("bwrap", "landlock")
"""Best first: only bubblewrap has process numbers of its own, and hides sockets."""
LACKING: Mapping[Mechanism, str] = {
    "bwrap": "Install bubblewrap, and allow user namespaces (sysctl kernel.unprivileged_userns_clone,"
    " kernel.apparmor_restrict_unprivileged_userns; in a container its seccomp profile)",
    "landlock": "It takes Linux 5.13 or later with landlock among the modules in /sys/kernel/security/lsm",
}
CLOSES_NETWORK = 4
"""The version of Landlock's interface from which it can refuse TCP."""
_DEAF = 'trap "" HUP INT QUIT TERM; exec "$@"'
"""Signals that end an agent go to its whole group. bubblewrap dies of them, and the agent with it before it could do
anything about it: so it is made deaf to them, and the launcher inside hears them again."""
_LAUNCHER = str(Path(__file__).with_name("sandboxed.py"))
PREFIX = "aigon-agent-"
"""How the name of a sandbox's folder begins. It lies where temporary files do: a socket's path has 107 bytes."""


@dataclass(frozen=True, slots=True)
class Sandbox:
    """A mechanism and what it grants. `folder` is where the agent's own home and temporary files really lie."""

    mechanism: Mechanism
    grants: Grants
    folder: Path

    def command(self, argv: Sequence[str], cwd: Path, more: Grants | None = None) -> list[str]:
        """The command line that aigon starts for `argv` in `cwd`, with the grants of this turn instead of the run's."""
        grants = more or self.grants
        inner = [sys.executable, "-I", "-S", _LAUNCHER, self._plan(grants), *argv]
        if self.mechanism == "landlock":
            return inner
        view = [bubblewrap() or "/usr/bin/bwrap", *options(grants, self.folder), "--chdir", str(cwd), "--", *inner]
        return ["/bin/sh", "-c", _DEAF, "sh", *view]

    def environment(self, env: Mapping[str, str]) -> dict[str, str]:
        """`env` with the place for temporary files, where that is another one than outside."""
        if self.mechanism != "landlock":
            return dict(env)
        return {**env, **dict.fromkeys(("TMPDIR", "TMP", "TEMP"), str(self.folder))}

    def close(self) -> None:
        """Remove what was made for the agent alone."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _plan(self, grants: Grants) -> str:
        if self.mechanism == "bwrap":
            return marshal.dumps({}).hex()
        hidden = {os.path.realpath(path) for path in (*grants.hidden, *grants.own)}
        plan = {
            "parent": os.getpid(),
            "hidden": sorted(hidden),
            "read": sorted({os.path.realpath(path) for path in (*grants.read, *grants.flat)}),
            "write": sorted({os.path.realpath(path) for path in (*grants.write, str(self.folder))}),
            "closed": grants.network == "closed",
        }
        return marshal.dumps(plan).hex()


def made(mechanism: Mechanism, grants: Grants, note: Path) -> Sandbox:
    """A sandbox with a folder of its own, which the file `note` names: what a killed aigon left there is removed."""
    with contextlib.suppress(OSError, ValueError):
        left = Path(note.read_text())
        # What is noted could have been written by anybody: only a folder of this name is aigon's to remove.
        if left.is_absolute() and left.name.startswith(PREFIX):
            shutil.rmtree(left, ignore_errors=True)
    folder = Path(os.path.realpath(tempfile.mkdtemp(prefix=PREFIX)))
    note.parent.mkdir(parents=True, exist_ok=True)
    note.write_text(str(folder))
    return Sandbox(mechanism, grants, folder)


def best(wanted: WantedMechanism = "auto", network: Network = "open") -> Mechanism:
    """The mechanism to use: the first that really works here, or the one that is wanted.

    Raises AigonError (exit 7) for one that is wanted by name and does not work, and where nothing closes a network that
    is to be closed.
    """
    if wanted == "auto":
        found: Mechanism = next((name for name in IN_ORDER if not flaw(name, network)), "none")
        if found != "none" or network == "open":
            return found
        raise environment(
            f"Nothing here can close an agent's network: {why_none(network)}",
            where="sandbox.network",
            hint=LACKING["bwrap"],
        )
    if wanted == "none":
        if network == "closed":
            raise environment(
                "Without a sandbox an agent's network cannot be closed",
                where="sandbox.network",
                hint='Leave --sandbox none out, or set sandbox.network to "open"',
            )
        return "none"
    if why := flaw(wanted, network):
        raise environment(
            f"Agents cannot be sandboxed by {wanted} on this machine: {why}",
            where=f"--sandbox {wanted}",
            hint=f"{LACKING[wanted]}; or use --sandbox auto",
        )
    return wanted


def why_none(network: Network = "open") -> str:
    """What goes wrong with each mechanism."""
    return "; ".join(f"{name}: {why}" for name in IN_ORDER if (why := flaw(name, network)))


PROBE = 'kill -0 $$ && echo alive; cat "$1/secret" 2>/dev/null; : > "$2/kept" && echo written'
"""Says that it runs and that it could write where that is granted; shows a file that is hidden if it can."""


@functools.cache
def flaw(mechanism: Mechanism, network: Network = "open") -> str:
    """What goes wrong when a program is really run in a sandbox; empty when nothing does. Tried once per process."""
    if not sys.platform.startswith("linux"):
        return "it is Linux's"
    if mechanism == "bwrap" and not bubblewrap():
        return no_bubblewrap()
    if mechanism == "landlock" and (why := _too_old(network)):
        return why
    with tempfile.TemporaryDirectory(prefix="aigon-probe-") as folder:
        return _tried(mechanism, network, Path(os.path.realpath(folder)))


def _too_old(network: Network) -> str:
    version = landlock.version()
    if not version:
        return "the kernel has no Landlock"
    if network == "closed" and version < CLOSES_NETWORK:
        return f"it closes no network before version {CLOSES_NETWORK} of its interface, and this kernel has {version}"
    return ""


def _tried(mechanism: Mechanism, network: Network, folder: Path) -> str:
    hidden, open_, own = (folder / name for name in ("hidden", "open", "own"))
    for made_ in (hidden, open_, own):
        made_.mkdir()
    (hidden / "secret").write_text("seen\n")
    tried = Sandbox(mechanism, Grants((str(open_),), hidden=(str(hidden),), network=network), own)
    argv = tried.command(["/bin/sh", "-c", PROBE, "sh", str(hidden), str(open_)], open_)
    _, out, err = run.output(argv, cwd=folder, env=os.environ)
    if out.split() == [b"alive", b"written"]:
        return ""
    return err.decode(errors="replace").strip().removeprefix("aigon: ") or "what is hidden stays in reach"
