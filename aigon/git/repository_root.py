"""The repository around a folder, where none is needed."""

from pathlib import Path


def repository_root(start: Path) -> Path | None:
    """The folder with `.git` that `start` is in; None outside of every repository."""
    return next((folder for folder in (start, *start.parents) if (folder / ".git").exists()), None)
