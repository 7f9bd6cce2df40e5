"""A verdict for every criterion, with what decided it, on what evidence, and why."""

import pytest
from msgspec.structs import replace

from aigon.journal.decisions import HumanDecision
from aigon.journal.state import State
from aigon.model.checks import Finding
from aigon.process.orphans import adopt_orphans
from aigon.proof.criteria import judge_by_results, list_bound_findings, list_commands
from tests.checks.parsers.captured import captured
from tests.compare.bench import job_of, looked, only, script, spec_of, verdicts, world_of
from tests.lab import Lab


def finding(check: str, status: str = "pass", role: str = "") -> Finding:
    return Finding(check, role or check, check.title(), status, f"{check} says {status}", f"run {check}")  # type: ignore[arg-type]


# verify


@pytest.mark.parametrize(
    ("command", "status", "reason"),
    [
        ("true", "met", ""),
        ("test -f README.md && test -d .", "met", ""),
        ("exit 3", "unmet", "exit 3: no output"),
        ("echo cannot; false", "unmet", "exit 1: cannot"),
        ("no-such-program", "unmet", "a command was not found (exit 127"),
    ],
)
def test_a_command_decides_by_its_exit_code(lab: Lab, command: str, status: str, reason: str) -> None:
    with world_of(lab) as world:
        verdict = only(looked(world, job_of(spec_of(f"it works <!-- verify: {command} -->"))))
    assert (verdict.status, verdict.method) == (status, "verify")
    assert command in verdict.evidence and reason in verdict.reason


@pytest.mark.parametrize(
    ("capture", "summary", "failed", "more"),
    [
        ("jest-mixed.txt", "3/12 passed, 3 errors, 2 skipped", "sum.test.js::sum > wrong: ", "; and 6 more)"),
        ("vitest-failed.txt", "1/3 passed, 1 error, 2 skipped", "sum.test.js::sum > wrong: ", ""),
        ("mocha-failed.txt", "1/3 passed, 1 skipped", "sum > deep > too: ", ""),
        ("nodetest-mixed-tap.txt", "6/15 passed, 1 error, 3 skipped", "test/sum.test.js::wrong: ", " more)"),
        ("cargotest-failed.txt", "8/17 passed, 3 skipped", "tests/it.rs::divides: ", " more)"),
        ("gotest-failed.txt", "6 packages failed", "example.com/m/panics::TestPanics: ", " more)"),
        ("gradle-failed.txt", "3 errors", "demo.CalcTest > adds: ", ""),
        ("phpunit-failed.txt", "3/6 passed, 1 error, 2 skipped", "CalcTest::testAdds: ", ""),
        ("rspec-failed.txt", "3/7 passed, 2 skipped", "spec/calc_spec.rb::Calc adds: ", ""),
        ("jest-none.txt", "no tests collected", "", ""),
    ],
)
def test_the_reason_of_a_red_command_names_the_tests_that_failed(
    lab: Lab, capture: str, summary: str, failed: str, more: str
) -> None:
    """Whatever the command is called: the output says which runner wrote it. Exit 0 decides if a test ran at all."""
    lab.write("output.txt", captured(capture))
    spec = spec_of("red <!-- verify: ./run; cat output.txt >&2; exit 1 -->", "green <!-- verify: cat output.txt -->")
    with world_of(lab) as world:
        red, green = looked(world, job_of(spec)).verdicts
    assert (red.status, green.status) == ("unmet", "met" if "passed" in summary or failed else "unmet")
    assert red.reason.startswith(summary)
    assert failed in red.reason and red.reason.endswith(more)


def test_a_command_runs_in_the_workspace_without_credentials(lab: Lab) -> None:
    spec = spec_of(f'it is here <!-- verify: test "$PWD" = "{lab.root}" -->')
    with world_of(lab) as world:
        assert only(looked(world, job_of(spec))).status == "met"


def test_a_command_is_judged_again_each_time_on_the_very_same_tree(lab: Lab) -> None:
    outside = lab.home / "flag"
    job = job_of(spec_of(f"it works <!-- verify: test -f {outside} -->"))
    with world_of(lab) as world:
        seen = []
        for there in (False, True, False):
            outside.touch() if there else outside.unlink(missing_ok=True)
            seen.append(only(looked(world, job)).status)
    assert seen == ["unmet", "met", "unmet"]


# metric


@pytest.mark.parametrize(
    ("command", "bound", "status", "said"),
    [
        ("echo 8", ">= 8", "met", "8 >= 8"),
        ("echo 7.99", ">= 8", "unmet", "it is 7.99, wanted >= 8"),
        ("echo score 9 then 3", ">= 2", "unmet", "ambiguous"),
        ("echo 1,234", "<= 500", "unmet", "ambiguous"),
        ("echo score 7/10", ">= 7", "unmet", "ambiguous"),
        ("echo 12 in py311", ">= 300", "unmet", "it is 12"),
        ("echo 12 in py311", ">= 10", "met", "12 >= 10"),
        ("echo 12ms", ">= 1", "unmet", "ambiguous"),
        ("echo 1 234", "<= 500", "unmet", "ambiguous"),
        ("echo 1_234", "<= 500", "unmet", "ambiguous"),
        ("echo 1.2.3", ">= 1", "unmet", "ambiguous"),
        ("echo 3,5", ">= 1", "unmet", "ambiguous"),
        ("echo 7 of 1,234", ">= 1", "unmet", "ambiguous"),
        ("echo −5", ">= 1", "unmet", "ambiguous"),
        ("echo 86400", ">= 86400", "met", "86400 >= 86400"),
        ("echo 'coverage: 87.5%'", ">= 80", "met", "87.5 >= 80"),
        ("echo n=12", "== 12", "met", "12 == 12"),
        ("echo it is 9.", "== 9", "met", "9 == 9"),
        ("printf '1,234 files\\n7\\n\\n'", "== 7", "met", "7 == 7"),
        ("printf '9\\ndone\\n'", ">= 8", "unmet", "no number on its last line"),
        ("printf '\\033[32m9\\033[0m\\n'", "== 9", "met", "9 == 9"),
        ("printf '9%5000d' 1", "== 1", "unmet", "ambiguous"),
        ("echo -2.5", "< -2", "met", "-2.5 < -2"),
        ("echo 1e-3", "<= 0.001", "met", "1"),
        ("echo 1.5E3", "== 1500", "met", "1.5E+3 == 1500"),
        ("echo .5", "!= 1", "met", "0.5 != 1"),
        ("echo 0.1", "<= 0.1", "met", "0.1 <= 0.1"),
        ("echo 85%", "> 80", "met", "85 > 80"),
        ("echo pages 3-5", "> 0", "unmet", "ambiguous"),
        ("echo 12345678901234567890", "> 1", "met", "12345678901234567890 > 1"),
        ("echo nothing", ">= 0", "unmet", "printed no number"),
        ("true", ">= 0", "unmet", "printed no number"),
        ("echo 9; exit 1", ">= 8", "unmet", "exit 1"),
        ("echo 3; echo 9 warnings >&2", ">= 8", "unmet", "it is 3"),
    ],
)
def test_the_one_number_on_the_last_line_decides_and_only_after_exit_0(
    lab: Lab, command: str, bound: str, status: str, said: str
) -> None:
    with world_of(lab) as world:
        verdict = only(looked(world, job_of(spec_of(f"it scores <!-- metric: {command} {bound} -->"))))
    assert (verdict.status, verdict.method) == (status, "metric"), verdict
    assert said in (verdict.evidence if status == "met" else verdict.reason)


# prints


@pytest.mark.parametrize(
    ("command", "text", "status", "said"),
    [
        ("echo Hello, Ada!", "Hello, Ada!", "met", "it printed 'Hello, Ada!'"),
        ("echo Hello, Ada", "Hello, Ada!", "unmet", "it printed 'Hello, Ada', wanted 'Hello, Ada!'"),
        ("echo 42; exit 3", "42", "unmet", "exit 3"),
        ("echo 42; echo 42 >&2", "42", "met", "42"),
        ("echo 42 >&2", "42", "unmet", "it printed nothing, wanted '42'"),
        ("printf 42", "42", "met", "42"),
        ("printf '42\\n\\n'", "42", "met", "42"),
        ("printf '42 \\n'", "42", "unmet", "it printed '42 '"),
        ("printf 'a\\nb\\n'", r'"a\nb"', "met", r"'a\nb'"),
        ("printf 'a\\nc\\n'", r'"a\nb"', "unmet", "line 2 of what it printed is 'c', wanted 'b'"),
        ("printf 'a\\n'", r'"a\nb"', "unmet", "line 2 of what it printed is missing, wanted 'b'"),
        ("echo wrong; echo 42", "42", "unmet", "line 1 of what it printed is 'wrong', wanted '42'"),
        ("true", '""', "met", "it printed nothing"),
    ],
)
def test_all_that_a_command_prints_is_compared_and_only_after_exit_0(
    lab: Lab, command: str, text: str, status: str, said: str
) -> None:
    with world_of(lab) as world:
        verdict = only(looked(world, job_of(spec_of(f"it greets <!-- prints: {command} == {text} -->"))))
    assert (verdict.status, verdict.method) == (status, "prints"), verdict
    assert said in (verdict.evidence if status == "met" else verdict.reason)


# seconds


def test_the_time_that_a_command_takes_is_measured_by_aigon(lab: Lab) -> None:
    spec = spec_of(
        "quick <!-- seconds: true <= 60 -->",
        "slow, whatever it prints <!-- seconds: sleep 0.3; echo 0.0 <= 0.2 -->",
        "broken <!-- seconds: exit 4 <= 60 -->",
    )
    with world_of(lab) as world:
        quick, slow, broken = looked(world, job_of(spec)).verdicts
    assert (quick.status, slow.status, broken.status) == ("met", "unmet", "unmet")
    assert quick.evidence.endswith(" s <= 60 s")
    assert slow.reason.startswith("it is 0.") and slow.reason.endswith("wanted <= 0.2 s (the best of 5 runs)")
    assert "exit 4" in broken.reason


def test_the_quickest_of_some_runs_counts_and_none_follows_one_that_is_quick_enough(lab: Lab) -> None:
    script = "echo x >> runs.log; test $(wc -l < runs.log) -ge 3 || sleep 1"
    with world_of(lab) as world:
        verdict = only(looked(world, job_of(spec_of(f"quick in the end <!-- seconds: {script} <= 0.9 -->"))))
    assert (verdict.status, lab.path("runs.log").read_text().count("x")) == ("met", 3)
    assert verdict.evidence.endswith("(the best of 3 runs)")


def test_the_clock_stops_with_the_last_process_that_a_command_started(lab: Lab) -> None:
    adopt_orphans()
    try:
        with world_of(lab) as world:
            verdict = only(
                looked(world, job_of(spec_of("quick <!-- seconds: setsid -f sleep 0.9; sleep 0.2 <= 0.6 -->")))
            )
    finally:
        adopt_orphans(adopt=False)
    assert verdict.status == "unmet", verdict


def test_a_run_that_fails_decides_however_quick_the_others_are(lab: Lab) -> None:
    script = "echo x >> runs.log; test $(wc -l < runs.log) -le 1 && sleep 1"
    with world_of(lab) as world:
        verdict = only(looked(world, job_of(spec_of(f"quick in the end <!-- seconds: {script} <= 0.9 -->"))))
    assert (verdict.status, verdict.reason) == ("unmet", "exit 1: no output")


# check


@pytest.mark.parametrize(
    ("status", "wanted"), [("pass", "met"), ("fail", "unmet"), ("error", "unmet"), ("skipped", "unclear")]
)
def test_a_criterion_bound_to_a_check_has_its_standing(status: str, wanted: str) -> None:
    job = job_of(spec_of("All tests pass"))
    (verdict,) = judge_by_results(job, [finding("tests", status)], [], "", ())
    assert (verdict.status, verdict.method) == (wanted, "check:tests")
    assert f"Tests: tests says {status}" in (verdict.evidence if wanted == "met" else verdict.reason)


def test_a_role_that_several_checks_have_needs_all_of_them() -> None:
    job = job_of(spec_of("All tests pass"))
    found = [finding("api", role="tests"), finding("web", "fail", "tests")]
    (verdict,) = judge_by_results(job, found, [], "", ())
    assert (verdict.status, verdict.reason) == ("unmet", "Web: web says fail")


def test_a_check_named_like_its_role_does_not_stand_for_the_others_of_it() -> None:
    found = [finding("tests"), finding("web", "fail", "tests"), finding("lint")]
    assert [f.check for f in list_bound_findings("tests", found)] == ["tests", "web"]
    assert [f.check for f in list_bound_findings("web", found)] == ["web"]
    (verdict,) = judge_by_results(job_of(spec_of("All tests pass")), found, [], "", ())
    assert (verdict.status, verdict.reason) == ("unmet", "Web: web says fail")


def test_a_check_of_another_role_that_is_named_like_a_role_counts_with_it() -> None:
    found = [finding("tests", "fail", "script"), finding("web", role="tests")]
    assert [f.check for f in list_bound_findings("tests", found)] == ["tests", "web"]


def test_a_role_that_is_missing_falls_to_the_script_and_a_mistyped_name_does_not() -> None:
    found = [finding("script"), finding("lint")]
    assert [f.check for f in list_bound_findings("tests", found)] == ["script"]
    assert list_bound_findings("tset", found) == []


def test_a_check_that_this_project_does_not_have_is_unclear() -> None:
    (verdict,) = judge_by_results(job_of(spec_of("x <!-- check: links -->")), [finding("script")], [], "", ())
    assert (verdict.status, verdict.reason) == ("unclear", "this project has no check 'links'")


def test_with_validation_skipped_commands_run_and_check_criteria_are_unclear(lab: Lab) -> None:
    spec = spec_of("All tests pass", "it works <!-- verify: true -->", "it scores <!-- metric: echo 3 > 2 -->")
    ran = lab.home / "ran"
    with world_of(lab) as world:
        look = looked(world, job_of(spec, script("tests", f"touch {ran}"), skip=True))
    assert verdicts(look) == [("unclear", "check:tests"), ("met", "verify"), ("met", "metric")]
    assert "--skip-validation" in look.verdicts[0].reason
    assert not ran.exists() and not any(f.role != "git" for f in look.findings)


# persons and judges


def test_a_human_item_waits_for_a_person_unless_one_has_ticked_it(lab: Lab) -> None:
    job = job_of(spec_of("it reads well <!-- human -->", "it looks well <!-- human -->"))
    with world_of(lab) as world:
        look = looked(world, job, State(human_ticks=("it looks well",)))
    assert verdicts(look) == [("unclear", "human"), ("met", "approval")]
    assert "aigon approve" in look.verdicts[0].reason and "before the run" in look.verdicts[1].evidence


def test_without_a_judge_an_open_item_is_unclear_and_says_who_decides(lab: Lab) -> None:
    with world_of(lab) as world:
        verdict = only(looked(world, job_of(spec_of("it is elegant"))))
    assert (verdict.status, verdict.method) == ("unclear", "human") and "aigon approve" in verdict.reason


def test_a_decision_holds_for_the_code_it_was_taken_on_and_no_other(lab: Lab) -> None:
    job = job_of(spec_of("it is elegant"), base=lab.git("rev-parse", "HEAD"))
    with world_of(lab) as world:
        lab.write("code.py", "1\n")
        first = looked(world, job)
        approval = HumanDecision(
            1, "it is elegant", "approve", "nice", first.content, "c" * 40, "Ada", "2026-11-20T10:00"
        )
        decided = replace(job, decisions=(approval,))
        assert only(looked(world, decided)).method == "approval"
        lab.write("code.py", "2\n")
        assert only(looked(world, decided)).status == "unclear"
        lab.write("code.py", "1\n")
        rejected = replace(approval, decision="reject", why="too long", at="2026-11-20T11:00")
        verdict = only(looked(world, replace(job, decisions=(approval, rejected))))
    assert (verdict.status, verdict.reason) == ("unmet", "too long")


def test_every_verdict_has_a_method_and_evidence_or_a_reason(lab: Lab) -> None:
    spec = spec_of(
        "a <!-- verify: true -->",
        "b <!-- verify: false -->",
        "c <!-- metric: echo 1 > 0 -->",
        "Lint is clean",
        "d",
        "e <!-- human -->",
    )
    with world_of(lab) as world:
        look = looked(world, job_of(spec))
    assert [v.criterion for v in look.verdicts] == [1, 2, 3, 4, 5, 6]
    assert all(v.method and (v.reason or (v.status == "met" and v.evidence)) for v in look.verdicts)


def test_an_open_criterion_stops_neither_checks_nor_other_criteria(lab: Lab) -> None:
    spec = spec_of("a <!-- verify: false -->", "b <!-- verify: true -->", "All tests pass")
    with world_of(lab) as world:
        look = looked(world, job_of(spec, script("tests", "true"), slots=1, stop_on_first_failure=True))
    assert [v.status for v in look.verdicts] == ["unmet", "met", "met"]


def test_where_checks_stop_at_the_first_failure_what_did_not_run_is_unclear(lab: Lab) -> None:
    spec = spec_of("a <!-- verify: true -->", "c <!-- metric: echo 1 > 0 -->")
    job = job_of(spec, script("tests", "exit 1", timeout=900.0), slots=1, stop_on_first_failure=True)
    with world_of(lab) as world:
        look = looked(world, job)
    assert [v.status for v in look.verdicts] == ["unclear", "unclear"]


def test_only_commands_and_metrics_are_run() -> None:
    spec = spec_of(
        "a <!-- verify: true -->", "All tests pass", "b <!-- metric: ./x.sh >= 8 -->", "c", "d <!-- human -->"
    )
    asked = list_commands(spec.criteria)
    assert [(check.name, check.argv[-1]) for check in asked] == [("criterion-1", "true"), ("criterion-3", "./x.sh")]
