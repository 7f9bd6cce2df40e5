"""What an agent left in a submodule without committing it there: no commit of the outer repository can hold it.

Looked at with aigon's own git, never with the submodule's configuration, which an agent could have written.
"""

import hashlib
from collections.abc import Mapping
from pathlib import Path

from aigon.process import run


def listed(stage: bytes) -> tuple[str, ...]:
    """The submodules in the output of `git ls-files --stage -z`."""
    entries = (line.split("\t", 1) for line in stage.decode(errors="surrogateescape").split("\0") if "\t" in line)
    return tuple(path for info, path in entries if info.startswith("160000"))


def unfinished(program: str, env: Mapping[str, str], root: Path, path: str) -> bool:
    """Whether the submodule at `path` holds what its own HEAD does not: changes, or files that nothing ignores.

    `env` is that of aigon's own git, whose directory keeps an index per submodule: only the first look reads it all.
    """
    folder = root / path
    git_dir = git_directory(folder)
    head = _head(git_dir) if git_dir else None
    if git_dir is None or head is None:
        return False
    index = Path(env["GIT_DIR"]) / f"index.{hashlib.sha256(path.encode(errors='surrogateescape')).hexdigest()[:12]}"
    more = {"GIT_WORK_TREE": str(folder), "GIT_INDEX_FILE": str(index)}
    more |= {"GIT_ALTERNATE_OBJECT_DIRECTORIES": str(git_dir / "objects")}

    def git(*arguments: str) -> tuple[int, bytes]:
        return run.output((program, *arguments), cwd=folder, env={**env, **more})[:2]

    code, _ = git("read-tree", *(["--reset"] if index.exists() else []), head)
    git("update-index", "-q", "--really-refresh")
    ignored = [f"--exclude-from={file}" for file in (git_dir / "info" / "exclude",) if file.is_file()]
    left = ("--modified", "--others", "--exclude-standard", *ignored, "--directory", "--no-empty-directory")
    return code != 0 or git("ls-files", "-z", *left)[1] != b""


def git_directory(folder: Path) -> Path | None:
    """The git directory of a submodule; None for one that is not checked out."""
    link = folder / ".git"
    if link.is_dir():
        return link
    text = link.read_text(errors="surrogateescape") if link.is_file() else ""
    return (folder / text.removeprefix("gitdir:").strip()).resolve() if text.startswith("gitdir:") else None


def _head(git_dir: Path) -> str | None:
    """The commit of HEAD, read without running git there; None before the first."""
    try:
        head = (git_dir / "HEAD").read_text().strip()
        name = head.removeprefix("ref:").strip()
        if name == head:
            return head
        loose = git_dir / name
        return loose.read_text().strip() if loose.is_file() else _packed(git_dir, name)
    except (OSError, ValueError):
        return None


def _packed(git_dir: Path, name: str) -> str | None:
    lines = (git_dir / "packed-refs").read_text().splitlines()
    return next((line.split()[0] for line in lines if line.endswith(f" {name}")), None)
