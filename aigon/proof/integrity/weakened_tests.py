"""Tests that were there before and ask for less now: fewer assertions, or assertions that cannot fail.

A `note`, as tests change for honest reasons: what decides is the run with the base's versions of the test files laid
over the tree. This says which test to look at.
"""

import re
from collections.abc import Iterator

from aigon.model.changes import Concern, Edit, Edits, hash_change
from aigon.proof.analysis.examples import cases
from aigon.proof.analysis.languages import of
from aigon.proof.analysis.text import without_comments
from aigon.text.quoting import fold

RULE = "weakened-tests"
_ASSERTS = re.compile(
    r"\bassert\w*[!\s(.]|\bpytest\.(?:raises|warns|fail)\s*\(|\bexpect\w*\s*\(|\bshould\b|\bself\.fail\w*\s*\("
    r"|\b(?:t|tb)\.(?:Error|Errorf|Fatal|Fatalf|is|not|true|deepEqual|throws)\s*\(|\brequire\.\w+\s*\("
    r"|\brefute\w*\b"
)
_CANNOT_FAIL = (
    r"\bassert\s+(?:True|1|not\s+False|not\s+0|not\s+None|\"[^\"\n]*\"|'[^'\n]*'|[\w.]+" r"|[\w.]+\s+is\s+not\s+None)$",
    r"\bassert\s+(?:callable\(|isinstance\([^\n]{1,80},\s*object\)|len\([^\n]{1,80}\)\s*>=\s*0"
    r"|\([^\n]{1,200},\s*f?['\"])",
    r"\bassert\s.{1,200}\bor\s+(?:True|1)$|\bassert\s+(\S{1,80})\s*==\s*\1$",
    r"\bassertTrue\(\s*(?:True|1)\s*\)|\bassertIsNotNone\(|\bassertEqual\(\s*(\S{1,40}),\s*\1\s*\)",
    r"\bexpect\(\s*(?:true|1|!0)\s*\)|\.to(?:BeDefined|BeTruthy)\(\s*\)|\.not\.toThrow\(\s*\)",
    r"\bassert\(\s*true\s*\)|\bassert\.ok\(\s*(?:true|1)\s*\)|\bassert!\(\s*true\s*\)",
)
_EMPTY = [re.compile(pattern) for pattern in _CANNOT_FAIL]


def look(edits: Edits) -> Iterator[Concern]:
    """One concern for each test file in which a test asks for less."""
    for edit in of(edits.files, "tests"):
        weaker = _weaker(edit) if edit.before and edit.after else []
        if weaker:
            names = fold(", ".join(weaker), 400)
            what = (
                f"In {fold(edit.path)} these tests of the base ask for less than before: {names}. "
                "What they asked for may no longer hold. The base's version of the file decides in a run of its own."
            )
            yield Concern(RULE, "note", what, (edit.path,), hash_change([RULE, edit.path, edit.after or ""]))


def _weaker(edit: Edit) -> list[str]:
    now = {case.name: _strength(edit.path, case.text) for case in cases(edit.path, edit.after or "")}
    base = {case.name: _strength(edit.path, case.text) for case in cases(edit.path, edit.before or "")}
    return [name for name, strength in base.items() if name in now and now[name] < strength]


def _strength(path: str, text: str) -> int:
    """How many assertions of a test can fail."""
    plain = [line[:2000] for line in without_comments(text, path).split("\n")]
    return sum(len(_ASSERTS.findall(line)) for line in plain if not any(e.search(line.rstrip()) for e in _EMPTY))
