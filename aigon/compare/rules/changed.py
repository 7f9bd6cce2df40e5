"""What a candidate's branch holds beyond the base, measured on the text of the two commits."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from aigon.compare.rules.branching import added
from aigon.compare.rules.size import Size
from aigon.model.changes import Edit, Edits, FileDiff
from aigon.proof.analysis.languages import is_code
from aigon.proof.integrity.suppressions import risen
from aigon.text.globs import is_covered

_SHARED = ("conftest.py", "__init__.py")
"""Files among the tests that the tests beside them run with."""


@dataclass(frozen=True, slots=True)
class Changed:
    """`source`, `tests` and `other` (prose, data, configuration) are None where a file of theirs was too large to read.

    `outside` are files outside the expected area, None where none is declared; test files are never outside.
    `suppressions` and `branching` are how many more there are than on the base; None where that could not be read.
    `touched_tests`: tests of the base, what they share, or what configures the checks was changed.
    """

    files: tuple[str, ...] = ()
    source: Size | None = None
    tests: Size | None = None
    other: Size | None = None
    outside: tuple[str, ...] | None = None
    suppressions: int | None = None
    branching: int | None = None
    touched_tests: bool | None = None


def changed(diffs: Sequence[FileDiff], edits: Edits, expected: Sequence[str]) -> Changed:
    """The measures of a change. `edits` are the same files as text, `expected` patterns of paths."""
    parts = {edit.path: _part(edit) for edit in edits.files}
    sizes = {
        part: _size(d for d in diffs if parts.get(d.path, "other") == part) for part in ("source", "tests", "other")
    }
    unread = any(diff.large and parts.get(diff.path) == "source" for diff in diffs)
    return Changed(
        files=tuple(diff.path for diff in diffs),
        **sizes,
        outside=_outside(diffs, parts, expected),
        suppressions=None if unread else risen(edits),
        branching=None if unread else added(edit for edit in edits.files if parts[edit.path] == "source"),
        touched_tests=any(map(_touches_tests, edits.files)),
    )


def _touches_tests(edit: Edit) -> bool:
    """Whether tests of the base could come to something else by it; a new test beside them changes none."""
    if edit.part == "config":
        return True
    return edit.part == "tests" and (edit.before is not None or edit.path.rpartition("/")[2] in _SHARED)


def _part(edit: Edit) -> str:
    """Code that lies among prose and data is source, too: it can be imported."""
    if edit.part == "tests":
        return "tests"
    return "source" if edit.part == "product" or (is_code(edit.path) and edit.part == "other") else "other"


def _size(diffs: Iterable[FileDiff]) -> Size | None:
    """Binary files have no lines; of one that is too large they are not known."""
    signs = []
    for diff in diffs:
        if diff.large:
            return None
        signs += [line.sign for hunk in diff.hunks for line in hunk.lines]
    return Size(signs.count("+"), signs.count("-"))


def _outside(diffs: Sequence[FileDiff], parts: dict[str, str], expected: Sequence[str]) -> tuple[str, ...] | None:
    if not expected:
        return None
    untested = (diff.path for diff in diffs if parts.get(diff.path) != "tests")
    return tuple(path for path in untested if not any(is_covered(pattern, path) for pattern in expected))
