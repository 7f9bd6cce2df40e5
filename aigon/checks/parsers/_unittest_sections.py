"""What unittest's runner says at its end of each test that was not well: sections between lines of 70 signs."""

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass

from aigon.checks.parsers._problems import problem
from aigon.checks.parsers._traceback import place, raised
from aigon.checks.parsers._unittest_names import Name, named
from aigon.model.checks import Problem

_ODD = "UNEXPECTED SUCCESS"
_HEAD = re.compile(rf"^(?<=={{70}}\n)(?P<kind>ERROR|FAIL|{_ODD}): ", re.M)
_BELOW = "\n" + "-" * 70 + "\n"
_ABOVE = len(_BELOW) - 1
"""Characters of the line above a section."""
_SPAN = 100_000
"""Characters of one section that are read."""
_READ = 5000
"""Sections that are read: far more than are kept."""


@dataclass(frozen=True, slots=True)
class Section:
    """One test, subtest or fixture. `kind` is ERROR, FAIL or UNEXPECTED SUCCESS; `said` the traceback."""

    kind: str
    name: Name
    said: str

    @property
    def problem(self) -> Problem:
        """The section in a line, at the place in the project that it speaks of."""
        said = raised(self.said) or ("unexpected success" if self.kind == _ODD else "failed")
        return problem(said, *place(self.said), test=self.name.dotted)


def sections(lines: str, end: int, stated: int) -> list[Section]:
    """The sections before `end`, where the summary begins: of errors and failures those `stated` that are likeliest."""
    heads = list(deque(_HEAD.finditer(lines, 0, end), maxlen=_READ))
    broken = [m for m in heads if m["kind"] != _ODD]
    # Where there are more than the runner states, tests have printed some: before its own, or in what they say of a
    # failure.
    least = sorted(range(len(broken)), key=lambda n: (_likely(lines, broken[n].start()), n))
    printed = {broken[n].start() for n in least[: max(0, len(broken) - stated)]}
    heads = [m for m in heads if m.start() not in printed]
    ends = [*(m.start() - _ABOVE for m in heads[1:]), max(0, end - _ABOVE)]
    return [each for m, stop in zip(heads, ends, strict=False) for each in _of(m["kind"], lines[m.end() : stop])]


def _likely(lines: str, head: int) -> int:
    """How likely a section is the runner's own: an empty line is before it, or, before the first, a test's mark."""
    above = head - _ABOVE
    if above > 0 and lines[above - 1] != "\n":
        return 0
    return 2 if lines[max(0, above - 2) : above - 1] in (*"\n.EFsxu", "") else 1


def _of(kind: str, lines: str) -> Iterator[Section]:
    if kind != _ODD:
        description, _, said = lines[:_SPAN].partition(_BELOW)
        yield Section(kind, named(description), said)
        return
    # Those stand one below the other, under one line.
    for line in f"{kind}: {lines}".split("\n"):
        if line.startswith(f"{kind}: "):
            yield Section(kind, named(line.removeprefix(f"{kind}: ")), "")
