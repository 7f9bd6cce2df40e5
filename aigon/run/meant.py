"""Which run of a feature a person means: the one in the checkout at hand, or that of an agent in its worktree."""

from collections.abc import Sequence

from aigon.errors import usage
from aigon.files.home import known_home
from aigon.git.person import Checkout
from aigon.journal import candidates
from aigon.journal.records import records_of
from aigon.model.candidates import Candidate, find_candidate
from aigon.run.chosen_agents import agents, known


def candidate_meant(main: Checkout, here: Candidate | None, wanted: str, agent: str | None) -> Candidate | None:
    """The candidate by name, by the worktree that one stands in, or the only one that has run; None for solo mode.

    Raises AigonError (exit 2) where nobody of that name works on the feature, or more than one could be meant.
    """
    there = known(main, wanted)
    if agent:
        return _named(main, there, wanted, agent)
    if here and here in there:
        return here
    home = known_home(main.common_dir)
    ran = [each for each in there if home and candidates.records(home, each).journal.exists()]
    solo = bool(home and there and records_of(home, there[0].feature).journal.exists())
    if len(ran) + solo > 1:
        raise _several(wanted, ran)
    return ran[0] if ran else None


def _named(main: Checkout, there: Sequence[Candidate], wanted: str, agent: str) -> Candidate:
    found = find_candidate(there, agent)
    if found is None:
        (each,) = agents(main, [agent])
        found = find_candidate(there, each.name) or find_candidate(there, each.label)
    if found is None:
        listed = ", ".join(each.label for each in there) or "nobody has a worktree"
        raise usage(f"{agent} does not work on feature {wanted}", where="--agent", hint=f"There: {listed}")
    return found


def _several(wanted: str, ran: Sequence[Candidate]) -> Exception:
    listed = ", ".join(each.label for each in ran)
    return usage(f"Several agents work on feature {wanted}: {listed}", hint="Name one with --agent")
