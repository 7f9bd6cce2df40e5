"""`aigon feature-done`: merge what is proven with the person's own git, then retire the candidates."""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Literal

from msgspec import Struct
from msgspec.structs import replace

from aigon.done import checkouts
from aigon.done.checkouts import UnfinishedMerge, detach_head, move_branch, save_commit_aside
from aigon.done.choice import (
    ChosenWork,
    Landing,
    choose_work,
    commit_done,
    find_spec,
    is_done,
    open_work,
    read_proof,
    refuse_done,
)
from aigon.done.merge import RenderReport, build_squash_message, merge_tip, open_pull_request
from aigon.done.proof import clear_scratch, find_shortcomings
from aigon.done.rebase import adopt_files, fast_forward, parse_adoptions, rebase_tip
from aigon.done.retirement import Retirement, retire_candidate, retire_winner
from aigon.errors import AigonError, Exit, usage
from aigon.files.home import ensure_home
from aigon.files.locks import hold_lock
from aigon.git.person import Checkout
from aigon.job import bookkeeping, branch
from aigon.job.job import checkout_lock, hold_checkout, open_main_checkout
from aigon.journal import records
from aigon.journal.sinks import Observer
from aigon.journal.state_document import command_elsewhere, describe_search
from aigon.model.agents import describe_missing_failing_criterion
from aigon.process.running import loop_lock
from aigon.run.invocations import require_person
from aigon.spec import files
from aigon.spec.features import Feature

MERGED_BEFORE = "merged before, by a run that was interrupted afterwards"


MergeMethod = Literal["merge", "squash", "rebase"]


class DoneRequest(Struct, frozen=True):
    """`wanted` and `agent` are as typed, `adopt` holds `AGENT:PATH`. `into` is the branch to merge into, "" for where
    the feature began. Without `verify` the person's hooks that may refuse are skipped.
    """

    wanted: str
    agent: str = ""
    into: str = ""
    how: MergeMethod = "merge"
    adopt: tuple[str, ...] = ()
    pr: bool = False
    keep_worktrees: bool = False
    force: bool = False
    verify: bool = True


class DoneResult(Struct, frozen=True):
    """A feature that is merged, or waits for it on the forge (`url`).

    `proof` says what the merge rests on; `adopted` holds `LABEL:PATH`.
    """

    feature: Feature
    target: str
    commit: str
    branch: str
    label: str = ""
    how: MergeMethod = "merge"
    proof: str = ""
    adopted: tuple[str, ...] = ()
    winner: Retirement | None = None
    losers: tuple[Retirement, ...] = ()
    url: str = ""


class Errand(Struct, frozen=True):
    """A merge that was asked for, its place, and its observers; `render_report` writes the body of a pull request."""

    main: Checkout
    home: Path
    request: DoneRequest
    observers: Sequence[Observer]
    render_report: RenderReport

    def prove(self, place: Checkout, landing: Landing) -> None:
        """Run everything on the files of `place`, unless the merge is forced.

        Raises AigonError: 3 if it is not proven, 7 if people committed or staged something there meanwhile.
        """
        if self.request.force:
            return
        with checkouts.save_work_of_people(place, landing.chosen.branch):
            shortcomings = find_shortcomings(place, landing, self.observers)
        if shortcomings:
            chosen, target = landing.chosen, landing.target
            why = f"{target} has moved on, and with it"
            if chosen.is_claim:
                why = "Its records came from elsewhere, and here"
            raise AigonError(
                f"{why} {chosen.branch} is not proven; nothing was merged",
                where="; ".join(shortcomings),
                hint=f"{chosen.bring(target)}, then `{chosen.resume(landing.main)}`, then `{chosen.again}`",
                code=Exit.STOPPED,
            )


def finish_feature(
    here: Checkout, request: DoneRequest, observers: Sequence[Observer] = (), *, report: RenderReport
) -> DoneResult:
    """Prove what the merge comes to, merge it, and clear away; from the main checkout or a candidate's worktree.

    Raises AigonError, with everything as it was: 2 usage, 3 not proven, 4 for several to choose from and inside of a
    run, 7 for a dirty tree, conflicts, or what git, a hook or gh refused.
    """
    require_person("feature-done", yes=True)
    if request.pr and request.how != "merge":
        where = f"--pr --{request.how}"
        raise usage("A pull request cannot be squashed or rebased here", where=where, hint="Leave one of them out")
    with open_main_checkout(here) as (main, candidate), hold_checkout(main):
        errand = Errand(main, ensure_home(main.common_dir), request, observers, report)
        earlier = checkouts.settle_merge(main, errand.home)
        clear_scratch(errand.home)
        current = branch.require_sound(main)
        try:
            bookkeeping.require_clean(main)
        except AigonError:
            choose_work(main, request, candidate)  # nobody has to tidy up for a feature that does not exist
            raise
        if earlier and (done := _finish_earlier_merge(main, errand.home, earlier, request)):
            return done
        with branch.restore_branch_on_error(main, current):
            chosen = choose_work(main, request, candidate)
            landing = _find_landing(main, chosen, request)
            hint = f"aigon cleanup {chosen.name}" if chosen.candidate else ""
            refuse_done(main, landing.onto, landing.feature, hint)
            with _hold_alone(errand, chosen, landing, current):
                if chosen.is_claim and not request.force:
                    with detach_head(main, chosen.branch, landing.tip) as place:
                        errand.prove(place, landing)
                done = _land(errand, landing)
            return _retire_candidates(main, errand.home, chosen, done, keep=request.keep_worktrees)


def _land(errand: Errand, proven: Landing) -> DoneResult:
    """Adopt files, move the spec to done, then merge or open a pull request. Raises AigonError."""
    request, chosen = errand.request, proven.chosen
    others = [each for each in records.find_candidates(errand.home, chosen.name) if each != chosen.candidate]
    adoptions = parse_adoptions(errand.main, chosen, others, request.adopt)
    grown = adopt_files(proven, adoptions, errand.prove) if adoptions else proven
    feature, tip = commit_done(grown.main, grown.tip, grown.feature)
    landing, url, anew = replace(grown, feature=feature, tip=tip), "", False
    if request.pr:
        commit, url = tip, open_pull_request(landing, proven.tip, errand.render_report, verify=request.verify)
    elif request.how == "rebase":
        landing, anew = rebase_tip(landing, errand.prove, verify=request.verify)
        commit = fast_forward(landing, verify=request.verify)
    else:
        squash = request.how == "squash"
        message = build_squash_message(landing) if squash else f"Merge {chosen.branch}"
        note = partial(checkouts.note_tree, errand.home)
        commit, anew = merge_tip(landing, message, errand.prove, note, squash=squash, verify=request.verify)
    has_grown = grown.tip != proven.tip
    if not request.pr and (request.how == "rebase" or has_grown):
        _move_branch_along(landing, proven.tip)
    proof = "proven again, on the merge result" if anew or has_grown else "proven by its last run"
    proof = "proven again, for its records came from elsewhere" if chosen.is_claim else proof
    proof = "not proven (--force)" if request.force else proof
    adopted = tuple(f"{adoption.whose.label}:{adoption.path}" for adoption in adoptions)
    return DoneResult(
        feature, landing.target, commit, chosen.branch, chosen.label, request.how, proof, adopted, url=url
    )


def _move_branch_along(landing: Landing, old: str) -> None:
    """Move the feature's branch to what was merged. What it had and would no longer contain is saved aside first."""
    if not landing.main.is_ancestor(old, landing.tip):
        save_commit_aside(landing.main, landing.chosen.branch, old)
    move_branch(landing.main, landing.chosen.branch, landing.tip, old)


def _retire_candidates(main: Checkout, home: Path, chosen: ChosenWork, done: DoneResult, *, keep: bool) -> DoneResult:
    """Retire the others and the winner's worktree; a pull request leaves them all."""
    if chosen.candidate and not done.url:
        others = [each for each in records.find_candidates(home, chosen.name) if each != chosen.candidate]
        lost = tuple(retire_candidate(main, home, each, keep=keep) for each in others)
        done = replace(done, losers=lost, winner=retire_winner(main, chosen.candidate, keep=keep))
    checkouts.forget_merge(home)
    return done


def _finish_earlier_merge(
    main: Checkout, home: Path, earlier: UnfinishedMerge, request: DoneRequest
) -> DoneResult | None:
    """Finish what broke off after its merge. Return the result if it is the feature that is asked for, else None."""
    candidate = next((c for c in records.find_candidates(home, earlier.name) if c.label == earlier.label), None)
    feature = find_spec(main, earlier.target, earlier.name, earlier.name)
    if (earlier.label and candidate is None) or not is_done(main, earlier.target, feature):
        checkouts.forget_merge(home)
        return None
    commit = str(main.commit_of(f"refs/heads/{earlier.target}"))
    done = DoneResult(feature, earlier.target, commit, earlier.branch, earlier.label, proof=MERGED_BEFORE)
    if candidate:
        done = _retire_candidates(main, home, open_work(home, candidate), done, keep=request.keep_worktrees)
    checkouts.forget_merge(home)
    with suppress(AigonError):
        return done if files.locate_feature(main.root, request.wanted).name_for_people == earlier.name else None
    return None


def _find_landing(main: Checkout, chosen: ChosenWork, request: DoneRequest) -> Landing:
    """Return what is to be merged into what. Raises AigonError: 2 for a missing branch, 3 if it is not proven."""
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
        spec = str(Path(chosen.candidate.path) / feature.path) if chosen.candidate else feature.path
        command = (
            describe_missing_failing_criterion(chosen.name, chosen.label, spec)
            if how.nothing_built
            else chosen.resume(main)
        )
        if how.lacks_check:
            command = f"fix {spec}, then {command} --accept-spec"
        if how.waiting:
            agent = f" --agent {chosen.label}" if chosen.label else ""
            numbers = " ".join(map(str, how.waiting))
            command = f"aigon approve {chosen.name} {numbers}{agent} (or reject), then {command}"
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
def _hold_alone(errand: Errand, chosen: ChosenWork, landing: Landing, current: str) -> Iterator[None]:
    """Keep others from the work, and note that the merge began, until everything is back or the target has it."""
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
            if not errand.main.list_changed():
                checkouts.forget_merge(errand.home)
            raise
