"""Why Node.js ended a program: the uncaught error that it printed, for test files of which a runner says no more."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from aigon.checks.parsers._places import place
from aigon.checks.parsers._problems import number, problem
from aigon.checks.parsers._text import clean
from aigon.model.checks import ParsedOutput, Problem

_END = re.compile(r"^(?:# )?Node\.js v\d+\.[^\n]*\n*(?P<next>[^\n]*)", re.M)
_COMMENT = re.compile(r"^# ?", re.M)
_SAID = re.compile(r"^(?:\[?(?:Uncaught )?[A-Z]\w*(?:Error|Exception|Rejection)\b[^\n]*|Error\b[^\n]*)$", re.M)
_HEAD = re.compile(r"^(?:file://)?(?P<file>[^\s:]+\.\w{1,5}):(?P<line>\d{1,9})$", re.M)
_IMPORTED = re.compile(r"imported from (?P<file>\S+)|Require stack:\n- (?P<required>\S+)")
_SPAN = 8000
_MOST = 200
_FEW = 5
_WEAK = ("test failed", "failed", "")
"""What runners say of a file that came to nothing."""


@dataclass(frozen=True, slots=True)
class Crash:
    """An uncaught error: what it said and where; `named` are the files that the output connects it with."""

    message: str
    file: str
    line: int
    named: str


def crashes(lines: str) -> list[Crash]:
    """The uncaught errors in an output, in its order."""
    return list(islice(_crashes(lines), _MOST))


def crashed(lines: str) -> ParsedOutput | None:
    """An output that is in no known format, but ends in an uncaught error; None for any other."""
    found = crashes(lines)
    problems = [problem(each.message, each.file, each.line) for each in found[-_FEW:]]
    return ParsedOutput(problems=tuple(problems), understood=False) if problems else None


def explained(problems: Iterable[Problem], found: Sequence[Crash]) -> Iterator[Problem]:
    """`problems` with the error that ended the file, where a runner only said that it failed."""
    for each in problems:
        crash = _of(each, found) if each.message in (*_WEAK, each.test) else None
        yield _told(each, crash) if crash else each


def _told(each: Problem, crash: Crash) -> Problem:
    if crash.file and (not each.file or _same(crash.file, each.file)):
        return replace(each, message=crash.message, file=each.file or crash.file, line=crash.line)
    return replace(each, message=crash.message)


def _of(each: Problem, found: Sequence[Crash]) -> Crash | None:
    name = each.file or each.test
    return next((crash for crash in found if name and name in crash.named), None)


def _same(one: str, other: str) -> bool:
    return one.endswith(other) or other.endswith(one)


def _crashes(lines: str) -> Iterator[Crash]:
    begin = 0
    for match in _END.finditer(lines):
        block = _COMMENT.sub("", lines[max(begin, match.start() - _SPAN) : match.start()])
        begin = match.end()
        if said := _SAID.search(block):
            yield _crash(block, said, match["next"])


def _crash(block: str, said: re.Match[str], following: str) -> Crash:
    heads = [head for head in _HEAD.finditer(block, 0, said.start()) if not head["file"].startswith("node:")]
    file, line = place(block[said.start() :])
    if heads and "node_modules/" not in heads[-1]["file"]:
        file, line = heads[-1]["file"], number(heads[-1]["line"])
    imported = _IMPORTED.search(block)
    names = (file, following, *(imported.groups() if imported else ()))
    return Crash(clean(said[0].strip("[]")), clean(file), line, " ".join(filter(None, names)))
