"""Play one recorded attempt into the working directory; `aigon.agents.adapters.replay` describes a recording.

Run as a script, by its path; it needs the standard library alone, because `python -I` cannot import a checkout that
is not installed.
"""

import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path


def list_attempts(recording: Path) -> list[int]:
    """Return the numbers of the attempts in a recording, ascending; none if there is no such folder."""
    if not recording.is_dir():
        return []
    return sorted(int(entry.name) for entry in recording.iterdir() if entry.name.isdecimal() and entry.is_dir())


def _play(recording: Path, number: int, workspace: Path) -> str:
    """Bring the workspace to what attempt `number` left, and return what it says. Raises ValueError, OSError."""
    numbers = list_attempts(recording)
    if not numbers:
        raise ValueError(f"there is no recorded attempt in {recording}")
    if number > numbers[-1]:
        return "nothing left to replay\n"
    _apply(recording / str(number), workspace)
    says = recording / str(number) / "says.txt"
    return says.read_text(encoding="utf-8", errors="replace") if says.is_file() else ""


def _apply(attempt: Path, workspace: Path) -> None:
    """Check every path of an attempt, then delete and copy."""
    listing = attempt / "delete"
    names = os.fsdecode(listing.read_bytes()).split("\n") if listing.is_file() else []
    doomed = [_resolve_inside(workspace, name.strip()) for name in names if name.strip()]
    copies = [(source, _resolve_inside(workspace, name)) for source, name in _list_sources(attempt / "files")]
    for _, target in copies:
        if target not in doomed and (target.is_symlink() or target.is_dir()):
            raise ValueError(f"{target} is a symbolic link or a folder; it is not written over")
    for target in doomed:
        if target.is_dir() and not target.is_symlink():
            shutil.rmtree(target)
        else:
            target.unlink(missing_ok=True)
    for source, target in copies:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, target)


def _list_sources(folder: Path) -> Iterator[tuple[Path, str]]:
    for source in sorted(folder.rglob("*")):
        name = source.relative_to(folder)
        if source.is_symlink():
            raise ValueError(f"{source} is a symbolic link; a recording holds files only")
        # An installer compiles the Python files of a recording that ships with aigon; that was not recorded.
        if source.is_file() and "__pycache__" not in name.parts:
            yield source, str(name)


def _resolve_inside(workspace: Path, name: str) -> Path:
    """Return the path of `name` in the workspace. Raises ValueError if it leads out of it, also through a link."""
    relative = Path(name)
    target = workspace / relative
    if relative.is_absolute() or ".." in relative.parts:
        raise ValueError(f"{name!r} is outside the workspace")
    if not target.parent.resolve().is_relative_to(workspace.resolve()):
        raise ValueError(f"{name!r} leads out of the workspace through a symbolic link")
    return target


def _main() -> int:
    try:
        said = _play(Path(sys.argv[1]), int(os.environ["AIGON_ITERATION"]), Path.cwd())
    except (IndexError, KeyError):
        print("usage: AIGON_ITERATION=N _player.py RECORDING, in the workspace", file=sys.stderr)
        return 2
    except (OSError, ValueError) as error:
        print(f"replay: {error}", file=sys.stderr)
        return 1
    sys.stdout.buffer.write(said.encode())
    return 0


if __name__ == "__main__":
    sys.exit(_main())
