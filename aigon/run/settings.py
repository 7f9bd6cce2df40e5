"""The configuration as it holds for one invocation."""

import os
from pathlib import Path

from aigon.core.config import Config, load
from aigon.core.errors import usage

PROJECT_FILE = ".aigon/config.json"


def configuration(root: Path) -> Config:
    """The user's configuration, the project's over it. Raises AigonError (exit 2) for anything malformed."""
    candidates = ((str(user_file()), user_file()), (PROJECT_FILE, root / PROJECT_FILE))
    return load([(name, _content(path)) for name, path in candidates if path.is_file()])


def user_file() -> Path:
    """`config.json` in the person's configuration directory."""
    from platformdirs import user_config_path

    return user_config_path("aigon") / "config.json"


def _content(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise usage(f"The configuration cannot be read: {error.strerror}", where=str(path)) from error


def first(*values: object) -> object:
    """The first that was said."""
    return next((value for value in values if value is not None), None)


def own_tools(root: Path) -> str:
    """PATH with the project's own tools first: those of its virtual environment and of node_modules."""
    folders = (root / ".venv" / "bin", root / "venv" / "bin", root / "node_modules" / ".bin")
    return os.pathsep.join([*(str(f) for f in folders if f.is_dir()), os.environ.get("PATH", os.defpath)])
