"""`aigon feature-done`: merge what is proven with the person's own git, then retire the candidates."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from aigon.done import checkouts, request
from aigon.done.checkouts import UnfinishedMerge, move_branch, save_commit_aside
from aigon.done.choice import (
    ChosenWork,
    choose_work,
    commit_done,
    find_spec,
    is_done,
    open_work,
    read_proof,
    refuse_done,
)
from aigon.done.merge import Landing, Prove, build_squash_message, merge_tip, open_pull_request
from aigon.done.proof import ProofSubject, clear_scratch, find_shortcomings
from aigon.done.rebase import adopt_files, fast_forward, parse_adoptions, rebase_tip
from aigon.done.request import DoneRequest, DoneResult
from aigon.errors import AigonError, Exit, usage
from aigon.files.home import ensure_home
from aigon.files.locks import hold_lock
from aigon.git.person import Checkout
from aigon.job import bookkeeping, branch
from aigon.job.seat import checkout_lock, hold_checkout, open_main_checkout
from aigon.journal import records
from aigon.journal.state_document import command_elsewhere, describe_search
from aigon.loop.drive import Observer
from aigon.model.candidates import Candidate, describe_missing_failing_criterion
from aigon.process.running import loop_lock
from aigon.run.decisions import require_person
from aigon.spec import files

FORCED = "not proven (--force)"
AS_IT_RAN = "proven by its last run"
ANEW = "proven anew, on what it came to"


@dataclass(frozen=True, slots=True)
class Errand:
    """What is asked for, where, and who watches."""

    main: Checkout
    home: Path
    request: DoneRequest
    observers: Sequence[Observer]


def land_by_merge(errand: Errand, proven: Landing) -> DoneResult:
    """Merge it; the feature's own branch follows where its commits are others than before. Raises AigonError."""
    grown, adopted = _adopt_wanted(errand, proven)
    landing, how = _move_spec_to_done(grown), errand.request.how
    if how == "rebase":
        landing, anew = rebase_tip(landing, _make_prover(errand), verify=errand.request.verify)
        commit = fast_forward(landing, verify=errand.request.verify)
    else:
        commit, anew = _merge(errand, landing, squash=how == "squash")
    if how == "rebase" or grown.tip != proven.tip:
        _move_branch_along(landing, proven.tip)
    said = FORCED if errand.request.force else ANEW if anew or grown.tip != proven.tip else AS_IT_RAN
    chosen = landing.chosen
    return DoneResult(landing.feature, landing.target, commit, chosen.branch, chosen.label, how, said, adopted)


def land_by_request(errand: Errand, proven: Landing) -> DoneResult:
    """Open a pull request for it. Raises AigonError."""
    grown, adopted = _adopt_wanted(errand, proven)
    landing, chosen = _move_spec_to_done(grown), grown.chosen
    url = open_pull_request(landing, proven.tip, verify=errand.request.verify)
    said = FORCED if errand.request.force else ANEW if grown.tip != proven.tip else AS_IT_RAN
    return DoneResult(
        landing.feature, landing.target, landing.tip, chosen.branch, chosen.label, "merge", said, adopted, url=url
    )


def _adopt_wanted(errand: Errand, landing: Landing) -> tuple[Landing, tuple[str, ...]]:
    """The tip with what is wanted of others upon it, and what that is."""
    chosen = landing.chosen
    others = [each for each in records.find_candidates(errand.home, chosen.name) if each != chosen.candidate]
    asked = parse_adoptions(errand.main, chosen, others, errand.request.adopt)
    names = tuple(f"{wish.whose.label}:{wish.path}" for wish in asked)
    return (adopt_files(landing, asked, _make_prover(errand)) if asked else landing), names


def _move_spec_to_done(landing: Landing) -> Landing:
    feature, tip = commit_done(landing.main, landing.tip, landing.feature)
    return replace(landing, feature=feature, tip=tip)


def _merge(errand: Errand, landing: Landing, *, squash: bool) -> tuple[str, bool]:
    message = build_squash_message(landing) if squash else f"Merge {landing.chosen.branch}"
    noting = lambda tree: checkouts.note_tree(errand.home, tree)  # noqa: E731 - one line of glue
    return merge_tip(landing, message, _make_prover(errand), noting, squash=squash, verify=errand.request.verify)


def _move_branch_along(landing: Landing, old: str) -> None:
    """Let the feature's branch have what was merged; what it had and no longer contains is parked first."""
    if not landing.main.is_ancestor(old, landing.tip):
        save_commit_aside(landing.main, landing.chosen.branch, old)
    move_branch(landing.main, landing.chosen.branch, landing.tip, old)


def _make_prover(errand: Errand) -> Prove:
    """What runs everything on the files of a checkout, as the work upon what people had; with --force nothing."""

    def prove(place: Checkout, landing: Landing) -> None:
        if errand.request.force:
            return
        base = errand.main.git("merge-base", landing.onto, str(place.head))
        subject = ProofSubject(place, errand.main.root, landing.chosen, landing.feature, base)
        if found := find_shortcomings(subject, errand.observers):
            raise _explain_unproven(landing, found)

    return prove


def _explain_unproven(landing: Landing, found: Sequence[str]) -> AigonError:
    chosen, target = landing.chosen, landing.target
    return AigonError(
        f"{target} has moved on, and with it {chosen.branch} is not proven; nothing was merged",
        where="; ".join(found),
        hint=f"{chosen.bring(target)}, then `{chosen.resume(landing.main)}`, then `{chosen.again}`",
        code=Exit.STOPPED,
    )


MERGED_BEFORE = "merged before, by a run that broke off after it"


def retire_candidates(main: Checkout, home: Path, chosen: ChosenWork, done: DoneResult, *, keep: bool) -> DoneResult:
    """Retire the others and the winner's worktree; a pull request leaves them all."""
    if chosen.candidate and not done.url:
        others = [each for each in records.find_candidates(home, chosen.name) if each != chosen.candidate]
        lost = tuple(request.retire_candidate(main, home, each, keep=keep) for each in others)
        done = replace(done, losers=lost, winner=request.retire_winner(main, chosen.candidate, keep=keep))
    checkouts.forget_merge(home)
    return done


def finish_earlier_merge(
    main: Checkout, home: Path, earlier: UnfinishedMerge, request: DoneRequest
) -> DoneResult | None:
    """Finish what broke off after its merge; what came of it where it is the feature that is asked for, else None."""
    found = next((c for c in records.find_candidates(home, earlier.name) if c.label == earlier.label), None)
    feature = find_spec(main, earlier.target, earlier.name, earlier.name)
    if (earlier.label and found is None) or not is_done(main, earlier.target, feature):
        checkouts.forget_merge(home)
        return None
    commit = str(main.commit_of(f"refs/heads/{earlier.target}"))
    done = DoneResult(feature, earlier.target, commit, earlier.branch, earlier.label, proof=MERGED_BEFORE)
    if found:
        done = retire_candidates(main, home, open_work(home, found), done, keep=request.keep_worktrees)
    checkouts.forget_merge(home)
    with suppress(AigonError):
        return done if files.locate_feature(main.root, request.wanted).name_for_people == earlier.name else None
    return None


def finish_feature(here: Checkout, request: DoneRequest, observers: Sequence[Observer] = ()) -> DoneResult:
    """Prove what the merge comes to, merge it, and clear away; from the main checkout or a candidate's worktree.

    Raises AigonError, with everything as it was: 2 usage, 3 not proven, 4 for several to choose from and inside of a
    run, 7 for a dirty tree, conflicts, or what git, a hook or gh refused.
    """
    require_person("feature-done", yes=True)
    _require_possible(request)
    with open_main_checkout(here) as (main, candidate), hold_checkout(main):
        errand = Errand(main, ensure_home(main.common_dir), request, observers)
        earlier = checkouts.settle_merge(main, errand.home)
        clear_scratch(errand.home)
        current = branch.require_sound(main)
        bookkeeping.require_clean(main)
        if earlier and (done := finish_earlier_merge(main, errand.home, earlier, request)):
            return done
        with branch.restore_branch_on_error(main, current):
            return _finish(errand, candidate, current)


def _require_possible(request: DoneRequest) -> None:
    if request.pr and request.how != "merge":
        raise usage(
            "A pull request is merged on the forge", where=f"--pr --{request.how}", hint="Leave one of them out"
        )


def _finish(errand: Errand, candidate: Candidate | None, current: str) -> DoneResult:
    main, request = errand.main, errand.request
    chosen = choose_work(main, request, candidate)
    landing = _find_landing(main, chosen, request)
    refuse_done(main, landing.onto, landing.feature, f"aigon cleanup {chosen.name}" if chosen.candidate else "")
    with _working_alone(errand, chosen, landing, current):
        done = land_by_request(errand, landing) if request.pr else land_by_merge(errand, landing)
    return retire_candidates(main, errand.home, chosen, done, keep=request.keep_worktrees)


def _find_landing(main: Checkout, chosen: ChosenWork, request: DoneRequest) -> Landing:
    """What is to be merged into what. Raises AigonError: 2 for a branch that is not there, 3 where it is not proven."""
    how = read_proof(main, chosen.records, chosen.branch)
    if not how.tip:
        raise usage(
            f"There is no branch {chosen.branch}", where=chosen.branch, hint=f"aigon feature-setup {chosen.name}"
        )
    feature = find_spec(main, how.tip, chosen.name, request.wanted)
    target = request.into or _find_target(main, chosen)
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


def _find_target(main: Checkout, chosen: ChosenWork) -> str:
    origin = chosen.records.origin()
    if origin and origin.branch:
        return origin.branch
    raise usage(
        f"It is not known where feature {chosen.name} began",
        where=f"{chosen.branch}; {describe_search(main.root, chosen.name, chosen.records.journal)}",
        hint=command_elsewhere(main.common_dir, chosen.name, chosen.again) or "Name it: --into main",
    )


@contextmanager
def _working_alone(errand: Errand, chosen: ChosenWork, landing: Landing, current: str) -> Iterator[None]:
    """Nobody else works on it, and that it began is noted, until everything is back or the target has it."""
    place = Path(chosen.candidate.path) if chosen.candidate else None
    with ExitStack() as held:
        held.enter_context(hold_lock(loop_lock(errand.home, chosen.name, chosen.label), f"Feature {chosen.name}"))
        if place and place != errand.main.root:
            held.enter_context(checkout_lock(errand.home, place))
        note = UnfinishedMerge(chosen.name, chosen.label, chosen.branch, landing.target, landing.onto, current)
        checkouts.note_merge(errand.home, note)
        try:
            yield
        except BaseException:
            if not errand.main.changed():
                checkouts.forget_merge(errand.home)
            raise
