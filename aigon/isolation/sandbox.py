"""The sandbox of an agent: which mechanism works here, and the command line that starts an agent in it."""

import contextlib
import functools
import marshal
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from aigon.config.grants import (
    Grants,
    Mechanism,
    Network,
    WantedMechanism,
    find_covering_grant,
    is_inside,
    list_grant_layers,
)
from aigon.errors import environment
from aigon.isolation import landlock
from aigon.isolation.enclosure import explain_no_bubblewrap, find_bubblewrap
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
        view = [
            find_bubblewrap() or "/usr/bin/bwrap",
            *list_bwrap_options(grants, self.folder),
            "--chdir",
            str(cwd),
            "--",
            *inner,
        ]
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


def make_sandbox(mechanism: Mechanism, grants: Grants, note: Path) -> Sandbox:
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


def choose_mechanism(wanted: WantedMechanism = "auto", network: Network = "open") -> Mechanism:
    """The mechanism to use: the first that really works here, or the one that is wanted.

    Raises AigonError (exit 7) for one that is wanted by name and does not work, and where nothing closes a network that
    is to be closed.
    """
    if wanted == "auto":
        found: Mechanism = next((name for name in IN_ORDER if not find_sandbox_flaw(name, network)), "none")
        if found != "none" or network == "open":
            return found
        raise environment(
            f"Nothing here can close an agent's network: {explain_no_mechanism(network)}",
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
    if why := find_sandbox_flaw(wanted, network):
        raise environment(
            f"Agents cannot be sandboxed by {wanted} on this machine: {why}",
            where=f"--sandbox {wanted}",
            hint=f"{LACKING[wanted]}; or use --sandbox auto",
        )
    return wanted


def explain_no_mechanism(network: Network = "open") -> str:
    """What goes wrong with each mechanism."""
    return "; ".join(f"{name}: {why}" for name in IN_ORDER if (why := find_sandbox_flaw(name, network)))


PROBE = 'kill -0 $$ && echo alive; cat "$1/secret" 2>/dev/null; : > "$2/kept" && echo written'
"""Says that it runs and that it could write where that is granted; shows a file that is hidden if it can."""


@functools.cache
def find_sandbox_flaw(mechanism: Mechanism, network: Network = "open") -> str:
    """What goes wrong when a program is really run in a sandbox; empty when nothing does. Tried once per process."""
    if not sys.platform.startswith("linux"):
        return "it is Linux's"
    if mechanism == "bwrap" and not find_bubblewrap():
        return explain_no_bubblewrap()
    if mechanism == "landlock" and (why := _find_landlock_lack(network)):
        return why
    with tempfile.TemporaryDirectory(prefix="aigon-probe-") as folder:
        return _try_sandbox(mechanism, network, Path(os.path.realpath(folder)))


def _find_landlock_lack(network: Network) -> str:
    version = landlock.landlock_version()
    if not version:
        return "the kernel has no Landlock"
    if network == "closed" and version < CLOSES_NETWORK:
        return f"it closes no network before version {CLOSES_NETWORK} of its interface, and this kernel has {version}"
    return ""


def _try_sandbox(mechanism: Mechanism, network: Network, folder: Path) -> str:
    hidden, open_, own = (folder / name for name in ("hidden", "open", "own"))
    for made_ in (hidden, open_, own):
        made_.mkdir()
    (hidden / "secret").write_text("seen\n")
    tried = Sandbox(mechanism, Grants((str(open_),), hidden=(str(hidden),), network=network), own)
    argv = tried.command(["/bin/sh", "-c", PROBE, "sh", str(hidden), str(open_)], open_)
    _, out, err = run.capture_output(argv, cwd=folder, env=os.environ)
    if out.split() == [b"alive", b"written"]:
        return ""
    return err.decode(errors="replace").strip().removeprefix("aigon: ") or "what is hidden stays in reach"


# Root's processes keep their capabilities otherwise, this one to unmount what is mounted here.
_ISOLATING_OPTIONS = (
    "--unshare-user",
    "--cap-drop",
    "CAP_SYS_ADMIN",
    "--unshare-pid",
    "--unshare-ipc",
    "--die-with-parent",
)
MACHINE_SETTINGS = ("sys", "irq", "bus", "fs", "acpi", "scsi", "mtrr", "sysrq-trigger")
"""What /proc has of settings that hold for the whole machine. The kernel asks only who one is: root needs no capability
to name, in sys/kernel/core_pattern, a program that runs outside of every sandbox, and bwrap 0.8 leaves it writable."""


def list_bwrap_options(grants: Grants, folder: Path) -> list[str]:
    """The options of bwrap; what takes the place of the person's home and of /tmp lies in `folder`."""
    every = _select_seen(list_grant_layers(replace(grants, fixed=(*grants.fixed, *_list_existing(grants)))))
    every = sorted({*every, *_list_pinned(every, grants)}, key=lambda each: (each[0].count("/"), each[0]))
    closed = ["--unshare-net"] if grants.network == "closed" else []
    made = [word for path, name in every for word in _list_layer_options(path, name, folder)]
    hidden = [path for path, name in every if name == "hidden" and os.path.isdir(path)]  # noqa: PTH112 - many of them
    sealed = [word for path in hidden for word in ("--remount-ro", path)]
    settings = [word for name in MACHINE_SETTINGS for word in ("--ro-bind-try", f"/proc/{name}", f"/proc/{name}")]
    return [
        *_ISOLATING_OPTIONS,
        *closed,
        "--ro-bind",
        "/",
        "/",
        "--dev",
        "/dev",
        "--proc",
        "/proc",
        *settings,
        *made,
        *sealed,
    ]


def _list_pinned(every: list[tuple[str, str]], grants: Grants) -> Iterator[tuple[str, str]]:
    """Folders that hold what is fixed: mounted themselves, or they could be exchanged for others of the same name."""
    known = dict(every)
    for path in (path for path, name in every if name == "fixed"):
        folder = os.path.dirname(path)  # noqa: PTH120 - a text
        while folder not in known and any(folder != top and is_inside(folder, top) for top in grants.write):
            yield folder, "write"
            folder = os.path.dirname(folder)  # noqa: PTH120 - as above


def _list_existing(grants: Grants) -> Iterator[str]:
    """What lies in a folder in which files may be made, but for what may be written itself."""
    for folder in grants.flat:
        # Never a lock: whoever holds it removes it, which the agent's view must not hinder.
        names = [name for name in os.listdir(folder) if not name.endswith(".lock")]  # noqa: PTH208 - names alone
        paths = (f"{folder}/{name}" for name in names)
        yield from (path for path in paths if not any(is_inside(path, granted) for granted in grants.write))


def _select_seen(every: tuple[tuple[str, str], ...]) -> list[tuple[str, str]]:
    """Those that exist; a link only where what it stands in is empty otherwise, since it leads on by itself."""
    known = dict(every)
    there = ((path, name) for path, name in every if os.path.exists(path))  # noqa: PTH110 - many of them
    return [
        (path, name)
        for path, name in there
        if not os.path.islink(path) or find_covering_grant(path, known) in ("hidden", "own")  # noqa: PTH114 - many of them
    ]


def _list_layer_options(path: str, name: str, folder: Path) -> tuple[str, ...]:
    """The options for one path."""
    if name == "hidden":
        return ("--tmpfs", path) if os.path.isdir(path) else ("--ro-bind", "/dev/null", path)  # noqa: PTH112 - as above
    if name == "own":
        own = folder / path.strip("/").replace("/", "-")
        own.mkdir(exist_ok=True)
        return ("--bind", str(own), path)
    how = "--ro-bind" if name in ("read", "fixed") else "--dev-bind" if path.startswith("/dev/") else "--bind"
    return (how, os.path.realpath(path), path)
