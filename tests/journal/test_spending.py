"""What a turn cost, what the next is likely to, and what a run may."""

import pytest
from msgspec.structs import replace

from aigon.config.prices import Price, PriceGroup, PriceTable
from aigon.journal.spending import SESSION, Paid, estimate_cost_range, estimate_turn_cost, price_turn
from aigon.model.turns import Turn, Usage
from aigon.text.amounts import format_cost_range, round_dollars

TABLE = PriceTable(
    "2026-11-20",
    (
        PriceGroup(
            {"big": Price(4, 20, 5, 0.4), "small": Price(0.1, 0.5, 0.125, 0.01, above=1000, long=Price(9, 9, 9, 9))},
            aliases={"large": "big"},
        ),
    ),
)


def paid(usd: float, agent: str = "a", model: str = "m") -> Paid:
    return Paid(agent, model, usd)


def told(usage: Usage | None, model: str = "big") -> Turn:
    return Turn(1, "a", model, "finished", usage=usage)


def test_the_next_turn_is_measured_by_the_last_three_of_its_agent_and_model() -> None:
    turns = [paid(9.0), paid(1.0), paid(0.0), paid(2.0), paid(50.0, model="other"), paid(60.0, agent="b"), paid(4.0)]
    assert estimate_turn_cost(turns, "a", "m") == pytest.approx(2.0)
    assert estimate_turn_cost(turns, "a", "new") == pytest.approx((2.0 + 50.0 + 4.0) / 3), (
        "else by those of the same agent"
    )
    assert estimate_turn_cost(turns, "b", "m") == pytest.approx(60.0)
    assert estimate_turn_cost(turns, "c", "m") is None
    assert estimate_turn_cost([], "a", "m") is None
    assert estimate_turn_cost([paid(0.0)], "a", "m") == 0.0, "a turn that cost nothing is a measure"


def test_tokens_without_a_cost_are_estimated_and_what_was_reported_stays() -> None:
    seen = price_turn(told(Usage(input=1_000_000, output=100_000, cached=2_000_000)), TABLE)
    assert seen.cost == pytest.approx(4 + 2 + 0.8) and seen.cost_status == "estimated"
    assert price_turn(told(Usage(2000, 2000, 2000), "small"), TABLE).cost == pytest.approx(0.00122), "no call was long"
    reported = replace(told(Usage(1, 1, 1)), cost=5.0, cost_status="reported")
    assert price_turn(reported, TABLE) is reported
    free = replace(told(Usage(1, 1, 1)), cost=0.0, cost_status="reported")
    assert price_turn(free, TABLE) is free


@pytest.mark.parametrize(
    ("usage", "model"), [(None, "big"), (Usage(), "big"), (Usage(1, 1), "huge"), (Usage(1, 1), "")]
)
def test_without_tokens_or_a_price_the_cost_stays_unknown(usage: Usage | None, model: str) -> None:
    seen = price_turn(told(usage, model), TABLE)
    assert (seen.cost, seen.cost_status) == (None, "unknown")


def test_a_run_costs_from_one_brief_answer_to_as_many_long_sessions_as_it_has_turns() -> None:
    big = TABLE.groups[0].prices["big"]
    found = estimate_cost_range(10_000, 5, big)
    assert found is not None
    low, high = found
    assert low == pytest.approx((10_000 * 4 + 500 * 20) / 1e6)
    one = SESSION.cache_read * 0.4 + (SESSION.cache_write + 10_000) * 5 + SESSION.output * 20
    assert high == pytest.approx(5 * one / 1e6)
    assert format_cost_range(low, high) == "$0.05 to $9.80"
    assert estimate_cost_range(10_000, 5, None) is None
    assert estimate_cost_range(0, 5, Price(0, 0, 0, 0)) == (0.0, 0.0)


def test_the_least_is_never_more_than_the_most() -> None:
    found = estimate_cost_range(50_000_000, 1, Price(10, 50, 0, 0))
    assert found and found[0] <= found[1]


def test_a_rough_amount_has_two_digits_that_count() -> None:
    amounts = [0, 0.0099, 0.014, 0.4, 0.999, 1.24, 5.97, 12.6, 99.6, 1234]
    said = ["under $0.01", "under $0.01", "$0.01", "$0.40", "$1", "$1.20", "$6", "$13", "$100", "$1,200"]
    assert [round_dollars(usd) for usd in amounts] == said
    assert format_cost_range(0.4, 6.0) == "$0.40 to $6"
    assert format_cost_range(5.98, 6.01) == "about $6"
    assert format_cost_range(0.0, 0.001) == "under $0.01"
    assert format_cost_range(0.001, 2.5) == "under $0.01 to $2.50"
