"""The live view, looked at on a real terminal."""

import json
import os
import pty
import re
from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.text import Text

from aigon.journal.events import (
    CheckFinished,
    CheckStarted,
    CriterionJudged,
    Event,
    IterationFinished,
    IterationStarted,
    Notice,
    RunFinished,
    TurnEnded,
    Waiting,
)
from aigon.journal.spending import Spend
from aigon.model.checks import Check
from aigon.model.outcomes import Stopped
from aigon.model.turns import Spent, Step, Turn
from aigon.views.terminal.events import IterationCount
from aigon.views.terminal.frame import Page, draw_arena, draw_run, draw_run_end, format_clock
from aigon.views.terminal.lines import TurnProgress
from aigon.views.terminal.live import STOPPING, LiveSink
from aigon.views.terminal.scene import NOTICES, ArenaScene, CheckProgress, Scene, list_waiting_checks
from tests.views.story import TITLE, criteria, finding, run_started, story
from tests.views.terminal import COLOUR, Played, Screen, play

PROGRAM = ("-m", "tests.views.story")


def upto(stop: Callable[[Event], bool], count: int = 5) -> list[str]:
    """Play until that event, and hold it long enough to be drawn."""
    at = next(index for index, event in enumerate(story(count)) if stop(event))
    return [*PROGRAM, "--criteria", str(count), "--until", str(at + 1), "--hold", "0.7"]


def scene(events: list[Event], count: int = 5, *, title: str = TITLE) -> Scene:
    """The scene after `events`, all of them seen at second 0."""
    now = Scene(title, criteria(count))
    for event in events:
        now = now.apply(event, 0.0)
    return now


def drawn(of: Scene, page: Page = Page(80, 24), now: float = 0.0) -> list[str]:  # noqa: B008 - frozen
    """The running frame as lines."""
    return [line.plain for line in draw_run(of, page, now).renderables if isinstance(line, Text)]


@pytest.fixture(scope="module")
def whole() -> Played:
    """The whole story, played at once."""
    return play(PROGRAM)


def test_the_frame_that_stays_is_short_and_says_how_the_run_ended(whole: Played) -> None:
    assert whole.exit_code == 0
    title, place, end = whole.screen.shown()
    assert title == TITLE
    assert re.fullmatch(r"iteration 3 of 5 · step 2 of 2 · 0:0\d · \$0\.42 \+ unknown · claude \(sonnet\)", place)
    assert end == "proven"


def test_colours_are_used_on_a_terminal_that_has_them(whole: Played) -> None:
    assert COLOUR.search(whole.text)


def test_no_color_is_respected_and_the_text_is_the_same(whole: Played) -> None:
    played = play(PROGRAM, {"NO_COLOR": "1"})
    assert not COLOUR.search(played.text)
    assert played.screen.shown()[::2] == whole.screen.shown()[::2]


def test_a_check_runs_while_another_is_red_and_the_criteria_keep_their_boxes() -> None:
    played = play(upto(lambda event: isinstance(event, CheckStarted) and (event.number, event.check) == (2, "lint")))
    assert re.search(r"^  ✗ Tests          2\.1s  13/15 passed$", played.last_running, re.M)
    assert re.search(r"^  ▸ Lint           0:0\d  running$", played.last_running, re.M)
    assert "  · Type check           waiting (was: mypy is not used here)" in played.last_running
    assert "2 of 5 criteria passed\n  [x] 1 `multiply(2, 3)` returns 6\n  [x] 2 " in played.last_running
    assert "  [ ] 3 Negative factors keep the rule of signs · exit code 1\n" in played.last_running
    assert "! saved an edit of the spec aside as 9f8e7d6" in played.last_running


def test_criteria_tick_one_by_one() -> None:
    judged = [event for event in story() if isinstance(event, CriterionJudged) and event.number == 3]
    before = scene(story()[: story().index(judged[0])])
    counts = [len(re.findall(r"\[x\]", "\n".join(drawn(before))))]
    for event in judged:
        before = before.apply(event, 0.0)
        counts.append(len(re.findall(r"\[x\]", "\n".join(drawn(before)))))
    assert counts == [4, 4, 4, 4, 4, 5]


def test_a_criterion_shows_that_its_own_command_runs_and_is_no_check() -> None:
    command = CheckStarted("", 1, "criterion-2", "Validation script (criterion-2)")
    told = scene([run_started(), command])
    assert drawn(told, now=4.0)[5] == "  [ ] 1 `multiply(2, 3)` returns 6"
    assert drawn(told, now=4.0)[6].endswith(" whatever the other factor · running 0:04")
    ended = told.apply(CheckFinished("", 1, replace(finding("tests", "pass", ""), check="criterion-2")), 5.0)
    assert drawn(ended)[6] == "  [ ] 2 Multiplying by zero gives zero, whatever the other factor" and not ended.checks


def test_forty_criteria_fit_a_small_narrow_terminal_open_ones_first() -> None:
    last_look = upto(lambda event: isinstance(event, IterationFinished) and event.number == 2, 40)
    played = play(last_look, columns=60, lines=24)
    lines = played.last_running.splitlines()
    heading = lines.index("39 of 40 criteria passed")
    assert lines[heading + 1 : heading + 3] == [
        "  [ ] 40 Lint is clean · exit code 1",
        "  [x] 1 `multiply(2, 3)` returns 6",
    ]
    assert re.search(r"^  and \d\d more passed$", played.last_running, re.M)
    assert "iteration 2 of 5 · step 2 of 2 · 0:0" in lines[1] and "$0.21 + unknown" in lines[1]
    assert len(lines) <= 22


def test_the_clock_ticks_without_events_at_most_four_times_a_second() -> None:
    played = play([*PROGRAM, "--until", "1", "--hold", "2.2"])
    seconds = [re.search(r"(\d:\d\d) · ", frame[1]) for frame in played.screen.frames]
    assert {"0:00", "0:01", "0:02"} <= {found[1] for found in seconds if found}
    assert 4 <= len(played.screen.frames) <= 4 * 2.2 + 2


def test_an_exception_leaves_the_terminal_usable_and_says_the_run_did_not_finish() -> None:
    played = play([*PROGRAM, "--until", "20", "--fail"])
    assert played.exit_code == 1
    assert "\x1b[?25l" in played.text and played.screen.cursor
    assert played.screen.shown()[2].startswith("not finished")


def test_a_view_that_cannot_be_drawn_any_more_still_gives_the_cursor_back() -> None:
    program = (
        "import sys; from aigon.views.terminal.live import LiveSink; from aigon.views.terminal.scene import Scene\n"
        "from tests.views.story import run_started\n"
        "sink = LiveSink(sys.stdout, Scene('t'))\n"
        "sink(run_started()); sink._scene = None\n"
        "try: sink.close()\nexcept AttributeError: sys.exit(9)"
    )
    played = play(["-c", program])
    assert played.exit_code == 9 and played.screen.cursor


def test_a_terminal_that_went_away_does_not_break_the_end() -> None:
    master, slave = pty.openpty()
    with os.fdopen(slave, "w", encoding="utf-8") as stream:
        sink = LiveSink(stream, Scene(TITLE, criteria()))
        sink(run_started())
        os.close(master)
        sink.close()
        assert stream.write("nobody reads this") and os.isatty(stream.fileno()) is False


def test_a_terminal_without_unicode_gets_ascii() -> None:
    red = upto(lambda event: isinstance(event, CheckFinished) and event.number == 1)
    played = play(red, {"PYTHONUTF8": "0", "PYTHONIOENCODING": "ascii", "PYTHONCOERCECLOCALE": "0"})
    assert played.text.isascii()
    assert "  x Tests          2.1s  13/15 passed" in played.last_running


def test_a_closed_view_stays_closed() -> None:
    master, slave = pty.openpty()
    with os.fdopen(slave, "w", encoding="utf-8") as stream:
        sink = LiveSink(stream, Scene(TITLE))
        sink.close()
        sink.close()
        for event in story():
            sink(event)
        sink.close()
        assert Screen().feed(os.read(master, 65536).decode()).shown() == []
    os.close(master)


@given(
    st.integers(1, 60), st.integers(20, 120), st.integers(0, 30), st.integers(0, 50), st.integers(0, 5), st.booleans()
)
@example(14, 20, 1, 1, 1, False)
@example(14, 20, 30, 50, 5, False)
def test_a_frame_is_never_higher_or_wider_than_the_terminal(
    height: int, width: int, checks: int, count: int, notices: int, ended: bool
) -> None:
    rows = {
        str(number): CheckProgress(f"Endpoints ({number} of many)", finding=finding("tests", "pass", "ok " * 90))
        for number in range(checks)
    }
    told = tuple(Notice("", "disk space is getting low " * 9) for _ in range(min(notices, NOTICES)))
    of = replace(scene([run_started()], count), checks=rows, notices=told)
    lines = (
        draw_run_end(of, Page(width, height), 0.0).renderables
        if ended
        else draw_run(of, Page(width, height), 0.0).renderables
    )
    assert 0 < len(lines) <= (3 if ended else max(1, height - 1))
    assert all(isinstance(line, Text) and line.cell_len <= width for line in lines)


def test_too_many_checks_show_what_runs_and_what_is_red() -> None:
    green = CheckProgress("Endpoints", finding=finding("tests", "pass", "ok"), fresh=True)
    rows = {str(number): green for number in range(20)}
    rows["7"] = CheckProgress("Build", finding=finding("tests", "fail", "broken"), fresh=True)
    rows["19"] = CheckProgress("Lint", running=0.0)
    lines = drawn(replace(scene([run_started()], 20), checks=rows), now=75.0)
    assert "  ✗ Build         2.1s  broken" in lines
    assert "  ▸ Lint          1:15  running" in lines
    assert "  and 13 more" in lines and len(lines) == 22


def test_a_terminal_of_a_few_lines_gets_counts_instead_of_lists() -> None:
    lines = drawn(scene(story()[:-1]), Page(80, 8))
    assert lines[3] == "5 of 5 criteria passed · 3 of 3 checks passed" and len(lines) <= 6


def test_text_of_others_cannot_steer_the_terminal() -> None:
    evil = "\x1b[2J\x1b]0;pwned\x07boo\r\nfoo\x9b31m\u202e"
    events: list[Event] = [
        run_started(),
        CheckFinished("", 0, replace(finding("tests", "fail", evil), title=evil)),
        IterationStarted("", 1, evil, evil, 0, 1, 0),
        TurnEnded("", Turn(1, evil, evil, "failed", 1, detail=evil)),
        Notice("", evil),
    ]
    told = scene(events, title=evil)
    told = replace(told, criteria=(replace(told.criteria[0], text=evil),))
    lines = drawn(told)
    assert all(line.isprintable() for line in lines)
    assert "pwned" not in "".join(lines) and "boo foo" in lines[0]


def test_a_failed_turn_and_the_last_notices_stay_in_sight() -> None:
    notices: list[Event] = [Notice("", f"notice {number}") for number in range(1, 4)]
    failed = TurnEnded("", Turn(1, "claude", "", "timed_out", duration=1800.0))
    assert drawn(scene([run_started(), *notices, failed]))[-3:] == [
        "  notice 2",
        "  notice 3",
        "! claude timed out after 30m 00s",
    ]


@pytest.mark.parametrize("page", [Page(120, 30), Page(80, 24), Page(40, 24), Page(40, 12)], ids=str)
def test_hints_and_warnings_are_wrapped_and_never_cut(page: Page) -> None:
    cost = "up to 5 turns with slow, ~1,570 prompt tokens each. Cost: unknown; cap it with --max-cost"
    told = scene([run_started(), Notice("", "agents run in a sandbox: landlock"), Notice("", cost, "warning")])
    told = replace(told, notices=(*told.notices, Notice("", STOPPING, "warning")))
    words = " ".join(" ".join(drawn(told, page)).split())
    assert f"! {STOPPING}" in words
    assert f"! {cost}" in words or page.height < 14
    assert "! agents run" not in words, "information has no mark of a warning"
    wait = Waiting("2026-11-20T10:00:00.000+00:00", 1, "claude", "", 3700.0, 0.0)
    assert "(Ctrl+C stops, --resume continues)" in " ".join(drawn(told.apply(wait, 0.0), page))


def test_a_resized_terminal_keeps_no_piece_of_an_older_frame() -> None:
    played = play([*PROGRAM, "--until", "6", "--hold", "3"], columns=120, resize=40)
    before, _, shown = played.text.partition("\x1b[?1049h")
    view, _, after = shown.partition("\x1b[?1049l")
    assert TITLE not in before, "nothing is drawn where a resize would reflow it"
    drawn_ones = (re.sub(r"\x1b\[[?0-9;]*[A-Za-z]", "", frame) for frame in view.split("\x1b[H"))
    frames = [frame.split("\r\n") for frame in drawn_ones if frame]
    assert {len(line) for line in frames[0]} == {120}
    assert {len(line) for line in frames[-1]} == {40} and len(frames[-1]) == 24, "every cell is drawn anew"
    assert TITLE[:30] in after and after.count("feature 42") == 1


def test_a_wait_counts_down_and_says_for_whom_and_how_to_stop() -> None:
    wait = Waiting("2026-11-20T10:00:00.000+00:00", 1, "claude", "hit your 5-hour limit", 3700.0, 0.0)
    lines = drawn(scene([run_started()]).apply(wait, 10.0), now=70.0)
    assert "waiting for claude, 1:00:40 left (Ctrl+C stops, --resume continues)" in lines
    assert lines[-1] == "! waiting for claude until 11:01:40 (1h 01m): hit your 5-hour limit"
    begun = IterationStarted("", 1, "claude", "", 0, 1, 0)
    assert "claude is working, 0:05" in drawn(scene([run_started()]).apply(wait, 10.0).apply(begun, 80.0), now=85.0)


def test_a_look_drops_checks_that_are_gone_and_takes_back_ticks() -> None:
    events = story()
    last = [event for event in events if isinstance(event, IterationFinished)][-1]
    none = replace(
        last, findings=last.findings[:1], verdicts=tuple(replace(v, status="unclear") for v in last.verdicts)
    )
    lines = drawn(scene([*events[:-1], none]))
    assert "0 of 5 criteria passed" in lines and "  [?] 1 `multiply(2, 3)` returns 6" in lines
    assert not any("Lint  " in line for line in lines)


def test_known_checks_wait_before_the_first_one_runs() -> None:
    rows = list_waiting_checks([Check("tests", "tests", ("pytest",)), Check("web", "tests", ("npm", "test"))])
    assert drawn(Scene(TITLE, checks=rows))[4:6] == [
        "  · Tests                 waiting",
        "  · Tests (web)           waiting",
    ]


def test_a_resumed_run_goes_on_counting_iterations_and_money() -> None:
    resumed = Scene(TITLE, place=IterationCount(finished=3), spend=Spend(1.5))
    for event in (run_started(resumed=True), IterationStarted("", 4, "claude", "", 0, 1, 0)):
        resumed = resumed.apply(event, 0.0)
    assert drawn(resumed, now=3723.0)[1] == "iteration 4 of 8 · 1:02:03 · $1.50 · claude"


def test_an_unknown_cost_is_said_and_another_end_is_not_green() -> None:
    stopped = RunFinished("", Stopped("stall", "no progress"), "needs_human", 3, "", "")
    told = scene([run_started(), TurnEnded("", Turn(1, "claude", "", "finished")), stopped])
    title, place, end = draw_run_end(told, Page(80, 24), 0.0).renderables
    assert isinstance(place, Text) and " · unknown · " in place.plain and isinstance(title, Text)
    assert isinstance(end, Text) and (end.plain, end.style) == ("needs a human", "yellow")


@pytest.mark.parametrize(("seconds", "text"), [(0.9, "0:00"), (42, "0:42"), (3599.9, "59:59"), (3723, "1:02:03")])
def test_a_clock_counts_whole_seconds(seconds: float, text: str) -> None:
    assert format_clock(seconds) == text


def test_what_an_agent_did_last_is_in_sight_and_how_long_it_has_been_quiet() -> None:
    events = story(2)
    begun = next(index for index, event in enumerate(events) if isinstance(event, IterationStarted))
    steps = tuple(Step(2.0 * number, 1, "reads", f"file-{number}\x1b[2J") for number in range(3))
    turn = TurnProgress(steps, ("src/a.py", "b.py"), Spent(15_203, 0.12), heard=0.0)
    working = replace(scene(events[: begun + 1], 2), turn=turn)
    lines = drawn(working, now=19.0)
    assert [line for line in lines if "reads file-" in line] == [
        "  reads file-0",
        "  reads file-1",
        "▸ reads file-2 · 0:15",
    ]
    assert "  15,203 tokens, $0.12 · 2 files touched: b.py, a.py" in lines
    assert not any("quiet" in line for line in lines)
    assert any(line.endswith("(quiet for 0:45)") for line in drawn(working, now=45.0))
    assert not any("file-" in line for line in drawn(working, Page(80, 8)))


def test_the_live_view_reads_what_the_agent_of_this_turn_does(tmp_path: Path) -> None:
    begun = next(event for event in story(2) if isinstance(event, IterationStarted))
    folder, at = tmp_path / "r1" / f"{begun.number:03d}", datetime.fromisoformat(begun.at).timestamp()
    folder.mkdir(parents=True)
    (folder / "activity.ndjson").write_text(json.dumps({"at": at - 1, "kind": "says", "text": "turned away"}) + "\n")
    with Path(os.devnull).open("w") as stream:
        sink = LiveSink(stream, Scene(TITLE, criteria(2)), runs=tmp_path)
        for event in (run_started(), begun):
            sink(event)
        before = sink._draw(Page(80, 24), False)
        (folder / "activity-2.ndjson").write_text(json.dumps({"at": at, "kind": "runs", "text": "npm test"}) + "\n")
        after = sink._draw(Page(80, 24), False)
        sink.close()
    texts = [[line.plain for line in frame.renderables if isinstance(line, Text)] for frame in (before, after)]
    assert not any("turned away" in text for text in (*texts[0], *texts[1]))
    assert any(text.startswith("▸ runs npm test ") for text in texts[1])


def test_a_lane_of_an_arena_says_what_its_agent_did_last() -> None:
    lane = Scene("cc", since=0.0, phase="claude is working", turn=TurnProgress((Step(0.0, 1, "edits", "src/a.py"),)))
    page = Page(120, 24)
    lines = [
        line.plain
        for line in draw_arena(ArenaScene(lanes={"cc": lane}), page, 5.0).renderables
        if isinstance(line, Text)
    ]
    assert any(line.endswith("claude is working, 0:05: edits src/a.py") for line in lines)
