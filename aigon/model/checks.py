"""Checks of a project, what a parser reads in their output, and what they found."""

import math
from collections.abc import Mapping, Sequence
from typing import Literal, Protocol

from msgspec import Struct, field

from aigon.model import Recorded

Role = Literal["tests", "build", "lint", "types", "endpoints", "script", "git", "proof", "integrity"]
CheckStatus = Literal["pass", "fail", "error", "skipped"]
TestResult = Literal["passed", "failed", "error", "skipped"]
Quantity = Literal["", "seconds"]
"""What aigon measures of a command besides its result."""
OWN_ROLES: tuple[Role, ...] = ("git", "proof", "integrity")
"""Roles of aigon's own checks: no failure of theirs is ever forgiven, and no pass of theirs is the project's."""
ROLES: tuple[Role, ...] = ("tests", "build", "lint", "types", "endpoints", "script", "git")
ROLE_TITLES: Mapping[str, str] = {
    "tests": "Tests",
    "build": "Build",
    "lint": "Lint",
    "types": "Type check",
    "endpoints": "Endpoints",
    "script": "Validation script",
    "git": "Git",
    "proof": "Clean-room proof",
    "integrity": "Integrity",
}


class Check(Struct, frozen=True):
    """One validation command, resolved for this project on this machine.

    `{report}` in `argv` is the path of a report file that does not exist before the run; `reports` are patterns,
    relative to `cwd`, of report files that the command places itself. `timeout` is in seconds; `cwd` is relative to the
    workspace; `missing` names a tool that was not found, `hint` how to get it; `remember`: a pass on a tree holds for
    the next run on it; `shown` is what people read instead of the command line; `writes` are paths that the command
    writes besides the files of `cwd` (`.`: unknown ones). Of `quantity`, `enough` is what needs no further
    measurement, and `runs` how often it is measured at most. `slowed`
    are the seconds that it takes ordinarily if it has to be held back, which shows what a clock of its own measures.
    `by_exit`: only its exit code counts, so that another check with the same command answers for it.
    """

    name: str
    role: Role
    argv: tuple[str, ...]
    parser: str | None = None
    timeout: float = 600.0
    exclusive: bool = False
    when: Literal["each", "final"] = "each"
    paths: tuple[str, ...] = ()
    cwd: str = "."
    env: Mapping[str, str] = field(default_factory=dict)
    source: str = ""
    missing: str = ""
    hint: str = ""
    remember: bool = True
    reports: tuple[str, ...] = ()
    shown: str = ""
    writes: tuple[str, ...] = ()
    quantity: Quantity = ""
    enough: float = 0.0
    runs: int = 1
    slowed: float = 0.0
    by_exit: bool = False

    @property
    def makes_products(self) -> bool:
        """True if other checks may use what it makes: it builds, and not into a folder of its own."""
        return self.role == "build" and not any("{scratch}" in part for part in self.argv)

    @property
    def title(self) -> str:
        """The name for people: `Tests`, or `Tests (web)` for a check called `tests-web`."""
        title = ROLE_TITLES[self.role]
        return title if self.name == self.role else f"{title} ({self.name.removeprefix(f'{self.role}-')})"


class Problem(Recorded, frozen=True):
    """One complaint of a tool. `file` is relative to the workspace if the tool says so."""

    message: str
    file: str = ""
    line: int = 0
    rule: str = ""
    severity: Literal["error", "warning"] = "error"
    test: str = ""


class TestCounts(Recorded, frozen=True):
    """The counts of a test runner. `errors` are tests that could not run (collection, fixtures)."""

    __test__ = False  # no class of tests, whatever its name says to pytest

    total: int = 0
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    errors: int = 0


class ParsedOutput(Struct, frozen=True):
    """The output of a tool as a parser read it: a description, never a verdict.

    `counts` is None unless the output is a test report; `summary` is a short phrase such as `15/15 passed`;
    `understood` is False if the bytes are not in the parser's format; `tests` are results by test id.
    """

    summary: str = ""
    counts: TestCounts | None = None
    problems: tuple[Problem, ...] = ()
    understood: bool = True
    tests: Mapping[str, TestResult] = field(default_factory=dict)


class Finding(Recorded, frozen=True):
    """The result of one check on one tree. `duration` is in seconds; `log` is the file with its whole output."""

    check: str
    role: Role
    title: str
    status: CheckStatus
    summary: str
    command: str = ""
    exit_code: int | None = None
    duration: float = 0.0
    counts: TestCounts | None = None
    problems: tuple[Problem, ...] = ()
    fingerprints: tuple[str, ...] = ()
    excerpt: str = ""
    log: str = ""
    cached: bool = False


class ProjectReader(Protocol):
    """Questions about a project. Paths are relative to its root; asking runs none of its code."""

    def kind(self, path: str) -> Literal["file", "folder", ""]:
        """Return what is at `path`, or ""."""

    def read(self, path: str) -> bytes | None:
        """Return the bytes of a file, or None."""

    def glob(self, pattern: str) -> Sequence[str]:
        """Return the files that match, sorted, without the folders of tools and dependencies."""

    def tool(self, name: str) -> str | None:
        """Return the absolute path of a program: the project's own before the one on PATH."""

    def python(self) -> str:
        """Return the absolute path of the project's interpreter, or ""."""

    def module(self, name: str) -> bool:
        """Return whether that interpreter can import the top-level module `name`."""


Durations = Mapping[str, float]
"""Seconds by the name of a check."""


def add_duration(known: Durations, check: str, status: CheckStatus, seconds: float, *, cached: bool) -> Durations:
    """Return what is known after one more finding.

    The last run counts. An error may have been cut short, so it never makes a check look quicker; a remembered pass
    counts only if nothing newer is known.
    """
    if status == "skipped" or not 0 < seconds < math.inf or (cached and check in known):
        return known
    return {**known, check: max(seconds, known.get(check, 0.0)) if status == "error" else seconds}
