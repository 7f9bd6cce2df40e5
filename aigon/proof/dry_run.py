"""Dry-run the proof on the base, before the first paid turn: what cannot work is said then, not in the morning."""

import hashlib
import time
from collections.abc import Generator, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import replace

from aigon.checks import dependencies
from aigon.errors import AigonError, environment
from aigon.files.atomic import write_whole
from aigon.job.assessment import Assessment, is_baseline
from aigon.job.job import Job
from aigon.job.results import BaselineResults, Result
from aigon.job.world import World
from aigon.journal.events import CheckFinished, CheckStarted, Event, Notice
from aigon.journal.state import State
from aigon.model.checks import Check, Finding
from aigon.proof import frozen
from aigon.proof.base_tests import lost
from aigon.proof.clean_room import ProofBench, bench, deciding, key, named, red
from aigon.proof.frozen import Frozen, Tested
from aigon.proof.vacuity import results_of

TITLE = "Clean-room rehearsal"
HINT = (
    "The checks need something that git does not hold. Commit it; or say in .aigon/config.json how it gets there, "
    '"proof": {"setup": "COMMAND"}; or let programs of your home count, "proof": {"home": "real"}; variables by '
    '"env": {"pass": ["NAME"]}; or give up the clean room, "proof": "in-place"'
)


def record_base(job: Job, world: World, look: Assessment) -> None:
    """Write down, before the first turn, which tests the base has, which criteria pass, what lies beside its tree."""
    assert world.frozen is not None
    known = frozen.load(world.frozen)
    if known is None:
        return
    tested = {key(check): Tested(result.tests, result.reported) for check, result in look.ran}
    passed = results_of(job.spec.criteria, look.verdicts) if look.complete and look.adds_nothing else {}
    frozen.save(world.frozen, frozen.with_base(known, tested, _folders(job, world), passed))


def _folders(job: Job, world: World) -> dict[str, str]:
    """The dependency folders as they are before any agent ran; links to shared ones as the arena's first loop saw them.

    An agent of that one may have written there by now.
    """
    found = dependencies.find_dependency_folders(world.workspace.root, job.proof.setups)
    shared = {place: name for place, name in found.items() if (world.workspace.root / place).is_symlink()}
    arena = world.find(BaselineResults)
    if not (arena and shared):
        return found
    before = arena.first("folders", shared)
    return {place: before.get(place, name) if place in shared else name for place, name in found.items()}


def run_clean_room_dry_run(
    job: Job, world: World, number: int, look: Assessment, record: Frozen
) -> Generator[Event, State, None]:
    """Run everything once on a clean export of the base, in an arena once for all its loops.

    Raises AigonError (exit 7) where the proof could not work.
    """
    mark = world.home / "rehearsed" / _name(job, world, look, record)
    if mark.exists() or world.stop.now:
        return
    arena = world.find(BaselineResults)
    with arena.alone(mark.name, world.stop) if arena else nullcontext():
        if not mark.exists() and not world.stop.now:
            yield from _rehearsed(job, world, number, look, record)
            if not world.stop.now:
                mark.parent.mkdir(parents=True, exist_ok=True)
                write_whole(mark, b"", (mark.parent,))


def _rehearsed(job: Job, world: World, number: int, look: Assessment, record: Frozen) -> Generator[Event, State, None]:
    yield CheckStarted(world.now(), number, "proof", TITLE)
    begun, tree = time.monotonic(), world.workspace.tree()
    on = bench(job, world, record, tree, world.iteration_folder(0) / "proof", look.findings)
    checks = tuple(check for check in deciding(job) if check.when == "each")
    results = on.run(tree, checks, "clean", of_people=is_baseline(job.base_commit, world.workspace, tree))
    there = {check.name: result for check, result in look.ran}
    lacking = dict(_lacking(on, tree, checks, there, results))
    yield CheckFinished(world.now(), number, _finding(on, lacking, time.monotonic() - begun))
    if lacking and not world.stop.now:
        raise refused("; ".join(lacking.values()), str(on.folder))
    if on.rooms.mechanism == "none":
        said = "nothing here keeps the clean-room proof from reaching the workspace: its outcome will say so"
        yield Notice(world.now(), f"{said} (installing bubblewrap helps)", "warning")


def refused(where: str, log: str) -> AigonError:
    """The proof cannot work on this base."""
    return environment(
        "What is green in the workspace is red on a clean export of it: nothing could be proven here",
        where=where[:500],
        hint=f"{HINT}. The whole output is in {log}",
    )


def _lacking(
    on: ProofBench, tree: str, checks: tuple[Check, ...], there: Mapping[str, Result], here: Mapping[str, Result]
) -> Iterator[tuple[str, str]]:
    """What the workspace shows and the room does not, looked at twice: a flaky test is no reason to refuse."""
    doubtful = [check for check in checks if _worse(on.job, check, there[check.name], here[check.name])]
    again = on.run(tree, doubtful, "again") if doubtful else {}
    for check in doubtful:
        if why := _worse(on.job, check, there[check.name], again[check.name]):
            yield check.name, f"{named(check)}: {why}"


def _worse(job: Job, check: Check, there: Result, here: Result) -> str:
    """How a check is worse off in the room: red where it was green, or without tests that passed."""
    if not red(job, check, there):
        return red(job, check, here)
    passed = {test: result for test, result in there.tests.items() if result == "passed"}
    gone = lost(passed, here.tests, there.reported, here.reported) if passed else ()
    return f"{gone[0].test}: {gone[0].message}" if gone else ""


def _finding(on: ProofBench, lacking: Mapping[str, str], seconds: float) -> Finding:
    summary = "; ".join(lacking.values()) or f"as in the workspace ({on.rooms.mechanism})"
    made = Finding("proof", "proof", TITLE, "pass", summary, duration=seconds, log=str(on.folder))
    return replace(made, status="fail") if lacking else made


def _name(job: Job, world: World, look: Assessment, record: Frozen) -> str:
    """A clean-room dry run on the same tree with the same checks, environment and dependencies shows nothing new.

    It compares with what a worktree showed, so that those that showed the same are spared one.
    """
    checks = [replace(check, timeout=0.0) for check in deciding(job)]
    parts = [world.workspace.tree(), repr(checks), repr(job.proof), repr(sorted(world.check_env))]
    parts += [repr(sorted(record.folders.items()))]
    if world.made_by:
        shown = [(check.name, bool(red(job, check, each)), sorted(each.tests.items())) for check, each in look.ran]
        parts += [world.made_by, repr(shown)]
    return hashlib.sha256("\0".join(parts).encode("utf-8", "surrogateescape")).hexdigest()
