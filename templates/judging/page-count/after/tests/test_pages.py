import pytest

from catalogue.pages import page_count


def test_a_page_that_is_not_full_counts():
    assert page_count(21, 10) == 3
    assert page_count(5, 10) == 1


def test_a_page_without_room_is_refused():
    with pytest.raises(ValueError):
        page_count(5, 0)
