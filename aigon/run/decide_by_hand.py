"""A person's decision on criteria, written into aigon's records for the code it was taken on."""

from collections.abc import Sequence
from typing import Literal

from aigon.core.decisions import Decision
from aigon.core.errors import usage
from aigon.core.state import State, replay
from aigon.ports.git import Checkout
from aigon.ports.home import repository_home
from aigon.run import specs
from aigon.run.records import records_of
from aigon.run.world import World

DECIDABLE = ("human", "judge")


def decide(
    checkout: Checkout, wanted: str, numbers: Sequence[int], decision: Literal["approve", "reject"], why: str
) -> list[tuple[int, str]]:
    """Record the decision; number and text of each criterion. Raises AigonError (exit 2) for what cannot be decided."""
    feature = specs.locate(checkout.root, wanted)
    spec = specs.read_file(checkout.root / feature.path, feature.path)
    records = records_of(repository_home(checkout.common_dir), feature.name_for_people)
    state = _looked_at(replay(records.events()), feature.name_for_people)
    known = {criterion.number: criterion for criterion in spec.criteria}
    for number in numbers:
        _require(number, {n: c.kind for n, c in known.items()}, feature.path)
    content, commit = (state.last.content, state.checkpoint) if state.last else ("", "")
    author, _ = checkout.identity().author
    records.decide([Decision(n, known[n].text, decision, why, content, commit, author, World.now()) for n in numbers])
    return [(number, known[number].text) for number in numbers]


def _looked_at(state: State, name: str) -> State:
    if state.last is None:
        raise usage(
            f"Feature {name} has not been looked at yet: there is nothing to decide on",
            hint=f"aigon feature-implement {name} --loop",
        )
    return state


def _require(number: int, kinds: dict[int, str], where: str) -> None:
    if number not in kinds:
        raise usage(
            f"There is no criterion {number}", where=where, hint=f"They go from 1 to {len(kinds)}: aigon spec-show"
        )
    if kinds[number] not in DECIDABLE:
        raise usage(
            f"Criterion {number} is decided by what runs ({kinds[number]}), not by a person",
            where=where,
            hint="Change the criterion in the spec if it asks for the wrong thing",
        )
