"""From values to places on a chart, and the few ticks that its axes need."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, floor, log10

CENT = 0.01
_CLOCK = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400)
"""Steps in seconds that people count time in."""


@dataclass(frozen=True, slots=True)
class Scale:
    """Values from 0 to `top` on pixels from `start` to `end`; `ticks` are the values that are named."""

    top: float
    ticks: tuple[float, ...]
    start: float
    end: float

    def at(self, value: float) -> float:
        """The pixel of a value."""
        return round(self.start + (self.end - self.start) * (value / self.top if self.top else 0), 1)


def of_counts(highest: float, start: float, end: float, most: int = 4) -> Scale:
    """Whole numbers: 0 and up to `most` more ticks, the last at or above the highest."""
    step = max(1, _round_step(max(highest, 1) / most))
    return _scale(ceil(max(highest, 1) / step) * step, step, start, end)


def of_goal(highest: float, start: float, end: float) -> Scale:
    """Whole numbers up to the highest, which has a tick of its own."""
    top = max(highest, 1)
    step = max(1, _round_step(top / 4))
    below = [tick for tick in range(0, int(top), int(step)) if not tick or top - tick >= step * 0.6]
    return Scale(top, (*below, top), start, end)


def of_iterations(last: int, start: float, end: float) -> Scale:
    """Iterations from 0 to the last, which is where the axis ends."""
    step = max(1, _round_step(max(last, 1) / 6))
    top = max(last, 1)
    return Scale(top, tuple(range(0, top + 1, int(step))), start, end)


def of_money(highest: float, start: float, end: float) -> Scale:
    """US dollars."""
    step = _round_step(max(highest, CENT / 10) / 4)
    return _scale(max(ceil(round(highest / step, 6)), 1) * step, step, start, end)


def of_seconds(longest: float, start: float, end: float) -> Scale:
    """Time, in steps that people count it in."""
    wanted = max(longest, 1) / 4
    days = 86400 * ceil(wanted / 86400)
    step = next((each for each in _CLOCK if each >= wanted), days)
    top = max(longest, 1)
    return Scale(top, tuple(range(0, floor(top) + 1, step)), start, end)


def apart(wanted: Sequence[float], gap: float, lowest: float, highest: float) -> list[float]:
    """The places nearest to those wanted that are `gap` from each other, between the two ends; in the same order."""
    order = sorted(range(len(wanted)), key=lambda at: (wanted[at], at))
    placed = [0.0] * len(wanted)
    at = lowest - gap
    for index in order:
        placed[index] = at = max(wanted[index], at + gap)
    limit = highest + gap
    for index in reversed(order):
        placed[index] = limit = min(placed[index], limit - gap)
    return placed


def _scale(top: float, step: float, start: float, end: float) -> Scale:
    return Scale(top, tuple(round(step * n, 6) for n in range(round(top / step) + 1)), start, end)


def _round_step(about: float) -> float:
    """1, 2 or 5 times a power of ten, not below `about`."""
    power = 10.0 ** floor(log10(about))
    factor = next(each for each in (1, 2, 5, 10) if each * power >= about * 0.999)
    return factor * power
