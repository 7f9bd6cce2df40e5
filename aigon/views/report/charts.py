"""From values to places on a chart, and the few ticks that its axes need."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from math import ceil, floor, log10

from aigon.journal.account import FeatureAccount, ProgressPoint, WorkAccount, list_progress
from aigon.text.amounts import format_dollars, format_duration
from aigon.views.report.markup import Markup, folding, joined, tag, text

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


WIDTH, HEIGHT = 360.0, 208.0
LEFT, TOP, BOTTOM = 46.0, 16.0, 38.0
CHARACTER = 6.4
"""Pixels that a character of a label takes, at the most."""
LONGEST = 11
"""Characters of a name beside its line."""
MARKED = 24
"""Points of a line that get a marker each; of a longer one only the last does."""
SHAPES = ("circle", "square", "triangle", "diamond")
DASHES = ("", "7 4", "2 3", "9 3 2 3")

Point = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Series:
    """A line by name; `number` decides its looks, the same in every chart."""

    name: str
    number: int
    points: tuple[Point, ...]


@dataclass(frozen=True, slots=True)
class Chart:
    """A chart and what it is about. `across` names the axis of x and its scale, `up` makes that of y.

    `goal` is a value that the lines are to reach; `named` is how a value is written.
    """

    key: str
    title: str
    across: str
    series: tuple[Series, ...]
    up: Callable[[float, float, float], Scale]
    over: Callable[[float, float, float], Scale]
    named: Callable[[float], str]
    named_across: Callable[[float], str]
    steps: bool = False
    goal: float | None = None


def svg(chart: Chart) -> Markup:
    """The chart as one picture, with a title and a description for who cannot see it."""
    x, y = _scales(chart)
    goal = chart.goal and tag("line", x1=LEFT, x2=x.end, y1=y.at(chart.goal), y2=y.at(chart.goal), class_="goal")
    return tag(
        "svg",
        tag("title", f"{chart.title}, {chart.across}", id=f"{chart.key}-t"),
        tag("desc", text(_described(chart), 2000), id=f"{chart.key}-d"),
        _axes(chart, x, y),
        goal or None,
        *(_line(chart, each, x, y) for each in chart.series),
        _labels(chart, x, y),
        viewBox=f"0 0 {WIDTH:.0f} {HEIGHT:.0f}",
        role="img",
        aria_labelledby=f"{chart.key}-t {chart.key}-d",
    )


def _scales(chart: Chart) -> tuple[Scale, Scale]:
    xs = [x for each in chart.series for x, _ in each.points] or [0.0]
    ys = [y for each in chart.series for _, y in each.points] + ([chart.goal] if chart.goal else [])
    right = WIDTH - 14 - max((len(said) for _, _, said in _texts(chart)), default=0) * CHARACTER
    return chart.over(max(xs), LEFT, right), chart.up(max(ys, default=0.0), HEIGHT - BOTTOM, TOP)


def _axes(chart: Chart, x: Scale, y: Scale) -> Markup:
    floor = HEIGHT - BOTTOM
    grid = [tag("line", x1=LEFT, x2=x.end, y1=y.at(v), y2=y.at(v), class_="grid") for v in y.ticks]
    named = [tag("text", chart.named(v), x=LEFT - 7, y=y.at(v) + 4, class_="tick end") for v in y.ticks]
    below = [tag("text", chart.named_across(v), x=x.at(v), y=floor + 16, class_="tick middle") for v in x.ticks]
    axis = tag("line", x1=LEFT, x2=x.end, y1=floor, y2=floor, class_="axis")
    title = tag("text", chart.across, x=(LEFT + x.end) / 2, y=HEIGHT - 5, class_="tick middle")
    return joined((*grid, axis, *named, *below, title))


def _line(chart: Chart, series: Series, x: Scale, y: Scale) -> Markup | None:
    if not series.points:
        return None
    places = [(x.at(a), y.at(b)) for a, b in series.points]
    dash = DASHES[series.number % len(DASHES)] or None
    marked = places if len(places) <= MARKED else places[-1:]
    shape = SHAPES[series.number % len(SHAPES)]
    return tag(
        "g",
        tag("path", d=_path(places, chart.steps), class_="line", stroke_dasharray=dash),
        *(_marker(shape, a, b) for a, b in marked),
        class_=f"s{series.number % 6}",
    )


def _path(places: Sequence[Point], steps: bool) -> str:
    (a, b), *rest = places
    parts = [f"M{a:g} {b:g}"]
    parts += [f"H{x:g}V{y:g}" if steps else f"L{x:g} {y:g}" for x, y in rest]
    return "".join(parts)


def _marker(shape: str, x: float, y: float) -> Markup:
    if shape == "circle":
        return tag("circle", cx=x, cy=y, r=3.2)
    if shape == "square":
        return tag("rect", x=round(x - 3, 1), y=round(y - 3, 1), width=6, height=6)
    corners = {"triangle": ((0, -4), (3.8, 3), (-3.8, 3)), "diamond": ((0, -4.2), (4.2, 0), (0, 4.2), (-4.2, 0))}[shape]
    return tag("polygon", points=" ".join(f"{x + a:g},{y + b:g}" for a, b in corners))


def _texts(chart: Chart) -> list[tuple[Series, Point, str]]:
    """What stands at the end of each line: its name where there are several, and its last value."""
    found = []
    for each in chart.series:
        if each.points:
            value = chart.named(each.points[-1][1])
            name = each.name if len(each.name) <= LONGEST else f"{each.name[: LONGEST - 1]}…"
            found.append((each, each.points[-1], f"{name} {value}" if len(chart.series) > 1 else value))
    return found


def _labels(chart: Chart, x: Scale, y: Scale) -> Markup:
    """In one column at the right, none over another; a thin line leads to each that is not where its line ends."""
    texts = _texts(chart)
    places = apart([y.at(point[1]) for _, point, _ in texts], 13, TOP, HEIGHT - BOTTOM)
    return joined(
        tag("g", _leader(x.at(p[0]), y.at(p[1]), x.end, at), tag("text", said, x=x.end + 9, y=round(at + 4, 1)),
            class_=f"label s{each.number % 6}")
        for (each, p, said), at in zip(texts, places, strict=True)
    )  # fmt: skip


def _leader(x: float, y: float, end: float, at: float) -> Markup | None:
    if end - x < 6 and abs(at - y) < 3:
        return None
    return tag("path", d=f"M{x:g} {y:g}H{end:g}L{end + 6:g} {at:g}", class_="leader")


def _described(chart: Chart) -> str:
    return "; ".join(
        f"{each.name}: from {chart.named(each.points[0][1])} to {chart.named(each.points[-1][1])}"
        for each in chart.series
        if each.points
    )


_ROWS = 60
"""Rows of a table."""


@dataclass(frozen=True, slots=True)
class ChartMeasure:
    """Something that is plotted: `of` gives its value at a point, None where it is unknown."""

    key: str
    title: str
    of: Callable[[ProgressPoint], float | None]
    named: Callable[[float], str]
    up: Callable[[float, float, float], Scale] = of_counts
    goal: Callable[[FeatureAccount], float | None] = lambda _account: None


def _whole(value: float) -> str:
    return f"{value / 1000:g}k" if value >= 10_000 and value % 100 == 0 else f"{value:,.0f}"


def _usd(value: float) -> str:
    return "$0" if not value else format_dollars(value)


def _paid(point: ProgressPoint) -> float | None:
    return None if point.spend.unknown and not point.spend.usd else point.spend.usd


MEASURES = (
    ChartMeasure("criteria", "Criteria proven", lambda p: p.proven, _whole, of_goal, lambda a: len(a.items)),
    ChartMeasure("tests", "Tests passing", lambda p: p.tests_passed, _whole),
    ChartMeasure("cost", "Cost in US dollars", _paid, _usd, of_money),
    ChartMeasure("lines", "Lines changed since the base", lambda p: p.lines, _whole),
)


def plots(account: FeatureAccount) -> Markup | None:
    """All charts; nothing where there is no way to plot: a base alone is a point."""
    works = [(at, work, list_progress(work)) for at, work in enumerate(account.works)]
    drawn = [(at, work, found) for at, work, found in works if len(found) > 1]
    if not drawn:
        return None
    return tag(
        "section",
        tag("h2", "Progress"),
        tag("input", type="radio", name="across", id="by-iteration", checked=True),
        tag("label", "Over iterations", for_="by-iteration"),
        tag("input", type="radio", name="across", id="by-time"),
        tag("label", "Over time", for_="by-time"),
        tag("div", *(_figure(account, each, drawn) for each in MEASURES), class_="plots"),
        id="progress",
        class_="progress",
    )


Drawn = Sequence[tuple[int, WorkAccount, tuple[ProgressPoint, ...]]]


def _figure(account: FeatureAccount, measure: ChartMeasure, drawn: Drawn) -> Markup:
    known = [(at, work, tuple(p for p in found if measure.of(p) is not None)) for at, work, found in drawn]
    known = [each for each in known if len(each[2]) > 1]
    caption = tag("figcaption", measure.title)
    if not known:
        return tag("figure", caption, tag("p", "No cost reported.", class_="none"))
    if not measure.goal(account) and not any(measure.of(point) for _, _, found in known for point in found):
        return tag("figure", caption, tag("p", f"{measure.named(0)} throughout.", class_="none"))
    chart = _by_iteration(account, measure, known)
    return tag(
        "figure",
        caption,
        tag("div", svg(chart), class_="over-iterations"),
        tag("div", svg(_by_time(chart, measure, known)), class_="over-time"),
        folding("The numbers", _table(measure, known)),
    )


def _by_iteration(account: FeatureAccount, measure: ChartMeasure, known: Drawn) -> Chart:
    return Chart(
        f"{measure.key}-i",
        measure.title,
        "iteration",
        _series(known, measure, lambda p: p.number),
        measure.up,
        lambda last, start, end: of_iterations(int(last), start, end),
        measure.named,
        _whole,
        goal=measure.goal(account),
    )


def _by_time(chart: Chart, measure: ChartMeasure, known: Drawn) -> Chart:
    """The same over the time that loops ran: what was so stays so until the next look, hence steps."""
    return replace(
        chart,
        key=f"{measure.key}-t",
        across="time the loop ran",
        series=_series(known, measure, lambda p: p.seconds),
        over=of_seconds,
        named_across=_clock,
        steps=True,
    )


def _series(known: Drawn, measure: ChartMeasure, across: Callable[[ProgressPoint], float]) -> tuple[Series, ...]:
    return tuple(
        Series(work.name, at, tuple((across(p), float(measure.of(p) or 0)) for p in found)) for at, work, found in known
    )


def _clock(seconds: float) -> str:
    """`0`, `30s`, `2m`, `1h 30m`: whole units, as ticks are."""
    if not seconds:
        return "0"
    hours, rest = divmod(round(seconds), 3600)
    parts = [f"{hours}h" if hours else "", f"{rest // 60}m" if rest // 60 else "", f"{rest % 60}s" if rest % 60 else ""]
    return " ".join(part for part in parts if part)


def _table(measure: ChartMeasure, known: Drawn) -> Markup:
    several = len(known) > 1
    heads = (*(("Agent",) if several else ()), "Iteration", "Time", measure.title)
    rows = [(work, point) for _, work, found in known for point in found][:_ROWS]
    body = (
        tag("tr", tag("th", work.name, scope="row") if several else None, tag("td", point.number),
            tag("td", format_duration(point.seconds)), tag("td", measure.named(float(measure.of(point) or 0))))
        for work, point in rows
    )  # fmt: skip
    head = tag("tr", *(tag("th", name, scope="col") for name in heads))
    return tag("div", tag("table", tag("thead", head), tag("tbody", joined(body)), class_="numbers"), class_="scroll")
