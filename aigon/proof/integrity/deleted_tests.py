"""Tests of the base that are gone. A `note`: those that matter are missing in the run that requires the base's tests.

A test that is now in another file, or a file that has only moved, is not gone.
"""

from collections.abc import Iterator

from aigon.model.changes import Concern, Edits, hash_change
from aigon.proof.analysis.cases import list_cases
from aigon.proof.analysis.languages import list_parts
from aigon.text.quoting import fold

RULE = "deleted-tests"


def look(edits: Edits) -> Iterator[Concern]:
    """Report each file that lost tests, or is gone."""
    changed = list_parts(edits, "tests")
    kept = {case.name.rpartition(".")[2] for edit in changed for case in list_cases(edit.path, edit.after or "")}
    moved = {edit.after for edit in changed if edit.before is None}
    for edit in changed:
        before = list_cases(edit.path, edit.before or "")
        gone = [case.name for case in before if case.name.rpartition(".")[2] not in kept]
        if gone or (edit.after is None and edit.before and edit.before not in moved and not before):
            tests = f"the tests {fold(', '.join(gone), 400)}"
            state = f"lost {tests}" if edit.after is not None else f"is gone with {tests}" if gone else "is gone"
            what = f"{fold(edit.path)} {state}. What they tested no longer is."
            hint = "Put them back, unless the feature takes away what they are about."
            key = hash_change([RULE, edit.path, *gone, edit.after or ""])
            yield Concern(RULE, "note", f"{what} {hint}", (edit.path,), key)
