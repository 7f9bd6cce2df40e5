"""The board on a terminal: columns that fit, cards that are aligned, colours where they are wanted."""

import io
from datetime import datetime, timedelta, tzinfo
from typing import Any

import pytest
from rich.cells import cell_len

from aigon.spec.features import FOLDERS, Feature
from aigon.views import board_text
from aigon.views.board_cards import Card, CardLane, Column, RunEnd, RunningLoop, build_board_document
from aigon.views.board_text import print_board

NOW = datetime(2026, 1, 2, 12, 30).astimezone().isoformat()
LOOP = RunningLoop("claude", 2, 5, NOW)


class Noon(datetime):
    """A clock that stands, so that no test runs into the next day."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> "Noon":
        return cls.fromisoformat(NOW).astimezone(tz)


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(board_text, "datetime", Noon)


def card(id: str, stage: str = "backlog", title: str = "Dark mode", **more: object) -> Card:
    feature = Feature(id, "dark-mode", f"docs/{id}.md", stage)
    return Card(feature, title, **{"boxes": 4, "ticked": 1, **more})  # type: ignore[arg-type]


def board() -> list[Column]:
    """Every stage with something in it, and texts that are hard to place."""
    cards = {
        "inbox": [card("", "inbox", "日本語の長い題名 🎉 " * 4)],
        "backlog": [card("07"), card("08", title="a" * 300, boxes=0, ticked=0)],
        "in-progress": [card("42", proven=3, total=5, working=(LOOP,))],
        "in-evaluation": [card("43", problem="loop-state-43.json cannot be read")],
        "done": [card("44", proven=5, total=5, ended=RunEnd("met", "Every", NOW, "claude", 3))],
        "cancelled": [card("46")],
        "paused": [
            card("45", proven=0, total=2, ended=RunEnd("stopped", "Stopped by the guard stall: x", NOW, "m", 4))
        ],
    }
    return [Column(stage, tuple(cards[stage])) for stage in FOLDERS]


def shown(columns: list[Column], width: int) -> str:
    """What `show` prints into a pipe of this width."""
    stream = io.StringIO()
    print_board(columns, stream, width)
    return stream.getvalue()


@pytest.mark.parametrize("width", [12, 27, 40, 60, 80, 100, 140, 200])
def test_it_fits_any_width_and_its_borders_are_straight(width: int) -> None:
    lines = shown(board(), width).splitlines()
    assert max(map(cell_len, lines)) <= width
    for line in lines:
        if "│" in line:  # cells are as wide as the terminal shows them, so that every border is below its corner
            at = [cell_len(line[:place]) for place, char in enumerate(line) if char in "│╭╰╮╯"]
            assert len(at) % 2 == 0, line
            wide = {right - left for left, right in zip(at[::2], at[1::2], strict=True)}
            assert len(wide) == 1, line


def test_a_narrow_terminal_stacks_stages_and_a_wide_one_has_them_side_by_side() -> None:
    heads = [f"{name} (" for name in ("Inbox", "Backlog", "In progress", "In evaluation", "Done", "Paused")]
    narrow = shown(board(), 40)
    assert [narrow.index(head) for head in heads] == sorted(narrow.index(head) for head in heads)
    assert all(sum(head in line for head in heads) <= 1 for line in narrow.splitlines())
    assert any(all(head in line for head in heads) for line in shown(board(), 170).splitlines())
    assert sum(any(head in line for head in heads) for line in shown(board(), 80).splitlines()) == 3


def said(*cards: Card) -> str:
    """The words on these cards, one below the other."""
    text = shown([Column("backlog", cards)], 120)
    return " ".join(text.replace("│", " ").split())


def test_a_card_says_what_is_proven_who_works_and_how_it_ended() -> None:
    working, ended = board()[2].cards[0], board()[5].cards[0]
    assert f"3/5 passed running: claude, iteration 2 of 5, since {NOW[11:16]}" in said(working)
    assert f"0/2 passed stopped: stall: x, {NOW[11:16]}" in said(ended)
    assert f"5/5 passed proven, {NOW[11:16]}" in said(board()[4].cards[0])
    assert "loop-state-43.json cannot be read" in said(board()[3].cards[0])


def arena() -> Card:
    """Three agents: one works, one is done, one was killed."""
    lanes = (
        CardLane("cc", "claude", 2, 4, working=RunningLoop("claude", 3, 5, NOW, label="cc")),
        CardLane("cx-o5", "codex:o5", 4, 4, ended=RunEnd("met", "Every", NOW, "codex:o5", 2)),
        CardLane("gg", "gemini", 0, 4, ended=RunEnd("broken_off", "", NOW, "gemini", 1)),
    )
    return card("42", "in-progress", proven=4, total=4, working=(lanes[0].working,), lanes=lanes)


def test_each_of_several_agents_has_its_count_and_its_line() -> None:
    text = said(arena())
    assert "cc 2/4, cx-o5 4/4, gg 0/4 passed" in text
    assert f"cc running: iteration 3 of 5, since {NOW[11:16]} cx-o5: proven, {NOW[11:16]}" in text
    assert "gg: broken off, " in text
    assert shown([Column("in-progress", (arena(),))], 40).splitlines()[-1] == (
        "Next: aigon feature-implement 42 --resume --agent gg"
    )
    assert text.count("running") == 1


@pytest.mark.parametrize("width", [27, 40, 80, 120])
def test_several_agents_fit_any_width(width: int) -> None:
    columns = [*board()[:2], Column("in-progress", (arena(),)), *board()[3:]]
    lines = [line for line in shown(columns, width).splitlines() if not line.startswith("Next: ")]
    assert max(map(cell_len, lines)) <= width


def test_several_agents_as_data_are_candidates_beside_the_loops() -> None:
    stages: Any = build_board_document([Column("in-progress", (arena(),))])["stages"]
    (stage,) = stages
    (feature,) = stage["features"]
    assert [(each["label"], each["proven"], bool(each["working"])) for each in feature["candidates"]] == [
        ("cc", 2, True), ("cx-o5", 4, False), ("gg", 0, False),
    ]  # fmt: skip
    assert [loop["label"] for loop in feature["loops"]] == ["cc"] and feature["running"]


def test_ticks_are_shown_as_claims_and_never_as_proven() -> None:
    text = said(card("07"))
    assert "4 criteria, 1 ticked" in text and "proven" not in text
    assert "ticked: boxes in a spec that no run has checked yet" in text


@pytest.mark.parametrize(
    ("ended", "words"),
    [
        (RunEnd("broken_off", "", NOW, "m", 1), "Next: aigon feature-implement 42 --resume"),
        (RunEnd("elsewhere", "on gpu-box", NOW, "m", 1), "runs, or did, on gpu-box"),
        (RunEnd("needs_human", "Needs a human: criteria 2 wait", NOW, "m", 1), "needs a human: criteria 2 wait"),
        (RunEnd("met", "", "2020-01-02T03:04:05+00:00", "m", 1), "proven, 2020-01-0"),
        (RunEnd("a new word", "why", "no time", "m", 1), "a new word: why, no time"),
    ],
)
def test_every_end_has_its_words(ended: RunEnd, words: str) -> None:
    assert words in said(card("42", ended=ended))


def test_a_loop_that_waits_says_for_whom_and_until_when() -> None:
    later = datetime.now().astimezone() + timedelta(minutes=1)
    loop = RunningLoop("claude", 0, 5, NOW, waiting_for="claude", waiting_until=later.timestamp())
    text = said(card("42", working=(loop,)))
    assert "running: claude, looking at the base" in text and "waiting for claude until" in text


def test_what_a_title_holds_is_text_and_nothing_else() -> None:
    title = "[red]bold[/red] \x1b[31mred\x1b[0m \x07:smile: a\nb"
    text = said(card("07", title=title))
    assert "[red]bold[/red] red :smile: a b" in text
    assert "\x1b" not in text and "\x07" not in text


def test_an_empty_board_says_what_to_do() -> None:
    empty = [Column(stage, ()) for stage in FOLDERS]
    assert shown(empty, 80) == "There are no features yet. Write one: aigon feature-create NAME\n"
    assert [stage["features"] for stage in build_board_document(empty)["stages"]] == [[]] * len(FOLDERS)  # type: ignore[attr-defined]


def test_features_that_there_was_no_room_for_are_counted() -> None:
    text = shown([Column("done", (card("44", "done"),), left_out=7)], 80)
    assert "Done (8)" in text and "and 7 more: --all" in text
