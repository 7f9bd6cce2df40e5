"""Scales and charts: round ticks within the axis, labels apart, the same looks for an agent in every chart."""

import re
from collections.abc import Callable
from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from aigon.journal.events import TurnEnded
from aigon.views.report import charts
from aigon.views.report.charts import Axis, build_figures
from aigon.views.report.pages import render_page
from tests.views.report.accounts import account, iterations, one, three, work


@given(
    st.floats(0, 1e7),
    st.sampled_from(
        [charts.build_count_axis, charts.build_dollar_axis, charts.build_time_axis, charts.build_goal_axis]
    ),
)
def test_an_axis_has_few_ticks_holds_every_value_and_begins_at_zero(
    highest: float, build: Callable[[float], Axis]
) -> None:
    axis = build(highest)
    assert 1 <= len(axis.ticks) <= 7 and axis.ticks[0] == 0
    assert axis.top >= highest - 1e-6 and all(0 <= axis.place(tick, 0, 100) <= 100.1 for tick in axis.ticks)


def test_ticks_are_numbers_that_people_count_in() -> None:
    assert charts.build_count_axis(37).ticks == (0, 10, 20, 30, 40)
    assert charts.build_dollar_axis(0.42).ticks == (0, 0.2, 0.4, 0.6)
    assert charts.build_time_axis(700).ticks == (0, 300, 600)
    assert charts.build_goal_axis(7).ticks == (0, 2, 4, 7)
    assert charts.build_iteration_axis(14).ticks == (0, 5, 10)


@pytest.mark.parametrize(("seconds", "clock"), [(0, "0"), (30, "30s"), (5400, "1h 30m"), (86400, "24h")])
def test_ticks_of_time_are_whole_units(seconds: float, clock: str) -> None:
    assert charts.DIRECTIONS[1].format(seconds) == clock


@given(st.lists(st.floats(0, 100), max_size=6))
def test_labels_are_apart_and_in_the_order_of_their_lines(wanted: list[float]) -> None:
    placed = charts.spread_labels(wanted, 13, 0, 100)
    assert all(b - a >= 12.99 for a, b in pairwise(sorted(placed)))
    assert all(p < q for a, p in zip(wanted, placed, strict=True) for b, q in zip(wanted, placed, strict=True) if a < b)


def pictures(page: str) -> list[str]:
    return re.findall(r"<svg[^>]*role.*?</svg>", page, re.S)


def test_a_chart_is_sound_and_says_what_it_shows_to_who_cannot_see_it() -> None:
    page = render_page(three())
    parsed = [ElementTree.fromstring(svg) for svg in pictures(page)]
    assert len(parsed) == 8 and all(p.find("title") is not None and p.find("desc") is not None for p in parsed)
    assert "cc: from 0 to 2; cx: from 0 to 1; gg-pro: from 0 to 1" in page
    assert parsed[0].attrib["aria-labelledby"] == "criteria-i-t criteria-i-d"


def test_agents_differ_by_colour_dash_and_marker() -> None:
    svg = pictures(render_page(three()))[0]
    assert set(re.findall(r'<g class="(s\d)">', svg)) == {"s0", "s1", "s2"} and "stroke-dasharray" in svg
    assert len(set(re.findall(r'<path d="([^"]+)" transform="[^"]+" class="marker"', svg))) == 3


def test_the_same_numbers_stand_in_a_table_beneath() -> None:
    assert "<td>2</td><td>3m 00s</td><td>$0.40</td>" in render_page(one())


def test_a_base_alone_is_no_chart_and_a_cost_that_nobody_knows_is_said() -> None:
    assert not build_figures(account(work(iterations([0]))))
    turns = [
        replace(event, turn=replace(event.turn, cost=None, cost_status="unknown"))
        if isinstance(event, TurnEnded)
        else event
        for event in iterations([0, 1, 2])
    ]
    page = render_page(account(work(turns)))
    assert '<figcaption>Cost in US dollars</figcaption>\n<p class="none">No cost reported.' in page
