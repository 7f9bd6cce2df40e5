"""Tests that were there before and ask for less now: fewer assertions, or assertions that cannot fail.

A `note`, as tests change for honest reasons: what decides is the run with the base's versions of the test files laid
over the tree. This says which test to read.
"""

import re
from collections.abc import Iterator

from aigon.model.changes import Concern, Edits, hash_change
from aigon.proof.analysis.cases import list_cases
from aigon.proof.analysis.languages import list_parts
from aigon.proof.analysis.text import without_comments
from aigon.text.quoting import fold

RULE = "weakened-tests"
_ASSERTS = re.compile(
    r"\bassert\w*[!\s(.]|\bpytest\.(?:raises|warns|fail)\s*\(|\bexpect\w*\s*\(|\bshould\b|\bself\.fail\w*\s*\("
    r"|\b(?:t|tb)\.(?:Error|Errorf|Fatal|Fatalf|is|not|true|deepEqual|throws)\s*\(|\brequire\.\w+\s*\("
    r"|\brefute\w*\b"
)
_CANNOT_FAIL = tuple(
    map(
        re.compile,
        (
            r"\bassert\s+(?:True|1|not\s+False|not\s+0|not\s+None|\"[^\"\n]*\"|'[^'\n]*'"
            r"|[\w.]+|[\w.]+\s+is\s+not\s+None)$",
            r"\bassert\s+(?:callable\(|isinstance\([^\n]{1,80},\s*object\)|len\([^\n]{1,80}\)\s*>=\s*0"
            r"|\([^\n]{1,200},\s*f?['\"])",
            r"\bassert\s.{1,200}\bor\s+(?:True|1)$|\bassert\s+(\S{1,80})\s*==\s*\1$",
            r"\bassertTrue\(\s*(?:True|1)\s*\)|\bassertIsNotNone\(|\bassertEqual\(\s*(\S{1,40}),\s*\1\s*\)",
            r"\bexpect\(\s*(?:true|1|!0)\s*\)|\.to(?:BeDefined|BeTruthy)\(\s*\)|\.not\.toThrow\(\s*\)",
            r"\bassert\(\s*true\s*\)|\bassert\.ok\(\s*(?:true|1)\s*\)|\bassert!\(\s*true\s*\)",
        ),
    )
)


def look(edits: Edits) -> Iterator[Concern]:
    """Report each test file in which a test asks for less."""
    for edit in list_parts(edits, "tests"):
        base, now = (_count_assertions(edit.path, text or "") for text in (edit.before, edit.after))
        if weaker := [name for name, number in base.items() if now.get(name, number) < number]:
            names = fold(", ".join(weaker), 400)
            what = (
                f"In {fold(edit.path)} these tests of the base ask for less than before: {names}. "
                "What they asked for may no longer hold. The base's version of the file decides in a run of its own."
            )
            yield Concern(RULE, "note", what, (edit.path,), hash_change([RULE, edit.path, edit.after or ""]))


def _count_assertions(path: str, text: str) -> dict[str, int]:
    """Return how many assertions of each test can fail."""
    strength = {}
    for case in list_cases(path, text):
        lines = [line[:2000] for line in without_comments(case.text, path).split("\n")]
        failing = [line for line in lines if not any(pattern.search(line.rstrip()) for pattern in _CANNOT_FAIL)]
        strength[case.name] = sum(len(_ASSERTS.findall(line)) for line in failing)
    return strength
