"""The environment of commands in a clean room: nobody's HOME, no agent's variables, scratch folders of its own."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

from aigon.git.person import LOCAL_VARIABLES

Home = Literal["throwaway", "real"]
OF_THE_SYSTEM = ("XDG_DATA_DIRS", "XDG_CONFIG_DIRS")
"""The only variables of their family that name no place of the person's."""
FOLDERS = {"TMPDIR": "tmp", "TMP": "tmp", "TEMP": "tmp", "PYTHONPYCACHEPREFIX": "bytecode"}
"""Variables that name a folder of the room's own. Bytecode beside the sources could be older or other than these."""
HOME = "home"
OF_THE_RUN = ("AIGON_RUN", "AIGON_INVOCATION", "AIGON_SLOT", "AIGON_PORT_BASE")
"""Of aigon's own variables those that stay: which run it is, and which ports are its own."""


def room_env(
    env: Mapping[str, str],
    scratch: Path,
    room: Path,
    *,
    home: Home = "throwaway",
    places: Mapping[str, str] | None = None,
    translated: Callable[[str], str] = str,
) -> dict[str, str]:
    """`env` (that of the checks) for a room that commands see as `room` and whose own folders are in `scratch`.

    Drops AIGON_* but AIGON_RUN and AIGON_INVOCATION, and what redirects git, which also stops looking above the room.
    TMPDIR and PYTHONPYCACHEPREFIX point into `scratch`; so does HOME if it is "throwaway", XDG_* is unset then, and
    each variable
    of `places` (RUSTUP_HOME: .rustup) is set to that path below the real HOME, where it is unset and the folder
    exists. `translated` makes of a value that names the workspace one that names the room.
    """
    kept = {name: translated(value) for name, value in env.items() if _stays(name)}
    kept |= {
        name: str(scratch / folder) for name, folder in FOLDERS.items() if name in env or name not in ("TMP", "TEMP")
    }
    kept["GIT_CEILING_DIRECTORIES"] = os.pathsep.join(
        [str(room.parent), *filter(None, [env.get("GIT_CEILING_DIRECTORIES")])]
    )
    if home == "real":
        return kept
    own = {name: value for name, value in kept.items() if not name.startswith("XDG_") or name in OF_THE_SYSTEM}
    return _tool_chains(env, places or {}) | own | {"HOME": str(scratch / HOME)}


def make_folders(scratch: Path) -> None:
    """The folders that the environment names, empty."""
    for name in {*FOLDERS.values(), HOME}:
        (scratch / name).mkdir(mode=0o700)


def _stays(name: str) -> bool:
    return name in OF_THE_RUN or not (name.startswith("AIGON_") or name in LOCAL_VARIABLES)


def _tool_chains(env: Mapping[str, str], places: Mapping[str, str]) -> dict[str, str]:
    """Where tools are that would look in HOME."""
    real = Path(env.get("HOME") or Path.home())
    return {name: str(real / path) for name, path in places.items() if (real / path).is_dir()}
