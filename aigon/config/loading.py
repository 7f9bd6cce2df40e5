"""The configuration as it holds for one invocation."""

import os
from collections.abc import Callable
from pathlib import Path

from aigon.config.models import Config, parse_configuration
from aigon.errors import usage
from aigon.files import atomic

ReadFile = Callable[[str], bytes | None]
"""A file of the project by its path; None where there is none."""
PROJECT_FILE = ".aigon/config.json"
UNSUPPORTED_FILES = tuple(f".aigon/config.{ending}" for ending in ("yaml", "yml", "toml"))
"""Where people look for it who know other tools. A file there would be ignored without a word."""
MAX_FILE_BYTES = 16 * 1024 * 1024
"""Bytes of any file of a project that is read whole, as in `aigon.checks.project`; most readers have a lower bound."""


def load_configuration(read: ReadFile) -> Config:
    """The user's configuration, the project's over it. Raises AigonError (exit 2) for anything malformed.

    `read` gives the project's files: those of the work tree, or those of a commit.
    """
    if other := next((name for name in UNSUPPORTED_FILES if read(name) is not None), ""):
        hint = f"Write it as JSON into {PROJECT_FILE}, and remove it"
        raise usage(f"aigon does not read {other}", where=other, hint=hint)
    contents = ((str(get_user_file()), read_user_configuration()), (PROJECT_FILE, read(PROJECT_FILE)))
    return parse_configuration([(name, content) for name, content in contents if content is not None])


def open_work_tree(root: Path) -> ReadFile:
    """The project's files as they are in the work tree."""

    def read(path: str) -> bytes | None:
        return _read_file(root / path) if (root / path).is_file() else None

    return read


def read_user_configuration() -> bytes | None:
    """What the person's own configuration holds; None where there is none. Raises AigonError (exit 2)."""
    return _read_file(get_user_file()) if get_user_file().is_file() else None


def get_user_file() -> Path:
    """`config.json` in the person's configuration directory."""
    from platformdirs import user_config_path

    return user_config_path("aigon") / "config.json"


def _read_file(path: Path) -> bytes:
    try:
        return atomic.read_bounded(
            path, MAX_FILE_BYTES, "The file", hint="aigon reads no file of a project that is larger"
        )
    except OSError as error:
        raise usage(f"The configuration cannot be read: {error.strerror}", where=str(path)) from error


def build_tool_path(root: Path, path: str = "") -> str:
    """PATH with the project's own tools first: those of its virtual environment and of node_modules."""
    folders = (root / ".venv" / "bin", root / "venv" / "bin", root / "node_modules" / ".bin")
    return os.pathsep.join([*(str(f) for f in folders if f.is_dir()), path or os.environ.get("PATH", os.defpath)])
