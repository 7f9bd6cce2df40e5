"""Merge a proven feature with the person's own git."""

from aigon.core.errors import AigonError, Exit, environment, usage
from aigon.core.events import Event, RunFinished
from aigon.core.features import Feature
from aigon.core.outcome import Met, describe
from aigon.core.state import State, replay
from aigon.ports.commit_paths import commit_paths
from aigon.ports.git import Checkout
from aigon.ports.home import known_home, repository_home
from aigon.run import bookkeeping, branch, specs
from aigon.run.records import records_of
from aigon.run.stages import to_stage


def finish(checkout: Checkout, wanted: str, into: str | None, force: bool) -> tuple[Feature, str, str]:
    """Move the spec to done on the feature's branch, merge that; feature, target branch and merge commit.

    Raises AigonError: 3 when it is not proven, 7 for a dirty tree or a merge with conflicts (which is undone).
    """
    current = branch.require_sound(checkout)
    bookkeeping.require_clean(checkout)
    try:
        if own := branch.branch_of(checkout, wanted):  # its spec may stand only there
            branch.enter(checkout, own)
        return _finish(checkout, specs.locate(checkout.root, wanted), into, force)
    except AigonError:
        if checkout.branch != current:
            checkout.switch(current)
        raise


def _finish(checkout: Checkout, feature: Feature, into: str | None, force: bool) -> tuple[Feature, str, str]:
    if feature.stage == "done":
        raise usage(f"Feature {feature.name_for_people} is done already", where=feature.path)
    target = into or _target(checkout, feature)
    tip = checkout.commit_of(f"refs/heads/{feature.name}")
    if tip is None:
        raise usage(f"There is no branch {feature.name}", where=feature.path, hint=f"aigon feature-setup {feature.id}")
    if checkout.commit_of(f"refs/heads/{target}") is None:
        raise usage(f"There is no branch {target} to merge into", where="--into", hint="Name one: --into main")
    if not force:
        _require_proven(checkout, feature, tip)
    return _merge(checkout, feature, target, tip)


def _target(checkout: Checkout, feature: Feature) -> str:
    origin = records_of(repository_home(checkout.common_dir), feature.name_for_people).origin()
    if origin and origin.branch:
        return origin.branch
    raise usage(f"It is not known where feature {feature.id} began", where=feature.path, hint="Name it: --into main")


def _require_proven(checkout: Checkout, feature: Feature, tip: str) -> None:
    """Raise AigonError (exit 3) unless the last run ended as met on exactly this commit.

    By aigon's own record: the state file lies in the workspace, where an agent can write it.
    """
    name = feature.name_for_people
    events = _events(checkout, name)
    again = f"aigon feature-implement {name} --resume   (or --force, if you know better)"
    state = replay(events)
    if not isinstance(state.outcome, Met):
        what = f"Feature {name} is not proven: {_standing(state)}"
        raise AigonError(what, where=feature.name, hint=again, code=Exit.STOPPED)
    if (proven := _last_commit(events)) != tip:
        raise AigonError(
            f"The branch {feature.name} has changed since it was proven",
            where=f"{proven[:12]}..{tip[:12]}",
            hint=again,
            code=Exit.STOPPED,
        )


def _events(checkout: Checkout, name: str) -> list[Event]:
    home = known_home(checkout.common_dir)
    return records_of(home, name).events() if home else []


def _standing(state: State) -> str:
    if state.outcome:
        return describe(state.outcome)
    return "its last run has not ended" if state.started else "it has not run"


def _last_commit(events: list[Event]) -> str:
    """The commit that the last outcome speaks of."""
    return next((event.commit for event in reversed(events) if isinstance(event, RunFinished)), "")


def _merge(checkout: Checkout, feature: Feature, target: str, tip: str) -> tuple[Feature, str, str]:
    branch.enter(checkout, feature.name)
    if not (checkout.root / feature.path).exists():  # another branch may have the spec in another stage
        feature = specs.locate(checkout.root, feature.name_for_people)
    moved, paths = to_stage(checkout.root, feature, "done")
    if paths:
        commit_paths(bookkeeping.trusted(checkout), paths, f"docs(feature-{feature.id}): done\n")
    try:
        checkout.switch(target)
        checkout.git("merge", "--no-ff", "-m", f"Merge {feature.name}", feature.name)
    except AigonError as error:
        raise _undone(checkout, feature, target, tip, error) from None
    return moved, target, checkout.head or ""


def _undone(checkout: Checkout, feature: Feature, target: str, tip: str, error: AigonError) -> AigonError:
    """The repository as it was, and what stood in the way: conflicts, or what git or a hook said."""
    conflicts = checkout.ask("diff", "--name-only", "--diff-filter=U") or ""
    checkout.ask("merge", "--abort")
    branch.enter(checkout, feature.name)
    checkout.git("reset", "-q", "--keep", tip)
    listed = ", ".join(conflicts.splitlines()[:5]) or target
    hint = f"Merge {target} into {feature.name}, run the loop with --resume, then feature-done again. {error.hint}"
    return environment(f"{feature.name} does not merge into {target}", where=listed, hint=hint)
