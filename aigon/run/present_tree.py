"""Assess the files as they are, without a run. The repository is only read; git's objects go to a temporary folder."""

import os
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from msgspec.structs import replace

from aigon.checks.dependencies import find_dependency_folders
from aigon.checks.schedule import Schedule, run_checks
from aigon.files.temporary import TemporaryFolder
from aigon.git.person import Checkout
from aigon.git.workspace import Workspace
from aigon.isolation.check_sandbox import CheckSandbox, make_check_sandbox
from aigon.isolation.mechanisms import CLOSING
from aigon.job.results import Result
from aigon.job.world import World
from aigon.journal.events import Event
from aigon.journal.state import State
from aigon.model.checks import Check
from aigon.model.criteria import find_bound_checks
from aigon.process import capacity, orphans
from aigon.process.stop import Stop
from aigon.proof.rooms import open_room, rooms_for
from aigon.run.prepare import Prepared, build_job
from aigon.secrets import redaction

T = TypeVar("T")
MayRun = Callable[[Sequence[str]], bool]
"""Decides whether these commands may run although no person has seen them and nothing keeps them to a copy."""


@contextmanager
def open_world(name: str, checkout: Checkout, prepared: Prepared, folder: Path, **more: Any) -> Iterator[World]:
    """Yield a world for the files of `checkout` that writes nothing but into `folder`; `more` are fields of it.

    The first Ctrl+C already ends everything: nothing would be lost by it. What is left running is ended as well.
    """
    orphans.adopt_orphans()
    with closing(Stop(patient=False)) as stop, stop.handling():
        world = _make_world(name, checkout, prepared, folder, stop, **more)
        try:
            yield world
        finally:
            world.close()
            orphans.sweep()


def _make_world(name: str, checkout: Checkout, prepared: Prepared, folder: Path, stop: Stop, **more: Any) -> World:
    world = World(
        **{
            "run_id": name,
            "workspace": Workspace(checkout, folder / "git", checkout.branch or "", objects=folder / "objects"),
            "checkout": checkout.root,
            "folder": folder / "run",
            "home": folder,
            "rooms": folder / "rooms",
            "stop": stop,
            "agent_env": {},
            "check_env": {**prepared.check_env, "AIGON_RUN": name},
            "redact": redaction.make_redactor(prepared.env),
            "keeps": False,
            **more,
        }
    )
    config, env = prepared.config, world.check_env
    wanted: Any = os.environ.get("AIGON_SANDBOX")
    if box := make_check_sandbox(checkout, checkout.root, config, prepared.proof, env, folder, name, wanted):
        world.attend(box)
    return world


def run_to_end(steps: Generator[Event, State, T], state: State, show: Callable[[Event], None]) -> T:
    """Run a part of the loop on its own, with `state` throughout, and return its result."""
    try:
        event = next(steps)
        while True:
            show(event)
            event = steps.send(state)
    except StopIteration as end:
        result: T = end.value
        return result


def select_checks(checks: Sequence[Check], wanted: Sequence[str]) -> tuple[Check, ...]:
    """Return the checks that criteria bound to these names and roles rest on."""
    roles = {check.name: str(check.role) for check in checks}
    names = {name for each in wanted for name in find_bound_checks(each, roles)}
    return tuple(check for check in checks if check.name in names)


def run_on_copy(
    checkout: Checkout,
    prepared: Prepared,
    checks: Sequence[Check],
    timeout: float,
    doubtful: Mapping[str, str],
    may_run: MayRun,
) -> dict[str, Result]:
    """Run `checks` side by side in a clean room, each for at most `timeout` seconds, and return the results by name.

    `doubtful` are the commands that no person has seen, by check. Where a sandbox can keep them from the person's files
    and from every network, they run in one. Elsewhere they only run if `may_run` says so.

    Raises KeyboardInterrupt if the person stopped it, AigonError for a repository that cannot be assessed.
    """
    if not checks:
        return {}
    short = [replace(check, timeout=min(check.timeout, timeout), remember=False) for check in checks]
    with (
        TemporaryFolder("compile") as folder,
        open_world("spec-compile", checkout, prepared, folder) as world,
    ):
        world.workspace.snapshot()
        job = build_job(prepared, checkout.head or world.workspace.empty_tree())
        before, tree = find_dependency_folders(checkout.root, job.proof.setups), world.workspace.tree()
        rooms = rooms_for(job, world, tree, before, world.folder)
        box = world.find(CheckSandbox)
        is_confined = bool(box and {box.mechanism, rooms.mechanism} <= {*CLOSING})
        is_allowed = is_confined or not doubtful or may_run([*doubtful.values()])
        known = [check for check in short if check.name not in doubtful]
        unseen = [check for check in short if check.name in doubtful] if is_allowed else []
        results = dict[str, Result]()
        for some, own in ((known, rooms), (unseen, replace(rooms, apart=is_confined))):
            if some and not world.stop.now:
                with open_room(job, world, own, tree) as (inside, _):
                    results |= _run_together(inside, some)
        if world.stop.reason:
            raise KeyboardInterrupt
    return results


def _run_together(world: World, checks: Sequence[Check]) -> dict[str, Result]:
    plan = Schedule(
        number=0,
        folder=world.folder,
        content_key=lambda _paths: "",
        durations={},
        slots=capacity.count_slots(),
        stop_on_first_failure=False,
        use_cache=False,
    )
    results = run_to_end(run_checks(world, checks, plan), State(), lambda _event: None)
    return {check.name: result for check, result in zip(checks, results, strict=True)}
