import pytest

import teatimer


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(45, "45s"), (240, "4m"), (210, "3m30s"), (28800, "8h"), (5400, "1h30m")],
)
def test_show_leaves_out_what_is_zero(seconds, text):
    assert teatimer.show(seconds) == text


def test_show_of_no_time_at_all_is_0s():
    assert teatimer.show(0) == "0s"
