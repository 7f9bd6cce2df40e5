"""Prints how many of the 86,400 lengths within a day survive `parse(show(seconds))`.

The first few that do not are named on standard error.
"""

import sys

import teatimer

DAY = 24 * 60 * 60


def lost(seconds: int) -> str:
    """What became of `seconds` on the way there and back, or "" when it survived."""
    text = teatimer.show(seconds)
    try:
        back = teatimer.parse(text)
    except ValueError as error:
        return f"{seconds} -> {text!r} -> {error}"
    return "" if back == seconds else f"{seconds} -> {text!r} -> {back}"


def main() -> None:
    """Count over one day."""
    losses = [loss for loss in map(lost, range(DAY)) if loss]
    print(*losses[:3], sep="\n", end="\n" if losses else "", file=sys.stderr)
    print(DAY - len(losses))


if __name__ == "__main__":
    main()
