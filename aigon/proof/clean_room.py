"""Run checks on a clean export of a tree, where the workspace cannot be reached."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from aigon.checks.dependencies import Dependencies, choose_dependencies, keep_folder, locate_kept, run_setup
from aigon.checks.execution import CRITERION
from aigon.checks.schedule import Schedule, run_checks
from aigon.git import objects
from aigon.isolation import clean_room, dependencies, mechanisms
from aigon.isolation.clean_room import CleanRoom
from aigon.isolation.dependencies import Bytecode
from aigon.isolation.machine_paths import find_shared_tools, list_other_checkouts
from aigon.isolation.mechanisms import Isolation
from aigon.job.job import Job
from aigon.job.results import Result
from aigon.job.world import CheckEnvironment, World
from aigon.model.checks import Check, Finding, Problem
from aigon.proof import criteria
from aigon.proof.base_tests import Relaid, less, lost, relaid
from aigon.proof.findings import Changed
from aigon.proof.frozen import Frozen


@dataclass(frozen=True, slots=True)
class Rooms:
    """How rooms are made for one proof: by which mechanism, with which dependencies, logging where."""

    mechanism: Isolation
    needs: Dependencies
    logs: Path


def rooms_for(job: Job, world: World, tree: str, before: Mapping[str, str], logs: Path) -> Rooms:
    """What the rooms of one proof have in common; dependencies that have changed are made here, once.

    `before` are the dependency folders as they were before any agent ran. Raises AigonError (exit 7).
    """
    root = world.workspace.root
    entries = objects.list_entries(world.workspace.trusted, tree)
    needs = choose_dependencies(root, job.proof.setups, before, entries)
    rooms = Rooms(mechanisms.choose_isolation(root, job.proof.isolation, job.proof.network), needs, logs)
    for setup in needs.due:
        seen_as = root if rooms.mechanism in ("bwrap", "namespaces") else _folder(job, world)
        place = locate_kept(world.home, setup, entries, job.proof.setups, seen_as)
        if not place.exists():
            with opened(job, world, rooms, tree) as (inside, room):
                run_setup(_online(inside, room), setup, logs)
                keep_folder(room.root / setup.makes, place)
        place.parent.touch()  # in use: others that make theirs let it be
        needs = replace(needs, given={**needs.given, setup.makes: place})
        rooms = replace(rooms, needs=needs)
    return rooms


@contextmanager
def opened(job: Job, world: World, rooms: Rooms, tree: str) -> Iterator[tuple[World, CleanRoom]]:
    """A world whose checks run in a room with `tree`. Raises AigonError (exit 7) where none can be made."""
    root = world.workspace.root
    with clean_room.open_room(
        world.workspace.trusted,
        tree,
        _folder(job, world),
        world.check_env,
        isolation=rooms.mechanism,
        hidden=(world.home, *list_other_checkouts(root)),
        shown=find_shared_tools(root, world.check_env.get("PATH", ""), rooms.needs.lent),
        lent={**{name: root / name for name in rooms.needs.lent}, **rooms.needs.given},
        home=job.proof.home,
        places=job.proof.caches,
    ) as room:
        wrap_command = room.wrap_offline if job.proof.network == "closed" else room.wrap_command
        place = CheckEnvironment(room.seen_as, room.env, wrap_command, room.scratch, room.root)
        inside = replace(world, place=place, keeps=False)
        if compiled := world.find(Bytecode):
            compiled.put(room, rooms.needs.lent)
        for setup in rooms.needs.each_time:
            run_setup(_online(inside, room), setup, rooms.logs)
        yield inside, room


def _online(inside: World, room: CleanRoom) -> World:
    """The same with a network, for what fetches dependencies."""
    assert inside.place is not None, "a room is a place"
    return replace(inside, place=replace(inside.place, wrap_command=room.wrap_command))


def _folder(job: Job, world: World) -> Path:
    """Where the rooms of a feature are made: the same place each time, so that what is made for it fits again."""
    return (world.rooms or world.home / "rooms") / job.name


def run_in(inside: World, checks: Sequence[Check], plan: Schedule) -> dict[str, Result]:
    """Run checks, by name, without telling every step: to those who watch, a proof is one check."""
    running = run_checks(inside, checks, plan)
    try:
        while True:
            next(running)
    except StopIteration as end:
        results: tuple[Result, ...] = end.value
        return {result.finding.check: result for result in results}


def plan_for(job: Job, logs: Path, durations: Mapping[str, float]) -> Schedule:
    """Every check, whatever another says; nothing that was remembered counts."""
    return Schedule(0, logs, lambda _paths: "", durations, job.slots, stop_on_first_failure=False, use_cache=False)


_RUNNER = re.compile(r"\b(?:make|just|task|npm|pnpm|yarn|bun|tox|nox)\b")
"""Programs that do what a file of the project says."""
TIMES = 3
"""How often a check is run in all on one tree before it is called broken and not flaky."""


@dataclass(frozen=True, slots=True)
class Trouble:
    """What speaks against one check or command."""

    summary: str
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True, slots=True)
class ProofResult:
    """`against` is what was red on the clean export, by check; `with_base` what was red with the base's tests laid
    over it, which `touched` describes. `failed` says why it could not be carried out; `ran` what was run.
    """

    mechanism: str = ""
    ran: str = ""
    against: Mapping[str, Trouble] = field(default_factory=dict)
    with_base: Mapping[str, Trouble] = field(default_factory=dict)
    touched: Relaid | None = None
    failed: str = ""
    log: str = ""
    lacking: tuple[str, ...] = ()


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

    def run(self, tree: str, checks: Sequence[Check], name: str, *, of_people: bool = False) -> dict[str, Result]:
        """Run checks on a clean export of `tree`; their output goes to the folder `name`. Raises AigonError.

        What Python compiles on a tree that is `of_people` alone serves the rooms after it.
        """
        if not checks:
            return {}
        with opened(self.job, self.world, self.rooms, tree) as (inside, room):
            self.lacking.update(room.exported.missing)
            results = run_in(inside, checks, plan_for(self.job, self.folder / name, self.durations))
            if of_people:
                place = self.world.home / "bytecode" / self.job.name
                if compiled := dependencies.take_bytecode(room, place, self.rooms.needs.lent):
                    self.world.attend(compiled)
            return results

    def missing(self, check: Check, result: Result) -> tuple[Problem, ...]:
        """The base's tests that did not pass now."""
        tested = self.record.tested.get(key(check))
        if tested is None:
            return ()
        return lost(less(tested.tests, self.theirs), result.tests, tested.reported, result.reported)


def bench(job: Job, world: World, record: Frozen, tree: str, folder: Path, findings: Sequence[Finding]) -> ProofBench:
    """Rooms for a proof of this tree. Raises AigonError (exit 7) where none can be made."""
    rooms = rooms_for(job, world, tree, record.folders, folder)
    allowed = (
        path for path in objects.list_entries(world.workspace.trusted, job.base_commit) if job.protection.allowed(path)
    )
    theirs = (*allowed, *record.theirs) if job.protection.allow else tuple(record.theirs)
    return ProofBench(
        job, world, rooms, folder, {finding.check: finding.duration for finding in findings}, record, theirs
    )


def deciding(job: Job) -> tuple[Check, ...]:
    """The checks that have to be green, those at the end only among them, and the commands of the criteria."""
    known = job.demand.known_failures
    checks = tuple(check for check in job.checks if check.name not in known)
    return (*checks, *criteria.list_commands(job.spec.criteria))


def carried_out(
    job: Job, world: World, record: Frozen, rows: Sequence[Changed], findings: Sequence[Finding], folder: Path
) -> ProofResult:
    """The proof of the snapshot that the workspace holds. Raises AigonError (exit 7) where it cannot be made."""
    tree = world.workspace.tree()
    on = bench(job, world, record, tree, folder, findings)
    checks = deciding(job)
    touched = relaid(world.workspace.trusted, tree, tuple(rows), job.protection)
    results = on.run(tree, checks, "clean")
    against = dict(_against(on, checks, results, whole=touched is None))
    if against and not world.stop.now:
        against = _told_apart(on, tree, against, checks, whole=touched is None)
    with_base: dict[str, Trouble] = {}
    if touched and not against and not world.stop.now:
        with_base = {**_no_longer(on, checks, results), **dict(_with_base(on, touched))}
    return ProofResult(
        on.rooms.mechanism, _ran(job), against, with_base, touched, log=str(folder), lacking=tuple(on.lacking)
    )


def _ran(job: Job) -> str:
    checks, commands = len(deciding(job)), len(criteria.list_commands(job.spec.criteria))
    parts = ((checks - commands, "check"), (commands, "command"))
    return " and ".join(f"{number} {noun}{'s' * (number > 1)}" for number, noun in parts if number) or "nothing to run"


def _against(
    on: ProofBench, checks: Sequence[Check], results: Mapping[str, Result], *, whole: bool
) -> Iterator[tuple[str, Trouble]]:
    """What is red; with `whole` also what no longer runs of the base's tests."""
    for check in checks:
        result = results[check.name]
        if why := red(on.job, check, result):
            yield check.name, Trouble(f"{named(check)}: {why}", _problems(result))
        elif whole and (gone := on.missing(check, result)):
            yield check.name, _gone(check, gone)


def _no_longer(on: ProofBench, checks: Sequence[Check], results: Mapping[str, Result]) -> dict[str, Trouble]:
    """Tests of the base that the tree itself has lost: green or not as they were, nobody will run them again."""
    lost_ = ((check, on.missing(check, results[check.name])) for check in checks)
    return {check.name: _gone(check, problems) for check, problems in lost_ if problems}


def _with_base(on: ProofBench, touched: Relaid) -> Iterator[tuple[str, Trouble]]:
    """What is red with the base's tests and configuration in place of the agent's."""
    commands = criteria.list_commands(on.job.spec.criteria)
    checks = [check for check in deciding(on.job) if check not in commands]
    results = on.run(touched.tree, checks, "base-tests") | on.run(touched.with_new_tests, commands, "base-tests")
    for check in checks:
        result = results[check.name]
        why = "" if _only_a_threshold(check, result) else red(on.job, check, result)
        if gone := on.missing(check, result):
            yield check.name, _gone(check, gone)
        elif why:
            yield check.name, Trouble(f"{named(check)}: {why}", _problems(result))
    for command in commands:
        if why := _of_a_command(on, touched, command, results[command.name]):
            yield command.name, Trouble(f"{named(command)}: {why}", _problems(results[command.name]))


def _of_a_command(on: ProofBench, touched: Relaid, command: Check, result: Result) -> str:
    """What speaks against a criterion's command: tests of the base that fail in it, or what it runs by its own words.

    It may be about tests that the agent added to a file of the base, and those are not here: its exit says nothing.
    """
    base = {test for tested in on.record.tested.values() for test in tested.tests}
    red_ = [test for test, said in result.tests.items() if said in ("failed", "error")]
    failing = [test for test in red_ if test in base or not base]
    if failing:
        return f"{failing[0]} fails" + (f", and {len(failing) - 1} more" if len(failing) > 1 else "")
    words = " ".join(command.argv)
    named_ = any(path.rpartition("/")[2] in words for path in touched.configuration)
    runners = touched.configuration and _RUNNER.search(words)
    return red(on.job, command, result) if (named_ or runners) and not result.reported else ""


def _only_a_threshold(check: Check, result: Result) -> bool:
    """Whether every test that ran passed and only something about the whole was missed (coverage, for one): the new
    code is not what the base's tests alone have to cover."""
    counts = result.finding.counts
    own_report = any("{report}" in part for part in check.argv)
    return bool(check.role == "tests" and own_report and counts and counts.passed and not counts.failed + counts.errors)


def _told_apart(
    on: ProofBench, tree: str, against: Mapping[str, Trouble], checks: Sequence[Check], *, whole: bool
) -> dict[str, Trouble]:
    """Flaky or broken: what was green in the workspace and red here, on the same tree, is run twice more."""
    again = [check for check in checks if check.name in against]
    runs = [on.run(tree, again, f"again-{number}") for number in range(1, TIMES)]
    still = [dict(_against(on, again, run, whole=whole)) for run in runs]
    green = {name: sum(name not in each for each in still) for name in against}
    return {name: _flaky(trouble, green[name]) if green[name] else trouble for name, trouble in against.items()}


def _flaky(trouble: Trouble, green: int) -> Trouble:
    said = f"flaky: green in {green} of {TIMES} runs on one and the same clean export, which is no proof"
    return Trouble(f"{said}; {trouble.summary}", trouble.problems)


def red(job: Job, check: Check, result: Result) -> str:
    """Why a result does not count as proven; empty where it does."""
    if result.finding.status != "pass":
        return result.finding.summary or result.finding.status
    verdict = criteria.judge_by_command(job.spec.criteria, check, result)
    return verdict.reason if verdict and verdict.status != "met" else ""


def key(check: Check) -> str:
    """What the record calls a check: a criterion's command by its words, since criteria are renumbered."""
    return check.name if check.source != CRITERION else f"criterion: {check.argv[-1]}"


def named(check: Check) -> str:
    """How people call it."""
    return f"criterion {check.name.rpartition('-')[2]}" if check.source == CRITERION else check.title


def _gone(check: Check, problems: tuple[Problem, ...]) -> Trouble:
    first = problems[0]
    more = f" and {len(problems) - 1} more" if len(problems) > 1 else ""
    return Trouble(f"{named(check)}: tests of the base do not pass: {first.test}: {first.message}{more}", problems)


def _problems(result: Result) -> tuple[Problem, ...]:
    finding = result.finding
    return finding.problems or ((Problem(finding.excerpt[-1000:]),) if finding.excerpt else ())
