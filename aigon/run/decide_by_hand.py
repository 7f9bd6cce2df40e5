"""A person's decision on criteria, written into aigon's records for the code it was taken on."""

from collections.abc import Sequence
from pathlib import Path
from typing import Literal

from aigon.core.candidate import Candidate, run_command
from aigon.core.concern import Concern
from aigon.core.decisions import Decision
from aigon.core.errors import usage
from aigon.core.events import IterationFinished
from aigon.core.model import Spec
from aigon.core.state import State, replay
from aigon.ports.git import Checkout
from aigon.ports.home import repository_home
from aigon.run import specs
from aigon.run.meant import candidate_meant
from aigon.run.records import records_of
from aigon.run.seat import main_checkout
from aigon.run.world import World

DECIDABLE = ("human", "judge")


def decide(
    checkout: Checkout,
    wanted: str,
    what: Sequence[str],
    decision: Literal["approve", "reject"],
    why: str,
    agent: str | None = None,
) -> tuple[list[tuple[str, str]], str]:
    """Record the decision on criteria by number and on integrity findings by rule; each with its text.

    Also the command that goes on from there. Raises AigonError (exit 2) for what cannot be decided.
    """
    with main_checkout(checkout) as (main, here):
        candidate = candidate_meant(main, here, wanted, agent)
    root = Path(candidate.path) if candidate else checkout.root
    decided = _decided(checkout, root, candidate.feature if candidate else wanted, candidate, what, decision, why)
    return decided, run_command(wanted, candidate.label if candidate else "")


def _decided(
    checkout: Checkout,
    root: Path,
    wanted: str,
    candidate: Candidate | None,
    what: Sequence[str],
    decision: Literal["approve", "reject"],
    why: str,
) -> list[tuple[str, str]]:
    feature = specs.locate(root, wanted)
    spec = specs.read_file(root / feature.path, feature.path)
    label = candidate.label if candidate else ""
    records = records_of(repository_home(checkout.common_dir), feature.name_for_people, label)
    state = _looked_at(replay(records.each()), feature.name_for_people)
    assert state.last is not None
    author, _ = checkout.identity().author
    decided = [d for each in what for d in _on(spec, state.last, each, feature.path)]
    at = World.now()
    records.decide([Decision(n, text, decision, why, key, state.checkpoint, author, at) for n, text, key, _ in decided])
    return [(str(number or text), said) for number, text, _, said in decided]


def _on(spec: Spec, look: IterationFinished, what: str, where: str) -> list[tuple[int, str, str, str]]:
    """Number, text and content that a decision is on, and what people read of it."""
    if not what.isdecimal():
        return [(0, c.rule, c.key, c.what) for c in _concerns(look, what)]
    known = {criterion.number: criterion for criterion in spec.criteria}
    number = int(what)
    _require(number, {n: c.kind for n, c in known.items()}, where)
    return [(number, known[number].text, look.content, known[number].text)]


def _concerns(look: IterationFinished, rule: str) -> list[Concern]:
    """The findings of a rule that wait for a person. Raises AigonError (exit 2) where there are none."""
    waiting = [concern for concern in look.concerns if concern.level == "review"]
    found = [concern for concern in waiting if concern.rule == rule]
    if not found:
        rules = ", ".join(sorted({concern.rule for concern in waiting}))
        hint = f"What waits for a person: {rules}" if rules else "No integrity finding waits for a person"
        raise usage(f"There is no criterion and no open integrity finding called '{rule}'", hint=hint)
    return found


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
