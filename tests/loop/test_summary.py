from unicodedata import east_asian_width

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from aigon.journal.spending import Spend
from aigon.loop.finish import RunSummary
from aigon.model.checks import Finding
from aigon.model.criteria import Criterion, Spec, Verdict
from aigon.model.outcomes import Interrupted, Met, NeedsHuman, Outcome, Refused, Stopped, Unavailable
from aigon.model.turns import Turn
from tests.proof.hostile import CRITERION, EXAMPLES, FINDING, SPEC, TEXT, VERDICT

SPEC_42 = Spec(
    b"",
    "Todo",
    {},
    (
        Criterion(1, 3, "`todo add` stores the item", False, "verify", "pytest tests/test_add.py", 0),
        Criterion(2, 4, "Lint is clean", False, "check", "lint", 0),
        Criterion(3, 5, "Messages read well", False, "judge", None, 0),
        Criterion(4, 6, "The owner agrees", False, "human", None, 0),
    ),
    None,
)
VERDICTS = (
    Verdict(1, "met", "check:tests", "exit 0"),
    Verdict(2, "unmet", "check:lint", reason="lint is red"),
    Verdict(3, "unclear", "judge", reason="no judge answered"),
)
FINDINGS = (
    Finding("tests", "tests", "Tests", "pass", "15/15 passed"),
    Finding("lint", "lint", "Lint", "fail", "2 problems", log="/repo/.aigon/runs/r1/2/lint.log"),
)
COMMITS = (("a" * 40, "feat(feature-42): iteration 1"), ("b" * 40, "feat(feature-42): iteration 2"))
STOPPED = Stopped("iterations", "the limit of 2 iterations is reached")
NEXT = "aigon feature-implement 42 --resume"
GOLDEN = """\
Stopped by the guard iterations: the limit of 2 iterations is reached
1 of 4 criteria passed · 1 of 2 checks passed · $1.20 and 1 call of unknown cost · 12m 02s
Not proven (3)
  [ ] 2. Lint is clean: lint is red
  [ ] 3. Messages read well: needs review: no judge answered
  [ ] 4. The owner agrees: not assessed
Red checks (1)
  Lint: 2 problems
Passed (1)
  [x] 1. `todo add` stores the item (check tests)
Commits (2)
  bbbbbbbbbb feat(feature-42): iteration 2
  aaaaaaaaaa feat(feature-42): iteration 1
See also (4)
  for a person to decide: criterion 3
  output of Lint: .aigon/runs/r1/2/lint.log
  output of cc: .aigon/runs/r1/002/agent.log
  iteration log: docs/log.md
Next: aigon feature-implement 42 --resume
"""


def reported(
    outcome: Outcome = STOPPED, spec: Spec = SPEC_42, verdicts: tuple[Verdict, ...] = VERDICTS, next_command: str = NEXT
) -> str:
    return RunSummary(
        outcome=outcome,
        spec=spec,
        verdicts=verdicts,
        findings=FINDINGS,
        commits=COMMITS,
        spend=Spend(1.2, 1),
        log="docs/log.md",
        next_command=next_command,
        elapsed=722,
        turn=Turn(2, "cc", "", "failed", 1, log=".aigon/runs/r1/002/agent.log"),
        root="/repo",
    ).render()


def columns(line: str) -> int:
    return sum(2 if east_asian_width(char) in "WF" else 1 for char in line)


def test_a_failure_names_what_is_open_and_what_to_look_at() -> None:
    assert reported() == GOLDEN


def test_a_run_that_never_looked_says_so() -> None:
    text = RunSummary(
        outcome=Refused("the tree is dirty"),
        spec=replace(SPEC_42, criteria=()),
        verdicts=(),
        findings=(),
        commits=(),
        spend=Spend(),
        log="",
        next_command="git stash",
        elapsed=None,
    ).render()
    assert text == (
        "Refused: the tree is dirty\n0 of 0 criteria passed · no check ran · nothing spent\nNext: git stash\n"
    )


def test_success_has_nothing_open() -> None:
    proven = tuple(Verdict(n, "met", "approval") for n in range(1, 5))
    text = reported(Met(("2 known failures",)), verdicts=proven)
    assert text.startswith("Every criterion is proven and the checks pass; 2 known failures\n4 of 4 criteria")
    assert "Not proven" not in text and "agent.log" not in text
    assert "  [x] 4. The owner agrees (approval)\n" in text


def test_a_hundred_criteria_still_fit_on_a_screen_and_are_counted() -> None:
    many = tuple(Criterion(n, n, f"criterion {n}", False, "verify", "x", 0) for n in range(1, 101))
    verdicts = tuple(Verdict(n, "met" if n > 50 else "unmet", "verify", reason="exit 1") for n in range(1, 101))
    text = reported(spec=replace(SPEC_42, criteria=many), verdicts=verdicts)
    assert len(text.splitlines()) == 24
    assert "Not proven (50)\n  [ ] 1. criterion 1: exit 1\n" in text
    assert "Passed (50)\n  [x] 51. criterion 51 (verify)\n" in text
    assert text.count(" more\n") == 2


def test_a_long_reason_takes_four_lines_and_the_next_command_stays_whole() -> None:
    command = "aigon feature-implement " + "x" * 200
    lines = reported(Stopped("stall", "word " * 100), next_command=command).splitlines()
    assert lines[3].endswith(" …")
    assert lines[4].startswith("1 of 4 criteria passed")
    assert lines[-1] == f"Next: {command}"


OUTCOMES = st.one_of(
    st.just(Met()),
    st.builds(Stopped, guard=TEXT, reason=TEXT),
    st.builds(NeedsHuman, criteria=st.just((1,)), reason=TEXT),
    st.builds(Unavailable, who=TEXT, reason=TEXT),
    st.just(Interrupted("SIGINT")),
)


@EXAMPLES
@given(
    OUTCOMES,
    SPEC,
    st.lists(CRITERION, max_size=30),
    st.lists(VERDICT, max_size=5),
    st.lists(FINDING, max_size=9),
    st.lists(st.tuples(TEXT, TEXT), max_size=30),
    TEXT,
)
def test_every_summary_fits_on_a_screen(
    outcome: Outcome,
    spec: Spec,
    criteria: list[Criterion],
    verdicts: list[Verdict],
    findings: list[Finding],
    commits: list[tuple[str, str]],
    log: str,
) -> None:
    text = RunSummary(
        outcome=outcome,
        spec=replace(spec, criteria=tuple(criteria)),
        verdicts=verdicts,
        findings=findings,
        commits=commits,
        spend=Spend(),
        log=log,
        next_command=NEXT,
        elapsed=1.0,
    ).render()
    lines = text.encode().decode().splitlines()
    assert len(lines) <= 24
    assert max(map(columns, lines)) <= 100
    assert lines[-1] == f"Next: {NEXT}"


@pytest.mark.parametrize("wide", ["漢" * 90, "x" * 300])
def test_columns_are_counted_as_a_terminal_counts_them(wide: str) -> None:
    lines = reported(Stopped("stall", wide)).splitlines()
    assert max(map(columns, lines)) <= 100


def test_lists_that_have_no_room_keep_their_titles_and_true_numbers() -> None:
    many = tuple(f"warning {number} that says what nobody should overlook" for number in range(24))
    summary = RunSummary(STOPPED, SPEC_42, VERDICTS, FINDINGS, COMMITS, Spend(), NEXT, "docs/log.md")
    some, few, none = (replace(summary, warnings=many[:number]).render() for number in (12, 16, 24))
    assert some.count("\n") == few.count("\n") == 24
    assert "Commits (2)\n  and 2 more\nSee also (3)\n  and 3 more\n" in some
    titles = "Not proven (3)\nRed checks (1)\nPassed (1)\nCommits (2)\nSee also (3)\n"
    assert few.endswith(f"{titles}Next: {NEXT}\n") and none.endswith(f"{titles}Next: {NEXT}\n")
