"""What is said before a run about proofs that show nothing: green on the base, or written by the agent itself."""

import pytest

from aigon.model.criteria import Criterion, CriterionKind, Verdict, VerdictStatus
from aigon.proof.vacuity import absent_files, criterion_key, describe_passing, own_proof, results_of


def criterion(number: int, kind: CriterionKind, command: str | None = None, *, checked: bool = False) -> Criterion:
    return Criterion(number, number, f"text {number}", checked, kind, command, 0)


def verdict(number: int, status: VerdictStatus = "met") -> Verdict:
    return Verdict(number, status, "whatever")


def test_criteria_that_passed_at_the_base_are_named_with_what_they_run() -> None:
    criteria = [
        criterion(1, "verify", "true"),
        criterion(2, "check", "tests"),
        criterion(3, "metric", "echo 9 >= 8"),
        criterion(4, "check", "lint"),
        criterion(5, "check", "tests", checked=True),
    ]
    assert describe_passing(criteria, [1, 2, 3, 4, 5]) == (
        "Criteria 2, 4 and 5 only check `tests` and `lint`, which already pass. "
        "They cannot show that the feature was built.",
        "Criterion 1 only runs `true`, which already passes. It cannot show that the feature was built.",
        "Criterion 3 only measures `echo 9 >= 8`, which already passes. It cannot show that the feature was built.",
    )
    (one,) = describe_passing(criteria, [2, 5])
    assert one.startswith("Criteria 2 and 5 only check `tests`, which already passes.")
    assert describe_passing(criteria, []) == ()


def test_many_commands_are_counted_and_people_and_judges_left_out() -> None:
    criteria = [criterion(n, "verify", f"test -f {n}") for n in range(1, 6)]
    (said,) = describe_passing([*criteria, criterion(6, "human"), criterion(7, "judge")], range(1, 8))
    assert said.startswith("Criteria 1 to 5 only run 5 commands, which already pass.")


def test_results_are_known_by_what_decides_and_only_where_it_was_decided() -> None:
    criteria = [criterion(1, "verify", "true"), criterion(2, "verify", "false"), criterion(3, "human")]
    found = results_of(criteria, [verdict(1), verdict(2, "unmet"), verdict(3, "unclear")])
    assert found == {"verify: true": True, "verify: false": False}
    assert criterion_key(criteria[2]) == "human: text 3"


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
        "criterion 1 is decided by tests/test_new.py, which does not exist yet: the agent would write its own proof"
    )
    assert second.startswith("criterion 2 is decided by score.sh")
    assert own_proof(criteria, lambda _path: True) == ()
