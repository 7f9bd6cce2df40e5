"""Proposals for open criteria, made without a model: a check that the words name, or a command in backticks.

A rule only counts if its phrase is all that the criterion says: anything else would go unproven. What no
rule reads is left to a judge's model.
"""

import re
import shlex
from collections.abc import Mapping
from typing import Literal

from msgspec import Struct, field

from aigon.checks.wording import HOLDS, LONGEST, MODAL, Wording, find_running, find_tool, read_wording, says_unbroken
from aigon.compile.safety import find_edit, find_flaw
from aigon.model.criteria import CriterionKind, find_bound_checks
from aigon.spec.annotation import Annotation, find_script, write_text
from aigon.text.patterns import compile_re

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
