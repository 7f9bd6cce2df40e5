"""A command that an agent offers to people, as a file in the agent's own form, marked as written by aigon."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

from aigon.errors import usage
from aigon.model.agent_types import AgentType, CommandFiles
from aigon.text.command_marks import mark_command
from aigon.text.documents import parse_yaml

_PLACEHOLDER = re.compile(r"\{\{([A-Z][A-Z0-9_]*)\}\}")
_ALL = "(see their message: the words beside the name of this command)"
_FIRST = "the one after the name of this command"
"""What stands for the arguments where an agent puts none in: it sees the person's own message."""


@dataclass(frozen=True, slots=True)
class CommandTemplate:
    """A command before it is made an agent's: `hint` says what is typed after it."""

    name: str
    description: str
    hint: str
    body: str


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


def render_command(of: CommandTemplate, kind: AgentType, files: CommandFiles) -> bytes:
    """Return the file for one agent. Raises AigonError (usage) for a placeholder that does not exist."""
    words = {
        "COMMAND_IMPLEMENT": render_invocation("feature-implement", files),
        "ARG1_SYNTAX": files.argument if files.argument not in ("", files.arguments) else _FIRST,
        "ARGS_SYNTAX": files.arguments or _ALL,
        "AGENT": kind.name,
        "AGENT_TITLE": kind.title,
    }
    body = _fill(of.body, words, of.name)
    if files.format == "toml":
        return mark_command(_toml(of, body), "# ", "")
    head = {"name": of.name} if files.format == "skill" else {}
    head |= {"description": of.description}
    head |= {"argument-hint": of.hint} if of.hint and files.format == "markdown" else {}
    return mark_command(f"{_frontmatter(head)}\n{body}", "<!-- ", " -->")


def render_invocation(name: str, files: CommandFiles) -> str:
    """Return what a person types to use the command `name`."""
    return files.invoked.replace("{name}", name)


def _fill(body: str, words: Mapping[str, str], name: str) -> str:
    """Each placeholder once: what a value holds, as Gemini's `{{args}}`, is never read as one."""

    def value(match: "re.Match[str]") -> str:
        if match[1] not in words:
            raise usage(f"Unknown placeholder {match[0]}", where=name, hint=f"Known: {', '.join(words)}")
        return words[match[1]]

    return _PLACEHOLDER.sub(value, body)


def _frontmatter(head: Mapping[str, str]) -> str:
    """Return YAML frontmatter. Every JSON string is a YAML string, too."""
    lines = (
        f"{key}: {value if key == 'name' else json.dumps(value, ensure_ascii=False)}" for key, value in head.items()
    )
    return "\n".join(["---", *lines, "---", ""])


def _toml(of: CommandTemplate, body: str) -> str:
    import tomlkit

    document = tomlkit.document()
    document.add("description", tomlkit.string(of.description))
    document.add("prompt", tomlkit.string(f"\n{body}", multiline=True))
    return tomlkit.dumps(document)
