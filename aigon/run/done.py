"""Merge a proven feature with the person's own git."""

import json
from typing import Any

from aigon.core.errors import AigonError, Exit, environment, usage
from aigon.core.features import Feature
from aigon.ports.commit_paths import commit_paths
from aigon.ports.git import Checkout
from aigon.ports.home import repository_home
from aigon.run import bookkeeping, branch, specs
from aigon.run.records import records_of
from aigon.run.stages import to_stage


def finish(checkout: Checkout, wanted: str, into: str | None, force: bool) -> tuple[Feature, str, str]:
    """Move the spec to done on the feature's branch, merge that; feature, target branch and merge commit.

    Raises AigonError: 3 when it is not proven, 7 for a dirty tree or a merge with conflicts (which is undone).
    """
    current = branch.require_sound(checkout)
    bookkeeping.require_clean(checkout)
    feature = _located(checkout, wanted, current)
    target = into or _target(checkout, feature)
    tip = checkout.commit_of(f"refs/heads/{feature.name}")
    if tip is None:
        raise usage(f"There is no branch {feature.name}", where=feature.path, hint=f"aigon feature-setup {feature.id}")
    if checkout.commit_of(f"refs/heads/{target}") is None:
        raise usage(f"There is no branch {target} to merge into", where="--into", hint="Name one: --into main")
    if not force:
        _require_proven(checkout, feature, tip)
    return _merge(checkout, feature, target)


def _located(checkout: Checkout, wanted: str, current: str) -> Feature:
    """The feature, whose spec may stand only on its own branch."""
    try:
        return specs.locate(checkout.root, wanted)
    except AigonError:
        names = (checkout.ask("branch", "--format=%(refname:short)", "--list", "feature-*") or "").splitlines()
        fitting = [name for name in names if _is_branch_of(name, wanted)]
        if len(fitting) != 1 or fitting[0] == current:
            raise
        checkout.switch(fitting[0])
        return specs.locate(checkout.root, wanted)


def _is_branch_of(name: str, wanted: str) -> bool:
    id, _, slug = name.removeprefix("feature-").partition("-")
    return wanted in (name, slug) or (wanted.isdecimal() and id.isdecimal() and int(id) == int(wanted))


def _target(checkout: Checkout, feature: Feature) -> str:
    origin = records_of(repository_home(checkout.common_dir), feature.id or feature.slug).origin()
    if origin and origin.branch:
        return origin.branch
    raise usage(f"It is not known where feature {feature.id} began", where=feature.path, hint="Name it: --into main")


def _require_proven(checkout: Checkout, feature: Feature, tip: str) -> None:
    """Raise AigonError (exit 3) unless the last run ended as met on exactly this commit."""
    name = feature.id or feature.slug
    state = _state(checkout, feature)
    again = f"aigon feature-implement {name} --resume   (or --force, if you know better)"
    if state.get("status") != "met":
        what = f"Feature {name} is not proven: {state.get('stop_reason') or 'it has not run'}"
        raise AigonError(what, where=feature.name, hint=again, code=Exit.STOPPED)
    if state.get("proven_commit") != tip:
        raise AigonError(
            f"The branch {feature.name} has changed since it was proven",
            where=f"{str(state.get('proven_commit'))[:12]}..{tip[:12]}",
            hint=again,
            code=Exit.STOPPED,
        )


def _state(checkout: Checkout, feature: Feature) -> dict[str, Any]:
    path = checkout.root / feature.state_file()
    try:
        document: dict[str, Any] = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except ValueError:
        raise environment("The state file cannot be read", where=str(path), hint="--resume writes it anew") from None
    return document


def _merge(checkout: Checkout, feature: Feature, target: str) -> tuple[Feature, str, str]:
    branch.enter(checkout, feature, feature.name)
    moved, paths = to_stage(checkout.root, feature, "done")
    if paths:
        commit_paths(bookkeeping.trusted(checkout), paths, f"docs(feature-{feature.id}): done\n")
    checkout.switch(target)
    message = f"Merge {feature.name}"
    try:
        checkout.git("merge", "--no-ff", "-m", message, feature.name)
    except AigonError as error:
        conflicts = checkout.ask("diff", "--name-only", "--diff-filter=U") or ""
        checkout.ask("merge", "--abort")
        listed = ", ".join(conflicts.splitlines()[:5]) or target
        hint = f"Merge {target} into {feature.name}, run the loop with --resume, then feature-done again. {error.hint}"
        raise environment(f"{feature.name} does not merge into {target}", where=listed, hint=hint) from None
    return moved, target, checkout.head or ""
