"""Proposals for open criteria, made without a model, and whether a command may be proposed at all.

A check that the words name, or a command in backticks. A rule only counts if its phrase is all that the criterion says:
anything else would go unproven. What no rule reads is left to a judge's model. A command has to fit an annotation
(`find_flaw`) and to edit nothing (`find_edit`).
"""

import ast
import re
import shlex
from collections.abc import Iterator, Mapping
from functools import cache
from typing import Literal

from msgspec import Struct, convert, field

from aigon.checks.wording import HOLDS, LONGEST, MODAL, Wording, find_running, find_tool, read_wording, says_unbroken
from aigon.files.resources import read_shipped
from aigon.model.criteria import CriterionKind, find_bound_checks
from aigon.spec.annotation import Annotation, find_script, write_text
from aigon.text.documents import parse_yaml
from aigon.text.patterns import compile_re
from aigon.text.shell import SimpleCommand, split_commands

LONGEST_COMMAND = 500
"""Characters of a proposed command: one line that a person reads before saying yes."""
_HIDDEN = compile_re(r"[\x00-\x08\x0a-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069\ufeff]")
_SCRATCH = compile_re(r"/dev/(?:null|stdout|stderr|fd/\d+)|/tmp/\S+|\$\{?TMPDIR\S*|\$\{?\w+\}?")
_SETTING = compile_re(r"-|\w*=|\d+[smhd]?$")
_PYTHON = compile_re(r"python[\d.]*")
Words = frozenset[str]


class CommandRules(Struct, frozen=True, forbid_unknown_fields=True):
    """Facts about commands from templates/safe_commands.yaml, which says what each list is."""

    editors: Words
    editing_subcommands: Mapping[str, Words]
    editing_options: Mapping[str, str]
    formatters: Mapping[str, str]
    launchers: Words
    launcher_pairs: frozenset[tuple[str, ...]]
    editing_calls: Words
    call_owners: Mapping[str, Words]


@cache
def _load_rules() -> CommandRules:
    return convert(parse_yaml(read_shipped("templates", "safe_commands.yaml"), "").value, CommandRules)


def find_flaw(command: str) -> str:
    """Return why `command` cannot be an annotation; empty if it can. No shell is asked whether it can read it."""
    if not command.strip():
        return "it is empty"
    if "-->" in command or "<!--" in command:
        return "it holds the mark that ends the annotation"
    if "\n" in command or "\r" in command:
        return "it has more than one line"
    if _HIDDEN.search(command):
        return "it holds characters that cannot be seen"
    return f"it is longer than {LONGEST_COMMAND} characters" if len(command) > LONGEST_COMMAND else ""


def find_edit(command: str) -> str:
    """Return what `command` would change, as far as its words tell; empty if nothing shows."""
    try:
        return next(filter(None, map(_find_simple_edit, split_commands(command))), "")
    except ValueError as error:
        return f"a part that cannot be read ({error})"


def _find_simple_edit(simple: SimpleCommand) -> str:
    written = [target for target in simple.writes if not _SCRATCH.fullmatch(target)]
    if written:
        return f"`> {written[0]}`"
    rules, (words, name) = _load_rules(), _strip_launchers(simple.words)
    arguments = words[1:]
    script = words[words.index("-c") + 1] if "-c" in words[:-1] else ""
    if name in ("bash", "sh", "zsh", "dash"):
        unseen = "a script that comes down a pipe" if simple.piped or simple.inner else ""
        return find_edit(script) if "-c" in words[:-1] else unseen
    if name.startswith("python") and "-c" in words[:-1]:
        return next((f"`{call}`" for call in _find_editing_calls(script)), "")
    if name in rules.editors:
        return f"`{name}`"
    subcommand = next((word for word in arguments if not word.startswith("-")), "")
    if subcommand and subcommand in rules.editing_subcommands.get(name, ()):
        return f"`{name} {subcommand}`"
    if pattern := rules.editing_options.get(name):
        option = next((word for word in arguments if re.fullmatch(pattern, word)), "")
        if option:
            return f"`{name} {option}`"
    if name == "ruff" and arguments[:1] == ("format",):
        return "" if {"--check", "--diff"} & set(arguments) else "`ruff`"
    unless = rules.formatters.get(name)
    return f"`{name}`" if unless and not any(re.fullmatch(unless, word) for word in arguments) else ""


def _strip_launchers(words: tuple[str, ...]) -> tuple[tuple[str, ...], str]:
    """Return the words without what only passes a command on (`npx`, `timeout 5`, `python -m`), and the program."""
    rules = _load_rules()
    while words:
        name = words[0].rpartition("/")[2]
        if name in rules.launchers or _SETTING.match(words[0]):
            words = words[1:]
        elif words[:2] in rules.launcher_pairs or (
            _PYTHON.fullmatch(name) and words[1:2] == ("-m",) and len(words) > 2
        ):
            words = words[2:]
        else:
            return words, name
    return (), ""


def _find_editing_calls(code: str) -> Iterator[str]:
    """Yield what Python code would change or start, as far as its calls tell."""
    rules = _load_rules()
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            name = _last_name(node.func)
            owner = _last_name(node.func.value) if isinstance(node.func, ast.Attribute) else ""
            first = 0 if isinstance(node.func, ast.Attribute) else 1
            modes = [*node.args[first : first + 1], *(k.value for k in node.keywords if k.arg == "mode")]
            # A mode that is computed may write.
            texts = [str(mode.value) if isinstance(mode, ast.Constant) else "w" for mode in modes]
            if name == "open" and any(set(text) & set("wax+") for text in texts):
                yield "open(..., to write)"
            if name in rules.editing_calls and owner in rules.call_owners.get(name, (owner,)):
                yield name


def _last_name(function: ast.expr) -> str:
    """Return the last part of what is called: `write_text` of `Path("x").write_text`."""
    if isinstance(function, ast.Attribute):
        return function.attr
    return function.id if isinstance(function, ast.Name) else ""


Confidence = Literal["sure", "likely", "guess"]
"""The best first. `sure`: the command says what the criterion says; `likely`: by a convention; `guess`: in part."""
_RUN = r"(?:(?:running|calling|executing|the command|command) )*(?P<run>§\d+)"
_VALUES = r"§\d+(?:(?:,| and|, and) §\d+)*|[0-9]+(?:\.[0-9]+)*"
_WORKS = compile_re(f"{_RUN} {HOLDS}")
_EXITS = compile_re(
    rf"{_RUN} {MODAL}(?:exits?|ends?|fails?|terminates?|returns?|stops?) (?:with )?(?:an? |the )?(?:exit )?"
    r"(?:code|status)?(?: of)? ?(?P<code>[0-9]{1,3})"
)
_PRINTS = compile_re(
    rf"{_RUN}(?: output)? {MODAL}(?:(?P<prints>prints?|outputs?|writes?|returns?)|shows?|displays?|says?|reports?"
    r"|mentions?|lists?|documents?|contains?|includes?|offers?|explains?|describes?) (?P<only>only |just |exactly )?"
    r"(?:the )?(?:(?:text|words?|number|line|version|message|options?|flags?|commands?) )?"
    rf"(?P<values>{_VALUES})(?: options?| flags?| commands?)?(?: (?:to|on) (?:stdout|standard output|the terminal))?"
)
_FEELING = compile_re(
    r"\b(?:looks?|feels?|seems?|sounds?) (?!(?:up|at|for|like a bug)\b)\w+|\b(?:intuitive|user[- ]friendly|beautiful)\b"
)
"""What a person sees or feels and no command does."""
_PLACEHOLDER = compile_re(r"[<>…\[\]{}|;&$`\n]|\.\.\.")
_ROLE_OF_TOOL: Mapping[str, str] = {
    **dict.fromkeys(("pytest", "jest", "vitest", "mocha", "unittest", "cargo test", "go test", "npm test"), "tests"),
    **dict.fromkeys(("ruff", "eslint", "flake8", "pylint", "biome", "go vet"), "lint"),
    **dict.fromkeys(("mypy", "pyright", "tsc"), "types"),
}


class Proposal(Struct, frozen=True):
    """`command` is what would follow the colon: a command, a command with a bound, or the name of a check."""

    kind: CriterionKind
    command: str | None
    reason: str
    confidence: Confidence
    by: Literal["rules", "judge"] = "rules"

    @property
    def annotation(self) -> Annotation:
        """The same, as it is written into a spec."""
        return Annotation(self.kind, self.command)

    @property
    def script(self) -> str:
        """The shell command for it; empty if a check, a judge or a person decides."""
        return find_script(self.kind, self.command)


class Surroundings(Struct, frozen=True):
    """The parts of a project that proposals need. Paths are relative to its root.

    `checks` are the roles of its checks by name, `shown` their commands; `files` everything but tools and
    dependencies; `entries` the command lines that start its own programs, by name; `programs` what can be started by
    name; `python` the name of the interpreter, empty without one.
    """

    checks: Mapping[str, str] = field(default_factory=dict)
    shown: Mapping[str, str] = field(default_factory=dict)
    files: tuple[str, ...] = ()
    entries: Mapping[str, str] = field(default_factory=dict)
    programs: frozenset[str] = frozenset()
    python: str = ""


def propose(text: str, around: Surroundings) -> Proposal:
    """Return how a criterion with this text could be decided in that project."""
    if len(text) > LONGEST:
        return Proposal("judge", None, "it says more than a rule can read", "guess")
    wording = read_wording(text)
    proposal = _propose_check(wording, around) or _propose_command(wording, around)
    if proposal is None and _FEELING.search(wording.skeleton):
        return Proposal("human", None, "it asks for what a person sees or feels", "likely")
    if proposal is None:
        return Proposal("judge", None, "no command could be derived from the wording", "likely")
    if proposal.script and (flaw := find_flaw(proposal.command or "")):
        return Proposal("judge", None, f"the command that it names cannot be written behind it: {flaw}", "guess")
    if edit := find_edit(proposal.script):
        return Proposal("judge", None, f"the command that it names edits something: {edit}", "likely")
    return proposal


def _propose_check(wording: Wording, around: Surroundings) -> Proposal | None:
    tool = find_tool(wording)
    if tool and (name := find_running(tool, around.checks, around.shown)):
        return Proposal("check", name, f"the project's checks run `{tool}`", "sure")
    role = "tests" if says_unbroken(wording) else _ROLE_OF_TOOL.get(tool) or _ROLE_OF_TOOL.get(tool.partition(" ")[0])
    if not role:
        return None
    if not (names := find_bound_checks(role, around.checks)):
        why = f"this project has no check for {role}: with one this would be `check: {role}`"
        return Proposal("judge", None, why, "guess")
    return Proposal("check", role, f"decided by what the project runs already: {', '.join(names)}", "likely")


def _propose_command(wording: Wording, around: Surroundings) -> Proposal | None:
    """Return a proposal for "`X` works", "`X` exits with N" and "`X` prints `Y`" if the project can start X."""
    for phrase in (_WORKS, _EXITS, _PRINTS):
        if match := phrase.fullmatch(wording.skeleton):
            break
    else:
        return None
    text = wording.literal(match["run"])
    command = _find_start(text, around)
    if not command:
        return None
    if phrase is _WORKS:
        return Proposal("verify", command, "the command itself is run", "likely") if " " in command else None
    if phrase is _EXITS:
        code = int(match["code"])
        test = f"{command} > /dev/null 2>&1; test $? -eq {code}" if code else command
        reason = "the command is run and its exit code compared"
        return Proposal("verify", test, reason, "likely") if code < 256 else None
    values = [wording.literal(mark) for mark in re.findall(r"§\d+|[0-9.]+", match["values"])]
    if any("\n" in value or not value for value in values) or (match["only"] and len(values) > 1):
        return None
    is_help = text.endswith((" --help", " -h"))
    if match["only"] or (match["prints"] and len(values) == 1 and not is_help):
        sureness: Confidence = "sure" if match["only"] else "likely"
        return Proposal("prints", write_text(command, values[0]), "aigon compares all that it prints", sureness)
    tests = (f"{command} | grep -q{_search_options(value)}" for value in values)
    return Proposal("verify", " && ".join(tests), "its output is searched", "sure" if is_help else "likely")


def _find_start(text: str, around: Surroundings) -> str:
    """Return `text` as it can be typed in the project's root; empty if this project knows no such command."""
    text = text.removeprefix("$ ").strip()
    if _PLACEHOLDER.search(text) or not text:
        return ""
    first, _, rest = text.partition(" ")
    path = first.removeprefix("./")
    if first in around.programs:
        start = first
    elif first in around.entries:
        start = around.entries[first]
    elif path not in around.files:
        return ""
    elif path.endswith(".py"):
        start = f"{around.python} {shlex.quote(path)}" if around.python else ""
    elif re.search(r"\.[mc]?js$", path):
        start = f"node {shlex.quote(path)}"
    else:
        start = f"./{shlex.quote(path)}" if re.search(r"\.(?:sh|bash)$|(?:^|/)[^.]+$", path) else ""
    return f"{start} {rest.strip()}".strip() if start else ""


def _search_options(word: str) -> str:
    """Return the options and the pattern with which grep finds `word` as a whole: not `--round` in `--rounding`."""
    if re.fullmatch(r"\w+", word):
        return f"w {word}"
    if re.fullmatch(r"\w.*\w", word) and "-" not in word:
        return f"wF -e {shlex.quote(word)}"
    if not re.search(r"[\w-]", word[0] + word[-1]):
        return f"F -e {shlex.quote(word)}"
    escaped = re.sub(r"([][\\.^$*+?(){}|])", r"\\\1", word)
    before = "(^|[^[:alnum:]_-])" if re.match(r"[\w-]", word) else ""
    after = "([^[:alnum:]_-]|$)" if re.search(r"[\w-]$", word) else ""
    return f"E -e {shlex.quote(before + escaped + after)}"
