"""What is said before a run about proofs that show nothing: green on the base, or written by the agent itself."""

import pytest

from aigon.core.model import Criterion, CriterionKind, Verdict, VerdictStatus
from aigon.core.vacuity import absent_files, own_proof, vacuous


def criterion(number: int, kind: CriterionKind, command: str | None = None, *, checked: bool = False) -> Criterion:
    return Criterion(number, number, f"text {number}", checked, kind, command, 0)


def verdict(number: int, status: VerdictStatus = "met") -> Verdict:
    return Verdict(number, status, "whatever")


def test_a_command_and_a_number_that_are_green_before_anything_is_built_are_named() -> None:
    criteria = [criterion(1, "verify", "true"), criterion(2, "verify", "false"), criterion(3, "metric", "echo 9 >= 8")]
    first, second = vacuous([verdict(1), verdict(2, "unmet"), verdict(3)], criteria)
    assert first == (
        "criterion 1 is green on the base already (its command passes before anything is built): "
        "it cannot show that the feature works"
    )
    assert second.startswith("criterion 3 is green") and "within the bound" in second


def test_what_rests_on_green_checks_gets_one_milder_sentence() -> None:
    criteria = [criterion(2, "check", "tests"), criterion(4, "check", "lint"), criterion(5, "check", "tests")]
    (said,) = vacuous([verdict(2), verdict(4), verdict(5)], criteria)
    assert said.startswith("criteria 2, 4 and 5 rest on checks that are green already (tests, lint)")
    assert "nothing broke" in said and "cannot" not in said
    (one,) = vacuous([verdict(2), verdict(4, "unmet"), verdict(5, "unclear")], criteria)
    assert one.startswith("criterion 2 rests on a check")


def test_people_judges_and_what_was_ticked_before_are_not_spoken_of() -> None:
    criteria = [criterion(1, "human"), criterion(2, "judge"), criterion(3, "verify", "true", checked=True)]
    assert vacuous([verdict(1), verdict(2), verdict(3)], criteria) == ()
    assert vacuous([], [criterion(1, "verify", "true")]) == ()


@pytest.mark.parametrize(
    ("command", "absent"),
    [
        ("python -m pytest tests/test_new.py", ("tests/test_new.py",)),
        ("python3 -m pytest -q 'tests/test_new.py::test_one' -k 'a/b or c'", ("tests/test_new.py",)),
        ("pytest tests/test_old.py tests/test_new.py && ./score.sh", ("tests/test_new.py", "score.sh")),
        ("python -m coverage run -m pytest tests/test_new.py", ("tests/test_new.py",)),
        ("cd web && npx vitest run src/new.test.ts", ("web/src/new.test.ts",)),
        ("node --test test/new.test.js", ("test/new.test.js",)),
        ("bash check.sh", ("check.sh",)),
        ("bash -c './inner.sh | grep x'", ("inner.sh",)),
        ("CI=1 timeout 5 ./tools/verify", ("tools/verify",)),
        ("python tools/check.py --strict src/thing.py", ("tools/check.py",)),
        ("! ./scripts/find-todos.sh", ("scripts/find-todos.sh",)),
        ("test -f done.txt", ()),
        ("grep -q word docs/new.md", ()),
        ("python -c \"import calc; assert calc.f('a/b.py')\"", ()),
        ("python -m pytest", ()),
        ("pytest tests/", ()),
        ("pytest tests/test_old.py", ()),
        ("npm test", ()),
        ("/usr/bin/env python3 /opt/tool.py", ()),
        ("pytest tests/test_*.py", ()),
        ("./$NAME.sh", ()),
        ("echo 'unbalanced", ()),
    ],
)
def test_scripts_and_tests_that_are_run_but_not_there_and_nothing_else(command: str, absent: tuple[str, ...]) -> None:
    assert absent_files(command, {"tests/test_old.py", "tests", "src"}.__contains__) == absent


def test_a_command_that_the_agent_would_have_to_write_is_named_with_its_file() -> None:
    criteria = [
        criterion(1, "verify", "pytest tests/test_new.py"),
        criterion(2, "metric", "./score.sh >= 8"),
        criterion(3, "check", "tests"),
        criterion(4, "verify", "true"),
    ]
    first, second = own_proof(criteria, lambda _path: False)
    assert first == (
        "criterion 1 is decided by tests/test_new.py, which is not there yet: the agent would write its own proof"
    )
    assert second.startswith("criterion 2 is decided by score.sh")
    assert own_proof(criteria, lambda _path: True) == ()
