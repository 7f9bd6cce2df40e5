"""Dry-run the proof on the base, before the first paid turn: what cannot work is said then, not in the morning."""

import hashlib
import time
from collections.abc import Generator, Mapping, Sequence
from contextlib import nullcontext, suppress
from pathlib import Path

from msgspec.structs import replace

from aigon.checks import reuse
from aigon.errors import AigonError, environment
from aigon.files.atomic import write_whole
from aigon.files.checksums import damage_error, dump_with_sum, load_with_sum
from aigon.job.assessment import Assessment, is_baseline
from aigon.job.job import Job
from aigon.job.results import BaselineResults, Result
from aigon.job.world import World
from aigon.journal.events import CheckFinished, CheckStarted, Event, Notice
from aigon.journal.state import State
from aigon.model.checks import Check, Finding
from aigon.model.criteria import COMMAND_KINDS, Criterion, find_bound_checks
from aigon.observation import Observation, Observer, read_observation
from aigon.proof import criteria, frozen
from aigon.proof.bench import (
    ProofBench,
    compare_with_workspace,
    find_failure,
    list_deciding,
    make_bench,
    name_in_record,
)
from aigon.proof.frozen import Frozen, Tested
from aigon.proof.vacuity import criterion_key

TITLE = "Clean-room dry run"
BASE_TITLE = "Criteria on the base"
HINT = (
    "The checks need something that git does not hold. Commit it; or say in .aigon/config.json how it gets there, "
    '"proof": {"setup": "COMMAND"}; or let programs of your home count, "proof": {"home": "real"}; variables by '
    '"env": {"pass": ["NAME"]}; or give up the clean room, "proof": "in-place"'
)


def record_base(job: Job, world: World, look: Assessment, passed: Mapping[str, bool]) -> None:
    """Record, before the first turn, the base's tests, what is installed around its tree, and which criteria pass."""
    assert world.frozen is not None
    known = frozen.load(world.frozen)
    if known is None:
        return
    tested = {name_in_record(check): Tested(result.tests, result.reported) for check, result in look.ran}
    frozen.save(world.frozen, frozen.with_base(known, tested, _list_folders(job, world), passed))


def try_criteria_on_base(
    job: Job, world: World, number: int, look: Assessment, record: Frozen
) -> Generator[Event, State, dict[str, bool]]:
    """Return by key whether the criteria that pass now passed before the branch's commits, too.

    Only commands and checks are tried, in a clean room. What cannot be carried out there did not pass.
    """
    met = {verdict.criterion for verdict in look.verdicts if verdict.status == "met"}
    asked = [c for c in job.spec.criteria if c.number in met and c.kind in ("check", *COMMAND_KINDS)]
    if not asked or world.stop.now:
        return {}
    if job.proof.mode != "clean-room":
        said = "the branch has commits, and without a clean room it is unknown which criteria passed before them"
        yield Notice(world.now(), said, "warning")
        return {}
    yield CheckStarted(world.now(), number, "proof", BASE_TITLE)
    roles = {check.name: check.role for check in job.checks}
    deciding = {name for criterion in asked for name in name_deciding(criterion, roles)}
    checks = [check for check in (*job.checks, *criteria.list_commands(asked)) if check.name in deciding]
    begun, folder = time.monotonic(), world.iteration_folder(0) / "base"
    ran: dict[str, Result] = {}
    with suppress(AigonError):
        tree = world.workspace.trusted.run("rev-parse", f"{job.base_commit}^{{tree}}").decode().strip()
        ran = make_bench(job, world, record, tree, folder, look.findings).run(tree, checks, "base")
    world.sweep()
    failed = {check.name for check in checks if check.name not in ran or find_failure(job, check, ran[check.name])}
    passed = {criterion_key(c): not failed.intersection(name_deciding(c, roles)) for c in asked}
    summary = f"{sum(passed.values())} of {len(asked)} criteria that pass now passed before the branch's commits"
    seconds = time.monotonic() - begun
    finding = Finding("proof", "proof", BASE_TITLE, "pass", summary, duration=seconds, log=str(folder))
    yield CheckFinished(world.now(), number, finding)
    return {} if world.stop.now else passed


def name_deciding(criterion: Criterion, roles: Mapping[str, str]) -> tuple[str, ...]:
    """Return the names of the checks, or of the command, that decide a criterion."""
    if criterion.kind == "check":
        return find_bound_checks(criterion.command or "", roles)
    return (criteria.name_command(criterion),)


def _list_folders(job: Job, world: World) -> dict[str, str]:
    """Return the dependency folders as they are before any agent runs.

    Links to shared ones are as the arena's first loop saw them: an agent of that one may have written there by now.
    """
    folders = reuse.find_dependency_folders(world.workspace.root, job.proof.setups)
    shared = {place: name for place, name in folders.items() if (world.workspace.root / place).is_symlink()}
    arena = world.find(BaselineResults)
    before = arena.first("folders", shared) if arena and shared else {}
    return {place: before.get(place, name) if place in shared else name for place, name in folders.items()}


def run_clean_room_dry_run(
    job: Job, world: World, number: int, look: Assessment, record: Frozen
) -> Generator[Event, State, None]:
    """Run everything once on a clean export of the base, in an arena once for all its loops.

    Raises AigonError (exit 7) if the proof could not work.
    """
    mark = world.home / "rehearsed" / _name_mark(job, world, look, record)
    if (mark.exists() and record.observed.commands) or world.stop.now:
        return
    arena = world.find(BaselineResults)
    with arena.alone(mark.name, world.stop) if arena else nullcontext():
        if not mark.exists() and not world.stop.now:
            observed = yield from _run(job, world, number, look, record)
            if not world.stop.now:
                mark.parent.mkdir(parents=True, exist_ok=True)
                write_whole(mark, dump_with_sum(observed.as_document()), (mark.parent,))
    if mark.exists() and world.frozen and (known := frozen.load(world.frozen)):
        frozen.save(world.frozen, replace(known, observed=_load_observation(mark)))


def _load_observation(mark: Path) -> Observation:
    """Return what the dry run saw, in whichever loop it was. Raises AigonError (exit 7)."""
    try:
        return read_observation(load_with_sum(mark.read_bytes()))
    except (OSError, ValueError, KeyError, TypeError):
        raise damage_error("The record of a clean-room dry run", str(mark)) from None


def _run(job: Job, world: World, number: int, look: Assessment, record: Frozen) -> Generator[Event, State, Observation]:
    yield CheckStarted(world.now(), number, "proof", TITLE)
    begun, tree = time.monotonic(), world.workspace.tree()
    bench = make_bench(job, world, record, tree, world.iteration_folder(0) / "proof", look.findings)
    checks = [check for check in list_deciding(job) if check.when == "each"]
    observer = Observer(job.spec_path)
    bench = replace(bench, of_people=is_baseline(job.base_commit, world.workspace), observer=observer)

    def find_lacking(bench: ProofBench, checks: Sequence[Check], name: str) -> dict[str, str]:
        results = bench.run(tree, checks, name)
        return compare_with_workspace(job, checks, look, results, every_test=bench.rooms.apart)

    apart = bench.set_apart(list_deciding(job))
    lacking = find_lacking(apart, checks, "clean")
    is_apart = apart.rooms.apart and not lacking
    # What needs a network, or a large disk, gets it, and a flaky test is no reason to refuse.
    bench = replace(bench, on_disk=True)
    for name in ("with-network", "again") if apart.rooms.apart else ("again",):
        checks = [check for check in checks if check.name in lacking]
        lacking = find_lacking(bench, checks, name)
    observed = replace(observer.observation, apart=is_apart)
    summary = "; ".join(lacking.values()) or _describe_sameness(bench.rooms.mechanism, observed)
    seconds = time.monotonic() - begun
    finding = Finding("proof", "proof", TITLE, "pass", summary, duration=seconds, log=str(bench.folder))
    yield CheckFinished(world.now(), number, replace(finding, status="fail") if lacking else finding)
    if lacking and not world.stop.now:
        raise make_refusal("; ".join(lacking.values()), str(bench.folder))
    if bench.rooms.mechanism == "none":
        said = "nothing here keeps the clean-room proof from reaching the workspace: its outcome will say so"
        yield Notice(world.now(), f"{said} (installing bubblewrap helps)", "warning")
    return observed


def _describe_sameness(mechanism: str, observed: Observation) -> str:
    """Return that nothing failed there, what kept it apart, and how aigon saw which files decide."""
    apart = "not kept apart" if mechanism == "none" else f"kept apart by {mechanism}"
    seen = observed.means or "names alone: access times do not move here, and strace is not installed"
    return f"everything passes there that passes here ({apart}; files that commands read are known by {seen})"


def make_refusal(where: str, log: str) -> AigonError:
    """Return the error that says that the proof cannot work on this base."""
    return environment(
        "What passes in the workspace fails on a clean export of it: nothing could be proven here",
        where=where[:500],
        hint=f"{HINT}. The whole output is in {log}",
    )


def _name_mark(job: Job, world: World, look: Assessment, record: Frozen) -> str:
    """Name a dry run by all that it depends on: the same again shows nothing new.

    It compares with what a worktree showed, so that those that showed the same are spared one.
    """
    checks = [replace(check, timeout=0.0) for check in list_deciding(job)]
    parts = ["observed", world.workspace.tree(), repr(checks), repr(job.proof), repr(sorted(world.check_env))]
    parts += [repr(sorted(record.folders.items()))]
    if world.made_by:
        ran = [
            (check.name, bool(find_failure(job, check, each)), sorted(each.tests.items())) for check, each in look.ran
        ]
        parts += [world.made_by, repr(ran)]
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()
