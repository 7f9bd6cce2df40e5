"""Reasons against a check in a clean room, in words."""

from collections.abc import Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from aigon.checks.execution import CRITERION
from aigon.job.assessment import Assessment
from aigon.job.job import Job
from aigon.job.results import Result
from aigon.model.checks import Check, Problem
from aigon.model.failures import describe_problem
from aigon.proof import criteria
from aigon.proof.base_tests import find_lost_tests


class Trouble(Struct, frozen=True):
    """Reasons against one check or command."""

    summary: str
    problems: tuple[Problem, ...] = ()


def find_failure(job: Job, check: Check, result: Result) -> str:
    """Return why a result does not count as proven; empty if it does."""
    if result.finding.status != "pass":
        return result.finding.summary or result.finding.status
    verdict = criteria.judge_by_command(job.spec.criteria, check, result)
    return verdict.reason if verdict and verdict.status != "met" else ""


def find_trouble(job: Job, check: Check, result: Result) -> Trouble | None:
    """Return what speaks against a check by its own result; None if it passed."""
    why = find_failure(job, check, result)
    return Trouble(f"{name_for_people(check)}: {why}", list_problems(result)) if why else None


def compare_with_workspace(
    job: Job, checks: Sequence[Check], look: Assessment, results: Mapping[str, Result], *, every_test: bool
) -> dict[str, str]:
    """Return by check how it is worse off in a room: it fails there alone, or lacks tests that passed.

    That a check which passes lacks tests counts only if `every_test` has to pass.
    """
    before = {check.name: result for check, result in look.ran}

    def compare(check: Check) -> str:
        workspace, room = before[check.name], results[check.name]
        if not find_failure(job, check, workspace):
            why = find_failure(job, check, room)
            if why or not every_test:
                return why
        passed = {test: result for test, result in workspace.tests.items() if result == "passed"}
        gone = find_lost_tests(passed, room.tests, workspace.reported, room.reported)
        return f"{gone[0].test}: {gone[0].message}" if gone else ""

    compared = ((check, compare(check)) for check in checks if check.name in before)
    return {check.name: f"{name_for_people(check)}: {why}" for check, why in compared if why}


def name_in_record(check: Check) -> str:
    """Return what the record calls a check: a criterion's command by its words, since criteria are renumbered."""
    return check.name if check.source != CRITERION else f"criterion: {check.argv[-1]}"


def name_for_people(check: Check) -> str:
    """Return `criterion 3` for a criterion's command, else the check's title."""
    return f"criterion {check.name.rpartition('-')[2]}" if check.source == CRITERION else check.title


def describe_lost(check: Check, problems: tuple[Problem, ...], result: Result) -> Trouble:
    """Return the base's tests that did not pass; what their run reported first, such as a failed import, says why."""
    reported = [problem for problem in result.finding.problems if problem.severity == "error"]
    first = (reported or problems)[0]
    said = describe_problem(replace(first, file="") if first.test else first)  # it may be a file of a library
    more = f", and {len(problems) - 1} more" if len(problems) > 1 else ""
    return Trouble(f"{name_for_people(check)}: {said}{more}", problems)


def list_problems(result: Result) -> tuple[Problem, ...]:
    finding = result.finding
    return finding.problems or ((Problem(finding.excerpt[-1000:]),) if finding.excerpt else ())
