"""The configuration as it holds for one invocation."""

import os
from collections.abc import Callable
from pathlib import Path

from aigon.config.models import Config, load
from aigon.errors import usage
from aigon.files import bounded

Read = Callable[[str], bytes | None]
"""A file of the project by its path; None where there is none."""
PROJECT_FILE = ".aigon/config.json"
MISTAKEN = tuple(f".aigon/config.{ending}" for ending in ("yaml", "yml", "toml"))
"""Where people look for it who know other tools. A file there would be ignored without a word."""
LARGEST = 16 * 1024 * 1024
"""Bytes of any file of a project that is read whole, as in `aigon.checks.project`; most readers have a lower bound."""


def configuration(read: Read) -> Config:
    """The user's configuration, the project's over it. Raises AigonError (exit 2) for anything malformed.

    `read` gives the project's files: those of the work tree, or those of a commit.
    """
    if other := next((name for name in MISTAKEN if read(name) is not None), ""):
        hint = f"Write it as JSON into {PROJECT_FILE}, and remove it"
        raise usage(f"aigon does not read {other}", where=other, hint=hint)
    contents = ((str(user_file()), user_content()), (PROJECT_FILE, read(PROJECT_FILE)))
    return load([(name, content) for name, content in contents if content is not None])


def work_tree(root: Path) -> Read:
    """The project's files as they are in the work tree."""

    def read(path: str) -> bytes | None:
        return _content(root / path) if (root / path).is_file() else None

    return read


def user_content() -> bytes | None:
    """What the person's own configuration holds; None where there is none. Raises AigonError (exit 2)."""
    return _content(user_file()) if user_file().is_file() else None


def user_file() -> Path:
    """`config.json` in the person's configuration directory."""
    from platformdirs import user_config_path

    return user_config_path("aigon") / "config.json"


def _content(path: Path) -> bytes:
    try:
        return bounded.content(path, LARGEST, "The file", hint="aigon reads no file of a project that is larger")
    except OSError as error:
        raise usage(f"The configuration cannot be read: {error.strerror}", where=str(path)) from error


def own_tools(root: Path, path: str = "") -> str:
    """PATH with the project's own tools first: those of its virtual environment and of node_modules."""
    folders = (root / ".venv" / "bin", root / "venv" / "bin", root / "node_modules" / ".bin")
    return os.pathsep.join([*(str(f) for f in folders if f.is_dir()), path or os.environ.get("PATH", os.defpath)])
