"""The tests that a candidate added: found in its report, and run on the base without its work."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from aigon.checks import execution
from aigon.compare.bench import compile_bytecode
from aigon.compare.facts import NewTests
from aigon.compare.new_tests import find_new_tests
from aigon.config.models import Config
from aigon.config.sections import read_section
from aigon.model.checks import Check
from aigon.process.stop import Stop
from tests.compare.comparing import PYTEST, Rivals, rivals
from tests.lab import Lab

TWO = "def one():\n    return 1\n\ndef two():\n    return 2\n"
IMPORTING = "from app import two\n\ndef test_two():\n    assert two() == 2\n\ndef test_type():\n    assert two() > 0\n"
VACUOUS = "import app\n\ndef test_nothing():\n    assert app\n\ndef test_there():\n    assert app.two() == 2\n"


@pytest.fixture(autouse=True)
def _home(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIGON_STATE_HOME", lab.env["AIGON_STATE_HOME"])


def found(side: Rivals, label: str = "cc") -> NewTests:
    with side.bench() as bench:
        return find_new_tests(bench, label, side.base, side.tips[label])


def test_a_new_test_is_red_if_the_base_fails_it_or_cannot_import_it(lab: Lab) -> None:
    side = rivals(lab)
    of_one_name = "from app import two\n\ndef test_same():\n    assert two() == 2\n"
    files = {"tests/test_importing.py": IMPORTING, "tests/test_vacuous.py": VACUOUS, "test_same.py": of_one_name}
    side.add("cc", {"app.py": TWO, **files})
    before = lab.fingerprint()
    seen = found(side)
    importing = ("tests.test_importing::test_two", "tests.test_importing::test_type")
    assert set(seen.red_on_base) == {*importing, "tests.test_vacuous::test_there", "test_same"}
    assert seen.green_on_base == ("tests.test_vacuous::test_nothing",)
    assert set(seen.added) == {*seen.red_on_base, *seen.green_on_base}
    assert (seen.unknown, seen.why) == ((), "")
    assert lab.fingerprint() == before


@pytest.mark.slow
def test_tests_in_a_changed_file_are_new_only_where_the_base_has_none_of_that_name(lab: Lab) -> None:
    side = rivals(lab)
    old = lab.read("tests/test_old.py")
    side.add("cc", {"app.py": TWO, "tests/test_old.py": old + "\ndef test_more():\n    import app\n    app.two()\n"})
    assert found(side) == NewTests(("tests.test_old::test_more",), ("tests.test_old::test_more",))


def test_a_candidate_without_test_files_of_its_own_added_none_and_nothing_is_run(
    lab: Lab, monkeypatch: pytest.MonkeyPatch
) -> None:
    side = rivals(lab)
    side.add("cc", {"app.py": TWO})
    monkeypatch.setattr(execution, "run_check", lambda *_: pytest.fail("a check was run"))
    assert found(side) == NewTests()


@pytest.mark.slow
def test_what_was_run_once_is_not_run_again(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    side = rivals(lab)
    side.add("cc", {"app.py": TWO, "tests/test_importing.py": IMPORTING})
    first = found(side)
    monkeypatch.setattr(execution, "run_check", lambda *_: pytest.fail("a check was run"))
    assert found(side) == first and first.red_on_base


@pytest.mark.slow
def test_the_base_is_looked_at_where_nobody_recorded_its_tests(lab: Lab) -> None:
    side = rivals(lab)
    side.add("cc", {"app.py": TWO, "tests/test_importing.py": IMPORTING}, tested=None)
    assert len(found(side).added) == 2


@pytest.mark.slow
def test_the_worktree_may_be_gone(lab: Lab) -> None:
    side = rivals(lab)
    side.add("cc", {"app.py": TWO, "tests/test_importing.py": IMPORTING})
    lab.git("worktree", "remove", "--force", str(lab.home / "worktrees" / "cc"))
    assert len(found(side).red_on_base) == 2


@pytest.mark.slow
def test_a_test_that_fails_on_its_own_work_or_is_skipped_on_the_base_is_unknown(lab: Lab) -> None:
    side = rivals(lab)
    skipping = "import app, pytest\n\ndef test_two():\n    if not hasattr(app, 'two'):\n        pytest.skip()\n"
    failing = "def test_broken():\n    assert 0\n\ndef test_later():\n    import pytest\n    pytest.skip()\n"
    side.add("cc", {"app.py": TWO, "tests/test_skip.py": skipping, "tests/test_fail.py": failing})
    seen = found(side)
    assert set(seen.unknown) == set(seen.added) == {"tests.test_skip::test_two", "tests.test_fail::test_broken"}
    assert "skipped on the base" in seen.why and "own work" in seen.why


def test_a_runner_that_names_no_tests_leaves_it_unknown(lab: Lab) -> None:
    side = rivals(lab, Check("tests", "tests", ("bash", "-c", "true")))
    side.add("cc", {"app.py": TWO, "tests/test_importing.py": IMPORTING})
    seen = found(side)
    assert seen.added == () and "tests names no tests" in seen.why


def test_without_a_check_of_tests_a_record_or_a_clean_room_it_says_so(lab: Lab) -> None:
    side = rivals(lab, replace(PYTEST, name="lint", role="lint"))
    side.add("cc", {"app.py": TWO, "tests/test_importing.py": IMPORTING})
    assert "no check" in found(side).why
    side.config = read_section(Config, {"proof": "in-place"})
    assert "in-place" in found(side).why
    side.records["cc"].frozen.unlink()
    assert "Nothing is recorded" in found(side).why


def test_a_comparison_that_was_stopped_runs_nothing(lab: Lab) -> None:
    side = rivals(lab)
    side.add("cc", {"app.py": TWO, "tests/test_importing.py": IMPORTING})
    stop = Stop()
    stop.halt()
    with side.bench(stop) as bench:
        assert "stopped" in find_new_tests(bench, "cc", side.base, side.tips["cc"]).why


def test_a_test_build_that_the_new_file_breaks_on_the_base_makes_its_tests_red(lab: Lab) -> None:
    broken = "# x [x.test]\ntests/two_test.go:3:5: undefined: two\nFAIL\tx [build failed]\n"
    runner = 'if grep -q two app.py; then printf %s "$GO"; else printf %s "$BROKEN"; exit 1; fi'
    events = '{"Action":"run","Package":"x","Test":"TestTwo"}\n{"Action":"pass","Package":"x","Test":"TestTwo"}\n'
    events += '{"Action":"pass","Package":"x"}\n'
    side = rivals(lab, Check("tests", "tests", ("bash", "-c", runner), "gotest", env={"GO": events, "BROKEN": broken}))
    side.add("cc", {"app.py": TWO, "tests/two_test.go": "package x\n"}, tested={})
    seen = found(side)
    assert len(seen.added) == 1 and seen.red_on_base == seen.added, seen


@pytest.mark.slow
def test_bytecode_for_the_rooms_is_nobodys_and_runs_no_test(lab: Lab, tmp_path: Path) -> None:
    own = replace(PYTEST, env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"})
    side = rivals(lab, own, **{"tests/test_marks.py": f"def test_marks():\n    open({str(tmp_path / 'ran')!r}, 'w')\n"})
    side.add("cc", {"app.py": TWO, "tests/test_importing.py": IMPORTING})
    with side.bench() as bench:
        found = compile_bytecode(bench.open_stand("cc"), tmp_path / "warm")
    assert found and not (tmp_path / "ran").exists()
    compiled = {path.name.partition(".")[0] for path in found.folder.rglob("*.pyc")}
    assert "python" in compiled and not {"app", "test_importing", "test_old"} & compiled
    side.check = PYTEST
    side.add("cx", {"app.py": TWO})
    with side.bench() as bench:
        assert compile_bytecode(bench.open_stand("cx"), tmp_path / "other") is None, "it has a place of its own"
