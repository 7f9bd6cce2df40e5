"""Merge a proven feature with the person's own git: the one branch of solo mode, or what one candidate made."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from aigon.done import unfinished
from aigon.done.choice import Chosen, choose
from aigon.done.closing import closed, take_up
from aigon.done.landed import Errand, merged, requested
from aigon.done.merge import Landing
from aigon.done.proof import clear
from aigon.done.proven import standing
from aigon.done.request import Done, Request
from aigon.done.spec import is_done, refuse_done, spec_at
from aigon.done.unfinished import Unfinished
from aigon.errors import AigonError, Exit, usage
from aigon.files.home import ensure_home
from aigon.files.locks import hold_lock
from aigon.git.person import Checkout
from aigon.job import bookkeeping, branch
from aigon.job.seat import checkout_lock, hold_checkout, open_main_checkout
from aigon.journal.state_document import command_elsewhere, describe_search
from aigon.loop.drive import Observer
from aigon.model.candidates import Candidate, describe_missing_failing_criterion
from aigon.process.running import loop_lock
from aigon.run.decisions import require_person


def finish(here: Checkout, request: Request, observers: Sequence[Observer] = ()) -> Done:
    """Prove what the merge comes to, merge it, and clear away; from the main checkout or a candidate's worktree.

    Raises AigonError, with everything as it was: 2 usage, 3 not proven, 4 for several to choose from and inside of a
    run, 7 for a dirty tree, conflicts, or what git, a hook or gh refused.
    """
    require_person("feature-done", yes=True)
    _require_possible(request)
    with open_main_checkout(here) as (main, candidate), hold_checkout(main):
        errand = Errand(main, ensure_home(main.common_dir), request, observers)
        earlier = unfinished.settle(main, errand.home)
        clear(errand.home)
        current = branch.require_sound(main)
        bookkeeping.require_clean(main)
        if earlier and (done := take_up(main, errand.home, earlier, request)):
            return done
        with branch.restore_branch_on_error(main, current):
            return _finish(errand, candidate, current)


def _require_possible(request: Request) -> None:
    if request.pr and request.how != "merge":
        raise usage(
            "A pull request is merged on the forge", where=f"--pr --{request.how}", hint="Leave one of them out"
        )


def _finish(errand: Errand, candidate: Candidate | None, current: str) -> Done:
    main, request = errand.main, errand.request
    chosen = choose(main, request, candidate)
    landing = _landing(main, chosen, request)
    refuse_done(main, landing.onto, landing.feature, f"aigon cleanup {chosen.name}" if chosen.candidate else "")
    with _alone_with(errand, chosen, landing, current):
        done = requested(errand, landing) if request.pr else merged(errand, landing)
    return closed(main, errand.home, chosen, done, keep=request.keep_worktrees)


def _landing(main: Checkout, chosen: Chosen, request: Request) -> Landing:
    """What is to be merged into what. Raises AigonError: 2 for a branch that is not there, 3 where it is not proven."""
    how = standing(main, chosen.records, chosen.branch)
    if not how.tip:
        raise usage(
            f"There is no branch {chosen.branch}", where=chosen.branch, hint=f"aigon feature-setup {chosen.name}"
        )
    feature = spec_at(main, how.tip, chosen.name, request.wanted)
    target = request.into or _target(main, chosen)
    onto = main.commit_of(f"refs/heads/{target}")
    if onto is None or target == chosen.branch:
        raise usage(f"There is no branch {target} to merge into", where="--into", hint="Name one: --into main")
    if not (how.proven or request.force or is_done(main, onto, feature)):
        name = f"{chosen.name} ({chosen.label})" if chosen.label else chosen.name
        what = f"Feature {name} is not proven: {how.why}"
        where = chosen.branch
        if how.changed:
            what = f"The branch {chosen.branch} has changed since it was proven"
            where = f"{how.ended[:12]}..{how.tip[:12]}"
        command = (
            describe_missing_failing_criterion(chosen.name, chosen.label, feature.path)
            if how.nothing_built
            else chosen.resume(main)
        )
        hint = f"{command}   (or --force, if you know better)"
        if not chosen.records.journal.exists():
            where = f"{chosen.branch}; {describe_search(main.root, chosen.name, chosen.records.journal)}"
            hint = command_elsewhere(main.common_dir, chosen.name, chosen.again) or hint
        raise AigonError(what, where=where, hint=hint, code=Exit.STOPPED)
    return Landing(main, chosen, feature, target, onto, how.tip)


def _target(main: Checkout, chosen: Chosen) -> str:
    origin = chosen.records.origin()
    if origin and origin.branch:
        return origin.branch
    raise usage(
        f"It is not known where feature {chosen.name} began",
        where=f"{chosen.branch}; {describe_search(main.root, chosen.name, chosen.records.journal)}",
        hint=command_elsewhere(main.common_dir, chosen.name, chosen.again) or "Name it: --into main",
    )


@contextmanager
def _alone_with(errand: Errand, chosen: Chosen, landing: Landing, current: str) -> Iterator[None]:
    """Nobody else works on it, and that it began is noted, until everything is back or the target has it."""
    place = Path(chosen.candidate.path) if chosen.candidate else None
    with ExitStack() as held:
        held.enter_context(hold_lock(loop_lock(errand.home, chosen.name, chosen.label), f"Feature {chosen.name}"))
        if place and place != errand.main.root:
            held.enter_context(checkout_lock(errand.home, place))
        note = Unfinished(chosen.name, chosen.label, chosen.branch, landing.target, landing.onto, current)
        unfinished.note(errand.home, note)
        try:
            yield
        except BaseException:
            if not errand.main.changed():
                unfinished.forget(errand.home)
            raise
