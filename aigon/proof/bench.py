"""Run deciding checks in clean rooms, and tell what speaks against each."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from msgspec import Struct, field
from msgspec.structs import replace

from aigon.checks.execution import CRITERION, HOPELESS, LONGEST, RUNS, make_skipped
from aigon.checks.schedule import Schedule, add_builds, find_answering, run_checks
from aigon.git import objects
from aigon.isolation import dependencies
from aigon.isolation.check_sandbox import CheckSandbox
from aigon.isolation.clean_room import CleanRoom
from aigon.job.assessment import Assessment
from aigon.job.job import Job
from aigon.job.results import Measurement, Result
from aigon.job.world import CheckEnvironment, World
from aigon.model.checks import Check, Finding, Problem, TestResult
from aigon.model.failures import describe_problem
from aigon.observation import Observer
from aigon.proof import criteria
from aigon.proof.base_tests import TestFiles, find_kept_tests, find_lost_tests, find_same_functions, leave_out_files
from aigon.proof.frozen import Frozen
from aigon.proof.rooms import Keeping, Products, Rooms, RoomTrees, open_room, rooms_for
from aigon.text.quoting import fold

_SUBJECT_ROLES = ("lint", "types", "build")
"""Roles of checks that read the project as their subject."""

SHOWN = 140
"""Characters of what went wrong first, as a question shows it; the log has all of it."""

A = TypeVar("A")
B = TypeVar("B")


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
    said = fold(said, SHOWN)  # what a person can do follows it, and belongs to the same lines
    more = f", and {len(problems) - 1} more" if len(problems) > 1 else ""
    return Trouble(f"{name_for_people(check)}: {said}{more}", problems)


def list_problems(result: Result) -> tuple[Problem, ...]:
    finding = result.finding
    return finding.problems or ((Problem(finding.excerpt[-1000:]),) if finding.excerpt else ())


class ProofBench(Struct, frozen=True):
    """The common ground of every run of one proof. `durations` are the last ones in seconds, by check.

    The tests in `theirs` need not pass as on the base: the spec allows to change them, or people did. `lacking` are
    submodules that no room had. What Python compiles on trees that are `of_people` alone serves the rooms after them.
    With an `observer`, checks that may read more than their subject run one after the other. `on_disk` keeps what they
    write in a tree out of memory.
    """

    job: Job
    world: World
    rooms: Rooms
    folder: Path
    durations: Mapping[str, float]
    record: Frozen
    theirs: tuple[str, ...]
    lacking: set[str] = field(default_factory=set)
    of_people: bool = False
    observer: Observer | None = None
    on_disk: bool = False

    def run(
        self, tree: str, checks: Sequence[Check], name: str, overlay: Mapping[str, bytes | None] | None = None
    ) -> dict[str, Result]:
        """Run checks on a clean export of `tree`; their output goes to the folder `name`. Raises AigonError.

        The files in `overlay` replace those of the tree, and are in no repository; what is None is left out. What is
        measured and too slow runs again on an export of its own, where it finds nothing that an earlier run kept.
        """
        if not checks:
            return {}
        checks = [replace(check, runs=1) for check in checks]
        results = self._run_once(tree, checks, name, overlay)
        for number in range(2, 1 if self.observer else RUNS + 1):
            slow = [check for check in checks if _is_worth_another_run(check, results[check.name], number)]
            again = self._run_once(tree, slow, f"{name}-{number}", overlay)
            results |= {each: _choose_quicker(results[each], result, number) for each, result in again.items()}
        return results

    def _run_once(
        self, tree: str, checks: Sequence[Check], name: str, overlay: Mapping[str, bytes | None] | None
    ) -> dict[str, Result]:
        if not checks or self.world.stop.now:
            return {check.name: Result(make_skipped(check, "the run was stopped")) for check in checks}
        # What is compiled serves later rooms, and what is read is observed, in the tree itself.
        private = not (self.of_people or self.observer)
        products = None if self.observer else self._find_products(tree, checks, overlay or ())  # no room has both
        asked = {check.name for check in checks}
        checks = checks if products else add_builds(checks, self.job.checks)
        keep: Keeping = "disk" if self.on_disk or any(check.writes for check in checks) else "memory"
        made = open_room(self.job, self.world, self.rooms, tree, private=private, keep=keep, products=products)
        with made as (inside, room):
            self.lacking.update(room.exported.missing)
            room.tree.write_over(overlay or {})
            # Every check, whatever another says; nothing that was remembered counts.
            plan = Schedule(
                0,
                self.folder / name,
                lambda _paths: "",
                self.durations,
                self.job.slots,
                stop_on_first_failure=False,
                use_cache=False,
            )
            if self.observer:
                results = self._run_observed(inside, room, checks, plan, self.observer)
            else:
                results = _run_silently(inside, checks, plan)
            is_built = not any(each.finding.role == "build" and each.finding.status != "pass" for each in results)
            if private and is_built and not overlay:
                self.world.get(Products).keep(self.job, self.world, tree, room)
            if self.of_people and not self.world.find(dependencies.Bytecode):
                place = self.world.home / "bytecode" / self.job.name
                if compiled := dependencies.take_bytecode(room, place, self.rooms.needs.lent):
                    self.world.attend(compiled)
            return {name: result for result in results if (name := result.finding.check) in asked}

    def _find_products(self, tree: str, checks: Sequence[Check], changed: Iterable[str]) -> Path | None:
        """Return what builds made of this tree before, if neither they are asked for nor what they read has changed."""
        if any(check.makes_products for check in checks):
            return None
        reads_only = all(check.role in _SUBJECT_ROLES for check in checks)
        is_same = reads_only or all(self.job.protection.part(path) == "tests" for path in changed)
        return self.world.get(Products).folders.get(tree) if is_same else None

    def _run_observed(
        self, inside: World, room: CleanRoom, checks: Sequence[Check], plan: Schedule, observer: Observer
    ) -> tuple[Result, ...]:
        ran = [*_run_silently(inside, [check for check in checks if check.role in _SUBJECT_ROLES], plan)]
        place = inside.checks_run_in
        observer.enter(place, self.rooms.entries)
        watched = [check for check in checks if check.role not in _SUBJECT_ROLES]
        answering = find_answering(watched, place.env.get("PATH", ""))
        for check in (check for check in watched if check.name not in answering):
            dependencies.forget_own_bytecode(room, self.rooms.needs.lent)  # else the sources are not read again
            same = [check, *(each for each in watched if answering.get(each.name) == check.name)]

            def run(place: CheckEnvironment, same: Sequence[Check] = same) -> None:
                ran.extend(_run_silently(replace(inside, place=place), same, plan))

            observer.observe([*map(name_in_record, same)], place, run)
        return tuple(ran)

    def read_files(self, tree: str, paths: Iterable[str]) -> dict[str, bytes]:
        """Return the content of those of these files that the tree has, without links."""
        git = self.world.workspace.trusted
        wanted = tuple(paths)
        entries = objects.list_entries(git, tree, wanted) if wanted else {}
        files = {path: entry.sha for path, entry in entries.items() if entry.mode != "120000"}
        blobs = objects.read_blobs(git, files.values())
        return {path: blobs[sha] for path, sha in files.items()}

    def find_lost(self, check: Check, result: Result, files: TestFiles | None = None) -> tuple[Problem, ...]:
        """Return the base's tests that did not pass now.

        If `files` were touched, the base's version of them runs as well. Then a test is not lost if it is elsewhere in
        them, or if its function has other parameters, subtests or rows.
        """
        tested = self.record.tested.get(name_in_record(check))
        if tested is None:
            return ()
        base = leave_out_files(tested.tests, self.theirs)
        if files and (gone := [test for test in base if test not in result.tests]):
            kept = find_kept_tests(gone, result.tests, files) | find_same_functions(gone, result.tests, files)
            base = {test: outcome for test, outcome in base.items() if test not in kept}
        return find_lost_tests(base, result.tests, tested.reported, result.reported)

    def set_apart(self, checks: Sequence[Check]) -> "ProofBench":
        """Return the same with rooms that are apart, if that can be and no check needs to be alone or to share."""
        box = self.world.find(CheckSandbox)
        if box is None or {box.mechanism, self.rooms.mechanism} != {"namespaces"} or self.job.slots < 2:
            return self
        if any(check.exclusive or box.shares(check.name) for check in checks):
            return self
        return replace(self, rooms=replace(self.rooms, apart=True))

    def put_together(self) -> "ProofBench":
        """Return the same with rooms that have the network which the project asks for."""
        return replace(self, rooms=replace(self.rooms, apart=False))

    def run_both(self, one: Callable[["ProofBench"], A], other: Callable[["ProofBench"], B]) -> tuple[A, B]:
        """Do two things that do not depend on each other, at the same time if rooms are apart."""
        if not self.rooms.apart:
            return one(self), other(self)
        beside = replace(self, rooms=replace(self.rooms, suffix="-beside"))
        with ThreadPoolExecutor(1, thread_name_prefix="beside") as pool:
            later = pool.submit(other, beside)
            return one(self), later.result()

    def list_base_tests(self, check: Check) -> dict[str, TestResult]:
        """Return the tests that a check ran on the base, without those that need not pass as they did there."""
        tested = self.record.tested.get(name_in_record(check))
        return leave_out_files(tested.tests, self.theirs) if tested else {}

    def find_failed(self, checks: Sequence[Check], results: Mapping[str, Result], *, whole: bool) -> dict[str, Trouble]:
        """Return what failed, by check; with `whole` also what no longer runs of the base's tests."""
        failed = {}
        for check in checks:
            if trouble := find_trouble(self.job, check, results[check.name]):
                failed[check.name] = trouble
            elif whole and (lost := self.find_lost(check, results[check.name])):
                failed[check.name] = describe_lost(check, lost, results[check.name])
        return failed


def _run_silently(inside: World, checks: Sequence[Check], plan: Schedule) -> tuple[Result, ...]:
    """Run checks and tell no step: to those who watch, a proof is one check."""
    running = run_checks(inside, checks, plan)
    try:
        while True:
            next(running)
    except StopIteration as end:
        results: tuple[Result, ...] = end.value
    return results


def _is_worth_another_run(check: Check, result: Result, number: int) -> bool:
    if result.measured is None or result.finding.duration * number > LONGEST:
        return False
    return check.enough < result.measured.value <= HOPELESS * check.enough


def _choose_quicker(result: Result, again: Result, runs: int) -> Result:
    """Return the later result with the better measurement of both; a failed one stays failed."""
    if result.measured is None or again.measured is None:
        return again
    return replace(again, measured=Measurement(min(result.measured.value, again.measured.value), runs))


def make_bench(
    job: Job, world: World, record: Frozen, tree: str, folder: Path, findings: Sequence[Finding]
) -> ProofBench:
    """Return the rooms for a proof of this tree. Raises AigonError (exit 7) if none can be made."""
    rooms = rooms_for(job, world, tree, record.folders, folder)
    for shared in (Products, RoomTrees):
        world.get(shared)  # before two rooms are open at a time
    theirs = tuple(record.theirs)
    if job.protection.allow:
        paths = objects.list_entries(world.workspace.trusted, job.base_commit)
        theirs = (*filter(job.protection.is_allowed, paths), *theirs)
    durations = {finding.check: finding.duration for finding in findings}
    return ProofBench(job, world, rooms, folder, durations, record, theirs)


def list_deciding(job: Job) -> tuple[Check, ...]:
    """Return the checks that have to pass, those at the end only among them, and the commands of the criteria."""
    known = job.demand.known_failures
    checks = tuple(check for check in job.checks if check.name not in known)
    return (*checks, *criteria.list_commands(job.required))
