"""Read a command line of pytest: what it asks for, its exit 0 and its report have to show."""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import dropwhile

from msgspec import Struct

from aigon.text.patterns import compile_re
from aigon.text.shell import ListedCommand, list_commands


class PytestRequest(Struct, frozen=True):
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
_ASSIGNMENT = compile_re(r"[A-Za-z_]\w*=")
_DURATION = compile_re(r"\d+(?:\.\d+)?[smhd]?")
_PYTHON = compile_re(r"(?:python|pypy)[\d.]*|py")
_PYTEST = compile_re(r"pytest(?:-[\d.]+)?|py\.test(?:-[\d.]+)?")
_INSTEAD = ("-h", "--help", "-V", "--version", "--fixtures", "--fixtures-per-test", "--funcargs", "--markers")
"""With these pytest runs nothing and is not asked to."""
_LISTS = ("--co", "--collect-only", "--collectonly")
_UNREPORTED = ("--junitxml", "--junit-xml", "no:junitxml", "-pno:junitxml")
"""A report of its own, or none: aigon's cannot be asked for beside it."""
_DEEPEST = 8
"""Programs that start one another."""


def read_pytest_request(argv: Sequence[str]) -> PytestRequest:
    """Return what a command line asks. A script that branches, or is in a file, asks nothing that reading can show."""
    if not argv or any("PYTEST_ADDOPTS" in word for word in argv):
        return PytestRequest()
    if _base_name(argv[0]) not in _SHELLS or len(argv) < 3:
        command = ListedCommand(tuple(argv), "", "")
        return _judge([_find_pytest_arguments(command)], [True], decides=lambda _: True)
    options = argv[1:-1]
    script = next((argv[n + 2] for n, word in enumerate(options) if re.fullmatch(r"-[a-z]*c[a-z]*", word)), "")
    commands = list_commands(script)
    stops = any(re.fullmatch(r"-[a-z]*e[a-z]*", word) for word in options)
    # What follows `||` runs only if what stands before it failed; nobody waits for what is put into the background.
    certain = [
        not any("||" in before.before for before in commands[: n + 1]) and "&" not in command.after.replace("&&", "")
        for n, command in enumerate(commands)
    ]
    runs = [_find_pytest_arguments(command) for command in commands]
    return _judge(runs, certain, decides=lambda n: _reaches_the_end(commands[n:], stops))


def _judge(
    runs: Sequence[tuple[str, ...] | None], certain: Sequence[bool], decides: Callable[[int], bool]
) -> PytestRequest:
    """`runs` are the arguments of pytest by command; `decides` says whether a failure is one of the whole script."""
    others = (*_INSTEAD, *_LISTS, *_UNREPORTED)
    tests = [n for n, run in enumerate(runs) if run is not None and certain[n] and not _has(run, others)]
    lists = any(run is not None and _has(run, _LISTS) for run in runs)
    return PytestRequest(bool(tests), any(map(decides, tests)), lists and not tests)


def _reaches_the_end(commands: Sequence[ListedCommand], stops: bool) -> bool:
    """Return whether a failure of the first command is one of the whole script."""
    first, *others = commands
    if first.words[0] == "!" or first.before.endswith("$(") or "(" in first.before:
        return False
    if not others or all(command.after in ("&&", "") for command in commands):
        return first.after in ("", "\n", ";", "&&")
    return stops and first.after in ("\n", ";")


def _find_pytest_arguments(command: ListedCommand) -> tuple[str, ...] | None:
    """Return the arguments that pytest gets from a simple command; None if it starts something else."""
    words: tuple[str, ...] | None = command.words[1:] if command.words[0] == "!" else command.words
    for _ in range(_DEEPEST):
        words = tuple(dropwhile(_ASSIGNMENT.match, words or ()))
        if not words:
            return None
        name = _base_name(words[0])
        if _PYTEST.fullmatch(name):
            return words[1:]
        words = _find_started(name, words[1:])
    return None


def _base_name(program: str) -> str:
    return program.rpartition("/")[2]


def _find_started(name: str, words: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return the command that `name` starts, None if it starts none that is known."""
    if _PYTHON.fullmatch(name):
        return _find_module(words)
    if name == "coverage" and words[:1] == ("run",):
        return _find_module(words[1:])
    first = _RUNNERS.get(name)
    if first is None or words[: len(first)] != first:
        return None
    place = len(first)
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


def _find_module(words: tuple[str, ...]) -> tuple[str, ...] | None:
    """Return `pytest ...` for `-m pytest ...`, behind the options of the interpreter."""
    for place, word in enumerate(words):
        if word == "-m":
            return words[place + 1 :]
        if word in ("-c", "-") or not (
            word.startswith("-") or words[place - 1] in ("-W", "-X", "--source", "--rcfile")
        ):
            return None
    return None


def _has(words: Sequence[str], options: Sequence[str]) -> bool:
    return any(word.partition("=")[0] in options for word in words)
