"""Write aigon's commands where agents read theirs, and keep out of the way of what people wrote there."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from aigon.agents.command_file import Template, invoked, rendered, template
from aigon.agents.command_writing import ASIDE, settled, unfit
from aigon.errors import environment, usage
from aigon.files.resources import resource
from aigon.model.agent_types import AgentType, CommandFileResult, CommandFiles, CommandFileState


@dataclass(frozen=True, slots=True)
class Place:
    """Where files go: the repository and the person's home; a `dry` run writes nothing."""

    root: Path | None
    home: Path
    dry: bool = False


@cache
def templates() -> tuple[Template, ...]:
    """The commands that ship with aigon."""
    files = sorted(resource("templates", "commands").glob("*.md"))
    return tuple(template(file.stem, file.read_bytes(), str(file)) for file in files)


def in_home(files: CommandFiles) -> bool:
    """Whether an agent reads its commands in the person's home, not in the repository."""
    return files.path.startswith("~/")


def installable(known: Iterable[AgentType]) -> tuple[AgentType, ...]:
    """The kinds that read commands of a person's own."""
    return tuple(kind for kind in known if kind.commands)


def install(kinds: Sequence[AgentType], place: Place) -> tuple[CommandFileResult, ...]:
    """Write every command for every kind, where a person has not taken the file over; what became of each.

    Raises AigonError: exit 7 for commands of a repository where there is none, 2 for a kind whose path is malformed.
    """
    found: dict[Path, CommandFileResult] = {}
    for kind in kinds:
        if kind.commands is None:
            continue
        for one in templates():
            path = _path(one.name, kind, kind.commands, place)
            if path not in found:  # two agents may read the same files
                found[path] = _placed(path, one, kind, kind.commands, place)
    return tuple(found.values())


def _path(name: str, kind: AgentType, files: CommandFiles, place: Place) -> Path:
    if "{name}" not in files.path:
        raise usage(f"The path of the commands of {kind.name} has no {{name}}", where=files.path)
    path = files.path.replace("{name}", name)
    if in_home(files):
        return place.home / path[2:]
    if place.root is None:
        raise environment(
            f"{kind.title} reads its commands in a repository, and this is none",
            where=str(Path.cwd()),
            hint="Go to your repository",
        )
    return place.root / path


def _placed(path: Path, one: Template, kind: AgentType, files: CommandFiles, place: Place) -> CommandFileResult:
    base = place.home if in_home(files) else place.root or place.home
    shown = f"~/{path.relative_to(base)}" if in_home(files) else _shown(path, base)

    def placed(state: CommandFileState, beside: str = "", why: str = "") -> CommandFileResult:
        return CommandFileResult(kind.name, one.name, invoked(one.name, files), shown, state, beside, why)

    if why := unfit(path, None if in_home(files) else base):
        return placed("refused", why=why)
    try:
        state, aside = settled(path, rendered(one, kind, files), place.dry)
    except OSError as error:
        return placed("refused", why=(error.strerror or str(error)).lower())
    return placed(state, f"{shown}{ASIDE}" if aside else "")


def _shown(path: Path, base: Path) -> str:
    return str(path.relative_to(base)) if path.is_relative_to(base) else str(path)
