"""Agent types: how an agent's program is found, started, given a model and paid for.

A type is one YAML file (`templates/agents/`, a project's own in `.aigon/agents/`, a person's in their configuration).
The adapter module that `reads` names reads what the program prints.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from aigon.text.documents import DocumentNode, parse_yaml

ARGUMENT_GROUPS = ("approval", "model", "effort", "budget", "session", "args")
"""Optional parts of a command line; `{model}` as a whole word of `argv` says where one goes."""
PLACEHOLDERS = ("prompt", "prompt_file", "output", "workspace", "model", "effort", "usd", "session")
"""Placeholders inside a word, as `{prompt_file}`."""
CostReporting = Literal["reported", "tokens", "unknown"]
_Readers = dict[str, Callable[[DocumentNode], object]]

_TEXTS = ("title", "program", "tested", "install", "login", "as_root", "reads", "note")
_LISTS = ("aliases", "version", "home", "permission_flags", "own_sandbox_off", "unset", "leaves")
_COMMAND_LINES = ("argv", "approval", "approval_as_root", "model", "effort", "budget", "session")


@dataclass(frozen=True, slots=True)
class Credentials:
    """Where a login or a key may be: variables, and files (`~/` is the person's home). Contents are never read.

    Of the variables that look like credentials or belong to a provider, the agent sees those in `env`, those that
    match a glob in `more`, and those of `when` if a variable is switched on or a model is used (`model:bedrock/*`).
    """

    env: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    more: tuple[str, ...] = ()
    when: Mapping[str, tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class EscalationStep:
    """One escalation step: for how many turns (0: all that follow), model, effort, length of the feedback."""

    turns: int = 0
    model: str = ""
    effort: str = ""
    digest: Literal["short", "full"] = "short"


@dataclass(frozen=True, slots=True)
class CommandFiles:
    """Where this agent reads commands of a person's own.

    `path` begins with `~/` for the person's home, else it is relative to the repository; `{name}` is the command's.
    In a command, `arguments` stands for all that was typed and `argument` for its first word.
    """

    path: str
    format: Literal["markdown", "toml", "skill"] = "markdown"
    arguments: str = "$ARGUMENTS"
    argument: str = "$1"
    invoked: str = "/{name}"


@dataclass(frozen=True, slots=True)
class JudgeCommand:
    """How the program answers one question on standard input, without tools that change anything.

    `argv` follows `program`, `env` comes over the type's. `alone`: no file in the person's home, which an agent may
    have written, adds to the question.
    """

    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    alone: bool = False


@dataclass(frozen=True, slots=True)
class AgentType:
    """One type of agent. `argv` follows `program`; a word that is exactly `{approval}`, `{model}`, ... is that group.

    `env` are variables that are set unless the person sets them, `unset` are removed; `home` is what a sandbox lets it
    write beside the workspace (a folder with a trailing `/` is made if missing); `leaves` are exclude lines for what
    the program leaves in the work tree; `permission_flags` replace `approval` if a person gives them; without the words
    of `own_sandbox_off` the program starts a sandbox of its own, which cannot start inside of Landlock; `tested` is the
    version that the adapter was written against and `source` whether it was run or only read about; `cost` says what
    the program reports of its cost: dollars, tokens, nothing.
    """

    name: str
    title: str
    program: str = ""
    aliases: tuple[str, ...] = ()
    tested: str = ""
    source: Literal["measured", "docs"] = "measured"
    version: tuple[str, ...] = ("--version",)
    install: str = ""
    login: str = ""
    needs: Mapping[str, str] = field(default_factory=dict)
    as_root: str = ""
    credentials: Credentials = Credentials()
    argv: tuple[str, ...] = ()
    approval: tuple[str, ...] = ()
    approval_as_root: tuple[str, ...] | None = None
    permission_flags: tuple[str, ...] = ()
    own_sandbox_off: tuple[str, ...] = ()
    model: tuple[str, ...] = ()
    effort: tuple[str, ...] = ()
    budget: tuple[str, ...] = ()
    session: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    unset: tuple[str, ...] = ()
    home: tuple[str, ...] = ()
    leaves: tuple[str, ...] = ()
    reads: str = ""
    cost: CostReporting = "unknown"
    ladder: tuple[EscalationStep, ...] = ()
    commands: CommandFiles | None = None
    judge: JudgeCommand | None = None
    note: str = ""

    def is_permitted_by(self, args: Sequence[str]) -> bool:
        """Return whether a person's own flags about permissions are among `args`."""
        return any(word.split("=")[0] in self.permission_flags for word in args)

    def starts_sandbox(self, args: Sequence[str]) -> bool:
        """Return whether the program starts a sandbox of its own with these arguments."""
        off = any(word.rpartition("=")[2] in self.own_sandbox_off for word in args)
        return bool(self.own_sandbox_off) and self.is_permitted_by(args) and not off

    @property
    def wants_stdin(self) -> bool:
        """Whether the prompt goes in by standard input, since no word of the command line has it or its file."""
        return not any("{prompt}" in word or "{prompt_file}" in word for word in self.argv)

    @property
    def leaves_output(self) -> bool:
        """Whether the program writes its answer into a file that is named on its command line."""
        return any("{output}" in word for word in self.argv)


def read_agent_type(name: str, content: bytes, file: str) -> AgentType:
    """Return the type in a YAML document. Raises AigonError (exit 2) that names the file and key of an error."""
    document = parse_yaml(content, file)
    readers: _Readers = {
        **dict.fromkeys(_TEXTS, DocumentNode.text),
        **dict.fromkeys(_LISTS, DocumentNode.texts),
        **dict.fromkeys(_COMMAND_LINES, _read_command_line),
        "source": lambda node: node.choice(("measured", "docs")),
        "needs": _read_text_mapping,
        "credentials": _read_credentials,
        "env": _read_text_mapping,
        "cost": lambda node: node.choice(("reported", "tokens", "unknown")),
        "ladder": lambda node: tuple(map(_read_escalation_step, node.items())),
        "commands": _read_command_files,
        "judge": _read_judge_command,
    }
    return AgentType(**{"name": name, "reads": name.replace("-", "_"), **document.read(readers, required=("title",))})


def _read_text_mapping(node: DocumentNode) -> dict[str, str]:
    return {key: value.text() for key, value in node.pairs().items()}


def _read_command_line(node: DocumentNode) -> tuple[str, ...]:
    """Return the words of a command line. An unknown placeholder would reach the program as it is, so it is refused."""
    import re

    known = {*ARGUMENT_GROUPS, *PLACEHOLDERS}
    for word in node.items() if isinstance(node.value, list) else (node,):
        for name in re.findall(r"(?<!\{)\{([a-z_]+)\}", word.text()):
            if name not in known:
                raise word.wrong(f"has an unknown placeholder {{{name}}}", f"Known: {', '.join(sorted(known))}")
    return node.texts()


def _read_credentials(node: DocumentNode) -> Credentials:
    readers: _Readers = {
        **dict.fromkeys(("env", "files", "more"), DocumentNode.texts),
        "when": lambda when: {name: names.texts() for name, names in when.pairs().items()},
    }
    return Credentials(**node.read(readers))


def _read_escalation_step(node: DocumentNode) -> EscalationStep:
    readers: _Readers = {
        "turns": DocumentNode.whole,
        "model": DocumentNode.text,
        "effort": DocumentNode.text,
        "digest": lambda digest: digest.choice(("short", "full")),
    }
    return EscalationStep(**node.read(readers))


def _read_command_files(node: DocumentNode) -> CommandFiles:
    readers: _Readers = {
        **dict.fromkeys(("path", "arguments", "argument", "invoked"), DocumentNode.text),
        "format": lambda form: form.choice(("markdown", "toml", "skill")),
    }
    return CommandFiles(**node.read(readers, required=("path",)))


def _read_judge_command(node: DocumentNode) -> JudgeCommand:
    readers: _Readers = {
        "argv": DocumentNode.texts,
        "env": _read_text_mapping,
        "alone": DocumentNode.flag,
    }
    return JudgeCommand(**node.read(readers, required=("argv",)))


CommandFileState = Literal["new", "updated", "unchanged", "edited", "foreign", "refused"]
"""`edited`: a person changed the file; `foreign`: it is not aigon's; both are left. `refused`: it cannot be written."""


@dataclass(frozen=True, slots=True)
class CommandFileResult:
    """One file: `path` as people know it, `beside` a newer version next to it, `why` it could not be written.

    `usage` is what a person types in the agent.
    """

    agent: str
    command: str
    usage: str
    path: str
    state: CommandFileState
    beside: str = ""
    why: str = ""

    @property
    def wrote(self) -> bool:
        """Whether the file itself was written."""
        return self.state in ("new", "updated")
