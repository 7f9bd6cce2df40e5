"""The output of several packages of a workspace, or of several scripts, taken apart: one text for each."""

import re
from collections import defaultdict
from itertools import islice

_HEADER = re.compile(
    # npm and pnpm name package and script, then the command; Yarn 1 names the package before it says its version.
    r"^> (?:[^\s@]\S*@\S+ |@[^\s@]+@\S+ )?[\w:.-]+(?: /[^\n]*)?\n> [^\n]*$|^> \S+\nyarn \w+ v1\.[^\n]*$"
    r"|^> nx run \S+[^\n]*$|^lerna info run Ran npm script [^\n]*$",
    re.M,
)
_PREFIXED = re.compile(
    # `packages/a test: ` (pnpm, bun), `[@s/a]: ` (Yarn), `web:test: ` (turbo)
    r"^(?P<who>[\w@./~-]{1,150} [\w:.-]{1,60}:|\[[^\]\n]{1,150}\]:|[\w@./-]{1,150}:[\w.-]{1,60}:)"
    r"(?: (?P<rest>[^\n]*)|$)",
    re.M,
)
_PARTS = 500
_LINES = 3
"""Lines that have to begin alike to be taken for those of one package."""


def by_header(lines: str) -> list[str]:
    """The parts that begin with a package manager's words on what it runs."""
    begins = [match.start() for match in islice(_HEADER.finditer(lines), _PARTS)]
    return [lines[begin:end] for begin, end in zip([0, *begins], [*begins, len(lines)], strict=True)]


def by_prefix(lines: str) -> list[str]:
    """The lines of each package, without the name that each of them begins with."""
    found: defaultdict[str, list[str]] = defaultdict(list)
    for match in _PREFIXED.finditer(lines):
        if match["who"] in found or len(found) < _PARTS:
            found[match["who"]].append(match["rest"] or "")
    return ["\n".join(rest) + "\n" for rest in found.values() if len(rest) >= _LINES]
