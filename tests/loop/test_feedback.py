from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from msgspec.structs import replace

from aigon.journal.events import IterationFinished
from aigon.loop.feedback import render_feedback
from aigon.model.checks import Finding, Problem, TestCounts
from aigon.model.criteria import Criterion, Spec, Verdict
from aigon.model.turns import Turn
from aigon.text.amounts import estimate_tokens
from tests.proof.hostile import EXAMPLES, FINDING, SPEC, TEXT, TURN, VERDICT

SPEC_42 = Spec(
    b"",
    "Todo",
    {},
    (
        Criterion(1, 3, "`todo add` stores the item", False, "verify", "pytest tests/test_add.py", 0),
        Criterion(2, 4, "Lint is clean", False, "check", "lint", 0),
        Criterion(3, 5, "Messages read well", False, "judge", None, 0),
    ),
    None,
)
VERDICTS = (
    Verdict(1, "met", "verify", "exit 0"),
    Verdict(2, "unmet", "check:lint", reason="lint is red"),
    Verdict(3, "unclear", "judge", reason="no judge answered"),
)


def looked(findings: Sequence[Finding], verdicts: Sequence[Verdict] = ()) -> IterationFinished:
    return IterationFinished("", 2, "", "", tuple(findings), tuple(verdicts), (), "", (), "")


def failing(*problems: Problem, total: int = 15, title: str = "tests") -> Finding:
    counts = TestCounts(total, total - len(problems), len(problems))
    return Finding(title, "tests", title.title(), "fail", "red", "pytest -q", 1, counts=counts, problems=problems)


def problem(test: str, message: str) -> Problem:
    return Problem(message, "tests/test_todo.py", 7, test=f"tests/test_todo.py::{test}")


def told(
    *findings: Finding,
    before: Sequence[Finding] = (),
    base: Sequence[Finding] = (),
    turn: Turn | None = None,
    notes: Sequence[str] = (),
    budget: int = 2000,
) -> str:
    return render_feedback(
        SPEC_42,
        looked(findings, VERDICTS),
        last=looked(before),
        base=looked(base),
        turn=turn,
        notes=notes,
        logs=".aigon/runs/r1/2",
        budget=budget,
    )


GOLDEN = """\
Failing checks: 2 of 3.
Fixed now: `Type check`.

### Tests: still failing, failed 4 -> 3 of 15, already failing on the base
Command: `pytest -q`

`tests/test_todo.py::test_new`, `tests/test_todo.py:7`, new
```text
KeyError: 'id'
```

`tests/test_todo.py::test_old`, `tests/test_todo.py:7`, already failing on the base
```text
assert 3 == 4
  where 3 = add(1, 2)
```
and 1 more like it: `tests/test_todo.py::test_older`

### Build: newly failing
Command: `make`
Result: `exit 2`

The end of its output:
```text
a.c:3: error
make: *** [all] Error 1
```

Acceptance criteria not passed: 2 of 3.
```text
2. Lint is clean
   failed: lint is red
3. Messages read well
   needs review: no judge answered
```

Put back by aigon after the last turn:
- tests/conftest.py

The last turn was stopped at its time limit, after 30m 00s: work in smaller steps.
Permissions denied to the last turn: `Bash(curl x)`.

Full logs: `.aigon/runs/r1/2`
"""


def test_the_digest_says_what_fails_what_changed_and_what_is_missing() -> None:
    old = [problem(name, "assert 3 == 4\n  where 3 = add(1, 2)") for name in ("test_old", "test_older")]
    gone = [problem(f"test_gone_{n}", "assert 1 == 2") for n in range(2)]
    types_red = Finding("types", "types", "Type check", "fail", "2 errors")
    text = told(
        failing(*old, problem("test_new", "KeyError: 'id'")),
        Finding(
            "build", "build", "Build", "fail", "exit 2", "make", 2, excerpt="a.c:3: error\nmake: *** [all] Error 1"
        ),
        replace(types_red, status="pass", summary="clean"),
        before=[failing(*old, *gone), types_red],
        base=[failing(*old)],
        turn=Turn(2, "claude", "opus", "timed_out", denied=("Bash(curl x)",), duration=1800),
        notes=["tests/conftest.py"],
    )
    assert text == GOLDEN


def test_one_cause_in_many_tests_is_one_failure_with_some_of_their_names() -> None:
    red = failing(*(problem(f"test_{n}", f"Timeout after {n} ms at 0x{n:x}") for n in range(9)))
    text = told(red)
    assert text.count("Timeout") == 1
    assert "and 8 more like it: `tests/test_todo.py::test_1`" in text
    assert "test_6`, ...\n" in text
    assert "test_7" not in text


def test_without_an_earlier_look_nothing_is_called_new() -> None:
    text = told(failing(problem("test_a", "boom")))
    assert "### Tests: failing, failed 1 of 15\n" in text
    assert "new" not in text


def test_a_check_that_could_not_count_its_tests_before_makes_none_of_them_new() -> None:
    broken = Finding("tests", "tests", "Tests", "error", "no tests collected", "pytest -q", 2)
    text = told(failing(problem("test_a", "boom")), before=[broken])
    assert "### Tests: still failing, failed 1 of 15\n" in text
    assert ", new" not in text


def test_an_error_a_skip_and_a_changed_summary_are_said_as_such() -> None:
    lint = Finding("lint", "lint", "Lint", "fail", "4 problems", "ruff check .")
    text = told(
        lint,
        Finding("build", "build", "Build", "error", "make is not installed"),
        Finding("types", "types", "Type check", "skipped", "nothing to check"),
        before=[replace(lint, summary="7 problems")],
    )
    assert "### Lint: still failing\nCommand: `ruff check .`\nResult: `4 problems`, before `7 problems`" in text
    assert "### Build: newly failing, gave no result\nResult: `make is not installed`" in text
    assert "Skipped, which is not a pass: `Type check (nothing to check)`." in text


def test_part_of_a_group_can_be_new_or_from_the_base() -> None:
    same = [problem(name, "assert False") for name in ("test_a", "test_b", "test_c")]
    text = told(failing(*same), before=[failing(*same[:2])], base=[failing(same[0])])
    assert "1 of 3 new, 1 of 3 already failing on the base" in text


def test_what_the_agent_said_never_comes_back() -> None:
    turn = Turn(1, "claude", "", "failed", 1, said="SENTINEL all done", detail="SENTINEL detail", session="SENTINEL id")
    text = told(failing(problem("test_a", "boom")), turn=turn)
    assert "SENTINEL" not in text
    assert "The last turn failed (exit code 1)." in text


def test_a_turn_that_ended_well_is_not_mentioned() -> None:
    assert "last turn" not in told(turn=Turn(1, "claude", "", "finished", 0, said="x"))


def test_over_budget_the_examples_are_shortened_before_groups_are_left_out() -> None:
    words = ("north", "south", "east", "west", "up")
    red = failing(*(problem(f"test_{word}", f"{word} is wrong\n" + "detail " * 30 + "\nlast") for word in words))
    whole, shorter, least = told(red), told(red, budget=450), told(red, budget=0)
    assert "Left out" not in whole
    assert all(f"{word} is wrong" in shorter for word in words)
    assert "Left out here: 10 lines of examples." in shorter
    assert "north is wrong" in least
    assert "south" not in least
    assert "Left out here: 2 lines of examples, 4 groups of failures." in least
    assert "2. Lint is clean\n   failed: lint is red" in least


def test_of_unread_output_the_end_stays_longest() -> None:
    red = Finding("build", "build", "Build", "fail", "exit 2", excerpt="\n".join(f"row {n}" for n in range(40)))
    assert "row 28\n" in told(red)
    assert "row 27\n" not in told(red)
    assert "row 39\n" in told(red, budget=0)
    assert "row 38\n" not in told(red, budget=0)


def test_failures_that_no_parser_kept_are_counted() -> None:
    red = replace(failing(problem("test_a", "boom")), counts=TestCounts(900, 400, 480, errors=20))
    assert "failed 500 of 900" in told(red)
    assert "Left out here: 499 problems not listed." in told(red)


def test_many_notes_and_permissions_are_bounded_and_counted() -> None:
    turn = Turn(1, "claude", "", "finished", denied=tuple(f"Bash({n})" for n in range(14)))
    text = told(turn=turn, notes=[f"note {n}" for n in range(13)])
    assert "`Bash(9)` and 4 more." in text
    assert "- note 9\n" in text
    assert "3 notes on what was put back" in text


def test_when_nothing_is_open_it_says_so() -> None:
    proven = [replace(v, status="met") for v in VERDICTS]
    green = Finding("tests", "tests", "Tests", "pass", "15/15 passed")
    text = render_feedback(SPEC_42, looked([green], proven))
    assert text == "Failing checks: 0 of 1.\n\nEvery acceptance criterion passes.\n"


HOSTILE = st.tuples(
    SPEC,
    st.lists(FINDING, max_size=4),
    st.lists(VERDICT, max_size=5),
    st.lists(FINDING, max_size=3),
    TURN,
    st.lists(TEXT),
)


@EXAMPLES
@given(HOSTILE, st.integers(0, 3000))
def test_the_budget_is_exceeded_only_by_what_always_stays(
    given_: tuple[Spec, list[Finding], list[Verdict], list[Finding], Turn, list[str]], budget: int
) -> None:
    spec, findings, verdicts, before, turn, notes = given_
    look, last = looked(findings, verdicts), looked(before)
    text, least = (
        render_feedback(spec, look, last=last, base=last, turn=turn, notes=notes, logs="logs", budget=most)
        for most in (budget, 0)
    )
    assert estimate_tokens(text) <= max(budget, estimate_tokens(least))


@EXAMPLES
@given(HOSTILE)
def test_no_text_can_break_the_digest(
    given_: tuple[Spec, list[Finding], list[Verdict], list[Finding], Turn, list[str]],
) -> None:
    spec, findings, verdicts, before, turn, notes = given_
    look, last = looked(findings, verdicts), looked(before)
    text = render_feedback(spec, look, last=last, base=last, turn=turn, notes=notes, logs="logs/of/2", budget=3000)
    tokens = MarkdownIt().parse(text)
    red = [f for f in findings if f.status in ("fail", "error")]
    assert sum(t.type == "heading_open" for t in tokens) == len(red)
    assert not {"hr", "html_block", "code_block", "blockquote_open"} & {t.type for t in tokens}
    assert "Full logs: `logs/of/2`" in [t.content for t in tokens if t.type == "inline"]
    assert text.encode()
