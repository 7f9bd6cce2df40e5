"""A command that an agent offers to people, as a file in the agent's own form, marked as written by aigon.

The last line of such a file is a comment with the digest of all other lines. While it holds, nobody has edited the
file, and a newer version may take its place. Line endings do not count: git changes them on some systems.
"""

import hashlib
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from aigon.errors import usage
from aigon.model.agent_types import AgentType, CommandFiles
from aigon.text.documents import parse_yaml

_MARK_FORMAT = "written by aigon install-commands, sha256 {digest}; if you edit this file, aigon leaves it to you"
_MARKED = re.compile(rb"(?m)^(?:<!-- |# )written by aigon install-commands, sha256 ([0-9a-f]{64}).*\n?")
_PLACEHOLDER = re.compile(r"\{\{([A-Z][A-Z0-9_]*)\}\}")
_ALL = "(see their message: the words beside the name of this command)"
_FIRST = "the one after the name of this command"
"""What stands for the arguments where an agent puts none in: it sees the person's own message."""

CommandOrigin = Literal["intact", "edited", "foreign"]
"""Of a file that is there: as aigon wrote it, edited since by somebody, or not aigon's at all."""


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
        return _mark(_toml(of, body), "# ", "")
    head = {"name": of.name} if files.format == "skill" else {}
    head |= {"description": of.description}
    head |= {"argument-hint": of.hint} if of.hint and files.format == "markdown" else {}
    return _mark(f"{_frontmatter(head)}\n{body}", "<!-- ", " -->")


def render_invocation(name: str, files: CommandFiles) -> str:
    """Return what a person types to use the command `name`."""
    return files.invoked.replace("{name}", name)


def inspect_command(content: bytes) -> tuple[CommandOrigin, str]:
    """Whose a file is, and the digest in its mark: of what aigon wrote last, "" without a mark."""
    marks = _MARKED.findall(_unix(content))
    if not marks:
        return "foreign", ""
    fits = len(marks) == 1 and marks[0].decode() == _digest(content)
    return "intact" if fits else "edited", marks[0].decode()


def is_unedited_command(path: str, content: bytes) -> bool:
    """Whether the file at `path` is a command that aigon wrote and that nobody has edited since."""
    return path.endswith((".md", ".toml")) and inspect_command(content)[0] == "intact"


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


def _mark(text: str, begin: str, end: str) -> bytes:
    unmarked = text.rstrip("\n") + "\n"
    mark = _MARK_FORMAT.format(digest=_digest(unmarked.encode()))
    return f"{unmarked}\n{begin}{mark}{end}\n".encode()


def _digest(content: bytes) -> str:
    return hashlib.sha256(_MARKED.sub(b"", _unix(content)).rstrip()).hexdigest()


def _unix(content: bytes) -> bytes:
    return content.replace(b"\r\n", b"\n")
