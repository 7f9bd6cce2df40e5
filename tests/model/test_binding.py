"""Which checks a criterion is bound to, and that the prompt says what the verdict goes by."""

from aigon.loop.prompt import describe_decision
from aigon.model.checks import Check
from aigon.model.criteria import Criterion, find_bound_checks


def test_a_role_means_every_check_that_has_it_or_is_named_so() -> None:
    assert find_bound_checks("tests", {"tests": "tests", "lint": "lint", "tests-node": "tests"}) == (
        "tests",
        "tests-node",
    )
    assert find_bound_checks("lint", {"lint": "script", "style": "lint"}) == ("lint", "style")


def test_for_a_role_that_is_missing_the_script_stands_in_and_for_no_other_word() -> None:
    assert find_bound_checks("build", {"script": "script", "lint": "lint"}) == ("script",)
    assert find_bound_checks("biuld", {"script": "script"}) == ()
    assert find_bound_checks("build", {"lint": "lint"}) == ()


def test_the_prompt_names_all_checks_that_have_to_be_green() -> None:
    checks = [Check(name, "tests", (name,)) for name in ("tests", "tests-node")]
    criterion = Criterion(1, 1, "All tests pass", False, "check", "tests", 0)
    assert describe_decision(criterion, checks, "") == "checks `tests`, `tests-node` must pass"
