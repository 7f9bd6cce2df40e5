"""Agent types: how an agent's program is found, started, given a model and paid for.

A type is one YAML file (`templates/agents/`, a project's own in `.aigon/agents/`, a person's in their configuration).
The adapter module that `reads` names reads what the program prints.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from aigon.text.documents import DocumentNode, parse_yaml

ARGUMENT_GROUPS = ("approval", "model", "effort", "budget", "session", "args")
"""Optional parts of a command line; `{model}` as a whole word of `argv` says where one goes."""
PLACEHOLDERS = ("prompt", "prompt_file", "output", "workspace", "model", "effort", "usd", "session")
"""Placeholders inside a word, as `{prompt_file}`."""
CostReporting = Literal["reported", "tokens", "unknown"]

_KEYS = (
    "title", "aliases", "program", "tested", "source", "version", "install", "login", "needs", "as_root", "credentials",
    "home", "argv", "approval", "approval_as_root", "permission_flags", "own_sandbox_off",
    "model", "effort", "budget", "session", "env",
    "unset", "leaves", "reads", "cost", "ladder", "commands", "judge", "note",
)  # fmt: skip
_LISTS = ("aliases", "version", "home", "argv", "approval", "approval_as_root", "permission_flags", "own_sandbox_off",
          "model", "effort", "budget", "session", "unset", "leaves")  # fmt: skip


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
    fields = parse_yaml(content, file).fields(_KEYS, required=("title",))
    texts = {key: fields[key].text() for key in ("title", "program", "tested", "install", "login", "as_root", "note")
             if key in fields}  # fmt: skip
    lists = {key: fields[key].texts() for key in _LISTS if key in fields}
    words: dict[str, object] = {key: read_text_mapping(fields[key]) for key in ("env", "needs") if key in fields}
    words |= {"source": fields["source"].choice(("measured", "docs"))} if "source" in fields else {}
    words |= {"cost": fields["cost"].choice(("reported", "tokens", "unknown"))} if "cost" in fields else {}
    words |= {"credentials": _read_credentials(fields["credentials"])} if "credentials" in fields else {}
    words |= {"ladder": read_escalation_steps(fields["ladder"])} if "ladder" in fields else {}
    words |= {"commands": _read_command_files(fields["commands"])} if "commands" in fields else {}
    words |= {"judge": _read_judge_command(fields["judge"])} if "judge" in fields else {}
    _check_placeholders(fields)
    reads = fields["reads"].text() if "reads" in fields else name.replace("-", "_")
    return AgentType(name=name, reads=reads, **texts, **lists, **words)  # type: ignore[arg-type]


def read_text_mapping(node: DocumentNode) -> dict[str, str]:
    """Return a mapping of texts."""
    return {key: value.text() for key, value in node.pairs().items()}


def read_escalation_steps(node: DocumentNode) -> tuple[EscalationStep, ...]:
    """Return escalation steps."""
    return tuple(_read_escalation_step(item) for item in node.items())


def _read_escalation_step(node: DocumentNode) -> EscalationStep:
    fields = node.fields(("turns", "model", "effort", "digest"))
    return EscalationStep(
        fields["turns"].whole() if "turns" in fields else 0,
        fields["model"].text() if "model" in fields else "",
        fields["effort"].text() if "effort" in fields else "",
        fields["digest"].choice(("short", "full")) if "digest" in fields else "short",
    )


def _read_credentials(node: DocumentNode) -> Credentials:
    fields = node.fields(("env", "files", "more", "when"))
    when = {name: names.texts() for name, names in fields["when"].pairs().items()} if "when" in fields else {}
    return Credentials(**{key: node.texts() for key, node in fields.items() if key != "when"}, when=when)


def _read_command_files(node: DocumentNode) -> CommandFiles:
    fields = node.fields(("path", "format", "arguments", "argument", "invoked"), required=("path",))
    texts = {key: fields[key].text() for key in ("path", "arguments", "argument", "invoked") if key in fields}
    kind: Sequence[Literal["markdown", "toml", "skill"]] = ("markdown", "toml", "skill")
    return CommandFiles(**texts, format=fields["format"].choice(kind) if "format" in fields else "markdown")


def _read_judge_command(node: DocumentNode) -> JudgeCommand:
    fields = node.fields(("argv", "env", "alone"), required=("argv",))
    alone = "alone" in fields and fields["alone"].flag()
    return JudgeCommand(fields["argv"].texts(), read_text_mapping(fields["env"]) if "env" in fields else {}, alone)


def _check_placeholders(fields: Mapping[str, DocumentNode]) -> None:
    """Refuse unknown placeholders, which would reach the program unchanged."""
    import re

    known = {*ARGUMENT_GROUPS, *PLACEHOLDERS}
    for key in ("argv", "approval", "approval_as_root", "model", "effort", "budget", "session"):
        for node in _list_words(fields[key]) if key in fields else ():
            for name in re.findall(r"(?<!\{)\{([a-z_]+)\}", node.text()):
                if name not in known:
                    raise node.wrong(f"has an unknown placeholder {{{name}}}", f"Known: {', '.join(sorted(known))}")


def _list_words(node: DocumentNode) -> Sequence[DocumentNode]:
    """Return the words of a list; a text alone is a list of one."""
    return node.items() if isinstance(node.value, list) else (node,)


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
