"""`pre-commit run`: a line per hook that ends in Passed, Failed or Skipped; what a failing hook printed is below it."""

from collections.abc import Iterator

from aigon.checks.parsers.output import read_text
from aigon.checks.parsers.readings import describe_unknown, keep_distinct, make_problem, summarize_lint
from aigon.model.checks import ParsedOutput, Problem
from aigon.text.patterns import compile_re

_ID = "- hook id: "
_END = ("pre-commit hook(s) made changes.", "All changes made by hooks:")
_PLACE = compile_re(r"^(?P<file>[^\s:][^:\n]{0,400}):(?P<line>\d+):(?:\d+:)? ?(?P<message>\S[^\n]*)$")
_FIXING = compile_re(r"^(?:Fixing|reformatted|Formatting) (?P<file>\S[^\n]*)$")
_MODIFIED = "files were modified by this hook"


def read(output: bytes, report: bytes | None) -> ParsedOutput:
    """Return a problem for each line of a failing hook, or one for a hook that only says that it failed."""
    text = read_text(output or report or b"")
    lines = text.split("\n")
    if not any(map(_is_hook, lines)):
        return describe_unknown(text)
    problems = (problem for hook, below in _find_failed(lines) for problem in _read_hook(hook, below))
    return summarize_lint(keep_distinct(problems))


def _is_hook(line: str) -> bool:
    return line.endswith(("Passed", "Failed", "Skipped")) and "..." in line and not line.startswith((" ", "."))


def _find_failed(lines: list[str]) -> Iterator[tuple[str, list[str]]]:
    """Yield the id of each failing hook, and the lines below it."""
    hook, below = "", list[str]()
    for line in (*lines, *_END):
        if _is_hook(line) or line in _END:
            if hook:
                yield hook, below
            hook, below = (line.partition("...")[0] if line.endswith("Failed") else ""), []
        elif hook and line.startswith(_ID):
            hook = line.removeprefix(_ID)
        elif hook and line.strip():
            below.append(line)


def _read_hook(hook: str, below: list[str]) -> list[Problem]:
    printed = [_read_line(hook, line) for line in below if not line.startswith("- ")]
    return printed or [make_problem(_MODIFIED if f"- {_MODIFIED}" in below else "the hook failed", rule=hook)]


def _read_line(hook: str, line: str) -> Problem:
    if place := _PLACE.match(line):
        return make_problem(place["message"], place["file"], place["line"], hook)
    if fixing := _FIXING.match(line):
        return make_problem("The hook would change this file", fixing["file"], rule=hook)
    return make_problem(line, rule=hook)
