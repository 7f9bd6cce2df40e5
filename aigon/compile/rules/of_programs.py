"""Proposals that start the project's own programs: what their help says, what they print, how they exit."""

import re
import shlex

from aigon.compile.proposals import Proposal, Surroundings
from aigon.compile.rules.literal_call import is_path
from aigon.compile.rules.of_files import bound_of, matching
from aigon.compile.rules.of_python import Found, literals
from aigon.compile.rules.wording import Wording

_PLACEHOLDER = re.compile(r"[<>…\[\]{}|;&$`\n]|\.\.\.")
_HELP = re.compile(r"(?:(?P<command>.*\S)\s+)?(?:--help|-h)")


def in_help(said: Wording, found: Found, around: Surroundings) -> Proposal | None:
    """`calc --help` mentions `--round`."""
    if "help" not in said.skeleton and not (found["help"] and _HELP.fullmatch(said.literal(found["help"]).text)):
        return None
    text = said.literal(found["help"]).text if found["help"] else "--help"
    asked = _HELP.fullmatch(text)
    bare = asked["command"] if asked else text
    if not asked and not (found["help"] and started(text, around)):
        return None
    command = started(bare, around) if bare else _only_entry(around)
    words = [each.text for each in literals(said, found, "names")]
    if not command or not words:
        return None
    help_ = f"{command} --help"
    tests = " && ".join(f"{help_} | grep -q{matching(word)}" for word in words)
    sure = bare and not said.skeleton.startswith("the help")
    return Proposal("verify", tests, "the program's own help is searched", "sure" if sure else "likely")


def prints(said: Wording, found: Found, around: Surroundings) -> Proposal | None:
    """`calc add 2 3` prints `5`."""
    command = started(said.literal(found["run"]).text, around)
    value = said.literal(found["value"]).text if found["value"].startswith("§") else found["value"]
    if not command or not value or "\n" in value:
        return None
    search = f"xF -e {shlex.quote(value)}" if found["only"] else matching(value)
    test = f"{command} | grep -q{search}"
    return Proposal("verify", test, "the command is run and its output searched", "likely")


def exits(said: Wording, found: Found, around: Surroundings) -> Proposal | None:
    """`calc nonsense` exits with 2."""
    command = started(said.literal(found["run"]).text, around)
    if not command or int(found["code"]) > 255:
        return None
    test = command if found["code"] == "0" else f"{command} > /dev/null 2>&1; test $? -eq {int(found['code'])}"
    return Proposal("verify", test, "the command is run and its exit code compared", "likely")


def works(said: Wording, found: Found, around: Surroundings) -> Proposal | None:
    """`make docs` works: the command itself, or the check that runs it."""
    text = said.literal(found["run"]).text
    same = [name for name, shown in around.shown.items() if _plain(shown) == _plain(text)]
    if same:
        return Proposal("check", same[0], f"the check {same[0]} runs just that", "sure")
    command = started(text, around)
    return Proposal("verify", command, "the command itself is run", "likely") if command and " " in text else None


def coverage(said: Wording, found: Found, around: Surroundings) -> Proposal | None:  # noqa: ARG001
    """Coverage is at least 80 %."""
    groups = found.groupdict()
    symbol, number = bound_of(found) or ">=", found["number"].replace(",", "")
    if not around.coverage:
        why = "no tool that measures coverage is installed here; with one it would be a metric"
        return Proposal("human", None, why, "guess")
    made = Proposal("metric", f"{around.coverage} {symbol} {number}", "the tool prints the percentage", "likely")
    kind = (groups.get("of") or "").strip(" -")
    return made.weaker(f"it measures lines, not {kind}es") if kind == "branch" else made


def started(text: str, around: Surroundings) -> str:
    """`text` as it can be typed in the project's root; empty where it is no command that this project knows."""
    if _PLACEHOLDER.search(text) or not text.strip():
        return ""
    first, _, rest = text.strip().removeprefix("$ ").partition(" ")
    rest = f" {rest.strip()}" if rest.strip() else ""
    if first in around.entries and first not in around.programs:
        return around.entries[first] + rest
    if first in around.programs:
        return first + rest
    return _script(first, rest, around) if is_path(first) and around.file(first.removeprefix("./")) else ""


def _script(first: str, rest: str, around: Surroundings) -> str:
    path = around.file(first.removeprefix("./"))
    if path.endswith(".py"):
        return f"{around.python} {shlex.quote(path)}{rest}" if around.python else ""
    if re.search(r"\.[mc]?js$", path):
        return f"node {shlex.quote(path)}{rest}"
    return f"./{shlex.quote(path)}{rest}" if re.search(r"(?:\.(?:sh|bash)|/[^.]+)$", f"/{path}") else ""


def _only_entry(around: Surroundings) -> str:
    """The project's own program, where there is just one."""
    names = [started(name, around) for name in around.entries]
    return names[0] if len(names) == 1 else ""


def _plain(command: str) -> str:
    return " ".join(command.split()).removeprefix("npx ").replace("python3 ", "python ").replace(" run test", " test")
