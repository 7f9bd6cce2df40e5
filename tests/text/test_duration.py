"""Durations as people write and read them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from aigon.text.amounts import abbreviate_duration, parse_duration, spell_duration


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("90", 90),
        ("90s", 90),
        ("30m", 1800),
        ("1h30m", 5400),
        ("1h 30m", 5400),
        ("1.5h", 5400),
        ("2d", 172800),
        ("250ms", 0.25),
        (" 2H ", 7200),
        (90, 90),
        (0.5, 0.5),
    ],
)
def test_a_duration_is_read_as_seconds(text: str | float, wanted: float) -> None:
    assert parse_duration(text) == wanted


@pytest.mark.parametrize(
    "text", ["", " ", "h", "-5m", "5 minutes", "1e3", "ten", "0", "0s", "inf", "nan", "1,5h", "5m!", "9" * 400]
)
def test_what_is_no_positive_duration_is_refused_with_what_was_written(text: str) -> None:
    with pytest.raises(ValueError, match="duration") as error:
        parse_duration(text)
    assert repr(text) in str(error.value)


@pytest.mark.parametrize("number", [0, -1, float("inf"), float("nan")])
def test_a_number_of_seconds_has_to_be_positive_and_finite(number: float) -> None:
    with pytest.raises(ValueError, match="not a positive duration"):
        parse_duration(number)


@pytest.mark.parametrize(
    ("value", "said"),
    [(0.04, "0.0 s"), (0.44, "0.4 s"), (12.4, "12 s"), (59.6, "1 m 00 s"), (185, "3 m 05 s"), (7620, "2 h 07 m")],
)
def test_a_duration_is_said_in_the_units_of_its_size(value: float, said: str) -> None:
    assert spell_duration(value) == said


@given(st.integers(0, 99), st.integers(0, 59), st.integers(1, 59))
def test_parts_add_up(hours: int, minutes: int, rest: int) -> None:
    assert parse_duration(f"{hours}h{minutes}m{rest}s") == hours * 3600 + minutes * 60 + rest


@pytest.mark.parametrize(
    ("value", "wanted"), [(0.5, "0.5s"), (45, "45s"), (90, "90s"), (600, "10m"), (5400, "1h30m"), (7200, "2h")]
)
def test_a_duration_is_shown_as_it_would_be_written(value: float, wanted: str) -> None:
    assert abbreviate_duration(value) == wanted
    assert parse_duration(abbreviate_duration(value)) == value
