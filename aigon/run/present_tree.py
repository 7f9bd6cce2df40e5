"""Assess the files as they are, without a run: the repository is only read, git's objects go into a temporary folder.

What a command changes in files that git knows is put back, and the command is named.
"""

import os
import tempfile
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

from msgspec import Struct
from msgspec.structs import replace

from aigon.checks.schedule import Schedule, run_checks
from aigon.files.atomic import move_aside
from aigon.git.person import Checkout
from aigon.git.workspace import Workspace
from aigon.isolation.check_sandbox import make_check_sandbox, wants_check_sandbox
from aigon.job.results import Result
from aigon.job.world import World
from aigon.journal.events import Event
from aigon.journal.state import State
from aigon.model.checks import Check
from aigon.model.criteria import find_bound_checks
from aigon.process import capacity, orphans
from aigon.process.stop import Stop
from aigon.run.prepare import Prepared
from aigon.secrets import redaction

T = TypeVar("T")


def make_world(name: str, checkout: Checkout, prepared: Prepared, folder: Path, stop: Stop, **more: Any) -> World:
    """Return a world for the files of `checkout` that writes nothing but into `folder`; `more` are fields of it."""
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
    if wants_check_sandbox(config, wanted):
        box = make_check_sandbox(checkout, checkout.root, config, prepared.proof, env, folder, name)
        if box:
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


class TreeResults(Struct, frozen=True):
    """The results of checks by name, and the files of the tree that each check changed.

    Those files are restored; what the checks made of them is in the folder `aside`.
    """

    results: Mapping[str, Result]
    changed: Mapping[str, tuple[str, ...]]
    aside: str = ""


def select_checks(checks: Sequence[Check], wanted: Sequence[str]) -> tuple[Check, ...]:
    """Return the checks that criteria bound to these names and roles rest on."""
    roles = {check.name: str(check.role) for check in checks}
    names = {name for each in wanted for name in find_bound_checks(each, roles)}
    return tuple(check for check in checks if check.name in names)


def run_here(checkout: Checkout, prepared: Prepared, checks: Sequence[Check], timeout: float) -> TreeResults:
    """Run `checks` side by side in the checkout, each for at most `timeout` seconds.

    Raises KeyboardInterrupt if the person stopped it, AigonError for a repository that cannot be assessed.
    """
    if not checks:
        return TreeResults({}, {})
    short = [replace(check, timeout=min(check.timeout, timeout), remember=False) for check in checks]
    aside = checkout.git_dir / "aigon" / "displaced"
    changed = {}
    with _open_world(checkout, prepared) as world:
        results = _run_together(world, short)
        if _restore_files(world.workspace, aside):
            for check in short:  # each once more, alone: which one was it?
                if world.stop.now:
                    break
                _run_together(world, [check])
                if files := _restore_files(world.workspace, aside):
                    changed[check.name] = files
        if world.stop.reason:
            raise KeyboardInterrupt
    return TreeResults(results, changed, str(aside))


@contextmanager
def _open_world(checkout: Checkout, prepared: Prepared) -> Iterator[World]:
    orphans.adopt_orphans()
    # The first Ctrl+C already ends everything: nothing would be lost by it.
    stop = Stop(announce=lambda _reason: stop.halt())
    with tempfile.TemporaryDirectory(prefix="aigon-compile-", ignore_cleanup_errors=True) as folder:
        try:
            with stop.handling():
                world = make_world("spec-compile", checkout, prepared, Path(folder), stop)
                # Checks must not leave caches in the person's files.
                addopts = f"{world.check_env.get('PYTEST_ADDOPTS', '')} -p no:cacheprovider".strip()
                quiet = {"PYTHONDONTWRITEBYTECODE": "1", "PYTEST_ADDOPTS": addopts}
                world.workspace.snapshot()
                try:
                    yield replace(world, check_env={**world.check_env, **quiet})
                finally:
                    world.close()
                    orphans.sweep()
        finally:
            stop.close()


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


def _restore_files(workspace: Workspace, aside: Path) -> tuple[str, ...]:
    """Restore the files that differ from the snapshot, and return their paths.

    Perhaps the person changed them, who goes on working meanwhile: the other version is moved aside.
    """
    orphans.sweep()
    changed, _ = workspace.left_over()
    for path in changed:
        file = workspace.root / path
        if file.is_dir() and not file.is_symlink():
            continue  # a submodule, whose files are not in the snapshot
        if os.path.lexists(file):
            move_aside(file, aside)
        workspace.trusted.run("checkout-index", "-f", "--", path)
    return changed
