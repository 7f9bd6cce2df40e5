"""What a command line asks of pytest by its own words: what its exit 0 and its report then have to show."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from aigon.text.shell import ListedCommand, list_commands


@dataclass(frozen=True, slots=True)
class PytestRequest:
    """`runs`: exit 0 without a run of pytest cannot be. `decides`: exit 0 means that pytest itself exited 0.

    `lists`: it only wants to know which tests there are (`--collect-only`).
    """

    runs: bool = False
    decides: bool = False
    lists: bool = False


_SHELLS = ("bash", "sh", "dash", "zsh", "ksh")
_RUNNERS: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("uv", "poetry", "pipenv", "pdm", "hatch", "rye", "pixi", "conda", "micromamba", "pipx"), ("run",)),
    **dict.fromkeys(("time", "nice", "timeout", "exec", "command", "nohup", "env", "xvfb-run", "stdbuf", "uvx"), ()),
}
"""Programs that start another one, by the word that has to follow them first."""
_WITH_VALUE = (
    *("-p", "--python", "--with", "--with-editable", "--with-requirements", "--group", "--only-group", "--no-group"),
    *("--extra", "--no-extra", "--package", "--env-file", "--directory", "--project", "--index", "--default-index"),
    *("--cache-dir", "--config-file", "--spec", "-n", "-u", "-k", "-s", "-o", "-i", "-e", "-C", "--environment"),
)
"""Their options whose value is a word of its own."""
_OTHERWISE: Mapping[str, tuple[str, ...]] = {"command": ("-v", "-V"), "env": ("-i", "-", "--ignore-environment", "-S")}
"""Options with which they start nothing, or nothing that sees the environment."""
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=")
_DURATION = re.compile(r"\d+(?:\.\d+)?[smhd]?")
_PYTHON = re.compile(r"(?:python|pypy)[\d.]*|py")
_PYTEST = re.compile(r"pytest(?:-[\d.]+)?|py\.test(?:-[\d.]+)?")
_INSTEAD = ("-h", "--help", "-V", "--version", "--fixtures", "--fixtures-per-test", "--funcargs", "--markers")
"""With these pytest runs nothing and is not asked to."""
_LISTS = ("--co", "--collect-only", "--collectonly")
_UNREPORTED = ("--junitxml", "--junit-xml", "no:junitxml", "-pno:junitxml")
"""A report of its own, or none: aigon's cannot be asked for beside it."""
_DEEPEST = 8
"""Programs that start one another."""


def read_pytest_request(argv: Sequence[str]) -> PytestRequest:
    """What a command line asks. A script that branches, or is in a file, asks nothing that can be told by reading."""
    if not argv or any("PYTEST_ADDOPTS" in word for word in argv):
        return PytestRequest()
    if (script := _script(argv)) is None:
        return _together([_of(ListedCommand(tuple(argv), "", ""))], stops=False, after=())
    commands = list_commands(script)
    stops = any(re.fullmatch(r"-[a-z]*e[a-z]*", word) for word in argv[1:-1])
    return _together([_of(command) for command in commands], stops=stops, after=commands)


def _script(argv: Sequence[str]) -> str | None:
    """What stands behind `bash -c`, None for another program."""
    if _name(argv[0]) not in _SHELLS or len(argv) < 3:
        return None
    place = next((n for n, word in enumerate(argv[1:-1], 1) if re.fullmatch(r"-[a-z]*c[a-z]*", word)), None)
    return argv[place + 1] if place else ""


def _together(runs: Sequence[tuple[str, ...] | None], *, stops: bool, after: Sequence[ListedCommand]) -> PytestRequest:
    lists = any(run is not None and _has(run, _LISTS) for run in runs)
    told = [n for n, run in enumerate(runs) if run is not None and not _has(run, (*_INSTEAD, *_LISTS, *_UNREPORTED))]
    if not after:
        return PytestRequest(bool(told), bool(told), lists and not told)
    certain = [n for n in told if not any(_may_skip(command.before) for command in after[: n + 1])]
    certain = [n for n in certain if "&" not in after[n].after.replace("&&", "")]
    decides = any(_reaches_the_end(after[n:], stops) for n in certain)
    return PytestRequest(bool(certain), decides, lists and not certain)


def _may_skip(operator: str) -> bool:
    """What follows `||` runs only if what stands before it failed."""
    return "||" in operator


def _reaches_the_end(commands: Sequence[ListedCommand], stops: bool) -> bool:
    """Return whether a failure of the first command is one of the whole script."""
    first, *others = commands
    if first.words[0] == "!" or first.before.endswith("$(") or "(" in first.before:
        return False
    if not others or all(command.after in ("&&", "") for command in commands):
        return first.after in ("", "\n", ";", "&&")
    return stops and first.after in ("\n", ";")


def _of(command: ListedCommand) -> tuple[str, ...] | None:
    """Return the arguments that pytest gets from a simple command, None where it starts something else."""
    words = command.words[1:] if command.words[0] == "!" else command.words
    for _ in range(_DEEPEST):
        words = tuple(_behind_assignments(words))
        if not words:
            return None
        name = _name(words[0])
        if _PYTEST.fullmatch(name):
            return words[1:]
        if (inner := _started(name, words[1:])) is None:
            return None
        words = inner
    return None


def _name(program: str) -> str:
    return program.rpartition("/")[2]


def _behind_assignments(words: Sequence[str]) -> Iterator[str]:
    ahead = True
    for word in words:
        ahead = ahead and bool(_ASSIGNMENT.match(word))
        if not ahead:
            yield word


def _started(name: str, words: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the command that `name` starts, None where it starts none that is known."""
    if _PYTHON.fullmatch(name):
        return _module(words)
    if name == "coverage" and words[:1] == ("run",):
        return _module(words[1:])
    first = _RUNNERS.get(name)
    if first is None or words[: len(first)] != first:
        return None
    return _behind_options(name, words[len(first) :])


def _module(words: tuple[str, ...]) -> tuple[str, ...] | None:
    """`-m pytest ...` as `pytest ...`, behind the options of the interpreter."""
    for place, word in enumerate(words):
        if word == "-m":
            return words[place + 1 :]
        if word in ("-c", "-") or not (
            word.startswith("-") or words[place - 1] in ("-W", "-X", "--source", "--rcfile")
        ):
            return None
    return None


def _behind_options(name: str, words: tuple[str, ...]) -> tuple[str, ...] | None:
    place = 0
    while place < len(words):
        word = words[place]
        if word in _OTHERWISE.get(name, ()):
            return None
        if word == "--":
            return words[place + 1 :]
        if not word.startswith("-") and not (name == "timeout" and _DURATION.fullmatch(word)):
            return words[place:]
        place += 2 if word in _WITH_VALUE else 1
    return None


def _has(words: Sequence[str], options: Sequence[str]) -> bool:
    return any(word.partition("=")[0] in options for word in words)
