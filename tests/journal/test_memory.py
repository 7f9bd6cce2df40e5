"""SCRATCHPAD.md, BUILD_LOG.md and what the next turn is given: facts, within a budget, that nobody can break."""

import re
from collections.abc import Sequence
from functools import reduce
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from markdown_it.token import Token
from msgspec.structs import replace

from aigon.journal.attempts import Attempts, fold_attempts
from aigon.journal.events import Event
from aigon.journal.memory import WHOLE, render_memory, render_scratchpad, summarise_attempt
from aigon.model.changes import FileChange
from aigon.model.checks import Finding
from aigon.model.criteria import Verdict
from aigon.model.turns import Turn
from aigon.run.sinks.files import render_build_log
from aigon.text.amounts import estimate_tokens
from tests.journal.tried import GREEN, begun, iteration, looked, red, run, turned, warned
from tests.proof.hostile import CHANGE, EXAMPLES, FINDING, TEXT, TURN, VERDICT

SECTION = """\
## Iteration 2: worse than the best before

- Turn: `claude` (`opus`, step 2 of 2), failed (exit code 2) after 1m 00s
- Changed: 2 files (+10 -2): `src/a.py` (new, +10 -2), `logo.png` (binary)
- Came to: 0 of 2 criteria passed, 0 of 1 checks passed, 13 tests passed
- Failed: `Tests`: `2 failed`
  - `AssertionError: 6 != 5` in `a`, 2 times
- Criterion 1, failed: `exit code 1`
- Criterion 2, failed: `exit code 1`
- Came back: 1 failure of `Tests`, gone in between: `a`
- Again: the same failure as on the base
- Undone by aigon: `HEAD had left the branch x; it was put back`
"""


def story() -> list[Event]:
    changes = (FileChange("src/a.py", 10, 2, "A"), FileChange("logo.png", -1, -1))
    said = {"said": "SENTINEL done", "detail": "SENTINEL exited with 2", "exit_code": 2, "model": "opus"}
    return [
        looked(0, red("a", "b"), name="f0"),
        *iteration(1, red("b"), met=1, name="f1"),
        begun(2, "opus", rung=1),
        warned("HEAD had left the branch x; it was put back"),
        turned(2, "failed", **said),
        looked(2, red("a", "b"), name="f0", changes=changes),
    ]


def test_the_scratchpad_says_what_was_tried_what_failed_and_why() -> None:
    text = "\n".join(render_scratchpad(fold_attempts(story())))
    assert f"\n\n{SECTION}\n## Iteration 1: better than before\n" in text
    assert "SENTINEL" not in text
    assert "Nothing was tried yet." in "\n".join(render_scratchpad(()))


def test_the_build_log_is_a_table_of_the_run_with_everything_the_checks_came_to() -> None:
    known = reduce(Attempts.apply, story(), Attempts())
    text = "\n".join(render_build_log(known.all, base=known.base))
    rows = [re.split(r" *\| *", line)[1:-1] for line in text.splitlines() if line.startswith("|")]
    assert rows[2] == ["base", "2026-11-20 10:00:00", "", "", "", "", "0/1", "13/15", "0/2", "", ""]
    assert rows[3][2:] == ["`claude` `sonnet` step 1/2", "finished", "1m 00s", "1 (+10 -2)", "0/1", "14/15", "1/2",
                           "better", "$0.20 (reported)"]  # fmt: skip
    assert "Turns: 2 in 2 iterations, 2m 00s of work, $0.40." in text
    assert "- ❌ `Tests`: `1 failed`, 14 passed, 1 failed (2.5s); first: `AssertionError: 6 != 5`" in text
    assert "- Reported end: `SENTINEL exited with 2`" in text and "SENTINEL done" not in text


def test_the_first_attempt_needs_no_memory_since_the_digest_has_it() -> None:
    assert render_memory((), 1000) == render_memory(fold_attempts(run(1)), 1000) == ""
    assert render_memory(fold_attempts([*run(1), begun(2), turned(2)]), 1000) == "", (
        "a turn without a look is no knowledge"
    )


def test_the_newest_attempts_are_whole_older_ones_a_line_and_the_oldest_a_count() -> None:
    known = fold_attempts(run(60))
    text = render_memory(known, 1000)
    assert estimate_tokens(text) <= 1000
    whole, lines = (re.findall(pattern, text, re.M) for pattern in (r"^### Iteration (\d+)", r"^- Iteration (\d+)"))
    (left,) = re.findall(r"^- and (\d+) older iterations$", text, re.M)
    assert list(map(int, [*whole, *lines])) == list(range(60, int(left), -1))
    assert len(whole) >= 1 and len(lines) >= 8
    roomy = render_memory(known[:5], 10_000)
    assert len(re.findall(r"^### Iteration", roomy, re.M)) == 5 and "older" not in roomy
    assert "SENTINEL" not in render_memory(fold_attempts(story()), 10_000)


@EXAMPLES
@given(st.integers(2, 40), st.integers(0, 3000))
def test_the_budget_is_kept_and_the_newest_is_what_it_is_spent_on(count: int, budget: int) -> None:
    text = render_memory(fold_attempts(run(count)), budget)
    assert estimate_tokens(text) <= budget
    assert not text or f"Iteration {count}:" in text
    assert text or budget < 300


def hostile(
    findings: Sequence[Finding], verdicts: Sequence[Verdict], changes: Sequence[FileChange], turn: Turn, note: str
) -> list[Event]:
    look = looked(1, *findings, name="f", verdicts=tuple(verdicts), changes=tuple(changes))
    return [
        e
        for number in (1, 2)
        for e in (
            replace(begun(number), agent=turn.agent, model=turn.model, effort=turn.said),
            warned(f"{note} was put back"),
            turned(number, turn.end, agent=turn.agent, model=turn.model, detail=turn.detail, said=turn.said),
            replace(look, number=number),
        )
    ]


def blocks(text: str) -> list[Token]:
    text.encode("utf-8")  # nothing is in it that a file could not hold
    return MarkdownIt("commonmark").enable("table").parse(text)


def unbroken(text: str, headings: list[str]) -> None:
    """Only aigon's own headings, lists and code spans: no box, rule, quotation, HTML, link or image of others."""
    tokens = blocks(text)
    found = [after.content for token, after in pairwise(tokens) if token.type == "heading_open"]
    assert [re.sub(":.*", "", heading) for heading in found] == headings
    kinds = {token.type for token in tokens}
    assert not {"fence", "html_block", "code_block", "blockquote_open", "hr", "ordered_list_open"} & kinds
    inline = [child for token in tokens for child in token.children or ()]
    assert {child.type for child in inline} <= {"text", "code_inline", "softbreak"}
    assert not [token for token in tokens if token.type == "inline" and re.match(r"\[[ xX]\]", token.content)]


HOSTILE = (st.lists(FINDING, max_size=4), st.lists(VERDICT, max_size=5), st.lists(CHANGE, max_size=3), TURN, TEXT)


@EXAMPLES
@given(*HOSTILE)
def test_no_name_can_break_the_pages_or_give_an_order_in_the_prompt(
    findings: list[Finding], verdicts: list[Verdict], changes: list[FileChange], turn: Turn, note: str
) -> None:
    known = reduce(Attempts.apply, hostile(findings, verdicts, changes, turn, note), Attempts())
    title = "Scratchpad"
    unbroken("\n".join(render_scratchpad(known.all)), [title, "Iteration 2", "Iteration 1"])
    given_to_the_agent = render_memory(known.all, 100_000)
    unbroken(given_to_the_agent, ["Iteration 2", "Iteration 1"])
    log = "\n".join(render_build_log(known.all, base=known.base))
    unbroken(log, ["Build log", "Iteration 1", "Iteration 2"])
    rows = [token.type for token in blocks(log) if token.type in ("tr_open", "td_open", "th_open")]
    assert rows == ["tr_open", *["th_open"] * 11, *["tr_open", *["td_open"] * 11] * 2]


@EXAMPLES
@given(*HOSTILE, st.integers(0, 2000))
def test_hostile_text_keeps_to_the_budget_too(
    findings: list[Finding], verdicts: list[Verdict], changes: list[FileChange], turn: Turn, note: str, budget: int
) -> None:
    known = fold_attempts(hostile(findings, verdicts, changes, turn, note))
    text = render_memory(known, budget)
    assert estimate_tokens(text) <= budget
    unbroken(text, [f"Iteration {number}" for number in (2, 1) if f"\n### Iteration {number}:" in text])
    unbroken("\n".join(f"- {summarise_attempt(each)}" for each in known), [])


def test_a_very_long_run_tells_its_oldest_iterations_in_a_line_each() -> None:
    text = "\n".join(render_scratchpad(fold_attempts(run(WHOLE + 3))))
    assert len(re.findall(r"^## Iteration", text, re.M)) == WHOLE
    assert re.findall(r"^- Iteration (\d+)", text, re.M) == ["3", "2", "1"]


def test_green_checks_are_no_failures() -> None:
    text = "\n".join(render_scratchpad(fold_attempts(iteration(1, GREEN, met=2))))
    assert "Failed" not in text and "Open" not in text
