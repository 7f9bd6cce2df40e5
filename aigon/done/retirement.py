"""Put features and candidates away: cancel, pause and reopen a feature, retire the candidates of a merged one.

Nothing is lost by any of it.
"""

import os
import shlex
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from msgspec import Struct

from aigon.errors import AigonError, environment, usage
from aigon.files.atomic import make_lasting
from aigon.files.home import ensure_home
from aigon.files.locks import hold_lock, is_locked
from aigon.git.person import Checkout
from aigon.job.bookkeeping import Committing, commit_as_asked
from aigon.job.branch import SAVED_ASIDE, list_saved_work
from aigon.job.spec_locations import SpecLocation, locate_spec
from aigon.journal import records
from aigon.journal.records import CLOSED, locate_records, new_run_id
from aigon.model.agents import Candidate
from aigon.process.running import loop_lock
from aigon.run.feature_stages import require_committing
from aigon.spec import files
from aigon.spec.features import ROOT, Feature, Stage
from aigon.spec.files import moved_to_stage
from aigon.worktrees.cleanup import remove_safely


class StageChange(Struct, frozen=True):
    """A feature in its new stage: `branches` of it that stay, refs under which work was `parked`."""

    feature: Feature
    branches: tuple[str, ...]
    parked: tuple[str, ...]


def cancel_feature(main: Checkout, wanted: str, how: Committing) -> StageChange:
    """Move the spec of a feature to the stage `cancelled`, and remove its worktrees; its branches and records stay.

    Raises AigonError and leaves the feature as it was: 2 if it is over already, 7 while a loop works on it, and if a
    worktree or the commit is refused.
    """
    location = locate_spec(main.root, main.common_dir, wanted)
    feature = location.feature
    if feature.stage in ("cancelled", "done"):
        hint = f"aigon reopen {feature.name_for_people} takes it up again"
        raise usage(f"Feature {feature.name_for_people} is {feature.stage} already", where=feature.path, hint=hint)
    return _change_stage(main, location, "cancel", "cancelled", how, lambda works: _remove_worktrees(main, works))


def pause_feature(main: Checkout, wanted: str, how: Committing) -> StageChange:
    """Move the spec of an open feature to the stage `paused`; its worktrees, branches and records stay.

    Raises AigonError: 2 if it is over, 7 while a loop works on it and if the commit is refused.
    """
    location = locate_spec(main.root, main.common_dir, wanted)
    files.refuse_closed(location.feature)
    return _change_stage(main, location, "pause", "paused", how, lambda _works: None)


def reopen_feature(main: Checkout, wanted: str, how: Committing) -> StageChange:
    """Move the spec of a feature that is over back to the backlog, or to the inbox if it has no ID.

    A cancelled one continues on its branch. One that was done begins anew at HEAD: its merged branches are saved
    aside, and so are its records. Raises AigonError: 2 if it is not over, 7 if that or the commit is refused.
    """
    location = locate_spec(main.root, main.common_dir, wanted)
    feature = location.feature
    name = feature.name_for_people
    if feature.stage not in ("cancelled", "done", "paused"):
        hint = f"aigon feature-implement {name} --loop"
        raise usage(f"Feature {name} is open: it is in the stage {feature.stage}", where=feature.path, hint=hint)

    def clear(works: Sequence[Candidate]) -> None:
        if feature.stage == "done":
            _require_not_checked_out(main, feature, works)
            _remove_worktrees(main, works)
            _save_branches_aside(main, feature, works)
            _save_records_aside(main, feature, works)

    return _change_stage(main, location, "reopen", "backlog" if feature.id else "inbox", how, clear)


def _change_stage(
    main: Checkout,
    location: SpecLocation,
    verb: str,
    stage: Stage,
    how: Committing,
    clear: Callable[[Sequence[Candidate]], None],
) -> StageChange:
    """Call `clear` while no loop can work on the feature, then move its spec and commit that."""
    feature = location.feature
    if not feature.path.startswith(f"{ROOT}/"):
        hint = "Move or delete it yourself: aigon keeps no stage for it"
        raise usage(f"The spec is kept outside of {ROOT}/", where=feature.path, hint=hint)
    how = require_committing(main, how)
    earlier = [row["ref"] for row in list_saved_work(main)]
    with _hold_loops(main, feature) as works:
        clear(works)
        with _bring_spec(main, location) as here, moved_to_stage(main.root, here, stage) as (moved, paths):
            commit_as_asked(main, paths, f"docs(feature-{feature.name_for_people}): {verb} {feature.slug}", how)
    branches = tuple(name for name in _list_branches(feature, works) if main.commit_of(f"refs/heads/{name}"))
    return StageChange(moved, branches, tuple(row["ref"] for row in list_saved_work(main) if row["ref"] not in earlier))


@contextmanager
def _hold_loops(main: Checkout, feature: Feature) -> Iterator[tuple[Candidate, ...]]:
    """Hold the locks of every loop on the feature and yield its candidates. Raises AigonError (exit 7) if one runs."""
    home, name = ensure_home(main.common_dir), feature.name_for_people
    works = records.find_candidates(home, name)
    labels = ("", *(each.label for each in works))
    with ExitStack() as held:
        for lock in (home / "locks" / f"arena-{name}.lock", *(loop_lock(home, name, label) for label in labels)):
            try:
                held.enter_context(hold_lock(lock, f"Feature {name}"))
            except AigonError as error:
                error.hint = f"aigon stop {name}, and wait for its end   or   aigon stop {name} --now"
                raise
        yield works


def _remove_worktrees(main: Checkout, works: Sequence[Candidate]) -> None:
    """Remove the worktrees and save aside what they hold. Raises AigonError (exit 7) if one has to stay."""
    for each in works:
        if reason := remove_safely(main, each, park=True):
            raise environment(
                f"The worktree of {each.label} stays: {reason}", where=each.path, hint="Do that, then run this again"
            )


@contextmanager
def _bring_spec(main: Checkout, place: SpecLocation) -> Iterator[Feature]:
    """Yield the feature as this work tree has it; a spec that only its branch has is written here first."""
    here: Feature | None = None
    with suppress(AigonError):
        here = files.locate_feature(main.root, place.feature.name_for_people)
    if here:
        yield here
        return
    target = main.root / place.feature.path
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_bytes(place.content)
    try:
        yield place.feature
    except BaseException:
        target.unlink(missing_ok=True)
        raise


def _list_branches(feature: Feature, works: Sequence[Candidate]) -> tuple[str, ...]:
    return tuple(dict.fromkeys([feature.name, *(each.branch for each in works)]))


def _require_not_checked_out(main: Checkout, feature: Feature, works: Sequence[Candidate]) -> None:
    """Raise AigonError (exit 7) if a branch that is to be deleted is checked out, but for the agents' worktrees."""
    paths = {each.path for each in works}
    for name in _list_branches(feature, works):
        place = str(main.root) if main.branch == name else main.checked_out_elsewhere(name)
        if place and place not in paths and os.path.isdir(place):  # noqa: PTH112 - a text
            hint = f"git -C {shlex.quote(place)} switch OTHER, or remove that worktree. Then run this again"
            raise environment(f"The branch {name} is checked out, and would be deleted", where=place, hint=hint)


def _save_branches_aside(main: Checkout, feature: Feature, works: Sequence[Candidate]) -> None:
    """Keep the tip of each branch under a ref, and delete the branch. Raises AigonError (exit 7)."""
    for name in _list_branches(feature, works):
        if tip := main.commit_of(f"refs/heads/{name}"):
            main.git("update-ref", f"{SAVED_ASIDE}feature-{feature.name_for_people}/{name}-{tip[:10]}", tip)
            main.git("update-ref", "-d", f"refs/heads/{name}", tip)


def _save_records_aside(main: Checkout, feature: Feature, works: Sequence[Candidate]) -> None:
    """Move the records of earlier runs to a folder of their own, so that the next run begins anew."""
    home = ensure_home(main.common_dir)
    aside = home / CLOSED / new_run_id()
    for label in ("", *(each.label for each in works)):
        folder = locate_records(home, feature.name_for_people, label).folder
        if folder.exists():
            make_lasting(aside)
            folder.rename(aside / folder.name)
        (main.root / feature.state_file(label)).unlink(missing_ok=True)


class Retirement(Struct, frozen=True):
    """The fate of a candidate's worktree and branch. `ref` keeps its last commit; `why` says why something stays.

    `removed` is also true if they had been removed before; `gone` names what this merge removed.
    """

    label: str
    branch: str
    ref: str = ""
    worktree: str = ""
    removed: bool = False
    why: str = ""
    gone: tuple[str, ...] = ()


ARENA = "refs/aigon/arena/"
"""Below it, by feature and label, the last commits of candidates that were not merged."""


def retire_candidate(main: Checkout, home: Path, candidate: Candidate, *, keep: bool) -> Retirement:
    """Put away one that was not merged: ref first, then worktree, then branch. A running loop is never disturbed."""
    tip = main.commit_of(f"refs/heads/{candidate.branch}")
    if is_locked(loop_lock(home, candidate.feature, candidate.label)):
        return Retirement(candidate.label, candidate.branch, worktree=candidate.path, why="its loop still runs")
    ref = _keep_commit(main, candidate, tip)
    gone, why = _remove_worktree(main, candidate, keep)
    if why:
        return Retirement(candidate.label, candidate.branch, ref, candidate.path, why=why)
    if tip and main.ask("update-ref", "-d", f"refs/heads/{candidate.branch}", tip) is not None:
        gone = (*gone, "branch")
    elif tip:
        why = "its branch has moved"
    return Retirement(candidate.label, candidate.branch, ref, candidate.path, removed=True, why=why, gone=gone)


def retire_winner(main: Checkout, candidate: Candidate, *, keep: bool) -> Retirement:
    """Put away the worktree of the one that was merged: its branch stays, as in solo mode."""
    gone, why = _remove_worktree(main, candidate, keep)
    return Retirement(candidate.label, candidate.branch, worktree=candidate.path, removed=not why, why=why, gone=gone)


def _keep_commit(main: Checkout, candidate: Candidate, tip: str | None) -> str:
    """Keep a commit of a candidate under a ref, numbered if another commit has the name, and return the ref.

    If the branch is gone, return the ref of an earlier call, or "".
    """
    name, number = f"{ARENA}{candidate.feature}/{candidate.label}", 1
    ref = name
    if tip is None:
        return ref if main.commit_of(ref) else ""
    while (there := main.commit_of(ref)) not in (None, tip):
        number += 1
        ref = f"{name}-{number}"
    if there is None:
        main.git("update-ref", ref, tip, "")
    return ref


def _remove_worktree(main: Checkout, candidate: Candidate, keep: bool) -> tuple[tuple[str, ...], str]:
    """Remove its worktree. Return what was removed, and why it stays; "" once it is gone."""
    if keep:
        return (), "--keep-worktrees"
    if Path.cwd().is_relative_to(candidate.path):
        return (), "you are in it"
    was_there = os.path.lexists(candidate.path)
    why = remove_safely(main, candidate, park=False)
    return ("worktree",) if was_there and not why else (), why
