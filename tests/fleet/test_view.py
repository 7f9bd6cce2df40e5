"""A fleet as people see it: a lane per cell on a terminal and on pages, lines elsewhere."""

import io
import json

import pytest
from rich.text import Text

from aigon.files.home import ensure_home
from aigon.fleet.fleet import FleetEnd
from aigon.fleet.lease import CellSummary
from aigon.fleet.plan import read_note, update_note, write_note
from aigon.journal.records import Origin, locate_records
from aigon.journal.spending import Spend
from aigon.model.agents import Candidate
from aigon.views.terminal.arena import FleetLines, FleetLive
from aigon.views.terminal.frame import Page
from tests.lab import Lab
from tests.ui.desk import Desk, take_environment

RUNNING = CellSummary("running", met=1, total=3, iterations=2, spend=Spend(0.5), worker="big-1")
PROVEN = CellSummary("met", met=3, total=3, iterations=3, spend=Spend(0.75), worker="big-1", seconds=61.0)
HELD = CellSummary("held", said="small-2 works on it\x1b[2J", lease="1" * 40)
ENDED = FleetEnd({"42--cc": PROVEN, "42--cx": HELD}, 3, 1, 0.75)


def test_a_lane_per_cell_changes_in_place_and_the_table_stays() -> None:
    stream = io.StringIO()
    view = FleetLive(stream)
    view.hear("tcp://old:1", CellSummary("refused", said="this worker has aigon 0.0.1"))
    view.begin(["42--cc", "42--cx", "43--cc"])
    view.hear("42--cc", RUNNING)
    view.hear("42--cx", HELD)
    page = [line.plain for line in view._draw(Page(100, 24), False).renderables if isinstance(line, Text)]
    assert page[0] == "Fleet · 0 of 3 cells proven"
    (cell,) = [line for line in page if line.startswith("▸ 42--cc")]
    assert [*cell.split()[2:4], cell.split()[6]] == ["2", "1/3", "$0.50"]
    assert "at work on big-1" in cell
    assert any(line.startswith("· 42--cx") and line.endswith("queued") for line in page)
    assert any("held: small-2 works on it" in line for line in page)
    assert not any("\x1b" in line for line in page)
    view.hear("42--cc", PROVEN)
    view.finish(ENDED)
    assert "1 of 2 proven, $0.75 known to be spent" in stream.getvalue()


def test_lines_say_each_step_once_and_as_json_all_of_it() -> None:
    stream, words = io.StringIO(), io.StringIO()
    lines = FleetLines(stream, words, as_json=False)
    for summary in (RUNNING, RUNNING, PROVEN):
        lines.hear("42--cc", summary)
    assert [line.partition("  ")[2] for line in stream.getvalue().splitlines()] == [
        "running, 1 of 3 criteria passed, iteration 2", "proven, 3 of 3 criteria passed, iteration 3",
    ]  # fmt: skip
    stream.truncate(stream.seek(0))
    lines = FleetLines(stream, words, as_json=True)
    lines.hear("42--cc", PROVEN)
    lines.finish(ENDED)
    first, last = map(json.loads, stream.getvalue().splitlines())
    assert (first["event"], first["status"], last["event"], last["proven"]) == ("cell", "met", "fleet_finished", 1)


def test_pages_show_the_cells_of_a_fleet_as_lanes(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    take_environment(lab, monkeypatch)
    lab.spec("done <!-- verify: test -f done.txt -->")
    lab.commit("specs")
    desk, home = Desk(lab), ensure_home(lab.root / ".git")
    for slot, label in enumerate(("cc", "cx")):
        records = locate_records(home, "42", label)
        records.set_origin(Origin("main", lab.git("rev-parse", "HEAD")))
        branch = f"feature-42-{label}-dark-mode"
        records.set_candidate(Candidate("42", "dark-mode", label, label, "arena", slot, branch, ""))
    write_note(home, "f", "tcp://big:1", {"42--cc": RUNNING, "42--cx": PROVEN})
    page = desk.get("/feature/42")
    assert "at work on big-1" in page
    assert "1 of 3" in page and "3 of 3" in page
    assert "1m 01s" in page and "aigon records fetch 42 --agent cx" in page
    assert not any(f"/do/{verb}" in page for verb in ("stop", "merge", "compare"))  # nothing of it is here
    assert "at work on big-1" in desk.get("/")
    page = desk.get("/feature/42?agent=cx")
    assert "aigon records fetch 42 --agent cx" in page
    assert "Running" not in page
    write_note(home, "f", "", {"42--cc": CellSummary("refused", said="quota <exceeded>"), "42--cx": PROVEN})
    page = desk.get("/feature/42")
    assert "quota &lt;exceeded&gt;" in page
    assert "<dd>0 of 0" not in page
    assert read_note(home).cells["42--cx"] == PROVEN
    write_note(home, "newer", "tcp://big:2", {})
    update_note(home, "f", "tcp://big:1", {"42--cx": PROVEN})
    assert (read_note(home).id, read_note(home).cells) == ("newer", {})
