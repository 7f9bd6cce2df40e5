"""The candidates that enter an arena: what is known of each before, and who waits for the look at the base."""

from collections.abc import Collection, Sequence
from dataclasses import replace
from pathlib import Path

from aigon.arena.entrant import Entrant
from aigon.arena.lane import Lane
from aigon.errors import AigonError
from aigon.journal import records as registry
from aigon.journal.state import State, replay
from aigon.model.candidates import Candidate


def entrants(home: Path | None, candidates: Sequence[Candidate], resume: Collection[str]) -> list[Entrant]:
    """Everybody, in the order in which they were named."""
    return [Entrant(_lane(home, each, each.label in resume), each.label in resume) for each in candidates]


def behind(home: Path | None, everybody: Sequence[Entrant]) -> tuple[str, frozenset[str]]:
    """Whose look at the base the others wait for, and who these are: the look is the same for all, and remembered.

    Nobody waits who is resumed, and nobody where the bases are not known to be one.
    """
    fresh = [each for each in everybody if not each.resume]
    bases = {_base(home, each.lane.candidate) for each in fresh}
    if len(fresh) < 2 or len(bases) != 1 or "" in bases:
        return "", frozenset()
    return fresh[0].label, frozenset(each.label for each in fresh[1:])


def _base(home: Path | None, candidate: Candidate) -> str:
    origin = registry.candidate_records(home, candidate).origin() if home else None
    return origin.commit if origin else ""


def _lane(home: Path | None, candidate: Candidate, resumed: bool) -> Lane:
    """With what a run that is resumed came to so far."""
    lane = Lane(candidate)
    before = _before(home, candidate) if resumed else None
    if before is None or before.started is None:
        return lane
    met = sum(verdict.status == "met" for verdict in before.last.verdicts) if before.last else 0
    return replace(
        lane,
        met=met,
        total=before.started.criteria_total,
        iterations=before.finished,
        finished=before.finished,
        spend=before.spend,
        commit=before.checkpoint,
    )


def _before(home: Path | None, candidate: Candidate) -> State | None:
    """What its journal says; a damaged one is for its own loop to refuse."""
    try:
        return replay(registry.candidate_records(home, candidate).each()) if home else None
    except (AigonError, OSError):
        return None
