"""The sentences of an evaluation that the terminal and the page share; they may hold text of others, unquoted."""

from collections.abc import Iterator, Sequence

from aigon.compare.rules.dominance import Dominance
from aigon.compare.rules.evaluation import Evaluation
from aigon.compare.rules.evidence import CrossCheck
from aigon.compare.rules.measures import MEASURES
from aigon.compare.rules.proposal import TITLES, Proposal
from aigon.model.outcomes import Met


def headline(found: Evaluation) -> str:
    """The proposal in one line."""
    so_far = " so far" if found.proposal.so_far else ""
    match found.proposal:
        case Proposal(kind="winner", winner=winner):
            return f"Proposed{so_far}: {winner}"
        case Proposal(kind="tie", tied=tied):
            return f"Tied{so_far}: {' and '.join(tied)}; a person has to choose"
        case _:
            return f"Nobody{so_far}: no candidate passes every gate"


def next_step(found: Evaluation) -> str:
    """What a person does with it."""
    feature, kind = found.subject.feature, found.proposal.kind
    if kind == "nobody" and not all(isinstance(e.outcome, Met) and e.judged == e.tip for e in found.entries):
        return f"aigon feature-implement {feature} --resume"
    who = found.proposal.winner if kind == "winner" else "AGENT"
    return f"aigon feature-done {feature}" + ("" if who == "solo" else f" {who}")


def dominates(pair: Dominance) -> str:
    """Who dominates whom, and in what."""
    better = ", ".join(TITLES[key] for key in pair.better)
    known = len(MEASURES) - len(pair.unknown)
    return f"{pair.one} dominates {pair.other}: better in {better}; worse in none of {known} measures known of both"


def gone_by() -> str:
    """The order, so that a reader can check it."""
    return ", ".join(["the gates", *(measure.title.lower() for measure in MEASURES), "the judge"])


def crossed(check: CrossCheck) -> str:
    """One cross-check in a few characters: how many of the tests pass there."""
    if not check.known:
        return "?"
    return f"{check.passed}/{check.passed + len(check.failed) + len(check.errors)}"


def unknown_tests(found: Evaluation) -> Iterator[str]:
    """Why something about new tests is not known."""
    yield from (f"new tests of {e.label}: {e.new_tests.why}" for e in found.entries if e.new_tests and e.new_tests.why)
    # A note that says the same for every pair is one note.
    whys: dict[str, list[str]] = {}
    for check in found.cross_checks:
        if check.why:
            whys.setdefault(check.why, []).append(f"{check.tests_of} on {check.against}")
    yield from (f"cross-checks {_few(pairs)}: {why}" for why, pairs in whys.items())


def _few(names: Sequence[str]) -> str:
    more = f" and {len(names) - 3} more" if len(names) > 3 else ""
    return ", ".join(names[:3]) + more


def notes(found: Evaluation) -> tuple[str, ...]:
    """Everything that was not known."""
    return (*found.notes, *unknown_tests(found))
