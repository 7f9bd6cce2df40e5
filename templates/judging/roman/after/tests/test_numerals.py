import pytest

from chapters.numerals import roman


@pytest.mark.parametrize(("number", "numeral"), [(4, "IV"), (9, "IX"), (2026, "MMXXVI")])
def test_a_number_has_its_numeral(number, numeral):
    assert roman(number) == numeral


def test_there_is_no_nothing():
    with pytest.raises(ValueError):
        roman(0)
