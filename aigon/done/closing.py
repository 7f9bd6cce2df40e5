"""What comes after the merge: candidates' work is kept, worktrees go; taken up again where that broke off."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from aigon.done import losers, unfinished
from aigon.done.choice import Chosen, of
from aigon.done.request import Done, Request
from aigon.done.spec import is_done, spec_at
from aigon.done.unfinished import Unfinished
from aigon.errors import AigonError
from aigon.git.person import Checkout
from aigon.journal import records
from aigon.spec import files

WENT_ON = "merged before, by a run that broke off after it"


def closed(main: Checkout, home: Path, chosen: Chosen, done: Done, *, keep: bool) -> Done:
    """Retire the others and the winner's worktree; a pull request leaves them all."""
    if chosen.candidate and not done.url:
        others = [each for each in records.find_candidates(home, chosen.name) if each != chosen.candidate]
        lost = tuple(losers.retired(main, home, each, keep=keep) for each in others)
        done = replace(done, losers=lost, winner=losers.winner(main, chosen.candidate, keep=keep))
    unfinished.forget(home)
    return done


def take_up(main: Checkout, home: Path, earlier: Unfinished, request: Request) -> Done | None:
    """Finish what broke off after its merge; what came of it where it is the feature that is asked for, else None."""
    found = next((c for c in records.find_candidates(home, earlier.name) if c.label == earlier.label), None)
    feature = spec_at(main, earlier.target, earlier.name, earlier.name)
    if (earlier.label and found is None) or not is_done(main, earlier.target, feature):
        unfinished.forget(home)
        return None
    commit = str(main.commit_of(f"refs/heads/{earlier.target}"))
    done = Done(feature, earlier.target, commit, earlier.branch, earlier.label, proof=WENT_ON)
    if found:
        done = closed(main, home, of(home, found), done, keep=request.keep_worktrees)
    unfinished.forget(home)
    with suppress(AigonError):
        return done if files.locate_feature(main.root, request.wanted).name_for_people == earlier.name else None
    return None
