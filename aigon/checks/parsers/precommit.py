"""`pre-commit run`: a line per hook that ends in Passed, Failed or Skipped; what a failing hook printed is below it."""

import re
from collections.abc import Iterator

from aigon.checks.parsers._problems import capped, number, problem
from aigon.checks.parsers._readings import foreign, lint
from aigon.checks.parsers._text import text
from aigon.model.checks import ParsedOutput, Problem

_ENDS = ("Passed", "Failed", "Skipped")
_ID = "- hook id: "
_END = ("pre-commit hook(s) made changes.", "All changes made by hooks:")
_PLACE = re.compile(r"^(?P<file>[^\s:][^:\n]{0,400}):(?P<line>\d+):(?:\d+:)? ?(?P<message>\S[^\n]*)$")
_FIXING = re.compile(r"^(?:Fixing|reformatted|Formatting) (?P<file>\S[^\n]*)$")
_MODIFIED = "files were modified by this hook"


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """One problem for each line of a failing hook, or one for a hook that only says that it failed."""
    lines = text(output or report or b"")
    every = lines.split("\n")
    if not any(_is_hook(line) for line in every):
        return foreign(lines)
    return lint(capped(each for hook, said in _failed(every) for each in _problems(hook, said)))


def _is_hook(line: str) -> bool:
    return line.endswith(_ENDS) and "..." in line and not line.startswith((" ", "."))


def _failed(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the id of each failing hook, and the lines below it."""
    hook, said = "", list[str]()
    for line in (*lines, *_END):
        if _is_hook(line) or line in _END:
            if hook:
                yield hook, said
            hook, said = (line.partition("...")[0] if line.endswith("Failed") else ""), []
        elif hook and line.startswith(_ID):
            hook = line.removeprefix(_ID)
        elif hook and line.strip():
            said.append(line)


def _problems(hook: str, said: list[str]) -> list[Problem]:
    printed = [_of_line(hook, line) for line in said if not line.startswith("- ")]
    why = _MODIFIED if f"- {_MODIFIED}" in said else "the hook failed"
    return printed or [problem(why, rule=hook)]


def _of_line(hook: str, line: str) -> Problem:
    if place := _PLACE.match(line):
        return problem(place["message"], place["file"], number(place["line"]), hook)
    if fixing := _FIXING.match(line):
        return problem("The hook would change this file", fixing["file"], rule=hook)
    return problem(line, rule=hook)
