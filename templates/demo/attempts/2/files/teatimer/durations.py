"""Durations the way people write them: 1h30m."""

import re

UNITS = (("h", 3600), ("m", 60), ("s", 1))
DURATION = re.compile(r"(?:([0-9]+)h)?(?:([0-9]+)m)?(?:([0-9]+)s)?")


def parse(text: str) -> int:
    """The seconds in `text`. Raises `ValueError` when it is no duration."""
    match = DURATION.fullmatch(text)
    if not text or match is None:
        raise ValueError(f"not a duration: {text!r}")
    counts = [int(count or 0) for count in match.groups()]
    return sum(count * size for count, (_, size) in zip(counts, UNITS, strict=True))


def show(seconds: int) -> str:
    """`seconds` as hours, minutes and seconds, the two largest that are not zero."""
    parts = []
    for unit, size in UNITS:
        count, seconds = divmod(seconds, size)
        if count:
            parts.append(f"{count}{unit}")
    return "".join(parts[:2]) or "0s"
