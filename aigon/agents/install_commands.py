"""Install aigon's commands where agents read theirs, and leave alone what people wrote there."""

import json
import os
import re
import shutil
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Literal

from msgspec import Struct

from aigon.agents.configured import load_agent_types
from aigon.config.models import Config
from aigon.errors import environment, usage
from aigon.files.atomic import write_atomic
from aigon.files.checksums import inspect_command, mark_command
from aigon.files.resources import find_resource
from aigon.model.agents import AgentType, CommandFileResult, CommandFiles, CommandFileState
from aigon.text.documents import parse_yaml, suggest
from aigon.text.patterns import compile_re

ASIDE = ".new"
"""The suffix of a newer version, which is written next to a file that a person edited."""
_PLACEHOLDER = compile_re(r"\{\{([A-Z][A-Z0-9_]*)\}\}")
_ALL = "(see their message: the words after the name of this command)"
_FIRST = "the one after the name of this command"
"""What replaces the arguments if an agent has no placeholder for them: it sees the person's own message."""


class CommandTemplate(Struct, frozen=True):
    """A command before it is made an agent's: `hint` says what is typed after it."""

    name: str
    description: str
    hint: str
    body: str


class InstallTarget(Struct, frozen=True):
    """Places of files: the repository and the person's home; a `dry` run writes nothing, `remove` takes them away."""

    root: Path | None
    home: Path
    dry: bool = False
    remove: bool = False


@cache
def load_templates() -> tuple[CommandTemplate, ...]:
    """Return the commands that ship with aigon."""
    files = sorted(find_resource("templates", "commands").glob("*.md"))
    return tuple(parse_template(file.stem, file.read_bytes(), str(file)) for file in files)


def parse_template(name: str, content: bytes, file: str) -> CommandTemplate:
    """Return the template in a Markdown file whose frontmatter has `description` and `argument-hint`.

    Raises AigonError (usage) for one without.
    """
    parts = re.match(r"---\n(.*?\n)---\n+(.*)", content.decode(), re.DOTALL)
    if not parts:
        raise usage("A command template begins with frontmatter between two `---` lines", where=file)
    fields = parse_yaml(parts[1].encode(), file).fields(("description", "argument-hint"), ("description",))
    hint = fields["argument-hint"].text() if "argument-hint" in fields else ""
    return CommandTemplate(name, fields["description"].text(), hint, parts[2].rstrip("\n") + "\n")


def render_command(template: CommandTemplate, kind: AgentType, files: CommandFiles) -> bytes:
    """Return the file for one agent. Raises AigonError (usage) for a placeholder that does not exist."""
    words = {
        "COMMAND_IMPLEMENT": _render_invocation("feature-implement", files),
        "ARG1_SYNTAX": files.argument if files.argument not in ("", files.arguments) else _FIRST,
        "ARGS_SYNTAX": files.arguments or _ALL,
        "AGENT": kind.name,
        "AGENT_TITLE": kind.title,
    }

    def fill(match: "re.Match[str]") -> str:
        if match[1] not in words:
            raise usage(f"Unknown placeholder {match[0]}", where=template.name, hint=f"Known: {', '.join(words)}")
        return words[match[1]]

    # Each placeholder once: what a value holds, as Gemini's `{{args}}`, is never read as one.
    body = _PLACEHOLDER.sub(fill, template.body)
    if files.format == "toml":
        import tomlkit

        document = tomlkit.document()
        document.add("description", tomlkit.string(template.description))
        document.add("prompt", tomlkit.string(f"\n{body}", multiline=True))
        return mark_command(tomlkit.dumps(document), "# ", "")
    # Every JSON string is a YAML string, too.
    head = [f"name: {template.name}"] if files.format == "skill" else []
    head.append(f"description: {json.dumps(template.description, ensure_ascii=False)}")
    if template.hint and files.format == "markdown":
        head.append(f"argument-hint: {json.dumps(template.hint, ensure_ascii=False)}")
    return mark_command("\n".join(["---", *head, "---", "", body]), "<!-- ", " -->")


def _render_invocation(name: str, files: CommandFiles) -> str:
    """Return what a person types to use the command `name`."""
    return files.invoked.replace("{name}", name)


def resolve_types(
    names: Sequence[str], root: Path | None, config: Config, what: Literal["commands", "mcp"] = "commands"
) -> tuple[AgentType, ...]:
    """Return the agent types called `names`: by name, alias or the name of a configured agent; each once.

    Raises AigonError (exit 2) for one that is not known or reads no commands (MCP servers), and lists those that do.
    """
    known = load_agent_types(root)
    able = [kind.name for kind in known.values() if getattr(kind, what)]
    aliases = {alias: kind for kind in known.values() for alias in kind.aliases}
    if not names:
        raise usage("Name the agents to write this for", where="AGENT...", hint=f"Known: {', '.join(able)}")
    found = {}
    for name in names:
        own = config.agents.get(name)
        meant = own.adapter if own else name
        kind = known.get(meant) or aliases.get(meant)
        if kind is None:
            hint = suggest(name, able, (*known, *config.agents))
            raise usage(f"There is no agent called {name!r}", where="AGENT", hint=hint)
        if not getattr(kind, what):
            lacks = "has no custom commands" if what == "commands" else "reads no MCP servers that aigon can write"
            raise usage(f"{kind.title} {lacks}", where=kind.name, hint=f"These do: {', '.join(able)}")
        found[kind.name] = kind
    return tuple(found.values())


def find_types_here(
    root: Path, config: Config, env: Mapping[str, str]
) -> tuple[tuple[AgentType, ...], tuple[AgentType, ...]]:
    """Return the types with command files that are installed or configured: in the repository, and in the home."""
    wanted = {config.default_agent, *config.fallback, *(agent.adapter for agent in config.agents.values())}
    in_repository: list[AgentType] = []
    in_home: list[AgentType] = []
    for kind in load_agent_types(root).values():
        installed = bool(kind.program and shutil.which(kind.program, path=env.get("PATH")))
        if kind.commands and (installed or {kind.name, *kind.aliases} & wanted):
            (in_home if _is_in_home(kind.commands) else in_repository).append(kind)
    return tuple(in_repository), tuple(in_home)


def _is_in_home(files: CommandFiles) -> bool:
    return files.path.startswith("~/")


def install_commands(kinds: Sequence[AgentType], place: InstallTarget) -> tuple[CommandFileResult, ...]:
    """Write every command for every type, unless a person has taken the file over; return what became of each.

    Raises AigonError: exit 7 for commands of a repository if there is none, 2 for a type whose path is malformed.
    """
    found: dict[Path, CommandFileResult] = {}
    for kind in kinds:
        for template in load_templates() if kind.commands else ():
            path, base = _locate_command(template.name, kind, place)
            if path not in found:  # two agents may read the same files
                found[path] = _install_one(path, base, template, kind, place)
    return tuple(found.values())


def _locate_command(name: str, kind: AgentType, place: InstallTarget) -> tuple[Path, Path]:
    """Return the path of a command and the folder that it belongs to."""
    assert kind.commands is not None
    if "{name}" not in kind.commands.path:
        raise usage(f"The path of the commands of {kind.name} has no {{name}}", where=kind.commands.path)
    return locate_file(kind.commands.path.replace("{name}", name), f"{kind.title} reads its commands", place)


def locate_file(path: str, who_reads: str, place: InstallTarget) -> tuple[Path, Path]:
    """Return a path of an agent type and the folder that it belongs to: the home, or the repository, if it is one."""
    if path.startswith("~/"):
        return place.home / path[2:], place.home
    if place.root is None:
        what = f"{who_reads} from a repository, and this is not one"
        raise environment(what, where=str(Path.cwd()), hint="Go to your repository")
    return place.root / path, place.root


def _install_one(
    path: Path, base: Path, template: CommandTemplate, kind: AgentType, place: InstallTarget
) -> CommandFileResult:
    files = kind.commands
    assert files is not None
    shown = str(path.relative_to(base)) if path.is_relative_to(base) else str(path)
    shown = f"~/{shown}" if _is_in_home(files) else shown
    state: CommandFileState = "refused"
    aside, why = False, _explain_unfit(path, None if _is_in_home(files) else base)
    if not why:
        try:
            if place.remove:
                state = _remove_command(path, place.dry)
            else:
                state, aside = _place_command(path, render_command(template, kind, files), place.dry)
        except OSError as error:
            why = (error.strerror or str(error)).lower()
    beside = f"{shown}{ASIDE}" if aside else ""
    return CommandFileResult(
        kind.name, template.name, _render_invocation(template.name, files), shown, state, beside, why
    )


def _explain_unfit(path: Path, inside: Path | None) -> str:
    """Return why a file must not be written there; empty if it may. In a repository no link may lead out of it."""
    if inside and not Path(os.path.realpath(path.parent)).is_relative_to(os.path.realpath(inside)):
        return "it would lie outside of the repository"
    if path.is_symlink():
        return "it is a link"
    return "there is something else than a file" if path.exists() and not path.is_file() else ""


def _place_command(path: Path, content: bytes, dry: bool) -> tuple[CommandFileState, bool]:
    """Write the file if it is aigon's to write; return its state, and whether a newer version is next to it."""
    if not path.exists():
        _write(path, content, dry)
        return "new", False
    origin, last = inspect_command(path.read_bytes())
    newest = inspect_command(content)[1]
    if origin == "intact":
        if last != newest:
            _write(path, content, dry)
        return "unchanged" if last == newest else "updated", False
    if origin == "foreign" or last == newest:
        return origin, False
    # The newer version goes beside an edited file, unless somebody has written there, too.
    beside = path.with_name(path.name + ASIDE)
    if beside.is_symlink() or (beside.exists() and not beside.is_file()):
        return origin, False
    there = inspect_command(beside.read_bytes()) if beside.exists() else ("intact", "")
    if there[0] == "intact" and there[1] != newest:
        _write(beside, content, dry)
    return origin, there[0] == "intact"


def _remove_command(path: Path, dry: bool) -> CommandFileState:
    """Remove the file if it is as aigon wrote it."""
    if not path.exists():
        return "absent"
    origin, _ = inspect_command(path.read_bytes())
    if origin != "intact":
        return origin
    if not dry:
        path.unlink()
    return "removed"


def _write(path: Path, content: bytes, dry: bool) -> None:
    if not dry:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, content)
