import pytest

import teatimer


def test_green_tea_steeps_for_two_minutes():
    assert teatimer.steep("green") == 120


def test_cold_brew_steeps_for_eight_hours():
    assert teatimer.steep("cold brew") == 8 * 60 * 60


def test_a_tea_that_is_not_on_the_shelf_is_named():
    with pytest.raises(LookupError, match="coffee"):
        teatimer.steep("coffee")
