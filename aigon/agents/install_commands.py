"""Install aigon's commands where agents read theirs, and leave alone what people wrote there."""

import os
import shutil
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from functools import cache
from pathlib import Path

from aigon.agents.command_file import (
    CommandTemplate,
    parse_template,
    render_command,
    render_invocation,
)
from aigon.agents.configured import load_agent_types
from aigon.config.models import Config
from aigon.errors import environment, usage
from aigon.files.atomic import write_atomic
from aigon.files.resources import find_resource
from aigon.model.agent_types import AgentType, CommandFileResult, CommandFiles, CommandFileState
from aigon.text.command_marks import inspect_command

ASIDE = ".new"
"""What the name of a newer version has at its end beside a file that a person edited."""


def resolve_types(names: Sequence[str], root: Path | None, config: Config) -> tuple[AgentType, ...]:
    """Return the agent types called `names`: by name, alias or the name of a configured agent; each once.

    Raises AigonError (exit 2) for one that is not known or has no command files, and lists those that have.
    """
    known = load_agent_types(root)
    able = {kind.name: kind for kind in filter_installable(known.values())}
    found = [_resolve_type(name, known, config, tuple(able)) for name in names]
    if not found:
        raise usage("Name the agents to write commands for", where="AGENT...", hint=f"Known: {', '.join(able)}")
    for kind in found:
        if kind.name not in able:
            hint = f"These do: {', '.join(able)}"
            raise usage(f"{kind.title} reads no commands of a person's own", where=kind.name, hint=hint)
    return tuple({kind.name: kind for kind in found}.values())


def _resolve_type(name: str, known: Mapping[str, AgentType], config: Config, able: Sequence[str]) -> AgentType:
    own = config.agents.get(name)
    meant = own.adapter if own else name
    found = known.get(meant) or next((kind for kind in known.values() if meant in kind.aliases), None)
    if found is None:
        near = get_close_matches(name, (*known, *config.agents), n=1)
        hint = (f"Did you mean {near[0]}? " if near else "") + f"Known: {', '.join(able)}"
        raise usage(f"There is no agent called {name!r}", where="AGENT", hint=hint)
    return found


def find_types_here(
    root: Path, config: Config, env: Mapping[str, str]
) -> tuple[tuple[AgentType, ...], tuple[AgentType, ...]]:
    """The kinds with command files that are installed or configured: reading in the repository, and in the home."""
    known = load_agent_types(root)
    wanted = {config.default_agent, *config.fallback, *(agent.adapter for agent in config.agents.values())}
    here = [
        kind
        for kind in filter_installable(known.values())
        if {kind.name, *kind.aliases} & wanted or _is_installed(kind, env)
    ]
    return (
        tuple(kind for kind in here if kind.commands and not is_in_home(kind.commands)),
        tuple(kind for kind in here if kind.commands and is_in_home(kind.commands)),
    )


def _is_installed(kind: AgentType, env: Mapping[str, str]) -> bool:
    return bool(kind.program and shutil.which(kind.program, path=env.get("PATH")))


def explain_unfit(path: Path, inside: Path | None) -> str:
    """Return why a file must not be written there; empty if it may. In a repository no link may lead out of it."""
    if inside and not Path(os.path.realpath(path.parent)).is_relative_to(os.path.realpath(inside)):
        return "it would lie outside of the repository"
    if path.is_symlink():
        return "it is a link"
    return "there is something else than a file" if path.exists() and not path.is_file() else ""


def place_command(path: Path, content: bytes, dry: bool) -> tuple[CommandFileState, bool]:
    """Write the file if it is aigon's to write; its state, and whether a newer version lies beside it."""
    if not path.exists():
        _write(path, content, dry)
        return "new", False
    there = path.read_bytes()
    whose, last = inspect_command(there)
    if whose == "intact":
        same = inspect_command(content)[1] == last
        if not same:
            _write(path, content, dry)
        return "unchanged" if same else "updated", False
    if whose == "foreign" or last == inspect_command(content)[1]:
        return whose, False
    return whose, _write_beside(path.with_name(path.name + ASIDE), content, dry)


def _write_beside(path: Path, content: bytes, dry: bool) -> bool:
    """Put the newer version beside an edited file, unless somebody has written there, too."""
    if path.is_symlink() or (
        path.exists() and (not path.is_file() or inspect_command(path.read_bytes())[0] != "intact")
    ):
        return False
    if not path.exists() or inspect_command(path.read_bytes())[1] != inspect_command(content)[1]:
        _write(path, content, dry)
    return True


def _write(path: Path, content: bytes, dry: bool) -> None:
    if not dry:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, content)


@dataclass(frozen=True, slots=True)
class InstallTarget:
    """Where files go: the repository and the person's home; a `dry` run writes nothing."""

    root: Path | None
    home: Path
    dry: bool = False


@cache
def load_templates() -> tuple[CommandTemplate, ...]:
    """Return the commands that ship with aigon."""
    files = sorted(find_resource("templates", "commands").glob("*.md"))
    return tuple(parse_template(file.stem, file.read_bytes(), str(file)) for file in files)


def is_in_home(files: CommandFiles) -> bool:
    """Whether an agent reads its commands in the person's home, not in the repository."""
    return files.path.startswith("~/")


def filter_installable(known: Iterable[AgentType]) -> tuple[AgentType, ...]:
    """Return the agent types that read commands of a person's own."""
    return tuple(kind for kind in known if kind.commands)


def install_commands(kinds: Sequence[AgentType], place: InstallTarget) -> tuple[CommandFileResult, ...]:
    """Write every command for every kind, where a person has not taken the file over; what became of each.

    Raises AigonError: exit 7 for commands of a repository where there is none, 2 for a kind whose path is malformed.
    """
    found: dict[Path, CommandFileResult] = {}
    for kind in kinds:
        if kind.commands is None:
            continue
        for one in load_templates():
            path = _command_path(one.name, kind, kind.commands, place)
            if path not in found:  # two agents may read the same files
                found[path] = _install_one(path, one, kind, kind.commands, place)
    return tuple(found.values())


def _command_path(name: str, kind: AgentType, files: CommandFiles, place: InstallTarget) -> Path:
    if "{name}" not in files.path:
        raise usage(f"The path of the commands of {kind.name} has no {{name}}", where=files.path)
    path = files.path.replace("{name}", name)
    if is_in_home(files):
        return place.home / path[2:]
    if place.root is None:
        raise environment(
            f"{kind.title} reads its commands in a repository, and this is none",
            where=str(Path.cwd()),
            hint="Go to your repository",
        )
    return place.root / path


def _install_one(
    path: Path, one: CommandTemplate, kind: AgentType, files: CommandFiles, place: InstallTarget
) -> CommandFileResult:
    base = place.home if is_in_home(files) else place.root or place.home
    shown = f"~/{path.relative_to(base)}" if is_in_home(files) else _show_path(path, base)

    def placed(state: CommandFileState, beside: str = "", why: str = "") -> CommandFileResult:
        return CommandFileResult(kind.name, one.name, render_invocation(one.name, files), shown, state, beside, why)

    if why := explain_unfit(path, None if is_in_home(files) else base):
        return placed("refused", why=why)
    try:
        state, aside = place_command(path, render_command(one, kind, files), place.dry)
    except OSError as error:
        return placed("refused", why=(error.strerror or str(error)).lower())
    return placed(state, f"{shown}{ASIDE}" if aside else "")


def _show_path(path: Path, base: Path) -> str:
    return str(path.relative_to(base)) if path.is_relative_to(base) else str(path)
