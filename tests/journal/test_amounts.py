import pytest

from aigon.journal.spending import Spend, describe_spend, format_cost
from aigon.text.amounts import estimate_tokens, format_dollars, format_duration


def test_tokens_are_characters_over_2_3_rounded_up() -> None:
    assert [estimate_tokens("x" * n) for n in (0, 1, 23, 24)] == [0, 1, 10, 11]


@pytest.mark.parametrize(
    ("seconds", "said"),
    [
        (0.04, "0.0s"),
        (3.21, "3.2s"),
        (9.97, "10s"),
        (59.6, "1m 00s"),
        (192, "3m 12s"),
        (3599.7, "1h 00m"),
        (7500, "2h 05m"),
    ],
)
def test_a_duration_is_said_in_the_units_of_its_size(seconds: float, said: str) -> None:
    assert format_duration(seconds) == said


def test_little_money_is_not_shown_as_none_and_unknown_is_not_shown_as_zero() -> None:
    assert [format_dollars(0.0), format_dollars(0.0042), format_dollars(1.2)] == ["$0.00", "$0.0042", "$1.20"]
    assert [format_cost(0.42, "reported"), format_cost(None, "unknown")] == ["$0.42 (reported)", "unknown"]
    assert [describe_spend(Spend(1.2)), describe_spend(Spend(1.2, 1)), describe_spend(Spend(0, 2))] == [
        "$1.20",
        "$1.20 and 1 call of unknown cost",
        "2 calls of unknown cost",
    ]


def test_a_time_without_an_end_can_be_said() -> None:
    assert format_duration(float("inf")) == format_duration(float("nan")) == "no end"
