"""The results of single tests by names that are the same in every run, whatever the tree and wherever it lies."""

import hashlib
import re
from collections import Counter

from aigon.checks.parsers._text import clean
from aigon.model.checks import TestResult

MOST = 200_000
"""Tests kept of one report: more than any suite known has, few enough for memory."""
LONGEST = 500
"""Characters of a test id. A longer one, which a parameter can make, ends with a name for the whole."""
_ADDRESS = re.compile(r"\b0x[0-9a-fA-F]{6,16}\b")
_OBJECT = re.compile(r"(?<=[\w\];])@[0-9a-f]{5,8}\b(?![.\w-])")
"""What Java prints of an object without a text of its own: `demo.Money@1b2c3d4e`."""
_WORST: tuple[TestResult, ...] = ("passed", "skipped", "failed", "error")


class Seen:
    """Collects results by test id, bounded.

    Of tests with one name, the worst result goes by the name. Those that were not broken are counted (`name (2)`), so
    that one that is taken away is missed; the broken ones are not, because one broken test may be reported twice
    (for itself and for its teardown).
    """

    def __init__(self) -> None:
        self._worst: dict[str, TestResult] = {}
        self._whole: Counter[str] = Counter()

    def add(self, test: str, result: TestResult) -> None:
        if not (test := identity(test)) or (len(self._worst) >= MOST and test not in self._worst):
            return
        self._worst[test] = max(self._worst.get(test, "passed"), result, key=_WORST.index)
        if result in ("passed", "skipped"):
            self._whole[test] += 1

    def results(self) -> dict[str, TestResult]:
        """Everything seen, by id."""
        found = dict(self._worst)
        for test, whole in self._whole.items():
            number = whole + (self._worst[test] in ("failed", "error"))
            for each in range(2, min(number, MOST - len(found) + 1) + 1):
                found.setdefault(f"{test} ({each})", "passed")
        return found


def identity(test: str) -> str:
    """`test` as an id: one clean line of bounded length without addresses in memory, which differ from run to run."""
    line = clean(_OBJECT.sub("@", _ADDRESS.sub("0x", test)), 10 * LONGEST)
    if len(line) <= LONGEST:
        return line
    whole = hashlib.sha256(test.encode("utf-8", "replace")).hexdigest()[:12]
    return f"{line[: LONGEST - 13]}~{whole}"
