"""The new tests of one candidate on the work of another."""

import pytest

from aigon.checks import execution
from aigon.compare.facts import CrossCheck, NewTests
from aigon.compare.new_tests import find_new_tests, place_files, run_cross_checks
from aigon.git.objects import TreeEntry
from tests.compare.comparing import Rivals, rivals
from tests.lab import Lab

ONE = "def one():\n    return 1\n"
TWO = ONE + "\ndef two():\n    return 2\n"
WRONG = ONE + "\ndef two():\n    return 3\n"
NAMED_OTHERWISE = ONE + "\ndef zwei():\n    return 2\n"
OF_TWO = "import app\n\ndef test_two():\n    assert app.two() == 2\n\ndef test_int():\n    assert app.two() > 0\n"
IMPORTING = "from app import two\n\ndef test_import():\n    assert two() == 2\n"
LATE = "def test_late():\n    from app import two\n    assert two() == 2\n"


@pytest.fixture(autouse=True)
def _home(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIGON_STATE_HOME", lab.env["AIGON_STATE_HOME"])


def crossed(side: Rivals, **new: tuple[str, ...]) -> dict[tuple[str, str], CrossCheck]:
    """Every pair; `new` are the names of new tests by label, found out where they are not given."""
    with side.bench() as bench:
        found = {
            label: NewTests(new[label]) if label in new else find_new_tests(bench, label, side.base, tip)
            for label, tip in side.tips.items()
        }
        pairs = run_cross_checks(bench, [(label, tip, found[label]) for label, tip in side.tips.items()])
    return {(pair.tests_of, pair.against): pair for pair in pairs}


@pytest.mark.slow
def test_tests_of_each_run_on_the_other_and_a_missing_import_is_no_failure(lab: Lab) -> None:
    side = rivals(lab)
    side.add("cc", {"app.py": TWO, "tests/test_two.py": OF_TWO, "tests/test_late.py": LATE})
    side.add("cx", {"app.py": WRONG, "tests/test_import.py": IMPORTING.replace("== 2", "== 3")})
    side.add("gg", {"app.py": NAMED_OTHERWISE})
    before = lab.fingerprint()
    mine = ("tests.test_late::test_late", "tests.test_two::test_int", "tests.test_two::test_two")
    found = crossed(side, cc=mine, cx=("tests.test_import::test_import",), gg=())
    assert list(found) == [("cc", "cx"), ("cc", "gg"), ("cx", "cc"), ("cx", "gg"), ("gg", "cc"), ("gg", "cx")]
    late, whole, two = mine
    assert found["cc", "cx"] == CrossCheck("cc", "cx", 1, (late, two))
    assert found["cc", "gg"] == CrossCheck("cc", "gg", 0, (whole, two), (late,))
    assert found["cx", "cc"] == CrossCheck("cx", "cc", 0, ("tests.test_import::test_import",))
    assert found["cx", "gg"] == CrossCheck("cx", "gg", 0, (), ("tests.test_import::test_import",))
    assert not found["gg", "cc"].known and "gg added no tests" in found["gg", "cc"].why
    assert lab.fingerprint() == before


@pytest.mark.slow
def test_two_files_of_one_name_stand_side_by_side_and_what_was_run_is_not_run_again(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    side = rivals(lab)
    side.add("cc", {"app.py": TWO, "tests/test_two.py": OF_TWO})
    side.add("cx-opus", {"app.py": WRONG, "tests/test_two.py": "def test_two():\n    assert 1\n"})
    names = {"cc": ("tests.test_two::test_two", "tests.test_two::test_int"), "cx-opus": ("tests.test_two::test_two",)}
    found = crossed(side, **names)
    assert found["cc", "cx-opus"] == CrossCheck("cc", "cx-opus", 1, ("tests.test_two::test_two",))
    assert found["cx-opus", "cc"] == CrossCheck("cx-opus", "cc", 1)
    monkeypatch.setattr(execution, "run_check", lambda *_: pytest.fail("a check was run"))
    assert crossed(side, **names) == found


def test_only_the_first_four_are_crossed_and_the_others_say_so(lab: Lab) -> None:
    side = rivals(lab)
    for label in ("a", "b", "c", "d", "e"):
        side.add(label, {"app.py": TWO})
    found = crossed(side, e=("tests.test_two::test_two",))
    assert len(found) == 20
    assert {pair.why for key, pair in found.items() if "e" in key} == {"only the first 4 candidates are crossed"}
    assert found["a", "b"].why == "a added no tests"


def test_a_candidate_of_which_nothing_is_recorded_is_unknown(lab: Lab) -> None:
    side = rivals(lab)
    side.add("cc", {"app.py": TWO, "tests/test_two.py": OF_TWO})
    side.add("cx", {"app.py": WRONG})
    side.records["cx"].frozen.unlink()
    assert "Nothing is recorded" in crossed(side, cc=("tests.test_two::test_two",), cx=())["cc", "cx"].why


def entry(path: str, sha: str) -> TreeEntry:
    return TreeEntry("100644", sha, path)


def test_a_file_of_the_others_own_is_never_replaced() -> None:
    base = {"tests/test_old.py": entry("tests/test_old.py", "old")}
    mine = {
        path: entry(path, "mine")
        for path in ("tests/test_old.py", "tests/a_test.py", "tests/data.json", "tests/new.json")
    }
    there = base | {
        path: entry(path, "theirs") for path in ("tests/a_test.py", "tests/a__c_o_test.py", "tests/data.json")
    }
    found = place_files(mine, base, there, "c-o")
    assert found.clash == ("tests/data.json",)
    assert found.moved == {"tests/a_test.py": "tests/a__c_o_2_test.py"}
    assert set(found.files) == {"tests/test_old.py", "tests/a__c_o_2_test.py", "tests/new.json"}
    assert found.rename("tests.a_test.TestX::test_y") == "tests.a__c_o_2_test.TestX::test_y"
    assert found.rename("tests/a_test.py::test_y") == "tests/a__c_o_2_test.py::test_y"
    assert found.rename("a_test::test_y") == "a__c_o_2_test::test_y"
    assert found.rename("tests.test_old::test_y") == "tests.test_old::test_y"
