"""What Go's compiler, vet and package loader print: `file.go:12:5: message`, below `# package`."""

import re
from collections.abc import Iterator

from aigon.checks.parsers._problems import number, problem
from aigon.model.checks import Problem

_LINE = re.compile(
    r"^(?:vet: )?(?P<file>(?:\./)?[^\s:#][^:\n]*\.(?:go|mod|work|c|cc|cpp|h|s|S)):(?P<line>\d+)(?::\d+)?: "
    r"(?P<message>[^\n]+)$",
    re.M,
)
_CYCLE = re.compile(r"^package (?P<package>\S+)(?P<imports>(?:\n\timports [^\n]+){1,50})$", re.M)
_PACKAGE = re.compile(r"^# \[?[\w./@~+-]+\]?(?: \[[^\]\n]+\])?$", re.M)
_UNLOADED = re.compile(
    r"^(?:go: (?!finding |downloading |added |found |upgraded )|pattern |no required module )[^\n]+$", re.M
)


def problems(lines: str) -> Iterator[Problem]:
    """Everything that keeps a package from being built, or that vet finds."""
    for match in _LINE.finditer(lines):
        yield problem(match["message"], match["file"].removeprefix("./"), number(match["line"]))
    for match in _CYCLE.finditer(lines):
        imports = " ".join(match["imports"].split())
        yield problem(f"import cycle not allowed: package {match['package']} {imports}", rule="import-cycle")


def unplaced(lines: str) -> Iterator[Problem]:
    """What keeps packages from being looked at at all: a module that is not there, no module at all."""
    for match in _UNLOADED.finditer(lines):
        yield problem(match[0].removeprefix("go: "))


def named(lines: str) -> bool:
    """Whether a line names a package in the compiler's way."""
    return _PACKAGE.search(lines) is not None
