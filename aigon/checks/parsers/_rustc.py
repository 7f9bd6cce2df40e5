"""What rustc prints for people: `error[E0425]: message` with ` --> file:line:column` below; cargo and clippy, too."""

import re
from collections.abc import Iterator

from aigon.checks.parsers._problems import number, problem
from aigon.model.checks import Problem

_HEAD = re.compile(
    r"^(?P<severity>error|warning)(?:\[(?P<code>[\w:-]{1,80})\])?: (?P<message>[^\n]+)$"
    r"(?P<between>(?:\n(?!error|warning| *-->)[^\n]*){0,12})"
    r"(?:\n *--> (?P<file>[^\n]+?):(?P<line>\d+):\d+$)?",
    re.M,
)
_BLANK = re.compile(r"\n[ \t]*\n")
_LINT = re.compile(
    r"#\[(?:warn|deny|forbid)\((?P<name>[\w:]+)\)\]|`-[DWF] (?P<flag>[\w:-]+)` implied|index\.html#(?P<clippy>\w+)"
)
_SUMMING = re.compile(
    r"could not compile |aborting due to |.* generated \d+ warnings?\b|\d+ warnings? emitted|build failed, waiting"
    r"|(?:doc)?test failed, to rerun|\d+ targets? failed|test run failed|no tests to run"
)
_UNCOMPILED = re.compile(r"^error: could not compile `(?P<crate>[^`\n]+)`(?: \((?P<target>[^\n]*?)\) due)?", re.M)
_SPAN = 4000
"""Characters after a message in which its lint is named."""


def placed(lines: str) -> Iterator[Problem]:
    """Everything that names a place."""
    for match in _HEAD.finditer(lines):
        if match["file"]:
            yield problem(
                match["message"], match["file"], number(match["line"]), _rule(match, lines), match["severity"]
            )


def unplaced(lines: str) -> Iterator[Problem]:
    """Errors that name none: of a linker, of a manifest, of a package that is not there. No sums, and no warnings."""
    for match in _HEAD.finditer(lines):
        if not match["file"] and match["severity"] == "error" and not _SUMMING.match(match["message"]):
            yield problem(match["message"], rule=match["code"] or "")


def uncompiled(lines: str) -> list[str]:
    """The targets that could not be compiled, each once: `one (test "it")`."""
    found = (f"{match['crate']} ({match['target']})" for match in _UNCOMPILED.finditer(lines))
    return list(dict.fromkeys(found))


def _rule(match: re.Match[str], lines: str) -> str:
    """An error's code, or the lint. rustc says which one only where it speaks of it first."""
    if match["code"]:
        return match["code"]
    below = lines[match.end() : match.end() + _SPAN]
    end = _BLANK.search(below)
    found = _LINT.search(below, 0, end.start() if end else len(below))
    if found is None:
        return ""
    return found["name"] or (f"clippy::{found['clippy']}" if found["clippy"] else found["flag"].replace("-", "_"))
