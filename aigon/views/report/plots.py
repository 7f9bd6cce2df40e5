"""The four measures of progress, each over iterations and over time, with the same numbers as a table beneath."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from aigon.journal.account import FeatureAccount, ProgressPoint, WorkAccount, list_progress
from aigon.text.amounts import format_dollars, format_duration
from aigon.views.report import scale
from aigon.views.report.charts import Chart, Series, svg
from aigon.views.report.markup import Markup, folding, joined, tag
from aigon.views.report.scale import Scale

_ROWS = 60
"""Rows of a table."""


@dataclass(frozen=True, slots=True)
class Measure:
    """Something that is plotted: `of` gives its value at a point, None where it is unknown."""

    key: str
    title: str
    of: Callable[[ProgressPoint], float | None]
    named: Callable[[float], str]
    up: Callable[[float, float, float], Scale] = scale.of_counts
    goal: Callable[[FeatureAccount], float | None] = lambda _account: None


def _whole(value: float) -> str:
    return f"{value / 1000:g}k" if value >= 10_000 and value % 100 == 0 else f"{value:,.0f}"


def _usd(value: float) -> str:
    return "$0" if not value else format_dollars(value)


def _paid(point: ProgressPoint) -> float | None:
    return None if point.spend.unknown and not point.spend.usd else point.spend.usd


MEASURES = (
    Measure("criteria", "Criteria proven", lambda p: p.proven, _whole, scale.of_goal, lambda a: len(a.items)),
    Measure("tests", "Tests passing", lambda p: p.tests_passed, _whole),
    Measure("cost", "Cost in US dollars", _paid, _usd, scale.of_money),
    Measure("lines", "Lines changed since the base", lambda p: p.lines, _whole),
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


def _figure(account: FeatureAccount, measure: Measure, drawn: Drawn) -> Markup:
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


def _by_iteration(account: FeatureAccount, measure: Measure, known: Drawn) -> Chart:
    return Chart(
        f"{measure.key}-i",
        measure.title,
        "iteration",
        _series(known, measure, lambda p: p.number),
        measure.up,
        lambda last, start, end: scale.of_iterations(int(last), start, end),
        measure.named,
        _whole,
        goal=measure.goal(account),
    )


def _by_time(chart: Chart, measure: Measure, known: Drawn) -> Chart:
    """The same over the time that loops ran: what was so stays so until the next look, hence steps."""
    return replace(
        chart,
        key=f"{measure.key}-t",
        across="time the loop ran",
        series=_series(known, measure, lambda p: p.seconds),
        over=scale.of_seconds,
        named_across=_clock,
        steps=True,
    )


def _series(known: Drawn, measure: Measure, across: Callable[[ProgressPoint], float]) -> tuple[Series, ...]:
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


def _table(measure: Measure, known: Drawn) -> Markup:
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
