"""Run everything that decides once more on a clean export of a tree, where the workspace cannot be reached."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field, to_builtins
from msgspec.structs import replace

from aigon.checks.reports import ADDOPTS
from aigon.files.atomic import write_atomic
from aigon.git import objects
from aigon.job.assessment import Assessment
from aigon.job.job import Job
from aigon.job.results import Result
from aigon.job.world import World
from aigon.model.changes import Concern, hash_change
from aigon.model.checks import Check
from aigon.observation import Observer
from aigon.proof import criteria
from aigon.proof.base_tests import BaseVersions, TestFiles, leave_out_files, restore_base_versions
from aigon.proof.bench import (
    ProofBench,
    Trouble,
    compare_with_workspace,
    describe_lost,
    find_trouble,
    list_deciding,
    list_problems,
    make_bench,
    name_for_people,
    name_in_record,
)
from aigon.proof.findings import Changed, Tree
from aigon.proof.frozen import Frozen, had_no_tests
from aigon.proof.inputs import find_inputs, list_inputs
from aigon.proof.renames import choose_made, read_renames
from aigon.text.amounts import format_count, join_words
from aigon.text.patterns import compile_re

if TYPE_CHECKING:
    from aigon.proof.negative_control import Control


_RUNNER = compile_re(r"\b(?:make|just|task|npm|pnpm|yarn|bun|tox|nox)\b")
"""Programs that do what a file of the project says."""
UNREAD = "unread-inputs"
"""The rule of what decided on the base and does not any more."""
TIMES = 3
"""How often a check is run in all on one tree before it is called broken and not flaky."""


class ProofResult(Struct, frozen=True):
    """`against` is what failed on the clean export, by check; `with_base` what failed with the base's tests laid over
    it, which `touched` describes, and the tests that the tree lost: these alone if `base_passes`. `failed` says why it
    could not be carried out; `ran` what was run.
    """

    mechanism: str = ""
    ran: str = ""
    against: Mapping[str, Trouble] = field(default_factory=dict)
    with_base: Mapping[str, Trouble] = field(default_factory=dict)
    touched: BaseVersions | None = None
    base_passes: bool = True
    failed: str = ""
    log: str = ""
    lacking: tuple[str, ...] = ()
    concerns: tuple[Concern, ...] = ()
    control: "Control | None" = None


def run_proof(
    job: Job, world: World, record: Frozen, rows: Sequence[Changed], look: Assessment, folder: Path
) -> ProofResult:
    """Prove the snapshot that the workspace holds. Raises AigonError (exit 7) if no room can be made."""
    git, tree = world.workspace.trusted, world.workspace.tree()
    checks = list_deciding(job)
    bench = make_bench(job, world, record, tree, folder, look.findings)
    bench = bench.set_apart(checks) if record.observed.apart else bench
    inputs = find_inputs(git, job.base_commit, rows, record.observed, job.protection)
    touched = restore_base_versions(git, tree, rows, job.protection, inputs)
    bench, results, of_base = _run_checks(bench, tree, checks, touched, look)
    against = bench.find_failed(checks, results, whole=touched is None)
    if against and not world.stop.now:
        against = _tell_flaky(bench, tree, against, checks, whole=touched is None)
    failed, with_base = dict[str, Trouble](), dict[str, Trouble]()
    if touched and not against and not world.stop.now:
        bench, of_base, failed = _prove_with_base(bench, touched, of_base)
        product = Tree(git, tree, rows, job.protection.part).read_changes("product") if failed else {}
        renames = choose_made(read_renames(job.spec), product) if failed else {}
        if renames and (renamed := restore_base_versions(git, tree, rows, job.protection, inputs, renames)):
            bench, of_renamed, still = _prove_with_base(bench, renamed, {})
            if not still:
                touched, of_base, failed = renamed, of_renamed, still
        # Tests of the base that the tree itself has lost: passed or not as they were, nobody will run them again.
        for check in checks:
            if lost := bench.find_lost(check, result := results[check.name], touched.files):
                with_base[check.name] = describe_lost(check, lost, result)
        with_base |= failed
    weighed, concerns, control = 0, tuple[Concern, ...](), None
    if not against and not world.stop.now:
        weighed, concerns, control = _examine_tests(bench, tree, rows, results, touched, of_base)
    return ProofResult(
        bench.rooms.mechanism,
        _describe_ran(job, checks, weighed),
        against,
        with_base,
        touched,
        base_passes=not failed,
        log=str(folder),
        lacking=tuple(bench.lacking),
        concerns=concerns,
        control=control,
    )


def _run_checks(
    bench: ProofBench, tree: str, checks: Sequence[Check], touched: BaseVersions | None, look: Assessment
) -> tuple[ProofBench, dict[str, Result], dict[str, Result]]:
    """Return the bench that goes on, what came of the tree and, where both can run at once, of the base's tests."""

    def run_clean(bench: ProofBench) -> dict[str, Result]:
        return bench.run(tree, checks, "clean")

    def run_base_tests(bench: ProofBench) -> dict[str, Result]:
        return _run_base_tests(bench, touched) if touched else {}

    if not bench.rooms.apart:
        return bench, run_clean(bench), {}
    results, of_base = bench.run_both(run_clean, run_base_tests)
    if not compare_with_workspace(bench.job, checks, look, results, every_test=True):
        return bench, results, of_base
    bench = bench.put_together()  # the change may need a network
    return bench, bench.run(tree, checks, "with-network"), {}


def _prove_with_base(
    bench: ProofBench, touched: BaseVersions, of_base: dict[str, Result]
) -> tuple[ProofBench, dict[str, Result], dict[str, Trouble]]:
    """Return what fails with the base's versions; in rooms that are apart it may only lack a network."""
    of_base = of_base or _run_base_tests(bench, touched)
    failed = _judge_base_tests(bench, touched, of_base)
    if not failed or not bench.rooms.apart:
        return bench, of_base, failed
    bench = bench.put_together()
    of_base = _run_base_tests(bench, touched)
    return bench, of_base, _judge_base_tests(bench, touched, of_base)


def _examine_tests(
    bench: ProofBench,
    tree: str,
    rows: Sequence[Changed],
    results: Mapping[str, Result],
    touched: BaseVersions | None,
    of_base: Mapping[str, Result],
) -> tuple[int, tuple[Concern, ...], "Control"]:
    """Return how many new tests were weighed, what follows, and what the control of the base's tests came to."""
    from aigon.proof.clock_control import control_clocks, list_metrics
    from aigon.proof.negative_control import run_control  # its parsers are needed nowhere else

    checks = list_deciding(bench.job)

    def weigh(bench: ProofBench) -> tuple[int, tuple[Concern, ...]]:
        return _weigh_change(bench, tree, rows, checks, results, touched.files if touched else TestFiles({}, {}))

    def control_tests(bench: ProofBench) -> "Control":
        laid_over, ran = (touched.tree, of_base) if touched else (tree, results)
        return run_control(bench, tree, laid_over, checks, ran, [row.path for row in rows])

    (weighed, concerns), control = bench.run_both(weigh, control_tests)
    concerns = (*concerns, *_find_unread(bench, touched.tree if touched else tree, checks))
    if metrics := list_metrics(bench.job.spec.criteria, checks):
        concerns = (*concerns, *control_clocks(bench, tree, metrics, results))
    return weighed, concerns, control


def _find_unread(bench: ProofBench, tree: str, checks: Sequence[Check]) -> tuple[Concern, ...]:
    """Return a review for inputs of the base that a check does not read any more, and passes without: something else
    decides in their place."""
    job, observed = bench.job, bench.record.observed
    inputs = list_inputs(bench.world.workspace.trusted, job.base_commit, observed, job.protection)
    asked = [check for check in checks if name_in_record(check) in inputs]
    if not asked:
        return ()
    watching = replace(bench, observer=Observer(job.spec_path))
    watching.run(tree, asked, "inputs")
    now = watching.observer.observation.commands if watching.observer else {}
    unread = {
        check.name: [path for path in inputs[name] if path not in now[name].files]
        for check in asked
        if (name := name_in_record(check)) in now and not (now[name].walks or now[name].unknown)
    }
    gone = sorted({path for paths in unread.values() for path in paths})
    doubted = [check for check in asked if unread.get(check.name)]
    ran = bench.run(tree, doubted, "without-inputs", overlay=dict.fromkeys(gone))
    passing = [name_for_people(check) for check in doubted if not find_trouble(job, check, ran[check.name])]
    if not passing:
        return ()
    what = f"{join_words(passing)} read {join_words(gone[:5])} on the base; now something else decides in its place"
    return (Concern(UNREAD, "review", what, tuple(gone), hash_change([UNREAD, tree, *gone])),)


def _describe_ran(job: Job, checks: Sequence[Check], weighed: int) -> str:
    commands = len(criteria.list_commands(job.required))
    parts = ((len(checks) - commands, "check"), (commands, "command"), (weighed, "new test"))
    return join_words([format_count(number, noun) for number, noun in parts if number] or ["nothing to run"])


def _weigh_change(
    bench: ProofBench,
    name: str,
    rows: Sequence[Changed],
    checks: Sequence[Check],
    results: Mapping[str, Result],
    files: TestFiles,
) -> tuple[int, tuple[Concern, ...]]:
    """Return how many new tests there are, and what follows if some prove nothing or checkers are kept from seeing."""
    from aigon.proof.worth.fixed_tests import find_undecided  # needed nowhere else
    from aigon.proof.worth.hidden import find_hidden
    from aigon.proof.worth.new_tests import RanChecks, make_concerns, remove_tests, weigh_new_tests

    job, tree = bench.job, Tree(bench.world.workspace.trusted, name, rows, bench.job.protection.part)
    options = bench.world.check_env.get(ADDOPTS, "")
    ran = RanChecks(checks, results, bench.record.tested)
    worth = weigh_new_tests(tree, bench.run, ran, files, options)
    if worth.seed:
        write_atomic(bench.folder / "worth.json", json.dumps(to_builtins(worth), indent=1).encode())
    without: dict[str, Trouble] = {}
    if worth.worthless and (left := remove_tests(tree, worth)):
        counting = ran.list_counting()
        without = bench.find_failed(counting, bench.run(left, counting, "without-tests"), whole=False)
    concerns = [*make_concerns(worth, {check: each.summary for check, each in without.items()})]
    concerns += find_undecided(tree, bench.run, ran, options)
    words = job.spec.raw.decode(errors="replace")
    concerns += find_hidden(tree, job.base_commit, bench.run, checks, results, words)
    return len(worth.tests), tuple(concerns)


def _run_base_tests(bench: ProofBench, touched: BaseVersions) -> dict[str, Result]:
    """Run everything with the base's tests and configuration in place of the agent's."""
    commands = criteria.list_commands(bench.job.required)
    checks = [check for check in list_deciding(bench.job) if check not in commands]
    if touched.tree == touched.with_new_tests:
        return bench.run(touched.tree, [*checks, *commands], "base-tests")
    results = bench.run(touched.tree, checks, "base-tests")
    return results | bench.run(touched.with_new_tests, commands, "base-commands")


def _judge_base_tests(bench: ProofBench, touched: BaseVersions, results: Mapping[str, Result]) -> dict[str, Trouble]:
    """Return what fails with the base's tests and configuration."""
    commands = criteria.list_commands(bench.job.required)
    checks = [check for check in list_deciding(bench.job) if check not in commands]
    alone = bench.run(touched.tree, commands, "without-fixtures") if touched.has_new_fixtures else {}
    failed: dict[str, Trouble] = {}
    for check in checks:
        result = results[check.name]
        if lost := bench.find_lost(check, result):
            failed[check.name] = describe_lost(check, lost, result)
        elif _only_missed_threshold(check, result) or _lacks_tests_as_before(bench, check, result):
            continue
        elif trouble := find_trouble(bench.job, check, result):
            failed[check.name] = trouble
    for command in commands:
        trouble = _judge_command(bench, touched, command, results[command.name])
        if not trouble and command.name in alone:
            trouble = _judge_alone(bench, command, alone[command.name])
        if trouble:
            failed[command.name] = trouble
    return failed


def _judge_command(bench: ProofBench, touched: BaseVersions, command: Check, result: Result) -> Trouble | None:
    """Return what speaks against a criterion's command: tests of the base that fail in it, or its own words.

    It may be about tests that the agent added to a file of the base, and those are not here: its exit says nothing.
    """
    base = {test for tested in bench.record.tested.values() for test in tested.tests}
    red = {test: outcome for test, outcome in result.tests.items() if outcome in ("failed", "error")}
    # A file of the base that did not run there had no tests yet; here it is as it was.
    paths = objects.list_entries(bench.world.workspace.trusted, bench.job.base_commit) if red else {}
    added = leave_out_files(red, (path for path in paths if bench.job.protection.part(path) == "tests"))
    failing = [test for test in red if test in base or not base or test not in added]
    if failing:
        more = f", and {len(failing) - 1} more" if len(failing) > 1 else ""
        return Trouble(f"{name_for_people(command)}: {failing[0]} fails{more}", list_problems(result))
    words = " ".join(command.argv)
    named = any(path.rpartition("/")[2] in words for path in touched.configuration)
    runs_configured = named or (touched.configuration and _RUNNER.search(words))
    # What reads none of the inputs passes here as it did on the tree itself.
    judged = (runs_configured or touched.inputs or touched.inline) and not result.reported
    return find_trouble(bench.job, command, result) if judged else None


def _judge_alone(bench: ProofBench, command: Check, result: Result) -> Trouble | None:
    """Return what speaks against a criterion's command where a new conftest.py is not there: the base's tests in it,
    or, if it names no tests, its exit."""
    if lost := bench.find_lost(command, result):
        return describe_lost(command, lost, result)
    return None if result.reported else find_trouble(bench.job, command, result)


def _lacks_tests_as_before(bench: ProofBench, check: Check, result: Result) -> bool:
    """True if the base reported that it has no tests, and its tests still report none: a runner may call that a failure
    (pytest does), but nothing of the base fails."""
    counts = result.finding.counts
    had_none = had_no_tests(bench.record.tested.get(name_in_record(check)))
    return bool(had_none and result.reported and counts and not counts.total + counts.errors)


def _only_missed_threshold(check: Check, result: Result) -> bool:
    """Return whether every test that ran passed and only a threshold of the whole was missed, such as coverage.

    The base's tests alone do not have to cover the new code.
    """
    counts = result.finding.counts
    own_report = any("{report}" in part for part in check.argv)
    return bool(check.role == "tests" and own_report and counts and counts.passed and not counts.failed + counts.errors)


def _tell_flaky(
    bench: ProofBench, tree: str, against: Mapping[str, Trouble], checks: Sequence[Check], *, whole: bool
) -> dict[str, Trouble]:
    """Run what passed in the workspace and failed here, on the same tree, twice more: is it flaky or broken?"""
    again = [check for check in checks if check.name in against and not check.quantity]  # that was measured again
    runs = [
        bench.find_failed(again, bench.run(tree, again, f"again-{number}"), whole=whole) for number in range(1, TIMES)
    ]
    told = {}
    for name, trouble in against.items():
        is_retried = any(check.name == name for check in again)
        if passed := sum(is_retried and name not in failed for failed in runs):
            said = f"flaky: passed in {passed} of {TIMES} runs on one and the same clean export, which is no proof"
            trouble = Trouble(f"{said}; {trouble.summary}", trouble.problems)
        told[name] = trouble
    return told
