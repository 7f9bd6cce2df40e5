"""What holds of every reading, whatever the bytes were: bounded, printable, and never a pass made of nothing."""

import re
from itertools import chain

from aigon.model.checks import ParsedOutput, Problem

PROBLEMS = 200
TESTS = 200_000
WORDS = 520
"""Characters of one text in a reading: 500 is the cap of the parsers, and a test of one name gets ` (2)` behind it."""


def sound(found: ParsedOutput) -> None:
    """Fail unless `found` is bounded, adds up and can be printed, encoded and put into a record."""
    assert isinstance(found, ParsedOutput)
    assert len(found.problems) <= PROBLEMS
    assert len(found.tests) <= TESTS
    sound_words(found.summary)
    for problem in found.problems:
        sound_problem(problem)
    for test, result in found.tests.items():
        assert test and result in ("passed", "failed", "error", "skipped")
        sound_words(test)
    adds_up(found)


def sound_problem(problem: Problem) -> None:
    """Fail unless a person can be shown `problem`."""
    for words in (problem.message, problem.file, problem.rule, problem.test):
        sound_words(words)
    assert type(problem.line) is int and 0 <= problem.line < 10**9
    assert problem.severity in ("error", "warning")


def sound_words(words: str) -> None:
    """Fail unless `words` are one line of bounded length that can be written as UTF-8."""
    assert isinstance(words, str) and len(words) <= WORDS
    assert words.encode() is not None
    assert not any(ord(c) < 32 or 0x7F <= ord(c) < 0xA0 for c in words), ascii(words)


def adds_up(found: ParsedOutput) -> None:
    """Fail unless the counts are whole numbers that are not negative and whose sum is the total."""
    if (c := found.counts) is not None:
        parts = (c.passed, c.failed, c.skipped, c.errors)
        assert all(type(each) is int and each >= 0 for each in chain(parts, [c.total])), c
        assert c.total == sum(parts), c


def made_up(found: ParsedOutput) -> str:
    """What `found` claims although nothing was there: counts, or that all is well. Empty if it claims neither."""
    if found.counts is not None and found.counts.total:
        return f"counts {found.counts}"
    numbered = re.search("[1-9]", found.summary)
    good = found.understood and not found.problems and not numbered
    return f"understood, no problems, {found.summary!r}" if good else ""
