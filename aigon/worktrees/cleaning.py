"""Clean up after a feature: all of its worktrees, or those of the agents that a person names."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from aigon.errors import usage
from aigon.files.home import known_home
from aigon.git.person import Checkout
from aigon.journal import candidates
from aigon.loop.parked import listed as parked
from aigon.model.candidates import Candidate, find_candidate
from aigon.worktrees.cleanup import remove_safely
from aigon.worktrees.specs import find_place


@dataclass(frozen=True, slots=True)
class Cleaned:
    """`removed` are worktrees that are gone now, `kept` those that stay with the reason, `parked` new refs."""

    removed: tuple[Candidate, ...]
    kept: tuple[tuple[Candidate, str], ...]
    parked: tuple[str, ...]


def clean_up(main: Checkout, wanted: str, agents: Sequence[str], *, park: bool, say: Callable[[str], None]) -> Cleaned:
    """Remove the worktrees of a feature, or of these agents of it, where nothing is lost.

    `say` hears of each as it is done. Raises AigonError (exit 2) for a feature or an agent that is not known.
    """
    before = {row["ref"] for row in parked(main)}
    removed, kept = [], []
    for each in _chosen(main, wanted, agents):
        if reason := remove_safely(main, each, park=park):
            kept.append((each, reason))
            say(f"{each.label}: kept, {reason}")
        else:
            removed.append(each)
            stays = main.commit_of(f"refs/heads/{each.branch}") is not None
            say(f"{each.label}: {each.path} is gone" + (f"; its branch {each.branch} stays" if stays else ""))
    refs = tuple(row["ref"] for row in parked(main) if row["ref"] not in before)
    return Cleaned(tuple(removed), tuple(kept), refs)


def _chosen(main: Checkout, wanted: str, agents: Sequence[str]) -> tuple[Candidate, ...]:
    there = tuple(each for each in candidates.every(known_home(main.common_dir)) if _is(each, wanted))
    if not there:
        feature = find_place(main.root, main.common_dir, wanted).feature
        if agents:
            raise usage(
                f"Feature {feature.name_for_people} has no worktrees", hint="aigon worktrees lists all there are"
            )
        return ()
    return tuple(dict.fromkeys(_named(there, agent) for agent in agents)) or there


def _is(candidate: Candidate, wanted: str) -> bool:
    both = wanted.isdecimal() and candidate.feature.isdecimal()
    return wanted in (candidate.feature, candidate.slug) or (both and int(wanted) == int(candidate.feature))


def _named(there: Sequence[Candidate], agent: str) -> Candidate:
    found = find_candidate(there, agent)
    if found is None:
        labels = ", ".join(each.label for each in there)
        raise usage(f"'{agent}' names no single worktree of feature {there[0].feature}", hint=f"There are: {labels}")
    return found
