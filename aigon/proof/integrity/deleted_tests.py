"""Tests of the base that are gone. A `note`: those that matter are missing in the run that requires the base's tests.

A test that is now in another file, or a file that has only moved, is not gone.
"""

from collections.abc import Iterator

from aigon.model.changes import Concern, Edit, Edits, hash_change
from aigon.proof.analysis.examples import cases
from aigon.proof.analysis.languages import of
from aigon.text.quoting import fold

RULE = "deleted-tests"


def look(edits: Edits) -> Iterator[Concern]:
    """One concern for each file that lost tests, or is gone."""
    changed = of(edits.files, "tests")
    kept = {_last(case.name) for edit in changed for case in cases(edit.path, edit.after or "")}
    moved = {edit.after for edit in changed if edit.before is None}
    for edit in changed:
        gone = [case.name for case in cases(edit.path, edit.before or "") if _last(case.name) not in kept]
        if gone or (
            edit.after is None and edit.before and edit.before not in moved and not cases(edit.path, edit.before)
        ):
            yield _concern(edit, gone)


def _last(name: str) -> str:
    return name.rsplit(".", 1)[-1]


def _concern(edit: Edit, gone: list[str]) -> Concern:
    tests = f" with the tests {fold(', '.join(gone), 400)}" if gone else ""
    which = f"{fold(edit.path)} is gone{tests}" if edit.after is None else f"{fold(edit.path)} lost{tests[5:]}"
    what = f"{which}. What they tested no longer is. Put them back, unless the feature takes away what they are about."
    return Concern(RULE, "note", what, (edit.path,), hash_change([RULE, edit.path, *gone, edit.after or ""]))
