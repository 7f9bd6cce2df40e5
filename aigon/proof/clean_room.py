"""Run everything that decides once more on a clean export of a tree, where the workspace cannot be reached."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from aigon.checks.dependencies import Dependencies, choose_dependencies, keep_folder, locate_kept, run_setup
from aigon.checks.execution import CRITERION, make_skipped
from aigon.checks.measurement import HOPELESS, LONGEST, RUNS
from aigon.checks.reports import ADDOPTS
from aigon.checks.schedule import Schedule, run_checks
from aigon.git import objects
from aigon.isolation import clean_room, dependencies, mechanisms
from aigon.isolation.check_sandbox import CheckSandbox
from aigon.isolation.clean_room import CleanRoom
from aigon.isolation.dependencies import Bytecode
from aigon.isolation.machine_paths import find_shared_tools, list_other_checkouts
from aigon.isolation.mechanisms import Isolation
from aigon.job.job import Job
from aigon.job.results import Measurement, Result
from aigon.job.world import CheckEnvironment, CheckStart, World
from aigon.model.changes import Concern
from aigon.model.checks import Check, Finding, Problem, TestResult
from aigon.observation.observer import Observer
from aigon.proof import criteria
from aigon.proof.base_tests import BaseVersions, find_lost_tests, leave_out_files, restore_base_versions
from aigon.proof.findings import Changed
from aigon.proof.frozen import Frozen
from aigon.proof.inputs import find_inputs
from aigon.proof.kept_tests import TestFiles, find_kept_tests
from aigon.text.amounts import join_words

if TYPE_CHECKING:
    from aigon.proof.negative_control import Control

_RUNNER = re.compile(r"\b(?:make|just|task|npm|pnpm|yarn|bun|tox|nox)\b")
"""Programs that do what a file of the project says."""
_SUBJECT_ROLES = ("lint", "types", "build")
"""Roles of checks that read the project as their subject."""
TIMES = 3
"""How often a check is run in all on one tree before it is called broken and not flaky."""


@dataclass(frozen=True, slots=True)
class Rooms:
    """How rooms are made for one proof: by which mechanism, with which dependencies, logging where."""

    mechanism: Isolation
    needs: Dependencies
    logs: Path


def rooms_for(job: Job, world: World, tree: str, before: Mapping[str, str], logs: Path) -> Rooms:
    """Return what the rooms of one proof have in common. Dependencies that have changed are made here, once.

    `before` are the dependency folders as they were before any agent ran. Raises AigonError (exit 7).
    """
    root = world.workspace.root
    entries = objects.list_entries(world.workspace.trusted, tree)
    needs = choose_dependencies(root, job.proof.setups, before, entries)
    rooms = Rooms(mechanisms.choose_isolation(root, job.proof.isolation, job.proof.network), needs, logs)
    for setup in needs.due:
        seen_as = root if rooms.mechanism in ("bwrap", "namespaces") else _locate_rooms(job, world)
        place = locate_kept(world.home, setup, entries, job.proof.setups, seen_as)
        if not place.exists():
            own = _keep_from_caches(job, world) if dependencies.has_linked_file(root / setup.makes) else (job, world)
            with opened(*own, rooms, tree) as (inside, room):
                run_setup(_put_online(inside, room), setup, logs)
                keep_folder(room.root / setup.makes, place)
        place.parent.touch()  # in use: others that make theirs leave it alone
        needs = replace(needs, given={**needs.given, setup.makes: place})
        rooms = replace(rooms, needs=needs)
    return rooms


def _keep_from_caches(job: Job, world: World) -> tuple[Job, World]:
    """Return the same with download caches that are empty.

    Package managers link files of a cache into the folder: what was changed in one place was changed in both.
    """
    names = {name for name, place in job.proof.caches.items() if place.startswith(".cache/")}
    caches = {name: place for name, place in job.proof.caches.items() if name not in names}
    env = {name: value for name, value in world.check_env.items() if name not in names}
    plan = replace(job.proof, home="throwaway", caches=caches)
    return replace(job, proof=plan), replace(world, check_env=env)


@contextmanager
def opened(job: Job, world: World, rooms: Rooms, tree: str) -> Iterator[tuple[World, CleanRoom]]:
    """Yield a world whose checks run in a room with `tree`. Raises AigonError (exit 7) if none can be made."""
    root = world.workspace.root
    with clean_room.open_room(
        world.workspace.trusted,
        tree,
        _locate_rooms(job, world),
        world.check_env,
        isolation=rooms.mechanism,
        hidden=(world.home, *list_other_checkouts(root)),
        shown=find_shared_tools(root, world.check_env.get("PATH", ""), rooms.needs.lent),
        lent={**{name: root / name for name in rooms.needs.lent}, **rooms.needs.given},
        home=job.proof.home,
        places=job.proof.caches,
        box=(box := world.find(CheckSandbox)),
    ) as room:

        def wrap_command(argv: Sequence[str], cwd: Path, start: CheckStart) -> Sequence[str]:
            is_closed = job.proof.network == "closed" and not (box and box.opens_network(start.name))
            return (room.wrap_offline if is_closed else room.wrap_command)(argv, cwd, start)

        place = CheckEnvironment(room.seen_as, room.env, wrap_command, room.scratch, room.root)
        inside = replace(world, place=place, keeps=False)
        if compiled := world.find(Bytecode):
            compiled.put(room, rooms.needs.lent)
        for setup in rooms.needs.each_time:
            run_setup(_put_online(inside, room), setup, rooms.logs)
        yield inside, room


def _put_online(inside: World, room: CleanRoom) -> World:
    """Return the same with a network, for what fetches dependencies."""
    assert inside.place is not None, "a room is a place"
    return replace(inside, place=replace(inside.place, wrap_command=room.wrap_command))


def _locate_rooms(job: Job, world: World) -> Path:
    """Return the same folder for each room of a feature, so that what is made for one fits the next."""
    return (world.rooms or world.home / "rooms") / job.name


@dataclass(frozen=True, slots=True)
class Trouble:
    """What speaks against one check or command."""

    summary: str
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class ProofResult:
    """`against` is what failed on the clean export, by check; `with_base` what failed with the base's tests laid over
    it, which `touched` describes. `failed` says why it could not be carried out; `ran` what was run.
    """

    mechanism: str = ""
    ran: str = ""
    against: Mapping[str, Trouble] = field(default_factory=dict)
    with_base: Mapping[str, Trouble] = field(default_factory=dict)
    touched: BaseVersions | None = None
    failed: str = ""
    log: str = ""
    lacking: tuple[str, ...] = ()
    concerns: tuple[Concern, ...] = ()
    control: "Control | None" = None


@dataclass(frozen=True, slots=True)
class ProofBench:
    """What every run of one proof has in common. `durations` are the last ones in seconds, by check.

    The tests in `theirs` need not pass as on the base: the spec allows to change them, or people did. `lacking` are
    submodules that no room had.
    """

    job: Job
    world: World
    rooms: Rooms
    folder: Path
    durations: Mapping[str, float]
    record: Frozen
    theirs: tuple[str, ...]
    lacking: set[str] = field(default_factory=set)

    def run(
        self,
        tree: str,
        checks: Sequence[Check],
        name: str,
        *,
        of_people: bool = False,
        observer: Observer | None = None,
        overlay: Mapping[str, bytes | None] | None = None,
    ) -> dict[str, Result]:
        """Run checks on a clean export of `tree`; their output goes to the folder `name`. Raises AigonError.

        What Python compiles on a tree that is `of_people` alone serves the rooms after it. With an `observer`
        those that may read more than their subject run one after the other. The files in `overlay` stand in place of
        the tree's, and are in no repository; what is None is left out. What is measured and too slow runs again on an
        export of its own, where it finds nothing that an earlier run kept.
        """
        if not checks:
            return {}
        checks = [replace(check, runs=1) for check in checks]
        results = self._run_once(tree, checks, name, of_people, observer, overlay)
        for number in range(2, 1 if observer else RUNS + 1):
            slow = [check for check in checks if _is_worth_another_run(check, results[check.name], number)]
            again = self._run_once(tree, slow, f"{name}-{number}", overlay=overlay)
            results |= {each: _choose_quicker(results[each], result, number) for each, result in again.items()}
        return results

    def _run_once(
        self,
        tree: str,
        checks: Sequence[Check],
        name: str,
        of_people: bool = False,
        observer: Observer | None = None,
        overlay: Mapping[str, bytes | None] | None = None,
    ) -> dict[str, Result]:
        if not checks or self.world.stop.now:
            return {check.name: Result(make_skipped(check, "the run was stopped")) for check in checks}
        with opened(self.job, self.world, self.rooms, tree) as (inside, room):
            self.lacking.update(room.exported.missing)
            for path, data in (overlay or {}).items():
                _write_over(room.root / path, data)
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
            if observer:
                results = self._run_observed(inside, room, checks, plan, observer)
            else:
                results = _run_silently(inside, checks, plan)
            if of_people:
                place = self.world.home / "bytecode" / self.job.name
                if compiled := dependencies.take_bytecode(room, place, self.rooms.needs.lent):
                    self.world.attend(compiled)
            return {result.finding.check: result for result in results}

    def _run_observed(
        self, inside: World, room: CleanRoom, checks: Sequence[Check], plan: Schedule, observer: Observer
    ) -> tuple[Result, ...]:
        ran = [*_run_silently(inside, [check for check in checks if check.role in _SUBJECT_ROLES], plan)]
        place = inside.checks_run_in
        observer.enter(place, objects.list_entries(self.world.workspace.trusted, self.world.workspace.tree()))
        for check in (check for check in checks if check.role not in _SUBJECT_ROLES):
            dependencies.forget_own_bytecode(room, self.rooms.needs.lent)  # else the sources are not read again

            def run(place: CheckEnvironment, check: Check = check) -> None:
                ran.extend(_run_silently(replace(inside, place=place), [check], plan))

            observer.observe(name_in_record(check), place, run)
        return tuple(ran)

    def find_lost(self, check: Check, result: Result, files: TestFiles | None = None) -> tuple[Problem, ...]:
        """Return the base's tests that did not pass now, without those that are elsewhere in the touched `files`."""
        tested = self.record.tested.get(name_in_record(check))
        if tested is None:
            return ()
        base = leave_out_files(tested.tests, self.theirs)
        if files and (gone := [test for test in base if test not in result.tests]):
            kept = find_kept_tests(gone, result.tests, files)
            base = {test: outcome for test, outcome in base.items() if test not in kept}
        return find_lost_tests(base, result.tests, tested.reported, result.reported)

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
                failed[check.name] = _describe_lost(check, lost)
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


def _write_over(file: Path, data: bytes | None) -> None:
    """Give a file of a room another content, with the mode that it has; None: remove it."""
    if data is None or file.is_symlink():
        file.unlink(missing_ok=True)
    if data is not None:
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(data)


def _is_worth_another_run(check: Check, result: Result, number: int) -> bool:
    if result.measured is None or result.finding.duration * number > LONGEST:
        return False
    return check.enough < result.measured.value <= HOPELESS * check.enough


def _choose_quicker(result: Result, again: Result, runs: int) -> Result:
    """Return the later result with the better measurement of both; one that failed stands."""
    if result.measured is None or again.measured is None:
        return again
    return replace(again, measured=Measurement(min(result.measured.value, again.measured.value), runs))


def make_bench(
    job: Job, world: World, record: Frozen, tree: str, folder: Path, findings: Sequence[Finding]
) -> ProofBench:
    """Return the rooms for a proof of this tree. Raises AigonError (exit 7) if none can be made."""
    rooms = rooms_for(job, world, tree, record.folders, folder)
    theirs = tuple(record.theirs)
    if job.protection.allow:
        paths = objects.list_entries(world.workspace.trusted, job.base_commit)
        theirs = (*filter(job.protection.allowed, paths), *theirs)
    durations = {finding.check: finding.duration for finding in findings}
    return ProofBench(job, world, rooms, folder, durations, record, theirs)


def list_deciding(job: Job) -> tuple[Check, ...]:
    """Return the checks that have to pass, those at the end only among them, and the commands of the criteria."""
    known = job.demand.known_failures
    checks = tuple(check for check in job.checks if check.name not in known)
    return (*checks, *criteria.list_commands(job.spec.criteria))


def run_proof(
    job: Job, world: World, record: Frozen, rows: Sequence[Changed], findings: Sequence[Finding], folder: Path
) -> ProofResult:
    """Prove the snapshot that the workspace holds. Raises AigonError (exit 7) if no room can be made."""
    git, tree = world.workspace.trusted, world.workspace.tree()
    bench = make_bench(job, world, record, tree, folder, findings)
    checks = list_deciding(job)
    inputs = find_inputs(git, job.base_commit, rows, record.observed, job.protection)
    touched = restore_base_versions(git, tree, rows, job.protection, inputs)
    whole = touched is None
    results = bench.run(tree, checks, "clean")
    against = bench.find_failed(checks, results, whole=whole)
    if against and not world.stop.now:
        against = _tell_flaky(bench, tree, against, checks, whole=whole)
    with_base: dict[str, Trouble] = {}
    control, laid_over, of_base = None, tree, results
    if touched and not against and not world.stop.now:
        # Tests of the base that the tree itself has lost: passed or not as they were, nobody will run them again.
        lost = ((check, bench.find_lost(check, results[check.name], touched.files)) for check in checks)
        with_base = {check.name: _describe_lost(check, problems) for check, problems in lost if problems}
        failed, of_base = _run_with_base(bench, touched)
        with_base, laid_over = with_base | failed, touched.tree
    concerns: tuple[Concern, ...] = ()
    weighed = 0
    if not against and not world.stop.now:
        files = touched.files if touched else TestFiles({}, {})
        weighed, concerns = _weigh_change(bench, tree, rows, checks, results, files)
    if not against and not world.stop.now:
        from aigon.proof.clock_control import control_clocks, list_metrics
        from aigon.proof.negative_control import run_control  # its parsers are needed nowhere else

        if metrics := list_metrics(job.spec.criteria, checks):
            concerns = (*concerns, *control_clocks(bench, tree, metrics, results))
        control = run_control(bench, tree, laid_over, checks, of_base, [row.path for row in rows])
    commands = len(criteria.list_commands(job.spec.criteria))
    parts = ((len(checks) - commands, "check"), (commands, "command"), (weighed, "new test"))
    ran = join_words([f"{number} {noun}{'s' * (number > 1)}" for number, noun in parts if number] or ["nothing to run"])
    return ProofResult(
        bench.rooms.mechanism,
        ran,
        against,
        with_base,
        touched,
        log=str(folder),
        lacking=tuple(bench.lacking),
        concerns=concerns,
        control=control,
    )


def _weigh_change(
    bench: ProofBench,
    name: str,
    rows: Sequence[Changed],
    checks: Sequence[Check],
    results: Mapping[str, Result],
    files: TestFiles,
) -> tuple[int, tuple[Concern, ...]]:
    """Return how many new tests there are, and what follows if some prove nothing or checkers are kept from seeing."""
    from aigon.proof.worth.hidden import find_hidden  # needed nowhere else
    from aigon.proof.worth.new_tests import list_counting, make_concerns, remove_tests, weigh_new_tests
    from aigon.proof.worth.tree import Tree

    job, tree = bench.job, Tree(bench.world.workspace.trusted, name, rows, bench.job.protection.part)
    options = bench.world.check_env.get(ADDOPTS, "")
    worth = weigh_new_tests(tree, bench.run, checks, results, bench.record.tested, files, options)
    without: dict[str, Trouble] = {}
    if worth.worthless and (left := remove_tests(tree, worth)):
        counting = list_counting(checks, results)
        without = bench.find_failed(counting, bench.run(left, counting, "without-tests"), whole=False)
    concerns = [*make_concerns(worth, {check: each.summary for check, each in without.items()})]
    words = job.spec.raw.decode(errors="replace")
    concerns += find_hidden(tree, job.base_commit, bench.run, checks, results, words)
    return len(worth.tests), tuple(concerns)


def _run_with_base(bench: ProofBench, touched: BaseVersions) -> tuple[dict[str, Trouble], dict[str, Result]]:
    """Return what fails with the base's tests and configuration in place of the agent's, and all results."""
    job = bench.job
    commands = criteria.list_commands(job.spec.criteria)
    checks = [check for check in list_deciding(job) if check not in commands]
    results = bench.run(touched.tree, checks, "base-tests") | bench.run(touched.with_new_tests, commands, "base-tests")
    failed: dict[str, Trouble] = {}
    for check in checks:
        result = results[check.name]
        if lost := bench.find_lost(check, result):
            failed[check.name] = _describe_lost(check, lost)
        elif not _only_missed_threshold(check, result) and (trouble := find_trouble(job, check, result)):
            failed[check.name] = trouble
    for command in commands:
        if trouble := _judge_command(bench, touched, command, results[command.name]):
            failed[command.name] = trouble
    return failed, results


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
        return Trouble(f"{name_for_people(command)}: {failing[0]} fails{more}", _list_problems(result))
    words = " ".join(command.argv)
    named = any(path.rpartition("/")[2] in words for path in touched.configuration)
    runs_configured = named or (touched.configuration and _RUNNER.search(words))
    # What reads none of the inputs passes here as it did on the tree itself.
    judged = (runs_configured or touched.inputs) and not result.reported
    return find_trouble(bench.job, command, result) if judged else None


def _only_missed_threshold(check: Check, result: Result) -> bool:
    """Whether every test that ran passed and only something about the whole was missed (coverage, for one): the new
    code is not what the base's tests alone have to cover."""
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


def find_failure(job: Job, check: Check, result: Result) -> str:
    """Return why a result does not count as proven; empty if it does."""
    if result.finding.status != "pass":
        return result.finding.summary or result.finding.status
    verdict = criteria.judge_by_command(job.spec.criteria, check, result)
    return verdict.reason if verdict and verdict.status != "met" else ""


def find_trouble(job: Job, check: Check, result: Result) -> Trouble | None:
    """Return what speaks against a check by its own result; None if it passed."""
    why = find_failure(job, check, result)
    return Trouble(f"{name_for_people(check)}: {why}", _list_problems(result)) if why else None


def name_in_record(check: Check) -> str:
    """Return what the record calls a check: a criterion's command by its words, since criteria are renumbered."""
    return check.name if check.source != CRITERION else f"criterion: {check.argv[-1]}"


def name_for_people(check: Check) -> str:
    """Return `criterion 3` for a criterion's command, else the check's title."""
    return f"criterion {check.name.rpartition('-')[2]}" if check.source == CRITERION else check.title


def _describe_lost(check: Check, problems: tuple[Problem, ...]) -> Trouble:
    first = problems[0]
    more = f" and {len(problems) - 1} more" if len(problems) > 1 else ""
    lost = f"tests of the base do not pass: {first.test}: {first.message}{more}"
    return Trouble(f"{name_for_people(check)}: {lost}", problems)


def _list_problems(result: Result) -> tuple[Problem, ...]:
    finding = result.finding
    return finding.problems or ((Problem(finding.excerpt[-1000:]),) if finding.excerpt else ())
