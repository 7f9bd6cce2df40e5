"""Show a person what the change makes a test of the base expect, so that the question can be answered as it is read."""

from collections.abc import Iterable, Sequence
from difflib import SequenceMatcher

from aigon.control.alteration import Alteration, alter
from aigon.control.places import AlterableTest
from aigon.proof.base_tests import TestFiles
from aigon.text.quoting import clip, code_span, fold

_SHOWN = 160
"""Characters of an expectation that are shown."""


def describe_changed_expectation(tests: Iterable[str], files: TestFiles) -> str:
    """Return what the first of these tests, by id, expects instead of what it expected; "" if no file tells.

    If they are as they were, it is data of theirs that differs: a snapshot.
    """
    before, after = (
        alter({path: text.encode("utf-8", "replace") for path, text in texts.items()}, "")
        for texts in (files.before, files.after)
    )
    for test in tests:
        for old in before.find_meant(test):
            new = next((each for each in after.tests if _get_name(each) == _get_name(old)), None)
            if new and (said := _compare(_read_lines(before, old), _read_lines(after, new), _find_assertion(old))):
                return f"{code_span(old.name)} now has {said}"
    for path in (path for path in files.before if path in files.after and path not in before.sources):
        if said := _compare(files.before[path].splitlines(), files.after[path].splitlines(), 0):
            return f"{code_span(path)} now has {said}"
    return ""


def _get_name(test: AlterableTest) -> tuple[str, ...]:
    return (test.path, *test.owners, test.name)


def _read_lines(alteration: Alteration, test: AlterableTest) -> list[str]:
    return alteration.sources[test.path].text(test.node).splitlines()


def _find_assertion(test: AlterableTest) -> int:
    """Return the number of the line, from 0 in the test, with its first assertion."""
    return min((place.line for place in test.places), default=test.node.line) - test.node.line


def _compare(before: Sequence[str], after: Sequence[str], first: int) -> str:
    """Return the first difference at the assertions, or else the first of all."""
    blocks = SequenceMatcher(None, before, after, autojunk=False).get_opcodes()
    changed = [block for block in blocks if block[0] != "equal"]
    for _, start, end, new_start, new_end in sorted(changed, key=lambda block: block[2] <= first):
        old, new = (_show(lines) for lines in (before[max(start, min(first, end - 1)) : end], after[new_start:new_end]))
        if old or new:
            return f"{new or 'nothing'} where it had {old or 'nothing'}"
    return ""


def _show(lines: Iterable[str]) -> str:
    text = " ".join(line.strip() for line in lines if line.strip())
    return code_span(clip(fold(text, _SHOWN), _SHOWN)) if text else ""
