"""A criterion's command that is the one of a check is not run beside it."""

import pytest
from msgspec.structs import replace

from aigon.checks.schedule import find_answering
from aigon.model.checks import Check
from tests.compare.bench import results_of, world_of
from tests.lab import Lab

COMMAND = Check("criterion-1", "script", ("bash", "-c", "sh -e run.sh"), source="spec", by_exit=True)
CHECK = Check("tests", "tests", ("sh", "-e", "run.sh"))


@pytest.mark.parametrize(
    ("check", "answers"),
    [
        (CHECK, True),
        (replace(CHECK, argv=(*CHECK.argv, "--junitxml={report}")), True),
        (replace(CHECK, argv=("bash", "-c", "sh -e run.sh")), True),
        (replace(CHECK, argv=("/elsewhere/sh", "-e", "run.sh")), False),
        (replace(CHECK, argv=(*CHECK.argv, "-x")), False),
        (replace(CHECK, argv=(*CHECK.argv, "--out", "{report}")), False),
        (replace(CHECK, env={"MODE": "quick"}), False),
        (replace(CHECK, env={"PYTHONDONTWRITEBYTECODE": "1"}), True),
        (replace(CHECK, cwd="web"), False),
        (replace(CHECK, shown="sh -e run.sh", argv=("true",)), False),
    ],
)
def test_the_very_same_command_answers_and_no_other(check: Check, answers: bool) -> None:
    assert find_answering([check, COMMAND], "/bin:/usr/bin") == ({"criterion-1": "tests"} if answers else {})
    assert not find_answering([check, replace(COMMAND, by_exit=False)], "/bin:/usr/bin"), "its output counts, too"
    assert not find_answering([COMMAND], "/bin:/usr/bin"), "nobody else runs it"


@pytest.mark.parametrize("code", [0, 1])
def test_it_has_run_once_and_both_come_to_the_same(lab: Lab, code: int) -> None:
    lab.write("run.sh", f"echo ran >> runs\nexit {code}\n")
    with world_of(lab) as world:
        (tests, command), started = results_of(world, [CHECK, COMMAND])
    assert started == ["tests"]
    assert lab.read("runs") == "ran\n"
    assert tests.finding.status == command.finding.status == ("fail" if code else "pass")
    assert (command.finding.check, command.finding.title) == ("criterion-1", COMMAND.title)
