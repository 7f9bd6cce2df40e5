"""Values whose every text is chosen by somebody who wants to break the page it is shown on."""

from hypothesis import settings
from hypothesis import strategies as st

from aigon.model.changes import FileChange
from aigon.model.checks import CheckStatus, Finding, Problem, TestCounts
from aigon.model.criteria import Criterion, Spec, Verdict
from aigon.model.turns import Turn
from aigon.spec.annotation import write_text

EXAMPLES = settings(max_examples=30)
"""No deadline: on a busy machine a slow example is not a wrong one, and looking for a smaller one takes minutes."""

_PIECES = (
    "`",
    "```",
    "~~~",
    "````text",
    "\n",
    "\r",
    "\u2028",
    "\x85",
    "# ",
    "## Iteration 9 (",
    "- [x] ",
    "---",
    "===",
    "1. ",
    "> ",
    "<!--",
    "<script>",
    "    ",
    "{{DIGEST}}",
    "\x1b[31m",
    "\x00",
    "\udcff",
    "\u202e",
    "a",
    "Ü",
    "漢",
)
TEXT = st.one_of(
    st.lists(st.sampled_from(_PIECES), max_size=12).map("".join),
    st.text(max_size=40),
    st.text(min_size=1, max_size=3).map(lambda t: t * 400),
)
STATUS: st.SearchStrategy[CheckStatus] = st.sampled_from(("pass", "fail", "error", "skipped"))
PROBLEM = st.builds(
    Problem,
    message=TEXT,
    file=TEXT,
    line=st.integers(0, 99),
    rule=TEXT,
    severity=st.sampled_from(("error", "warning")),
    test=TEXT,
)
FINDING = st.builds(
    Finding,
    check=TEXT,
    role=st.just("tests"),
    title=TEXT,
    status=STATUS,
    summary=TEXT,
    command=TEXT,
    counts=st.one_of(st.none(), st.builds(TestCounts, total=st.integers(0, 9), failed=st.integers(0, 9))),
    problems=st.lists(PROBLEM, max_size=8).map(tuple),
    excerpt=TEXT,
    log=TEXT,
)
DECIDED = st.one_of(
    st.tuples(st.sampled_from(("verify", "check", "judge", "human")), st.one_of(st.none(), TEXT)),
    st.tuples(st.sampled_from(("metric", "seconds")), TEXT.map(lambda text: f"{text}x <= 8")),
    st.tuples(st.just("prints"), TEXT.map(lambda text: write_text("x", text.encode("utf-8", "replace").decode()))),
)
"""Kinds of criteria, each with what can follow its colon."""
CRITERION = st.builds(
    lambda number, text, checked, decided: Criterion(number, 1, text, checked, decided[0], decided[1], 0),
    st.integers(1, 5),
    TEXT,
    st.booleans(),
    DECIDED,
)
VERDICT = st.builds(
    Verdict,
    criterion=st.integers(1, 5),
    status=st.sampled_from(("met", "unmet", "unclear")),
    method=TEXT,
    evidence=TEXT,
    reason=TEXT,
)
SPEC = st.builds(
    Spec,
    raw=st.one_of(st.binary(max_size=60), TEXT.map(lambda t: t.encode("utf-8", "replace"))),
    title=TEXT,
    frontmatter=st.just({}),
    criteria=st.lists(CRITERION, max_size=5).map(tuple),
    validation=st.none(),
)
TURN = st.builds(
    Turn,
    number=st.just(1),
    agent=TEXT,
    model=TEXT,
    end=st.sampled_from(("finished", "failed", "timed_out", "not_started", "killed", "unavailable")),
    exit_code=st.one_of(st.none(), st.integers(-9, 255)),
    said=TEXT,
    detail=TEXT,
    denied=st.lists(TEXT, max_size=12).map(tuple),
)
CHANGE = st.builds(FileChange, path=TEXT, added=st.integers(-1, 9), removed=st.integers(-1, 9))
