"""Commands and checks run once on the files as they are: how they stand before anything is built.

The repository is only read. What a command changes in files that git knows is put back, and the command is named.
"""

import os
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from aigon.checks.schedule import Schedule, run_checks
from aigon.files.atomic import move_aside
from aigon.git.person import Checkout
from aigon.git.workspace import Workspace
from aigon.job.results import Result
from aigon.job.world import World
from aigon.journal.state import State
from aigon.model.checks import Check
from aigon.model.criteria import find_bound_checks
from aigon.process import capacity, orphans
from aigon.process.stop import Stop
from aigon.run.prepare import Prepared
from aigon.secrets import redaction

_NO_CACHE = "-p no:cacheprovider"


@dataclass(frozen=True, slots=True)
class TreeResults:
    """What the checks came to, by name, and of those that changed files of the tree, which.

    Those files are as they were; what they had become is in the folder `aside`.
    """

    results: Mapping[str, Result]
    changed: Mapping[str, tuple[str, ...]]
    aside: str = ""


def select_checks(checks: Sequence[Check], wanted: Sequence[str]) -> tuple[Check, ...]:
    """The checks that criteria bound to these names and roles rest on."""
    roles = {check.name: str(check.role) for check in checks}
    names = {name for each in wanted for name in find_bound_checks(each, roles)}
    return tuple(check for check in checks if check.name in names)


def run_here(checkout: Checkout, prepared: Prepared, checks: Sequence[Check], timeout: float) -> TreeResults:
    """Run `checks` side by side in the checkout, each for at most `timeout` seconds.

    Raises KeyboardInterrupt when the person stopped it, AigonError for a repository that cannot be looked at.
    """
    if not checks:
        return TreeResults({}, {})
    short = [replace(check, timeout=min(check.timeout, timeout), remember=False) for check in checks]
    with _world(checkout, prepared) as world:
        results = _together(world, short)
        aside = checkout.git_dir / "aigon" / "displaced"
        changed = _guilty(world, short, aside) if _put_back(world.workspace, aside) else {}
        if world.stop.reason:
            raise KeyboardInterrupt
    return TreeResults(results, changed, str(aside))


@contextmanager
def _world(checkout: Checkout, prepared: Prepared) -> Iterator[World]:
    """A world whose git objects go into a temporary folder, with a snapshot of the files as they are."""
    orphans.adopt_orphans()
    with tempfile.TemporaryDirectory(prefix="aigon-compile-", ignore_cleanup_errors=True) as name, _stopping() as stop:
        folder = Path(name)
        workspace = Workspace(checkout, folder / "git", checkout.branch or "", objects=folder / "objects")
        workspace.snapshot()
        world = World(
            run_id="spec-compile",
            workspace=workspace,
            checkout=checkout.root,
            folder=folder / "run",
            home=folder,
            stop=stop,
            agent_env={},
            check_env=_quiet(prepared.check_env),
            redact=redaction.make_redactor(prepared.env),
            keeps=False,
        )
        try:
            yield world
        finally:
            world.close()
            orphans.sweep()


@contextmanager
def _stopping() -> Iterator[Stop]:
    """Here the first Ctrl+C already ends everything: nothing would be lost by it."""
    stop = Stop(said=lambda _reason: stop.halt())
    try:
        with stop.handling():
            yield stop
    finally:
        stop.close()


def _quiet(env: Mapping[str, str]) -> dict[str, str]:
    """The environment of checks, less what would leave caches in the person's files: this is only a look."""
    addopts = f"{env.get('PYTEST_ADDOPTS', '')} {_NO_CACHE}".strip()
    return {**env, "AIGON_RUN": "spec-compile", "PYTHONDONTWRITEBYTECODE": "1", "PYTEST_ADDOPTS": addopts}


def _together(world: World, checks: Sequence[Check]) -> dict[str, Result]:
    plan = Schedule(
        number=0,
        folder=world.folder,
        content_key=lambda _paths: "",
        durations={},
        slots=capacity.count_slots(),
        stop_on_first_failure=False,
        use_cache=False,
    )
    running = run_checks(world, checks, plan)
    state = State()
    try:
        next(running)
        while True:
            running.send(state)
    except StopIteration as end:
        found: tuple[Result, ...] = end.value
        return {check.name: result for check, result in zip(checks, found, strict=True)}


def _put_back(workspace: Workspace, aside: Path) -> tuple[str, ...]:
    """Files of the snapshot that are different by now, made as they were.

    It may have been the person, who goes on working meanwhile: nothing that they wrote is lost.
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


def _guilty(world: World, checks: Sequence[Check], aside: Path) -> dict[str, tuple[str, ...]]:
    """Which of them it was: each once more, alone."""
    changed = {}
    for check in checks:
        if world.stop.now:
            break
        _together(world, [check])
        if files := _put_back(world.workspace, aside):
            changed[check.name] = files
    return changed
