"""`aigon stats`: text, JSON and a page of the same numbers."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from aigon.journal.statistics import Statistics, gather_statistics
from aigon.views.figures import render_stats_page, render_stats_table
from tests.journal.test_statistics import began, home, proven, write
from tests.lab import DONE_WHEN, Lab

__all__ = ["home"]


def test_a_repository_tells_what_its_run_came_to(lab: Lab) -> None:
    assert lab.aigon("stats").out == "No run is on record\n"
    lab.spec(f"done <!-- verify: {DONE_WHEN} -->")
    lab.config(profile="generic")
    lab.agent("touch done.txt")
    assert lab.aigon("feature-implement", "42", "--loop").code == 0
    document = lab.aigon("stats", "--by", "profile", "--format", "json").json
    (group,) = document["groups"]
    assert (group["name"], group["runs"], group["proven"], group["is_small"]) == ("generic", 1, 1, True)
    assert document["total"]["share_proven"] is None and document["total"]["stops"] == {"met": 1}
    assert document["total"]["iterations"] == {"n": 1, "mean": 1.0, "median": 1, "p90": 1}
    text = lab.aigon("stats", "--by", "agent").out
    assert "\nmine   1     1 of 1 (n=1)" in text and "ended: proven         1" in text
    assert lab.aigon("stats", "--since", "2126-01-01").out.startswith("No run is on record")
    assert lab.aigon("stats", "--since", "soon").code == lab.aigon("stats", "--by", "colour").code == 2


def test_the_table_says_n_for_small_groups_and_fits(home: Path) -> None:
    stats = gather_statistics(home, "agent")
    lines = list(render_stats_table(stats, 80))
    assert lines[1].startswith("claude  11    6 of 11 (55 %)  median 2, p90 3  23 ") and len(lines[1]) < 80
    assert lines[2].startswith("codex   2     2 of 2 (n=2)    n=2 ")
    assert "turns" in lines[0] and "turns" not in next(iter(render_stats_table(stats, 60)))
    assert any(line.startswith("iterations to proven") and "median 2, p90 9" in line for line in lines)
    assert "ended: stopped: stall  2" in "\n".join(lines) and "2 of 3 verdicts" in "\n".join(lines)


def test_the_page_shows_an_agents_text_as_text(tmp_path: Path) -> None:
    hostile = "<script>alert(1)</script>"
    write(tmp_path, "1", [replace(began("1"), kind=hostile), *proven("1", 1)[1:]])
    page = render_stats_page(gather_statistics(tmp_path, "kind"), "")
    assert hostile not in page and "&lt;script&gt;" in page and "http-equiv" in page


@pytest.mark.parametrize("since", ["", "2026-11-01"])
def test_a_page_without_runs_says_so(since: str) -> None:
    empty: Statistics = gather_statistics(None)
    assert "No run is on record" in render_stats_page(empty, since)
    assert json.dumps(since)[1:-1] in render_stats_page(empty, since)
