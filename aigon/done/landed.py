"""From a proven tip to the target: what is adopted, the spec to done, the merge or the pull request."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from aigon.done import unfinished
from aigon.done.adopting import adopt, wishes
from aigon.done.merge import Landing, Prove, merge
from aigon.done.message import squash_message
from aigon.done.place import move, park
from aigon.done.proof import shortcomings
from aigon.done.pull_request import open_request
from aigon.done.rebase import forward, rebase
from aigon.done.record import Subject
from aigon.done.request import Done, Request
from aigon.done.spec import done_commit
from aigon.errors import AigonError, Exit
from aigon.git.person import Checkout
from aigon.journal import records
from aigon.loop.drive import Observer

FORCED = "not proven (--force)"
AS_IT_RAN = "proven by its last run"
ANEW = "proven anew, on what it came to"


@dataclass(frozen=True, slots=True)
class Errand:
    """What is asked for, where, and who watches."""

    main: Checkout
    home: Path
    request: Request
    observers: Sequence[Observer]


def merged(errand: Errand, proven: Landing) -> Done:
    """Merge it; the feature's own branch follows where its commits are others than before. Raises AigonError."""
    grown, adopted = _adopted(errand, proven)
    landing, how = _with_spec_done(grown), errand.request.how
    if how == "rebase":
        landing, anew = rebase(landing, _prover(errand), verify=errand.request.verify)
        commit = forward(landing, verify=errand.request.verify)
    else:
        commit, anew = _merge(errand, landing, squash=how == "squash")
    if how == "rebase" or grown.tip != proven.tip:
        _follow(landing, proven.tip)
    said = FORCED if errand.request.force else ANEW if anew or grown.tip != proven.tip else AS_IT_RAN
    chosen = landing.chosen
    return Done(landing.feature, landing.target, commit, chosen.branch, chosen.label, how, said, adopted)


def requested(errand: Errand, proven: Landing) -> Done:
    """Open a pull request for it. Raises AigonError."""
    grown, adopted = _adopted(errand, proven)
    landing, chosen = _with_spec_done(grown), grown.chosen
    url = open_request(landing, proven.tip, verify=errand.request.verify)
    said = FORCED if errand.request.force else ANEW if grown.tip != proven.tip else AS_IT_RAN
    return Done(
        landing.feature, landing.target, landing.tip, chosen.branch, chosen.label, "merge", said, adopted, url=url
    )


def _adopted(errand: Errand, landing: Landing) -> tuple[Landing, tuple[str, ...]]:
    """The tip with what is wanted of others upon it, and what that is."""
    chosen = landing.chosen
    others = [each for each in records.find_candidates(errand.home, chosen.name) if each != chosen.candidate]
    asked = wishes(errand.main, chosen, others, errand.request.adopt)
    names = tuple(f"{wish.whose.label}:{wish.path}" for wish in asked)
    return (adopt(landing, asked, _prover(errand)) if asked else landing), names


def _with_spec_done(landing: Landing) -> Landing:
    feature, tip = done_commit(landing.main, landing.tip, landing.feature)
    return replace(landing, feature=feature, tip=tip)


def _merge(errand: Errand, landing: Landing, *, squash: bool) -> tuple[str, bool]:
    message = squash_message(landing) if squash else f"Merge {landing.chosen.branch}"
    noting = lambda tree: unfinished.tried(errand.home, tree)  # noqa: E731 - one line of glue
    return merge(landing, message, _prover(errand), noting, squash=squash, verify=errand.request.verify)


def _follow(landing: Landing, old: str) -> None:
    """Let the feature's branch have what was merged; what it had and no longer contains is parked first."""
    if not landing.main.is_ancestor(old, landing.tip):
        park(landing.main, landing.chosen.branch, old)
    move(landing.main, landing.chosen.branch, landing.tip, old)


def _prover(errand: Errand) -> Prove:
    """What runs everything on the files of a checkout, as the work upon what people had; with --force nothing."""

    def prove(place: Checkout, landing: Landing) -> None:
        if errand.request.force:
            return
        base = errand.main.git("merge-base", landing.onto, str(place.head))
        subject = Subject(place, errand.main.root, landing.chosen, landing.feature, base)
        if found := shortcomings(subject, errand.observers):
            raise _unproven(landing, found)

    return prove


def _unproven(landing: Landing, found: Sequence[str]) -> AigonError:
    chosen, target = landing.chosen, landing.target
    return AigonError(
        f"{target} has moved on, and with it {chosen.branch} is not proven; nothing was merged",
        where="; ".join(found),
        hint=f"{chosen.bring(target)}, then `{chosen.resume(landing.main)}`, then `{chosen.again}`",
        code=Exit.STOPPED,
    )
