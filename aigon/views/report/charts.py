"""The charts of a report: from values to places in a picture of 360 by 208 pixels, which the template draws."""

from collections.abc import Callable, Sequence
from math import ceil, floor, log10

from msgspec import Struct

from aigon.journal.account import FeatureAccount, ProgressPoint, list_progress
from aigon.text.amounts import format_dollars, format_duration
from aigon.text.quoting import clip

LEFT, RIGHT, TOP, FLOOR = 46.0, 346.0, 16.0, 170.0
"""The rectangle of the lines and their labels."""
CHARACTER = 6.4
"""Pixels that a character of a label takes at most."""
LABEL_GAP = 13
NAME_CHARACTERS = 11
MARKED_POINTS = 24
"""Points of a line that get a marker each; of a longer line only the last point does."""
TABLE_ROWS = 60
_CLOCK_STEPS = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 14400, 21600, 43200, 86400)
"""Steps in seconds that people count time in."""

Point = tuple[float, float]


class Axis(Struct, frozen=True):
    """Values from 0 to `top`, and those that are labelled."""

    top: float
    ticks: tuple[float, ...]

    def place(self, value: float, start: float, end: float) -> float:
        """Return the pixel of a value if the axis goes from pixel `start` to pixel `end`."""
        return round(start + (end - start) * value / self.top, 1)


def build_count_axis(highest: float) -> Axis:
    """Return whole numbers; the last tick is at or above the highest value."""
    return _build_even_axis(max(highest, 1), max(1, _round_step(max(highest, 1) / 4)))


def build_goal_axis(highest: float) -> Axis:
    """Return whole numbers up to the highest, which has a tick of its own."""
    top = max(highest, 1)
    step = max(1, _round_step(top / 4))
    below = [tick for tick in range(0, int(top), int(step)) if not tick or top - tick >= step * 0.6]
    return Axis(top, (*below, top))


def build_iteration_axis(last: float) -> Axis:
    top = max(int(last), 1)
    return Axis(top, tuple(range(0, top + 1, int(max(1, _round_step(top / 6))))))


def build_dollar_axis(highest: float) -> Axis:
    return _build_even_axis(highest, _round_step(max(highest, 0.001) / 4))


def build_time_axis(longest: float) -> Axis:
    """Return seconds, in steps that people count time in."""
    top = max(longest, 1)
    step = next((each for each in _CLOCK_STEPS if each >= top / 4), 86400 * ceil(top / 4 / 86400))
    return Axis(top, tuple(range(0, floor(top) + 1, step)))


def _build_even_axis(highest: float, step: float) -> Axis:
    count = max(ceil(round(highest / step, 6)), 1)
    return Axis(count * step, tuple(round(step * n, 6) for n in range(count + 1)))


def _round_step(about: float) -> float:
    """Return 1, 2 or 5 times a power of ten, not below `about`."""
    power = 10.0 ** floor(log10(about))
    return power * next(factor for factor in (1, 2, 5, 10) if factor * power >= about * 0.999)


def spread_labels(wanted: Sequence[float], gap: float, lowest: float, highest: float) -> list[float]:
    """Return the nearest places that are `gap` apart between the two ends, in the same order."""
    order = sorted(range(len(wanted)), key=lambda at: (wanted[at], at))
    placed = [0.0] * len(wanted)
    at = lowest - gap
    for index in order:
        placed[index] = at = max(wanted[index], at + gap)
    limit = highest + gap
    for index in reversed(order):
        placed[index] = limit = min(placed[index], limit - gap)
    return placed


def _format_count(value: float) -> str:
    return f"{value / 1000:g}k" if value >= 10_000 and value % 100 == 0 else f"{value:,.0f}"


def _format_clock(seconds: float) -> str:
    """Return `0`, `30s`, `2m` or `1h 30m`: whole units, as ticks are."""
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    units = ((hours, "h"), (minute, "m"), (second, "s"))
    return " ".join(f"{count}{unit}" for count, unit in units if count) or "0"


class ChartMeasure(Struct, frozen=True):
    """The y axis: `get` returns its value at a point, or None if it is unknown."""

    key: str
    title: str
    get: Callable[[ProgressPoint], float | None]
    format: Callable[[float], str] = _format_count
    build_axis: Callable[[float], Axis] = build_count_axis


class Direction(Struct, frozen=True):
    """The x axis. Over time a value holds until the next assessment, hence `steps`."""

    key: str
    title: str
    get: Callable[[ProgressPoint], float]
    format: Callable[[float], str]
    build_axis: Callable[[float], Axis]
    steps: bool


CRITERIA = ChartMeasure("criteria", "Criteria passed", lambda p: p.proven, build_axis=build_goal_axis)
MEASURES = (
    CRITERIA,
    ChartMeasure("tests", "Tests passing", lambda p: p.tests_passed),
    ChartMeasure(
        "cost",
        "Cost in US dollars",
        lambda p: None if p.spend.unknown and not p.spend.usd else p.spend.usd,
        lambda value: format_dollars(value) if value else "$0",
        build_dollar_axis,
    ),
    ChartMeasure("lines", "Lines changed since the base", lambda p: p.lines),
)
DIRECTIONS = (
    Direction("i", "iteration", lambda p: p.number, _format_count, build_iteration_axis, steps=False),
    Direction("t", "time the loop ran", lambda p: p.seconds, _format_clock, build_time_axis, steps=True),
)


class Series(Struct, frozen=True):
    """The values of one work. `number` decides its looks, the same in every chart."""

    number: int
    name: str
    values: tuple[tuple[ProgressPoint, float], ...]


class Line(Struct, frozen=True):
    """A series as SVG. `leader` connects a label to the end of its line, if they are apart."""

    number: int
    path: str
    marked: Sequence[Point]
    leader: str
    label: str
    label_y: float


class Chart(Struct, frozen=True):
    """A measure in one direction: ticks are pairs of a pixel and a text, `right` is the end of the x axis."""

    key: str
    title: str
    across: str
    description: str
    right: float
    x_ticks: Sequence[tuple[float, str]]
    y_ticks: Sequence[tuple[float, str]]
    goal: float | None
    lines: Sequence[Line]


class Figure(Struct, frozen=True):
    """A measure in both directions and as a table, whose rows begin with the agent; or a note why it is missing."""

    title: str
    note: str = ""
    charts: tuple[Chart, ...] = ()
    heads: tuple[str, ...] = ()
    rows: Sequence[tuple[str, str, str, str]] = ()


def build_figures(account: FeatureAccount) -> list[Figure]:
    """Return a figure for each measure; none as long as no work has an iteration besides its base."""
    if not any(len(work.steps) > 1 for work in account.works):
        return []
    return [_build_figure(account, measure) for measure in MEASURES]


def _build_figure(account: FeatureAccount, measure: ChartMeasure) -> Figure:
    goal = len(account.items) if measure is CRITERIA else 0
    lines = []
    for number, work in enumerate(account.works):
        values = tuple((p, float(value)) for p in list_progress(work) if (value := measure.get(p)) is not None)
        if len(values) > 1:
            lines.append(Series(number, work.name, values))
    if not lines:
        return Figure(measure.title, "No cost reported.")
    if not goal and not any(value for each in lines for _, value in each.values):
        return Figure(measure.title, f"{measure.format(0)} throughout.")
    charts = tuple(_build_chart(lines, measure, direction, goal) for direction in DIRECTIONS)
    heads = (*(("Agent",) if len(lines) > 1 else ()), "Iteration", "Time", measure.title)
    rows = [
        (each.name, str(point.number), format_duration(point.seconds), measure.format(value))
        for each in lines
        for point, value in each.values
    ]
    return Figure(measure.title, "", charts, heads, rows[:TABLE_ROWS])


def _build_chart(series: Sequence[Series], measure: ChartMeasure, direction: Direction, goal: float) -> Chart:
    labels = [measure.format(each.values[-1][1]) for each in series]
    if len(series) > 1:
        labels = [f"{clip(each.name, NAME_CHARACTERS)} {label}" for each, label in zip(series, labels, strict=True)]
    right = RIGHT - max(map(len, labels)) * CHARACTER
    x_axis = direction.build_axis(max(direction.get(point) for each in series for point, _ in each.values))
    y_axis = measure.build_axis(max(goal, *(value for each in series for _, value in each.values)))

    def place_y(value: float) -> float:
        return y_axis.place(value, FLOOR, TOP)

    points = [
        [(x_axis.place(direction.get(point), LEFT, right), place_y(value)) for point, value in each.values]
        for each in series
    ]
    label_places = spread_labels([line[-1][1] for line in points], LABEL_GAP, TOP, FLOOR)
    return Chart(
        f"{measure.key}-{direction.key}",
        measure.title,
        direction.title,
        "; ".join(
            f"{each.name}: from {measure.format(each.values[0][1])} to {measure.format(each.values[-1][1])}"
            for each in series
        ),
        right,
        [(x_axis.place(tick, LEFT, right), direction.format(tick)) for tick in x_axis.ticks],
        [(place_y(tick), measure.format(tick)) for tick in y_axis.ticks],
        place_y(goal) if goal else None,
        [
            _draw_line(each.number, line, direction, right, label, label_y)
            for each, line, label, label_y in zip(series, points, labels, label_places, strict=True)
        ],
    )


def _draw_line(
    number: int, points: Sequence[Point], direction: Direction, right: float, label: str, label_y: float
) -> Line:
    (x, y), *rest = points
    path = f"M{x:g} {y:g}" + "".join(f"H{a:g}V{b:g}" if direction.steps else f"L{a:g} {b:g}" for a, b in rest)
    x, y = points[-1]
    is_beside = right - x < 6 and abs(label_y - y) < 3
    return Line(
        number,
        path,
        points if len(points) <= MARKED_POINTS else points[-1:],
        "" if is_beside else f"M{x:g} {y:g}H{right:g}L{right + 6:g} {label_y:g}",
        label,
        round(label_y + 4, 1),
    )
