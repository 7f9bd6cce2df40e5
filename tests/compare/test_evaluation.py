"""An evaluation as a page, on a terminal and as data."""

import json
from pathlib import Path

from msgspec.structs import replace

from aigon.compare.facts import CandidateFacts, CrossCheck, NewTests, Preference
from aigon.compare.file import render_page
from aigon.compare.proposal import ComparedFeature, Evaluation, build_evaluation
from aigon.compare.table import build_evaluation_document, render_evaluation
from aigon.model.outcomes import NeedsHuman, Stopped
from tests.compare.entrants import LINT, REVIEW, TESTS, change, entry, looked

SUBJECT = ComparedFeature("42", "Dark mode", ("src",))
CHECKS = (
    CrossCheck("cc", "gg", 1),
    CrossCheck("gg", "cc", 0, ("t::g",)),
    CrossCheck("cx", "cc", why="it added none"),
)


def three() -> Evaluation:
    """One that wins, one that has a larger diff, one that cheats and cannot say what it cost."""
    cheat = entry(
        "cx",
        agent="codex",
        outcome=NeedsHuman((), "special-cases"),
        concerns=(REVIEW,),
        look=looked(met=1),
        cost=None,
        at_least=0.0,
        cost_status="unknown",
        usage=None,
        new_tests=NewTests(),
    )
    large = entry("gg", agent="gemini", changed=change(90, outside=("b.py",)), new_tests=NewTests(("t::g",), ("t::g",)))
    return build_evaluation(SUBJECT, (cheat, large, entry()), CHECKS)


PAGE = Path(__file__).with_name("evaluation.md").read_text()
"""The page, as it is kept in a repository."""
TEXT = """\
Feature 42: Dark mode

                    cc             gg             cx
Criteria passed     2 of 2         2 of 2         1 of 2
Checks passed       pass           pass           pass
Integrity clean     pass           pass           FAIL
Base's tests kept   pass           pass           pass
Run ended as proven pass           pass           FAIL

Last run            proven         proven         needs human
Iterations          2              2              2
Time                5m 00s         5m 00s         5m 00s
Cost                $0.50          $0.50          ?
Cost is             reported       reported       unknown
Tokens in/out       6000/200       6000/200       ?
Source diff         +10 -0         +90 -0         +10 -0
Test diff           +5 -0          +5 -0          +5 -0
Other diff          +0 -0          +0 -0          +0 -0
Files touched       1              1              1
Outside the area    0              1              0
New tests on base   1, 1 red       1, 1 red       none
Lint vs base        0              0              0
Branches added      +2             +2             +2
Suppressions added  0              0              0
Integrity notes     0              0              1

? is not known, and passes no gate

New tests on the others (advisory)
  - tests of cc on gg: 1/1 pass
  - tests of gg on cc: 0/1 pass

Dominance
  - cc dominates gg: better in files outside the area, source diff; worse in
    none of 10 measures known of both
  - cc dominates cx: better in the gates, integrity notes, a new test red on
    base; worse in none of 9 measures known of both

Not known
  - cross-checks cx on cc: it added none

Proposed: cc
  - cc passes every gate, and is ahead of the others that do; files outside the
    area decided
  - cx does not pass the gates: Criteria passed: 1 of 2 passed; Integrity clean:
    a person has to look at special-cases: calc.py:3 answers what the tests ask
  - gg fell behind cc at files outside the area: 1, not 0
  - to look at: cc fails 1 of the new tests of gg
Written: somewhere
Next: aigon feature-done 42 cc
"""


def test_the_page_as_a_whole() -> None:
    assert render_page(three()) == PAGE


def test_the_terminal_has_the_table_and_then_the_proposal() -> None:
    assert render_evaluation(three(), "Written: somewhere") + "\n" == TEXT


def test_the_same_facts_make_the_same_page_whoever_is_named_first() -> None:
    found = three()
    again = build_evaluation(found.subject, found.entries[::-1], CHECKS)
    assert render_page(again) == render_page(found)


def test_four_fit_beside_each_other_in_80_columns_and_more_stand_below() -> None:
    labels = [f"claude-sonnet-4-5-2026-{n}" for n in range(6)]
    some = build_evaluation(SUBJECT, [entry(label, agent=label) for label in labels])
    lines = render_evaluation(some, "").splitlines()
    assert max(map(len, lines)) <= 80
    assert sum(line.startswith("Criteria passed") for line in lines) == 2
    head = next(line for line in lines if line.startswith(" " * 20))
    assert len(set(head.split())) == 4, "labels that are cut can still be told apart"


def test_what_is_not_known_is_shown_as_such_and_never_as_zero() -> None:
    found = build_evaluation(SUBJECT, (entry(), CandidateFacts("dd", "nobody")))
    row = next(line for line in render_page(found).splitlines() if line.startswith("| Cost |"))
    assert row == "| Cost | $0.50 | ? |"
    data = json.loads(json.dumps(build_evaluation_document(found, "", "", "")))
    nothing = data["candidates"][1]
    assert nothing["cost"] == {"usd": None, "status": "unknown", "at_least": 0.0}
    assert (nothing["iterations"], nothing["change"], nothing["seconds"]) == (None, None, None)
    assert nothing["status"] == "not_started" and nothing["gates"]["checks"]["result"] == "unknown"


def test_a_cost_that_some_turns_kept_to_themselves_is_a_lower_bound() -> None:
    found = build_evaluation(SUBJECT, (entry(cost=None, at_least=0.4, cost_status="unknown", silent=1),))
    assert "| Cost | over $0.40 |" in render_page(found) and "| Tokens in/out | over 6000/200 |" in render_page(found)


def test_text_of_agents_makes_no_markup_of_its_own() -> None:
    nasty = "<script>alert(1)</script> | [x](javascript:y)\n# Winner: me `"
    review = replace(REVIEW, what=nasty)
    tests = NewTests((nasty,), (nasty,))
    bad = entry("cx", agent=nasty, concerns=(review,), new_tests=tests, changed=change(outside=(nasty,)))
    checks = (CrossCheck("cx", "cc", 0, (nasty,), (nasty,)),)
    asked = (Preference("cc", "cx", "one", (nasty,)),)
    found = build_evaluation(ComparedFeature("42", nasty, (nasty,)), (entry(), bad), checks, asked, (nasty,))
    made = render_page(found)
    assert "\n# Winner: me" not in made and made.count("\n# ") == 0
    outside_of_code = "".join(made.split("``")[0::2])
    assert "<script>" not in outside_of_code.replace("\\<", "") and "[x](" not in outside_of_code
    assert "\x1b" not in render_evaluation(found, "") and max(map(len, render_evaluation(found, "").splitlines())) <= 80


def test_a_judge_is_quoted_with_both_names() -> None:
    asked = (Preference("cc", "gg", "other", ("it handles the empty list",)),)
    made = render_page(build_evaluation(SUBJECT, (entry(), entry("gg")), (), asked))
    assert "## The judge, two by two" in made and "- cc and gg: gg" in made
    assert "  - it handles the empty list" in made and "Proposed: gg" in made


def test_while_others_run_everything_is_so_far_and_nobody_means_go_on() -> None:
    running = entry("gg", running=True, outcome=None)
    assert "Proposed so far: cc" in render_evaluation(build_evaluation(SUBJECT, (entry(), running)), "")
    stopped = entry(outcome=Stopped("iterations", "3 of 3 are used"))
    said = render_evaluation(build_evaluation(SUBJECT, (stopped,)), "Not written: why")
    assert "Nobody: no candidate passes every gate" in said and "Next: aigon feature-implement 42 --resume" in said


def test_where_all_are_proven_and_a_gate_is_unknown_nobody_is_told_to_resume() -> None:
    proven = entry(look=looked(TESTS, LINT), changed=change(touched_tests=True))
    said = render_evaluation(build_evaluation(SUBJECT, (proven,)), "")
    assert "Nobody: no candidate passes every gate" in said and "Next: aigon feature-done 42 AGENT" in said


def test_a_tie_asks_a_person_to_name_one() -> None:
    said = render_evaluation(build_evaluation(SUBJECT, (entry(), entry("gg"))), "")
    assert "Tied: cc and gg; a person has to choose" in said and "Next: aigon feature-done 42 AGENT" in said


def test_the_data_has_everything_that_the_page_says() -> None:
    data = json.loads(json.dumps(build_evaluation_document(three(), "a.md", "c" * 40, "")))
    assert data["proposal"]["winner"] == "cc" and data["proposal"]["decided_by"] == "outside"
    assert data["order"]["places"] == [["cc"], ["gg"], ["cx"]] and data["order"]["keys"][0] == "gates"
    first = data["candidates"][0]
    assert first["change"]["source"] == {"added": 10, "removed": 0} and first["measures"]["new-tests"] == 1.0
    assert (data["path"], data["commit"], data["not_written"]) == ("a.md", "c" * 40, None)
