import pytest

import teatimer


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("45s", 45), ("4m", 240), ("8h", 28800), ("1h30m", 5400), ("1h1m1s", 3661)],
)
def test_parse_reads_hours_minutes_and_seconds(text, seconds):
    assert teatimer.parse(text) == seconds


@pytest.mark.parametrize("text", ["", "soon", "5", "-5m", "5m later", "30m1h"])
def test_parse_refuses_what_is_not_a_duration(text):
    with pytest.raises(ValueError) as caught:
        teatimer.parse(text)
    assert repr(text) in str(caught.value)
