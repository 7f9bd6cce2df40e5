"""Lists in sentences: `criteria 1, 2 and 5`."""

from collections.abc import Sequence


def list_criteria(numbers: Sequence[int]) -> str:
    """`criterion 2`, `criteria 1 and 3`; four or more in a row are a range: `criteria 1 to 4`."""
    if len(numbers) > 3 and list(numbers) == list(range(numbers[0], numbers[-1] + 1)):
        return f"criteria {numbers[0]} to {numbers[-1]}"
    return f"{'criterion' if len(numbers) == 1 else 'criteria'} {join_words([str(number) for number in numbers])}"


def join_words(words: Sequence[str]) -> str:
    """`a`, `a and b`, `a, b and c`."""
    return " and ".join(filter(None, (", ".join(words[:-1]), words[-1] if words else "")))
