"""Diagnostics of swiftc and clang, as `swift build` and xcodebuild pass them on: `file:line:column: error: ...`."""

import re
from collections.abc import Iterator
from itertools import islice

from aigon.checks.parsers._problems import number, problem
from aigon.model.checks import Problem

_PLACED = re.compile(
    r"^(?P<file>[^\s:][^:\n]*\.\w{1,12}):(?P<line>\d+):\d+: (?P<severity>(?:fatal )?error|warning): (?P<said>[^\n]+)$",
    re.M,
)
_BARE = re.compile(
    r"^(?:xcodebuild: |ld: |clang: |<unknown>:0: )?(?:fatal )?error: (?P<said>[^\n]+)$"
    r"|^(?P<linker>(?:ld: symbol\(s\) not found|Undefined symbols? )[^\n]*)$",
    re.M,
)
_RULE = re.compile(r"^(?:\[(?P<rule>\w+)\]:? |\((?P<name>\w+)\) )(?P<said>.+)$")
_CHATTER = re.compile(
    r"Exited with unexpected signal|emit-module command failed|fatalError$|terminated\(|Command .{1,200} failed"
)
_READ = 5000


def problems(lines: str) -> Iterator[Problem]:
    """What the compilers, formatters and linkers complained about."""
    for match in islice(_PLACED.finditer(lines), _READ):
        rule = _RULE.match(match["said"])
        said, name = (rule["said"], rule["rule"] or rule["name"]) if rule else (match["said"], "")
        severity = "warning" if match["severity"] == "warning" else "error"
        yield problem(said, match["file"], number(match["line"]), name, severity)
    for match in islice(_BARE.finditer(lines), _READ):
        said = match["said"] or match["linker"]
        if not _CHATTER.match(said):
            yield problem(said)
