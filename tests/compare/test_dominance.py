"""Who dominates whom, and what speaks for and against each."""

from aigon.compare.facts import CandidateFacts
from aigon.compare.order import Dominance, find_dominance
from aigon.compare.proposal import list_strengths
from aigon.model.outcomes import Stopped
from tests.compare.entrants import change, entry

STOPPED = Stopped("iterations", "3 of 3 are used")
NOTHING = CandidateFacts("dd", "nobody")


def pairs(*entries: CandidateFacts) -> set[tuple[str, str]]:
    """Who dominates whom."""
    return {(each.one, each.other) for each in find_dominance(entries)}


def test_as_good_in_everything_and_better_in_one_dominates() -> None:
    (found,) = find_dominance((entry("aa"), entry("bb", changed=change(40))))
    assert found == Dominance("aa", "bb", ("source",), ("types",))


def test_better_in_one_and_worse_in_another_dominates_nobody() -> None:
    assert pairs(entry("aa", iterations=1), entry("bb", cost=0.01)) == set()


def test_equal_ones_do_not_dominate_each_other() -> None:
    assert pairs(entry("aa"), entry("bb")) == set()


def test_who_fails_a_gate_dominates_nobody_who_passes() -> None:
    assert pairs(entry("aa", outcome=STOPPED, iterations=1, cost=0.0), entry("bb")) == set()
    assert pairs(entry("aa"), entry("bb", outcome=STOPPED)) == {("aa", "bb")}


def test_measures_that_one_does_not_know_are_left_out_and_named() -> None:
    (found,) = find_dominance((entry("aa", cost=None), entry("bb", cost=0.01, iterations=9)))
    assert (found.one, found.better) == ("aa", ("iterations",)) and "cost" in found.unknown


def test_where_nothing_can_be_compared_nobody_dominates() -> None:
    assert pairs(entry("aa"), NOTHING) == set()


def test_strengths_are_where_one_is_clearly_ahead_of_everybody() -> None:
    best, middle, worst = list_strengths((entry("aa", cost=0.1), entry("bb"), entry("cc", cost=2.0)))
    assert "the lowest cost ($0.10; next: $0.50)" in best.strengths
    assert middle.strengths == ("passes every gate",) and middle.weaknesses == ()
    assert worst.weaknesses == ("the highest cost ($2.00; best: $0.10)",)


def test_a_gate_that_is_not_passed_is_a_weakness_and_the_only_one_to_pass_a_strength() -> None:
    one, other = list_strengths((entry("aa"), entry("bb", outcome=STOPPED)))
    assert one.strengths[0] == "the only one that passes every gate"
    assert other.weaknesses[0].startswith("Run ended as proven: no (Stopped by the guard iterations")


def test_what_is_not_known_is_neither_strength_nor_weakness_but_at_a_gate() -> None:
    (_, nothing) = list_strengths((entry("aa"), NOTHING))
    assert nothing.strengths == () and all("not known (not assessed yet)" in each for each in nothing.weaknesses)


def test_one_alone_is_compared_with_nobody() -> None:
    (alone,) = list_strengths((entry(),))
    assert (alone.strengths, alone.weaknesses) == (("passes every gate",), ())
