"""The grants of a sandbox: paths that an agent may write and read, paths that are hidden from it, its network.

The most specific path wins: what is granted inside of a hidden folder can be reached, and the other way round. Paths
that are not named may be read and not written.
"""

from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

WantedMechanism = Literal["auto", "bwrap", "namespaces", "landlock", "none"]
Mechanism = Literal["bwrap", "namespaces", "landlock", "none"]
Network = Literal["open", "closed"]


class Grants(Struct, frozen=True):
    """Absolute paths, resolved but for the last link of one that an agent asks for by that name.

    `write` are folders with everything in them, and files; `read` may be read inside of what is hidden; `fixed` cannot
    be written inside of what can. `hidden` cannot be reached; `own` are folders that the agent has in a version of its
    own for as long as the run lasts: its home and those for temporary files. `placed` are mounts at other paths than
    their own, as in `aigon.isolation.mounts`, which only mechanisms with mounts can make. What is written in `private`
    folders stays invisible to all others.
    """

    write: tuple[str, ...] = ()
    read: tuple[str, ...] = ()
    fixed: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    own: tuple[str, ...] = ()
    placed: tuple[tuple[str, str, str], ...] = ()
    private: tuple[str, ...] = ()
    network: Network = "open"

    def more(self, *, write: Iterable[str] = (), read: Iterable[str] = ()) -> "Grants":
        """Return the same grants and these."""
        return replace(self, write=(*self.write, *write), read=(*self.read, *read))


class SandboxPaths(Struct, frozen=True):
    """The paths in `templates/sandbox.yaml`, as they are written there.

    `write` are caches, `read` what tools need of a home, `never` what no agent reaches, `sockets` variables that lead
    to one.
    """

    write: tuple[str, ...]
    read: tuple[str, ...]
    never: tuple[str, ...]
    sockets: tuple[str, ...]


def is_inside(path: str, folder: str) -> bool:
    """Return whether `path` is `folder` or below it."""
    return path == folder or path.startswith(f"{folder.rstrip('/')}/")


def find_covering_grant(path: str, known: Mapping[str, str]) -> str:
    """Return what is known of the closest folder above `path`; "read" if nothing is."""
    while path not in ("", "/"):
        path = path.rpartition("/")[0] or "/"
        if path in known:
            return known[path]
    return "read"


@lru_cache(maxsize=8)  # those of a program are asked for as its sandbox is prepared, and as it starts
def list_grant_layers(grants: Grants) -> tuple[tuple[str, str], ...]:
    """Return each path and what `Grants` calls its grant, outer folders first.

    A path that gets the same from the folder around it is left out.
    """
    wanted: dict[str, str] = {}
    # Later ones win on the same path.
    for name in ("hidden", "own", "read", "private", "fixed", "write"):
        wanted |= dict.fromkeys(getattr(grants, name), name)
    kept: dict[str, str] = {}
    for path, name in sorted(wanted.items(), key=lambda each: (each[0].count("/"), each[0])):
        if name not in _SAME[find_covering_grant(path, kept)]:
            kept[path] = name
    return tuple(kept.items())


_SAME: Mapping[str, frozenset[str]] = {
    "read": frozenset(("read", "fixed")),
    "hidden": frozenset(("hidden", "fixed")),
    "own": frozenset(("hidden", "fixed")),
    "private": frozenset(("private", "read")),
    "write": frozenset(("write", "read")),
    "fixed": frozenset(("read", "fixed")),
}
"""What changes nothing inside of each: a part of a writable folder that is granted for reading stays writable."""
