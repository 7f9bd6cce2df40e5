"""What takes more than its share of time as an input grows: the sign of a pattern or a loop that begins anew."""

from tests.fuzz.target import Target, timed

SMALL = 8 * 1024
TIMES = 4
MOST = 8
"""How many times as long four times the input may take: linear is 4, quadratic is 16."""
NOTICED = 0.25
"""Seconds of CPU below which nothing is said: such a time measures the machine."""
AROUND = (b"", b"# A\n\n## Acceptance Criteria\n\n")
"""What the repeated word stands after: in a spec, only criteria are looked at closely."""


def complaint(target: Target, word: bytes) -> str:
    """Why an input that is `word` over and over takes too long; '' where it does not."""
    for before in AROUND:
        large = timed(target, before + _filled(word, SMALL * TIMES))
        if large < NOTICED:
            continue
        small = min(timed(target, before + _filled(word, SMALL)) for _ in range(2))
        large = min(large, timed(target, before + _filled(word, SMALL * TIMES)))
        if large > NOTICED and large > MOST * small:
            return f"{target.name}: {word!r} x {TIMES} takes {large / small:.0f} times as long ({large:.2f} s)"
    return ""


def _filled(word: bytes, size: int) -> bytes:
    """Whole words: a half one at the end may be refused at once."""
    return word * (size // len(word) + 1)
