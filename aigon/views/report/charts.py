"""Line charts as SVG: few ticks, a name at the end of each line, told apart by colour, dash and marker."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from aigon.views.report import scale
from aigon.views.report.markup import Markup, joined, tag, text
from aigon.views.report.scale import Scale

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
    places = scale.apart([y.at(point[1]) for _, point, _ in texts], 13, TOP, HEIGHT - BOTTOM)
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
