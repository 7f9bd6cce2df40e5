"""Run everything that decides once more on a clean export of a tree, where the workspace cannot be reached."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct, field, to_builtins

from aigon.checks.reports import ADDOPTS
from aigon.files.atomic import write_atomic
from aigon.job.assessment import Assessment
from aigon.job.job import Job
from aigon.job.results import Result
from aigon.job.world import World
from aigon.model.changes import Concern
from aigon.model.checks import Check
from aigon.observation import Observer
from aigon.proof import criteria
from aigon.proof.base_tests import BaseVersions, TestFiles, restore_base_versions
from aigon.proof.bench import (
    ProofBench,
    Trouble,
    compare_with_workspace,
    describe_lost,
    list_deciding,
    make_bench,
)
from aigon.proof.findings import Changed, Tree
from aigon.proof.frozen import Frozen
from aigon.proof.inputs import find_inputs, list_inputs
from aigon.proof.proposed_allow import choose_made, read_renames
from aigon.proof.with_base import Inputs, list_base_concerns, prove_with_base, run_base_tests
from aigon.text.amounts import format_count, join_words
from aigon.text.patterns import compile_re

if TYPE_CHECKING:
    from aigon.proof.negative_control import Control


_WITHOUT_CODE = compile_re(r".*\.(?:md|rst|txt|adoc)|docs/.*")
"""Files of which nothing runs."""
TIMES = 3
"""How often a check is run in all on one tree before it is called broken and not flaky."""


class ProofResult(Struct, frozen=True):
    """`against` is what failed on the clean export, by check; `with_base` what a person has to look at: what failed
    with the base's tests laid over it, and the tests that the tree lost. `failed` says why it could not be carried out;
    `ran` what was run.
    """

    mechanism: str = ""
    ran: str = ""
    against: Mapping[str, Trouble] = field(default_factory=dict)
    with_base: Mapping[str, Trouble] = field(default_factory=dict)
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
    changed = find_inputs(git, job.base_commit, rows, record.observed, job.protection)
    touched = restore_base_versions(git, tree, rows, job.protection, changed)
    inputs = Inputs(list_inputs(git, job.base_commit, record.observed, job.protection), Observer(job.spec_path))
    bench, results, of_base = _run_checks(bench, tree, checks, touched, inputs, look)
    against = bench.find_failed(checks, results, whole=touched is None)
    if against and not world.stop.now:
        against = _tell_flaky(bench, tree, against, checks, whole=touched is None)
    failed, with_base = dict[str, Trouble](), dict[str, Trouble]()
    if touched and not against and not world.stop.now:
        bench, of_base, failed = prove_with_base(bench, touched, inputs, of_base)
        product = Tree(git, tree, rows, job.protection.part).read_changes("product") if failed else {}
        renames = choose_made(read_renames(job.spec), product) if failed else {}
        if renames and (renamed := restore_base_versions(git, tree, rows, job.protection, changed, renames)):
            bench, of_renamed, still = prove_with_base(bench, renamed, inputs, {})
            if not still:
                touched, of_base, failed = renamed, of_renamed, still
        # Tests of the base that the tree itself has lost: passed or not as they were, nobody will run them again.
        for check in checks:
            if lost := bench.find_lost(check, result := results[check.name], touched.files):
                with_base[check.name] = describe_lost(check, lost, result)
        with_base |= failed
    concerns = list_base_concerns(job, touched, with_base, base_passes=not failed) if touched else ()
    is_asked = any(concern.level == "review" for concern in concerns)
    weighed, control = 0, None
    if not against and not is_asked and not world.stop.now:  # else nothing that follows can change the outcome
        weighed, found, control = _examine_tests(bench, tree, rows, results, touched, of_base)
        unread = inputs.find_unread(bench, touched.tree if touched else tree, checks)
        concerns = (*concerns, *found, *unread)
    return ProofResult(
        bench.rooms.mechanism,
        _describe_ran(job, checks, weighed),
        against,
        with_base if is_asked else {},
        log=str(folder),
        lacking=tuple(bench.lacking),
        concerns=concerns,
        control=control,
    )


def _run_checks(
    bench: ProofBench,
    tree: str,
    checks: Sequence[Check],
    touched: BaseVersions | None,
    inputs: Inputs,
    look: Assessment,
) -> tuple[ProofBench, dict[str, Result], dict[str, Result]]:
    """Return the bench that goes on, what came of the tree and, where both can run at once, of the base's tests."""

    def run_clean(bench: ProofBench, name: str = "clean") -> dict[str, Result]:
        return bench.run(tree, checks, name) if touched else inputs.run(bench, tree, checks, name)

    def run_others(bench: ProofBench) -> dict[str, Result]:
        return run_base_tests(bench, touched, inputs) if touched else {}

    if not bench.rooms.apart:
        return bench, run_clean(bench), {}
    results, of_base = bench.run_both(run_clean, run_others)
    if not compare_with_workspace(bench.job, checks, look, results, every_test=True):
        return bench, results, of_base
    bench = bench.put_together()  # the change may need a network
    return bench, run_clean(bench, "with-network"), {}


def _examine_tests(
    bench: ProofBench,
    tree: str,
    rows: Sequence[Changed],
    results: Mapping[str, Result],
    touched: BaseVersions | None,
    of_base: Mapping[str, Result],
) -> tuple[int, tuple[Concern, ...], "Control | None"]:
    """Return how many new tests were weighed, what follows, and what the control of the base's tests came to.

    It is None if nothing that runs has changed.
    """
    checks = list_deciding(bench.job)
    laid_over, ran = (touched.tree, of_base) if touched else (tree, results)
    left_out = list[Concern]()
    if any(result.tests for result in ran.values()):
        from aigon.proof.control_plan import record_unbuilt_tests
        from aigon.proof.left_out_tests import find_left_out_tests

        left_out += find_left_out_tests(bench, checks, ran)
        bench = record_unbuilt_tests(bench, laid_over, checks, ran)

    def weigh(bench: ProofBench) -> tuple[int, tuple[Concern, ...]]:
        return _weigh_change(bench, tree, rows, checks, results, touched.files if touched else TestFiles({}, {}))

    def control_tests(bench: ProofBench) -> "Control":
        from aigon.proof.negative_control import run_control  # its parsers are needed nowhere else

        return run_control(bench, tree, laid_over, checks, ran, [row.path for row in rows])

    control: Control | None = None
    if all(_WITHOUT_CODE.fullmatch(row.path) for row in rows):
        weighed, concerns = weigh(bench)
    else:
        (weighed, concerns), control = bench.run_both(weigh, control_tests)
    if any(criterion.kind == "metric" for criterion in bench.job.spec.criteria):
        from aigon.proof.clock_control import control_clocks

        concerns = (*concerns, *control_clocks(bench, tree, checks, results))
    return weighed, (*concerns, *left_out), control


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
    from aigon.proof.hidden import find_hidden

    job, tree = bench.job, Tree(bench.world.workspace.trusted, name, rows, bench.job.protection.part)
    number, concerns = 0, list[Concern]()
    if any(result.tests for result in results.values()):
        number, concerns = _weigh_new_tests(bench, tree, checks, results, files)
    words = job.spec.raw.decode(errors="replace")
    concerns += find_hidden(tree, job.base_commit, bench.run, checks, results, words)
    return number, tuple(concerns)


def _weigh_new_tests(
    bench: ProofBench, tree: Tree, checks: Sequence[Check], results: Mapping[str, Result], files: TestFiles
) -> tuple[int, list[Concern]]:
    from aigon.proof.new_tests import RanChecks, make_concerns, remove_tests, weigh_new_tests

    ran = RanChecks(checks, results, bench.record.tested)
    worth = weigh_new_tests(tree, bench.run, ran, files, bench.world.check_env.get(ADDOPTS, ""))
    if worth.seed:
        write_atomic(bench.folder / "worth.json", json.dumps(to_builtins(worth), indent=1).encode())
    without: dict[str, Trouble] = {}
    if worth.worthless and (left := remove_tests(tree, worth)):
        counting = ran.list_counting()
        without = bench.find_failed(counting, bench.run(left, counting, "without-tests"), whole=False)
    summaries = {check: each.summary for check, each in without.items()}
    return len(worth.tests), list(make_concerns(worth, summaries))


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
