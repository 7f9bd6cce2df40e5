"""The lexicographic order: the gates first, then one measure after the other."""

from collections.abc import Sequence
from itertools import permutations
from typing import Any

import pytest

from aigon.compare.facts import CandidateFacts, NewTests
from aigon.compare.order import MEASURES, Order, rank_candidates
from aigon.model.changes import Concern
from aigon.model.outcomes import Stopped
from tests.compare.entrants import LINT, NOTE, PROOF, TESTS, change, entry, looked, red

STOPPED = Stopped("iterations", "3 of 3 are used")
WORSE: Sequence[tuple[str, dict[str, Any]]] = [
    ("concerns", {"concerns": (NOTE,)}),
    ("outside", {"changed": change(outside=("b.py",))}),
    ("suppressions", {"changed": change(suppressions=1)}),
    ("new-tests", {"new_tests": NewTests()}),
    ("lint", {"look": looked(TESTS, red(LINT, "new"), PROOF), "known_failures": ("lint",)}),
    ("branching", {"changed": change(branching=9)}),
    ("source", {"changed": change(40)}),
    ("iterations", {"iterations": 3}),
    ("cost", {"cost": 2.0}),
    ("seconds", {"seconds": 900.0}),
]


def fell(found: Order) -> dict[str, str]:
    """At which key each fell."""
    return {fall.label: fall.key for fall in found.falls}


@pytest.mark.parametrize(("key", "worse"), WORSE, ids=[key for key, _ in WORSE])
def test_who_is_worse_in_one_thing_alone_falls_there(key: str, worse: dict[str, Any]) -> None:
    for pair in permutations((entry("aa"), entry("zz", **worse))):
        found = rank_candidates(pair)
        assert found.places == (("aa",), ("zz",)) and fell(found) == {"zz": key}


@pytest.mark.parametrize("at", range(len(WORSE)))
def test_an_earlier_measure_outweighs_every_later_one(at: int) -> None:
    (key, worse), later = WORSE[at], dict(WORSE[at + 1 :])
    one: dict[str, Any] = {}
    other = dict(worse)
    for values in later.values():  # the one that is better here is worse in all that comes after
        one |= values
    if "changed" in worse and "changed" in one:
        one["changed"] = change(one["changed"].source.lines, branching=one["changed"].branching)
    assert fell(rank_candidates((entry("aa", **one), entry("bb", **other))))["bb"] == key


def test_the_measures_are_asked_in_the_documented_order() -> None:
    keys = [measure.key for measure in MEASURES]
    assert keys == [
        "concerns", "outside", "suppressions", "new-tests", "lint", "types", "branching", "source", "iterations",
        "cost", "seconds",
    ]  # fmt: skip


def test_who_fails_a_gate_never_beats_one_that_passes_however_good_the_rest() -> None:
    cheat = entry("aa", look=looked(met=1), changed=change(1), iterations=1, cost=0.0, seconds=1.0)
    passes = entry("zz", concerns=(NOTE,), changed=change(999, outside=("x",), suppressions=9), cost=99.0)
    assert rank_candidates((cheat, passes)).places == (("zz",), ("aa",))


def test_what_is_not_known_at_a_gate_stands_between_pass_and_fail() -> None:
    fails, unsure = entry("aa", outcome=STOPPED), entry("bb", outcome=None, running=True)
    assert rank_candidates((fails, unsure, entry("cc"))).places == (("cc",), ("bb",), ("aa",))


def test_where_nobody_passes_the_one_with_most_proven_stands_first() -> None:
    one, two = (entry(x, outcome=STOPPED, look=looked(met=n, of=3), criteria=3) for x, n in (("aa", 1), ("bb", 2)))
    found = rank_candidates((one, two))
    assert found.places == (("bb",), ("aa",)) and fell(found) == {"aa": "criteria"}


def test_equal_ones_share_a_place() -> None:
    found = rank_candidates((entry("aa"), entry("bb"), entry("cc", cost=9.0)))
    assert found.places == (("aa", "bb"), ("cc",))


def test_a_difference_within_the_tolerance_decides_nothing() -> None:
    alike = entry("bb", changed=change(12), cost=0.6, seconds=340.0)
    assert rank_candidates((entry("aa"), alike)).places == (("aa", "bb"),)


def test_what_is_not_known_is_no_zero_and_neither_wins_nor_loses() -> None:
    silent = entry("bb", cost=None)
    assert rank_candidates((entry("aa"), silent)).places == (("aa", "bb"),)
    quick = entry("bb", cost=None, seconds=10.0)
    assert fell(rank_candidates((entry("aa"), quick))) == {"aa": "seconds"}


def test_one_that_is_not_known_takes_nothing_from_the_comparison_of_the_others() -> None:
    found = rank_candidates((entry("aa", cost=5.0), entry("bb"), entry("cc", cost=None)))
    assert found.places == (("bb", "cc"), ("aa",)) and fell(found) == {"aa": "cost"}


def test_the_order_does_not_depend_on_who_is_named_first() -> None:
    # By twos with tolerances this would be a circle: each next one is within the tolerance of the one before.
    some: tuple[CandidateFacts, ...] = (
        entry("aa", changed=change(10), iterations=3),
        entry("bb", changed=change(12), iterations=2),
        entry("cc", changed=change(15), iterations=1),
    )
    found = {rank_candidates(each).places for each in permutations(some)}
    assert found == {(("bb",), ("aa",), ("cc",))}


def test_a_fall_says_who_was_better_and_by_what() -> None:
    (fall,) = rank_candidates((entry("aa"), entry("bb", changed=change(40)))).falls
    assert (fall.better, fall.mine, fall.theirs) == (("aa",), "40 lines", "10 lines")


def test_suppressions_are_not_counted_as_notes_as_well() -> None:
    note = Concern("suppressions", "note", "one more", ("a.py",), "k")
    assert fell(rank_candidates((entry("aa"), entry("bb", concerns=(note,), changed=change(suppressions=1))))) == {
        "bb": "suppressions"
    }


def test_more_tests_that_are_red_on_the_base_are_not_better_than_one() -> None:
    many = NewTests(tuple("abc"), tuple("abc"))
    assert rank_candidates((entry("aa"), entry("bb", new_tests=many))).places == (("aa", "bb"),)


def test_one_alone_has_the_first_place() -> None:
    assert rank_candidates((entry("aa"),)).places == (("aa",),) and rank_candidates(()).places == ()
