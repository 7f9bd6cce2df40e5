"""Where commands and the editor may write."""

import os
import tempfile
from collections.abc import Iterator
from pathlib import Path

from aigon.agents.api_agent.settings import Settings
from aigon.agents.api_agent.tool import Wrong

SHARED = ("/tmp", "/var/tmp")


def writable(settings: Settings, scratch: Path) -> tuple[Path, ...]:
    """What commands may write to: workspace, its git directories, temporary folders, and what a person adds.

    A temporary folder that holds the workspace, the checkout or the person's home counts as none: the command has
    `scratch` then.
    """
    own = [Path(os.path.realpath(path)) for path in (settings.workspace, settings.checkout, Path.home())]
    shared = {Path(os.path.realpath(path)) for path in (tempfile.gettempdir(), *SHARED)}
    free = [path for path in sorted(shared) if not any(each.is_relative_to(path) for each in own)]
    places = (settings.workspace, *git_directories(settings.workspace), scratch, *free, *settings.writable)
    return tuple(dict.fromkeys(Path(os.path.realpath(path)) for path in places if path.exists()))


def git_directories(workspace: Path) -> Iterator[Path]:
    """The workspace's git directory, and the one it shares with others in a linked worktree (gitrepository-layout)."""
    pointer = workspace / ".git"
    if pointer.is_dir():
        yield pointer
    elif pointer.is_file():
        own = workspace / pointer.read_text(errors="replace").removeprefix("gitdir:").strip()
        yield own
        common = own / "commondir"
        if common.is_file():
            yield own / common.read_text(errors="replace").strip()


def inside(workspace: Path, name: str) -> Path:
    """The real path that `name`, absolute or relative, has in `workspace`. Raises Wrong where it leads out of it."""
    root = Path(os.path.realpath(workspace))
    try:
        found = Path(os.path.realpath(workspace / name))
    except ValueError:
        raise Wrong("A path cannot hold a NUL character") from None
    if not found.is_relative_to(root):
        raise Wrong(f"{name} is not in the workspace {workspace}, and this tool stays in it")
    if ".git" in found.relative_to(root).parts:
        raise Wrong(f"{name} belongs to git; use git itself")
    return found
