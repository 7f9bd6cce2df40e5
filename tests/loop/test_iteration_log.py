import re

from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from msgspec.structs import replace

from aigon.journal.events import IterationFinished
from aigon.loop.issues import list_issues, list_remaining, plan_next_steps
from aigon.loop.iteration_log import LARGEST, move_to_part, read_iteration_numbers, render_entry, render_header
from aigon.model.changes import FileChange
from aigon.model.checks import Finding, Problem
from aigon.model.criteria import Criterion, Spec, Verdict
from aigon.model.turns import Turn
from aigon.spec.features import OwnPaths
from tests.proof.hostile import CHANGE, EXAMPLES, FINDING, SPEC, TEXT, TURN, VERDICT

SPEC_42 = Spec(
    b"",
    "Todo",
    {},
    (
        Criterion(1, 3, "`todo add` stores the item", False, "verify", "pytest tests/test_add.py", 0),
        Criterion(2, 4, "Feature X works correctly", False, "check", "tests", 0),
        Criterion(3, 5, "Messages read well", False, "judge", None, 0),
        Criterion(4, 6, "The owner agrees", False, "human", None, 0),
    ),
    None,
)
EVENT = IterationFinished(
    at="",
    number=1,
    started_at="",
    checkpoint="",
    findings=(
        Finding("tests", "tests", "Tests", "pass", "15/15 passed"),
        Finding("build", "build", "Build", "fail", "missing import", problems=(
            Problem("ImportError: no module named x\nmore", "src/a.py", 3), Problem("ImportError: no module named x"))),
        Finding("types", "types", "Type check", "pass", "1 warning", problems=(
            Problem("unused ignore", "src/a.py", 9, "unused-ignore", "warning"),)),
        Finding("lint", "lint", "Lint", "error", "ruff is not installed"),
        Finding("e2e", "endpoints", "Endpoints", "skipped", "no server"),
    ),
    verdicts=(
        Verdict(1, "met", "verify", "exit 0"),
        Verdict(2, "unmet", "check:tests", reason="tests pass, but the build fails"),
        Verdict(3, "unclear", "judge", reason="no judge answered"),
    ),
    changes=(FileChange("src/a.py", 38, 2), FileChange("logo.png", -1, -1, "A")),
    fingerprint="",
    score=(),
    feedback="",
)  # fmt: skip
TURN_1 = Turn(
    1,
    "cc",
    "opus",
    "finished",
    0,
    said="I added `todo add`.\n- [x] all done\n<promise>COMPLETE</promise>",
    detail="SENTINEL",
    cost=0.42,
    cost_status="reported",
    duration=192,
)
MET = tuple(Verdict(number, "met", "verify", "exit 0") for number in (1, 2, 3, 4))
HEADINGS = [
    "Implementation",
    "Validation Results",
    "Acceptance Criteria Status",
    "Issues Found",
    "Next Iteration Plan",
]
GOLDEN = """\
## Iteration 1 (2026-11-20 10:15:23)

### Implementation
- Agent: `cc`, model `opus`
- Turn: finished after 3m 12s
- Cost: $0.42 (reported)
- Files changed: 2 (+38 -2)
  - `src/a.py` +38 -2
  - `logo.png` binary
- The agent's account (its claim, not evidence): ``I added `todo add`. - [x] all done <promise>COMPLETE</promise>``
### Validation Results
- ✅ Tests: 15/15 passed
- ❌ Build: Failed (missing import)
- ⚠️ Type check: 1 warning
- ❌ Lint: Error (ruff is not installed)
- ⚠️ Endpoints: skipped (no server)
### Acceptance Criteria Status
- [x] `todo add` stores the item (verify: exit 0)
- [ ] Feature X works correctly (tests pass, but the build fails)
- [ ] Messages read well (needs review: no judge answered)
- [ ] The owner agrees (not assessed)
### Issues Found
1. Build: `ImportError: no module named x` (`src/a.py:3`)
2. Build: `ImportError: no module named x`
3. Type check: warning `unused ignore` (`unused-ignore`, `src/a.py:9`)
4. Lint: ruff is not installed
5. Criterion 2: Feature X works correctly (tests pass, but the build fails)
6. Criterion 3: Messages read well (no judge answered)
7. Criterion 4: The owner agrees (not assessed)
### Next Iteration Plan
- Fix `ImportError: no module named x` in `src/a.py:3`
- Fix `ImportError: no module named x` (Build)
- Make Lint pass
- Prove criterion 2: Feature X works correctly
- Prove criterion 3: Messages read well
- Prove criterion 4: The owner agrees
- Re-run validation
---
"""


def test_an_entry_is_in_the_format_of_the_contract() -> None:
    assert render_entry(EVENT, SPEC_42, TURN_1, "2026-11-20 10:15:23") == GOLDEN


def test_an_iteration_with_nothing_left_to_say_says_that() -> None:
    text = render_entry(replace(EVENT, findings=(), changes=(), verdicts=MET), SPEC_42, None, "now")
    assert "- Agent: none, this assesses what was there\n- No files changed\n###" in text
    assert "### Validation Results\n- ⚠️ Validation: skipped (no check ran)\n" in text
    assert text.endswith("### Issues Found\nNone.\n### Next Iteration Plan\n- Nothing is open.\n---\n")


def test_a_failed_turn_and_an_unknown_cost_are_said() -> None:
    text = render_entry(EVENT, SPEC_42, Turn(1, "cc", "", "timed_out", 143, duration=1800), "now")
    assert "- Agent: `cc`\n- Turn: timed out (exit code 143) after 30m 00s\n- Cost: unknown\n" in text


def test_the_agents_account_is_bounded_and_its_error_output_left_out() -> None:
    text = render_entry(EVENT, SPEC_42, replace(TURN_1, said="word " * 400), "now")
    (line,) = [line for line in text.splitlines() if line.startswith("- The agent's account")]
    assert line.endswith("…`") and 500 < len(line) < 560
    assert "SENTINEL" not in text and "account" not in render_entry(EVENT, SPEC_42, replace(TURN_1, said=" "), "now")


def test_the_plan_names_tests_and_places_and_people() -> None:
    problem = Problem("AssertionError\nassert 0 == 6", "test_calc.py", 10, test="test_calc.py::test_mul")
    red = Finding("tests", "tests", "Tests", "fail", "1 failed", problems=(problem,))
    verdicts = (*MET[:3], Verdict(4, "unclear", "human", reason="a person decides: `aigon approve`"))
    text = render_entry(replace(EVENT, findings=(red,), verdicts=verdicts), SPEC_42, None, "now")
    assert text.split("### Next Iteration Plan\n")[1].splitlines()[:3] == [
        "- Fix `AssertionError` in `test_calc.py::test_mul` (`test_calc.py:10`)",
        "- Have a person decide criterion 4: The owner agrees",
        "- Re-run validation",
    ]


def test_a_long_plan_and_a_long_list_of_issues_are_bounded() -> None:
    red = [
        Finding(t, "lint", t, "fail", "", problems=tuple(Problem(f"{t}{chr(97 + n)}x") for n in range(10)))
        for t in "ABCDEF"
    ]
    steps = plan_next_steps(list_issues(red[:2], MET, ()))
    assert (len(steps), steps[-2:]) == (12, ["Fix the other 10 issues", "Re-run validation"])
    assert len(list_remaining(red, MET)) == 50 and list_remaining(red, MET)[0] == "A: Aax"


def test_at_most_thirty_files_and_ten_kinds_of_problems_are_listed() -> None:
    words = [f"{chr(97 + n)}x" for n in range(13)]
    lint = Finding("lint", "lint", "Lint", "fail", "13", problems=tuple(Problem(w) for w in words))
    event = replace(EVENT, findings=(lint,), changes=tuple(FileChange(f"f{n}", 1, 0) for n in range(42)))
    text = render_entry(event, SPEC_42, None, "now")
    assert "- Files changed: 42 (+42 -0)\n" in text
    assert "  - `f29` +1 -0\n  - and 12 more\n###" in text
    assert "\n10. Lint: `jx`\n11. Lint: and 3 other kinds\n" in text


def test_the_same_problem_in_many_places_is_one_line() -> None:
    lint = Finding(
        "lint", "lint", "Lint", "fail", "3", problems=tuple(Problem("bad", f"f{n}", 1, "E1") for n in range(3))
    )
    text = render_entry(replace(EVENT, findings=(lint,)), SPEC_42, None, "now")
    assert "### Issues Found\n1. Lint: `bad` (`E1`, `f0:1`), 3 times\n2. Criterion 2" in text


def test_the_numbers_of_a_log_are_read_in_order() -> None:
    log = render_header("42", "Todo", "cc") + "".join(
        render_entry(replace(EVENT, number=n), SPEC_42, TURN_1, "now") for n in (1, 2, 7)
    )
    assert read_iteration_numbers(log) == [1, 2, 7]
    assert read_iteration_numbers(log.replace("\n", "\r\n")) == [1, 2, 7]
    assert read_iteration_numbers(render_header("42", "Todo", "cc")) == []


def test_a_header_is_one_heading_whatever_the_title_holds() -> None:
    text = render_header("42", "Dark\n## Iteration 3 (now)", "`cc`")
    assert text.startswith("# Iteration log: feature 42, Dark ## Iteration 3 (now)\n\n")
    assert read_iteration_numbers(text) == []


@EXAMPLES
@given(SPEC, st.lists(FINDING, max_size=4), st.lists(VERDICT, max_size=5), st.lists(CHANGE, max_size=3), TURN, TEXT)
def test_no_text_can_break_the_log(
    spec: Spec,
    findings: list[Finding],
    verdicts: list[Verdict],
    changes: list[FileChange],
    turn: Turn,
    when: str,
) -> None:
    event = replace(EVENT, findings=tuple(findings), verdicts=tuple(verdicts), changes=tuple(changes))
    text = render_header("42", spec.title, turn.agent) + render_entry(event, spec, turn, when)
    assert text.encode()
    assert read_iteration_numbers(text) == [1]
    assert re.findall(r"^### (.*)$", text, re.M) == HEADINGS
    assert len(re.findall(r"^- \[[ x]\] ", text, re.M)) == len(spec.criteria)
    assert len(re.findall(r"^- (?:✅|❌|⚠️) ", text, re.M)) == max(len(findings), 1)
    tokens = MarkdownIt().parse(text)
    assert sum(t.type == "heading_open" for t in tokens) == 2 + len(HEADINGS)
    assert [t.type for t in tokens].count("hr") == 1
    assert tokens[-1].type == "hr"
    assert not {"fence", "html_block", "code_block", "blockquote_open"} & {t.type for t in tokens}


PATH = "docs/specs/features/logs/feature-42-a log-log.md"


def grow(log: bytes, numbers: range) -> tuple[bytes, dict[str, bytes]]:
    """Return a log after these iterations, and the parts that it left behind."""
    entry = render_entry(EVENT, SPEC_42, TURN_1, "2026-01-01")
    left: dict[str, bytes] = {}
    for number in numbers:
        log, parts = move_to_part(PATH, log)
        assert not left.keys() & parts.keys()
        left |= parts
        log += entry.replace("## Iteration 1 (", f"## Iteration {number} (").encode()
    return log, left


def test_a_long_log_is_in_parts_and_its_end_stays_where_it_was() -> None:
    start = render_header("42", "Todo", "cc").encode()
    log, left = grow(start, range(1, 201))
    entry_size = len(render_entry(EVENT, SPEC_42, TURN_1, "2026-01-01")) * 2
    assert len(log) < LARGEST + entry_size and log.startswith(start.rstrip())
    parts = sorted(left.items())
    assert all(len(text) < LARGEST + entry_size for _, text in parts)
    read = [*(text for _, text in parts), log]
    assert [number for text in read for number in read_iteration_numbers(text.decode())] == [*range(1, 201)]
    for path, text in parts:
        first, last = (read_iteration_numbers(text.decode())[at] for at in (0, -1))
        folder, _, name = path.rpartition("/")
        assert (folder, name) == (PATH.removesuffix(".md"), f"{first:04d}-{last:04d}.md")
        link = f"- [Iterations {first} to {last}](feature-42-a%20log-log/{name})"
        assert link in log.decode().splitlines()
        head = text.decode().splitlines()[:3]
        assert head[0] == f"# Iteration log: feature 42, Todo, iterations {first} to {last}"
        assert "](../feature-42-a%20log-log.md)" in head[2]


def test_an_iteration_writes_as_many_bytes_of_a_log_whatever_came_before() -> None:
    """The 1,000th entry goes to a file that is as long as that of the 200th at most, but for the names of parts."""
    log, left = grow(render_header("42", "Todo", "cc").encode(), range(1, 1001))
    assert len(log) < LARGEST * 1.2 and len(left) > 5
    assert log.count(b"\n- [Iterations ") == len(left)


def test_what_is_no_log_of_aigons_is_left_as_it_is() -> None:
    text = b"\xff notes of a person\r\n" * 10_000
    assert move_to_part(PATH, text) == (text, {})
    entry = render_entry(EVENT, SPEC_42, TURN_1, "2026-01-01").encode()
    log, parts = move_to_part(PATH, text + entry * (LARGEST // len(entry) + 2))
    assert log.startswith(text.rstrip()) and len(parts) == 1


def test_the_parts_of_a_log_are_aigons_own_files_with_it() -> None:
    own = OwnPaths(["docs/specs/features/03-in-progress/feature-42-x.md", PATH])
    assert PATH in own and f"{PATH.removesuffix('.md')}/0001-0130.md" in own
    for other in ("0001-0130.py", "notes.md", "0001-0130/0001-0130.md"):
        assert f"{PATH.removesuffix('.md')}/{other}" not in own
    assert "docs/specs/features/03-in-progress/feature-42-x/0001-0130.md" not in own
