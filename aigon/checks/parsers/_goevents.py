"""The events of `go test -json`: what each test and each package came to, and what was printed for it.

Only lines that are such events count. What a test prints is text inside of one.
"""

import re
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field

from aigon.checks.parsers import _json

_ENDS = ("pass", "fail", "skip")
_ACTIONS = (
    *_ENDS,
    "start",
    "run",
    "pause",
    "cont",
    "output",
    "bench",
    "attr",
    "artifacts",
    "build-output",
    "build-fail",
)
_LAST = re.compile(r"--- (?P<word>PASS|FAIL|SKIP): (?P<test>\S+) \(")
_LINES = 400
"""Lines kept of a test's output, and as many of its end."""
_MOST = 2_000_000
"""Events after which no test is taken up any more."""
Key = tuple[str, str]
"""Package and test."""


@dataclass(slots=True)
class Said:
    """Lines of output: the first and the last ones."""

    head: list[str] = field(default_factory=list)
    tail: deque[str] = field(default_factory=lambda: deque(maxlen=_LINES))
    errors: list[str] = field(default_factory=list)

    def add(self, text: str, kind: str) -> None:
        """One event's text; `kind` is what Go says it is."""
        if kind == "frame":
            return
        (self.head if len(self.head) < _LINES else self.tail).append(text[:4000])
        if kind.startswith("error") and len(self.errors) < _LINES:
            self.errors.append(text[:4000])

    def text(self) -> str:
        """All that was kept."""
        return "".join((*self.head, *self.tail))


@dataclass(slots=True)
class Events:
    """What a stream told: results in their order (`ends`), what began and did not end by package and test (`running`),
    what failed (`broken`), packages that did with the build that failed for them or an empty text (`failed`), the
    compiler's words by import path (`builds`).

    `marked`: from Go 1.20 on packages announce themselves, and what a test prints cannot hide the line on another one.
    """

    number: int = 0
    ends: list[tuple[Key, str]] = field(default_factory=list)
    running: dict[str, dict[str, Said]] = field(default_factory=dict)
    broken: dict[Key, Said] = field(default_factory=dict)
    packages: dict[str, Said] = field(default_factory=dict)
    builds: dict[str, list[str]] = field(default_factory=dict)
    failed: dict[str, str] = field(default_factory=dict)
    marked: bool = False

    def unended(self) -> list[tuple[Key, Said]]:
        """Tests that began and did not end, with what they printed."""
        return [((package, test), said) for package, tests in self.running.items() for test, said in tests.items()]

    def take(self, row: _json.Row) -> None:
        """One event."""
        get = _json.string
        action, package, test = get(row.get("Action")), get(row.get("Package")), get(row.get("Test"))
        if action not in _ACTIONS or not (package or row.get("ImportPath")):
            return
        self.number += 1
        if action == "build-output":
            self._built(get(row.get("ImportPath")), get(row.get("Output")))
        elif action == "output":
            self._printed((package, test), get(row.get("Output")), get(row.get("OutputType")))
        elif test:
            self._of_test((package, test), action)
        elif action == "start":
            self.marked = True
        elif action in _ENDS:
            self._of_package(package, action, get(row.get("FailedBuild")))

    def unbuilt(self, package: str) -> None:
        """A package of which a line between the events says that it was not built: before Go 1.20 no event does."""
        self.failed[package] = self.failed.get(package) or package
        self.packages.setdefault(package, Said())

    def _built(self, path: str, text: str) -> None:
        lines = self.builds.setdefault(path, [])
        if len(lines) < 2 * _LINES:
            lines.append(text[:4000])

    def _printed(self, key: Key, text: str, kind: str) -> None:
        """What is printed after a test's end (by a goroutine, or the values of an example) still belongs to it."""
        if not key[1]:
            self.packages.setdefault(key[0], Said()).add(text, kind)
        elif said := self.running.get(key[0], {}).get(key[1]) or self.broken.get(key):
            said.add(text, kind)

    def _of_test(self, key: Key, action: str) -> None:
        """An end without a beginning is something that a test printed."""
        package, test = key
        if action == "run" and self.number < _MOST:
            self.running.setdefault(package, {})[test] = Said()
        elif action in _ENDS and (said := self.running.get(package, {}).pop(test, None)):
            self.ends.append((key, action))
            if action == "fail":
                self.broken[key] = said

    def _of_package(self, package: str, action: str, build: str) -> None:
        if not self.marked:
            self._unmarked(package, action)
        said = self.packages.pop(package, Said())
        if action == "fail":
            self.failed[package] = build
            self.packages[package] = said

    def _unmarked(self, package: str, action: str) -> None:
        """Tests whose last line was hidden behind what they printed: it says what they came to, or the package does."""
        for test, printed in list(self.running.get(package, {}).items()):
            said = _LAST.search(printed.text())
            if said and said["test"] == test:
                self._of_test((package, test), said["word"].lower())
            elif action == "pass":
                self._of_test((package, test), action)


def read(lines: Iterable[str]) -> Events:
    """Everything in the lines of a stream, other lines left aside."""
    events = Events()
    for line in lines:
        if line.startswith("{"):
            events.take(_json.line(line))
    return events
