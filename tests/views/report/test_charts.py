"""Scales and charts: round ticks within the axis, labels apart, the same looks for an agent in every chart."""

import re
from dataclasses import replace
from itertools import pairwise
from xml.etree import ElementTree

from hypothesis import given
from hypothesis import strategies as st

from aigon.journal.events import TurnEnded
from aigon.views.report import charts
from aigon.views.report.charts import plots
from tests.views.report.accounts import account, iterations, one, three, work


@given(st.floats(0, 1e7), st.sampled_from([charts.of_counts, charts.of_money, charts.of_seconds, charts.of_goal]))
def test_an_axis_has_few_ticks_holds_every_value_and_begins_at_zero(highest: float, made: object) -> None:
    found = made(highest, 0.0, 100.0)  # type: ignore[operator]
    assert 1 <= len(found.ticks) <= 7 and found.ticks[0] == 0
    assert found.top >= highest - 1e-6 and all(0 <= found.at(tick) <= 100.1 for tick in found.ticks)


def test_ticks_are_numbers_that_people_count_in() -> None:
    assert charts.of_counts(37, 0, 1).ticks == (0, 10, 20, 30, 40)
    assert charts.of_money(0.42, 0, 1).ticks == (0, 0.2, 0.4, 0.6)
    assert charts.of_seconds(700, 0, 1).ticks == (0, 300, 600)
    assert charts.of_goal(7, 0, 1).ticks == (0, 2, 4, 7)


@given(st.lists(st.floats(0, 100), max_size=6))
def test_labels_are_apart_and_in_the_order_of_their_lines(wanted: list[float]) -> None:
    placed = charts.apart(wanted, 13, 0, 100)
    assert all(b - a >= 12.99 for a, b in pairwise(sorted(placed)))
    assert all(p < q for a, p in zip(wanted, placed, strict=True) for b, q in zip(wanted, placed, strict=True) if a < b)


def test_a_chart_is_sound_and_says_what_it_shows_to_who_cannot_see_it() -> None:
    made = str(plots(three()))
    pictures = [ElementTree.fromstring(svg) for svg in re.findall(r"<svg.*?</svg>", made)]
    assert len(pictures) == 8 and all(p.find("title") is not None and p.find("desc") is not None for p in pictures)
    assert "cc: from 0 to 2; cx: from 0 to 1; gg-pro: from 0 to 1" in made
    assert pictures[0].attrib["aria-labelledby"] == "criteria-i-t criteria-i-d"


def test_agents_differ_by_colour_dash_and_marker() -> None:
    svg = re.findall(r"<svg.*?</svg>", str(plots(three())))[0]
    groups = re.findall(r'<g class="(s\d)">|<g[^>]*class="(s\d)"', svg)
    assert len(groups) == 3 and "stroke-dasharray" in svg
    assert all(f"<{shape}" in svg for shape in ("circle", "rect", "polygon"))


def test_the_same_numbers_stand_in_a_table_beneath() -> None:
    made = str(plots(one()))
    assert "<td>2</td><td>3m 00s</td><td>$0.40</td>" in made


def test_a_base_alone_is_no_chart_and_a_cost_that_nobody_knows_is_said() -> None:
    assert plots(account(work(iterations([0])))) is None
    turns = [
        replace(event, turn=replace(event.turn, cost=None, cost_status="unknown"))
        if isinstance(event, TurnEnded)
        else event
        for event in iterations([0, 1, 2])
    ]
    made = str(plots(account(work(turns))))
    assert '<figcaption>Cost in US dollars</figcaption><p class="none">No cost reported.' in made
