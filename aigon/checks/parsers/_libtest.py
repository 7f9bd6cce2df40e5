"""What Rust's test binaries print under `cargo test`, one block for each binary.

A block ends with its own sum, not with the first line that looks like one: below `failures:` stands what failing tests
printed, which can be the output of another `cargo test`.
"""

import re
from dataclasses import dataclass, field

from aigon.checks.parsers import _libtest_lines as of
from aigon.checks.parsers._libtest_lines import Sum
from aigon.checks.parsers._problems import number
from aigon.model.checks import TestResult

_KEPT = 200
"""Failures of a block whose output is kept: as many as problems are."""
_LINES = 1000
"""Lines kept of one failure."""
_MOST = 200_000
_GAP = re.compile(r"^\[\.\.\. \d+ bytes left out \.\.\.\]$", re.M)


@dataclass(slots=True)
class Block:
    """One binary's run. `title` names it, empty where cargo's line on it is missing; `announced` is how many tests it
    said it would run; `counted` is its own sum, None where it never got that far; `crash` is how it died then."""

    title: str
    announced: int
    results: list[tuple[str, TestResult]] = field(default_factory=list)
    details: dict[str, list[str]] = field(default_factory=dict)
    counted: Sum | None = None
    crash: str = ""

    @property
    def failed(self) -> list[str]:
        """The names of the tests that failed."""
        listed = [name for name, result in self.results if result == "failed"]
        return listed or list(self.details)

    @property
    def seen(self) -> Sum:
        """The sum of the results that were seen."""
        said = [result for _, result in self.results]
        return said.count("passed"), said.count("failed"), said.count("skipped")


class Reader:
    """Collects blocks line by line; `blocks` has those that ended."""

    def __init__(self) -> None:
        self.blocks: list[Block] = []
        self._title = ""
        self._block: Block | None = None
        self._below = False
        self._failing: frozenset[str] = frozenset()
        self._last = self._detail = self._waiting = ""

    def line(self, line: str) -> None:
        """Take the next line."""
        if self._block is not None and self._below:
            self._of_failures(self._block, line)
        elif begun := of.BEGIN.match(line):
            self._begin(number(begun["number"]))
        elif title := of.title(line):
            self.close()
            self._title = title
        elif self._block is not None:
            self._of_run(self._block, line)
        elif self.blocks and (crash := of.CRASH.match(line)):
            self.blocks[-1].crash = crash["how"]
        self._last = line if line.strip() else self._last

    def close(self) -> None:
        """The block that is open is over."""
        if self._block is not None:
            self.blocks.append(self._block)
        self._block, self._below, self._waiting = None, False, ""

    def _begin(self, announced: int) -> None:
        """Not within a run that has no sum yet: there it is a test's own output."""
        if self._block is None or self._block.counted is not None:
            self.close()
            self._block, self._title = Block(self._title, announced), ""

    def _of_run(self, block: Block, line: str) -> None:
        if of.FAILED.match(line):
            self.close()
        elif test := of.TEST.match(line):
            self._test(block, test["name"], test["result"])
        elif self._waiting and (result := of.result(line)):
            self._add(block, self._waiting, result)
        elif line == "failures:":
            self._below, self._detail, self._failing = True, "", frozenset(block.failed)
        elif (counted := of.total(line)) and sum(counted) == block.announced:
            block.counted = counted

    def _test(self, block: Block, name: str, said: str) -> None:
        """On one thread its output comes between the name and the result."""
        block.counted = None
        if result := of.result(said):
            self._add(block, name, result)
        else:
            self._waiting = name

    def _add(self, block: Block, name: str, result: TestResult) -> None:
        self._waiting = ""
        if len(block.results) < _MOST:
            block.results.append((of.bare(name), result))

    def _of_failures(self, block: Block, line: str) -> None:
        counted = of.total(line)
        if counted and self._is_own(block, counted):
            block.counted = counted
            self.close()
        elif (opened := of.DETAIL.match(line)) and len(block.details) < _KEPT:
            self._detail = of.bare(opened["name"])
            block.details.setdefault(self._detail, [])
        elif self._detail and len(block.details[self._detail]) < _LINES:
            block.details[self._detail].append(line)

    def _is_own(self, block: Block, counted: Sum) -> bool:
        """Whether this is the block's own sum: it is about as many tests, and the list of those that failed ends just
        before it."""
        if sum(counted) != block.announced or not self._last.startswith("    "):
            return False
        return of.bare(self._last.strip()) in (self._failing or block.details)


def read(lines: str) -> list[Block]:
    """Every block, in the order of the output."""
    reader = Reader()
    for line in lines.split("\n"):
        reader.line(line)
    reader.close()
    return reader.blocks


def gaps(lines: str) -> bool:
    """Whether a part of the output is missing."""
    return _GAP.search(lines) is not None
