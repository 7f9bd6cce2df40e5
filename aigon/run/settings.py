"""The configuration as it holds for one invocation."""

import os
from collections.abc import Callable
from pathlib import Path

from aigon.core.config import Config, load
from aigon.core.errors import usage

Read = Callable[[str], bytes | None]
"""A file of the project by its path; None where there is none."""
PROJECT_FILE = ".aigon/config.json"


def configuration(read: Read) -> Config:
    """The user's configuration, the project's over it. Raises AigonError (exit 2) for anything malformed.

    `read` gives the project's files: those of the work tree, or those of a commit.
    """
    user = user_file()
    contents = ((str(user), _content(user) if user.is_file() else None), (PROJECT_FILE, read(PROJECT_FILE)))
    return load([(name, content) for name, content in contents if content is not None])


def work_tree(root: Path) -> Read:
    """The project's files as they are in the work tree."""

    def read(path: str) -> bytes | None:
        return _content(root / path) if (root / path).is_file() else None

    return read


def user_file() -> Path:
    """`config.json` in the person's configuration directory."""
    from platformdirs import user_config_path

    return user_config_path("aigon") / "config.json"


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise usage(f"The configuration cannot be read: {error.strerror}", where=str(path)) from error


def own_tools(root: Path, path: str = "") -> str:
    """PATH with the project's own tools first: those of its virtual environment and of node_modules."""
    folders = (root / ".venv" / "bin", root / "venv" / "bin", root / "node_modules" / ".bin")
    return os.pathsep.join([*(str(f) for f in folders if f.is_dir()), path or os.environ.get("PATH", os.defpath)])
