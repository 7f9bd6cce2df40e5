"""An arena as people and programs see it: lines, a live view on a real terminal, NDJSON, the summary at the end."""

import io
import json
import re
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace
from rich.text import Text

from aigon.arena.entrant import decode_event, parse_event_line
from aigon.arena.lane import ArenaEnd, ArenaPlan, Parallelism
from aigon.errors import usage
from aigon.journal.events import CheckFinished, CheckStarted, Event, IterationStarted, Notice, RunFinished
from aigon.journal.replay import to_ndjson
from aigon.journal.spending import Spend
from aigon.model.agents import Candidate
from aigon.model.outcomes import Stopped
from aigon.model.turns import Step
from aigon.views.terminal.arena import ArenaNdjson, render_arena_summary
from aigon.views.terminal.frame import Page, draw_arena, draw_arena_end
from aigon.views.terminal.lines import ArenaLines, TurnProgress
from aigon.views.terminal.scene import ArenaScene, build_arena_scene
from tests.journal.test_codec import EVENTS
from tests.views.arena_story import END, ENDS, LANES, PLAN, WAIT, calls, ended, lane, sent
from tests.views.story import finding, run_started, story
from tests.views.terminal import COLOUR, play

PROGRAM = ("-m", "tests.views.arena_story")
EVIL = "\x1b[2J\x1b]0;pwned\x07boo\r\nfoo\x9b31m\u202e"


def lines(*steps: Any) -> list[str]:
    """What the line view writes when it is told this."""
    stream = io.StringIO()
    observer = ArenaLines(stream)
    for step in steps:
        step(observer)
    observer.close()
    return stream.getvalue().splitlines()


def begin(plan: ArenaPlan = PLAN, lanes: Any = LANES) -> Any:
    """The first call."""
    return lambda observer: observer.began(plan, lanes)


def drawn(of: ArenaScene, width: int = 100, height: int = 24, now: float = 0.0) -> list[str]:
    """The running frame as lines."""
    page = Page(width, height)
    return [line.plain.rstrip() for line in draw_arena(of, page, now).renderables if isinstance(line, Text)]


def staged(*events: Event, label: str = "cx") -> ArenaScene:
    """An arena in which one has started and sent these."""
    now = build_arena_scene(PLAN, LANES, 0.0).start(label, 0.0)
    for event in events:
        now = now.apply(label, event, 0.0)
    return now


def test_a_line_per_notable_event_has_the_label_in_a_column_of_its_own() -> None:
    told = lines(begin(), *(sent("cx", event) for event in story()))
    assert told[0][9:] == "feature 42 multiply: 3 agents, 2 at a time: --parallel 2; $5.00 for all together"
    assert [line[9:] for line in told[1:5]] == [
        "cx       feature 42 multiply started: claude on feature-42-multiply, 5 criteria, at most 5 iterations",
        "cx       base: 0 of 5 criteria passed, 1 of 3 checks passed",
        "cx       iteration 1 of 5: claude is working with sonnet, step 1 of 2",
        "cx       claude finished after 1m 00s, cost $0.21 (reported)",
    ]
    assert not any("Tests" in line or "criterion 1" in line for line in told)


def test_iterations_of_a_resumed_run_go_on_counting() -> None:
    resumed = replace(LANES[1], finished=3, iterations=3)
    begun = IterationStarted("2026-11-20T10:15:00", 4, "codex", "", 0, 1, 0)
    told = lines(begin(lanes=[resumed]), sent("cx", run_started(resumed=True)), sent("cx", begun))
    assert told[2][9:] == "cx  iteration 4 of 8: codex is working"


def test_what_a_loop_did_not_say_itself_is_said_for_it() -> None:
    told = lines(begin(), *(lambda o, one=one: o.ended(one) for one in ENDS))
    assert [line[9:] for line in told[1:]] == [
        "cx       broken off by SIGKILL: no memory",
        "gg       not started: stopped by SIGINT",
    ]


@given(EVENTS)
def test_whatever_an_event_holds_its_line_is_one_and_printable(event: Event) -> None:
    for text in lines(begin(), sent("cx", event))[1:]:
        assert len(text) <= 240 and not any(c < " " or "\x7f" <= c <= "\x9f" or c in "\u2028\u202e" for c in text)


def test_the_summary_says_how_each_ended_and_what_is_next() -> None:
    assert list(render_arena_summary("42", END)) == [
        "agent    outcome      criteria  iterations  cost             time    branch",
        "cc-opus  proven       5 of 5    3           $0.42 + unknown  3m 50s  feature-42-cc-opus-multiply",
        "cx       broken off   0 of 5    3           $0.42 + unknown  3m 50s  feature-42-cx-multiply",
        "gg       not started  -         0           -                -       feature-42-gg-multiply",
        "",
        "cx: broken off by SIGKILL: no memory",
        "  output: .aigon/runs/arena-42/cx.err",
        "gg: not started: stopped by SIGINT",
        "Next: aigon feature-eval 42",
        "  resume cx: aigon feature-implement 42 --resume --agent cx",
        "  start gg: aigon feature-implement 42 --loop --agent gg",
    ]


def test_text_of_others_cannot_steer_a_summary() -> None:
    one = ended("cc", "stopped", 3, EVIL, branch=EVIL)
    text = "".join(render_arena_summary("42", ArenaEnd((one,), 3)))
    assert text.isprintable() and "pwned" not in text


def test_programs_get_every_event_with_its_label_and_the_end_as_the_last_line() -> None:
    stream, words = io.StringIO(), io.StringIO()
    observer = ArenaNdjson(stream, words)
    for call in calls():
        call(observer)
    documents = [json.loads(line) for line in stream.getvalue().splitlines()]
    assert documents[0]["event"] == "notice" and documents[0]["text"] == PLAN.said
    mine = [one for one in documents if one.get("label") == "cc-opus"]
    assert [one["event"] for one in mine] == [event.event for event in story()]
    assert all(one["schema_version"] == 1 for one in documents)
    last = documents[-1]
    assert (last["event"], last["arena"], last["outcome"], last["exit_code"]) == ("run_finished", True, "met", 0)
    assert last["candidates"][1] == {
        "label": "cx", "agent": "cx", "branch": "feature-42-cx-multiply", "status": "broken_off", "exit_code": 1,
        "summary": "broken off by SIGKILL: no memory", "criteria_met": 0, "criteria_total": 5, "iterations": 3,
        "spend": {"usd": 0.42, "unknown": 1}, "seconds": 230.0, "commit": "", "hint": "", "resumable": True,
    }  # fmt: skip
    assert "Next: aigon feature-eval 42" in words.getvalue()


def test_an_event_that_is_not_known_is_passed_on_as_it_is() -> None:
    stream = io.StringIO()
    ArenaNdjson(stream, io.StringIO())("cc", {"event": "of_tomorrow", "x": 1}, None)
    assert json.loads(stream.getvalue()) == {"event": "of_tomorrow", "x": 1, "label": "cc"}


def test_an_arena_that_cannot_begin_has_its_end_as_the_last_line_too() -> None:
    stream = io.StringIO()
    observer = ArenaNdjson(stream, io.StringIO())
    observer.refused(usage("There is no feature 42", hint="aigon board"))
    last = json.loads(stream.getvalue())
    assert (last["event"], last["outcome"], last["exit_code"]) == ("run_finished", "refused", 2)
    assert last["error"]["hint"] == "aigon board"


@given(EVENTS)
def test_events_are_read_back_as_they_were_written(event: Event) -> None:
    read = parse_event_line(json.dumps(to_ndjson(event)).encode())
    assert read is not None
    again = decode_event(read)
    assert again is not None and to_ndjson(again) == to_ndjson(event)


def test_what_is_no_event_is_none() -> None:
    for line in (b"", b"words", b"[]", b"{}", b'{"event": 3}', b"\xff", b"[" * 100_000):
        assert parse_event_line(line) is None
    assert decode_event({"event": "of_tomorrow"}) is None
    assert decode_event({"event": "run_finished", "outcome": "met", "outcome_detail": {"x": 1}}) is None


def test_a_terminal_shows_a_line_per_agent_that_changes_in_place() -> None:
    played = play([*PROGRAM, "--until", "22", "--hold", "0.7"], columns=100)
    shown = played.last_running.splitlines()
    assert shown[0] == "feature 42: multiply · 3 agents, 2 at a time: --parallel 2"
    assert re.fullmatch(r"0:0\d · \$0\.21 · \$5\.00 for all together", shown[1])
    assert shown[2].startswith("Ctrl+C: each finishes its iteration")
    assert shown[4] == "  agent    iteration  passed  failed  time  cost   now"
    assert re.fullmatch(r"▸ cc-opus  1/5        0/5     0       0:0\d  \$0\.21  checks: Tests, 0:0\d", shown[5])
    assert re.fullmatch(
        r"▸ cx       1/5        0/5     0       0:0\d  -      waiting for codex, 1:01:\d\d left", shown[6]
    )
    assert shown[7] == "· gg       -          -       0       0:00  -      queued"
    assert shown[9].startswith("! cx: waiting for codex until") and COLOUR.search(played.text)


def test_what_stays_on_the_terminal_is_short_and_the_summary_below_it() -> None:
    played = play(PROGRAM, {"NO_COLOR": "1"}, columns=120)
    shown = played.screen.shown()
    assert played.exit_code == 0 and played.screen.cursor and not COLOUR.search(played.text)
    assert shown[0].startswith("feature 42: multiply") and shown[2] == ""
    assert shown[3:] == list(render_arena_summary("42", END))


def test_a_terminal_without_unicode_gets_ascii() -> None:
    frame = draw_arena(staged(run_started()), Page(100, 24, "ascii"), 0.0)
    lines = [line.plain for line in frame.renderables if isinstance(line, Text)]
    assert all(map(str.isascii, lines)) and lines[6].startswith("> cx")


def test_a_narrow_terminal_leaves_time_and_cost_out() -> None:
    shown = drawn(staged(run_started(), IterationStarted("", 1, "codex", "", 0, 1, 0)), width=60)
    assert shown[5:8] == [
        "  agent    iteration  passed  failed  now",
        "· cc-opus  -          -       0       queued",
        "▸ cx       1/5        0/5     0       codex is working, 0:00",
    ]


def test_what_each_agent_does_is_shown_below_as_far_as_there_is_room() -> None:
    now = staged(run_started(), IterationStarted("", 1, "codex", "", 0, 1, 0))
    steps = (Step(0.0, 1, "reads", "docs/plan.md"), Step(2.0, 1, "edits", "src/calculator.py"))
    doing = replace(now.lanes["cx"], turn=TurnProgress(steps, ("src/calculator.py",)))
    now = replace(now, lanes={**now.lanes, "cx": doing})
    assert drawn(now, width=40, height=22, now=9.0)[10:14] == [
        "cx",
        "  reads docs/plan.md",
        "▸ edits src/calculator.py · 0:07",
        "  1 file touched: calculator.py",
    ]
    assert "cx" not in drawn(now, width=40, height=14, now=9.0)


def test_red_checks_are_counted_and_what_runs_is_named() -> None:
    red = CheckFinished("", 1, finding("tests", "fail", "13/15 passed"))
    runs = (CheckStarted("", 1, "lint", "Lint"), CheckStarted("", 1, "criterion-2", "own command"))
    assert "1       0:00  -     checks: Lint, criterion 2, 0:00" in drawn(staged(run_started(), red, *runs))[6]


def test_how_each_ended_stays_in_its_line() -> None:
    now = staged(run_started())
    for one in ENDS:
        now = now.close(one)
    shown = drawn(now)
    assert shown[5].startswith("✓ cc-opus") and shown[5].endswith("proven")
    assert shown[6].startswith("✗ cx") and shown[6].endswith("broken off by SIGKILL: no memory")
    assert shown[7].startswith("· gg") and shown[7].endswith("not started: stopped by SIGINT")


def test_a_run_that_has_said_its_end_shows_it_before_its_process_is_gone() -> None:
    shown = drawn(staged(*story()))
    assert shown[6].startswith("✓ cx") and shown[6].endswith("$0.42 + unknown  proven")
    stopped = RunFinished("", Stopped("stall", "no progress"), "stopped", 3, "", "")
    shown = drawn(staged(run_started(), stopped))
    assert shown[6].startswith("- cx") and shown[6].endswith("Stopped by the guard stall: no progress")


def test_a_resumed_run_shows_what_it_came_to_before() -> None:
    before = replace(LANES[1], finished=3, iterations=3, met=2, total=5, spend=Spend(1.5, 1))
    told = build_arena_scene(PLAN, [before], 0.0)
    assert "cx     -          2/5     0       0:00  $1.50 + unknown" in drawn(told)[5]
    told = told.start("cx", 0.0).apply("cx", run_started(resumed=True), 0.0)
    assert "2/5" in drawn(told)[5] and "taking up the run" in drawn(told)[5]


def test_text_of_others_cannot_steer_the_terminal() -> None:
    evil = lane("cx", EVIL)
    now = build_arena_scene(replace(PLAN, slug=EVIL), [evil], 0.0).start("cx", 0.0)
    events: list[Event] = [
        run_started(), CheckStarted("", 1, "lint", EVIL), replace(WAIT, agent=EVIL, reason=EVIL),
        Notice("", EVIL, "warning"), IterationStarted("", 1, EVIL, EVIL, 0, 1, 0),
    ]  # fmt: skip
    for event in events:
        now = now.apply("cx", event, 0.0)
        assert all(line.isprintable() for line in drawn(now)) and "pwned" not in "".join(drawn(now))
    now = now.close(ended("cx", "stopped", 3, EVIL)).add_notice("", EVIL)
    assert all(line.isprintable() for line in drawn(now)) and "pwned" not in "".join(drawn(now))


@settings(max_examples=60)
@given(st.integers(1, 60), st.integers(20, 120), st.integers(1, 30), st.integers(0, 4))
def test_a_frame_is_never_higher_or_wider_than_the_terminal(height: int, width: int, count: int, notices: int) -> None:
    lanes = [replace(LANES[0], candidate=_named(f"cc-{number}")) for number in range(count)]
    now = build_arena_scene(ArenaPlan("42", "multiply " * 9, count, Parallelism(2, "because " * 9)), lanes, 0.0).start(
        "cc-0", 0.0
    )
    for _ in range(notices):
        now = now.add_notice("", "disk space is getting low " * 9)
    for lines in (draw_arena(now, Page(width, height), 0.0), draw_arena_end(now, Page(width, height), 0.0)):
        drawn = list(lines.renderables)
        assert 0 < len(drawn) <= max(2, height - 1)
        assert all(isinstance(line, Text) and line.cell_len <= width for line in drawn)
    if height > 8:
        assert any("cc-0" in line.plain for line in draw_arena(now, Page(width, height), 0.0).renderables)  # type: ignore[union-attr]


def _named(label: str) -> Candidate:
    return lane(label).candidate
