"""`spec-check`: each finding has its place, commands run only where a run would, the exit code is for CI."""

from tests.lab import Lab

INBOX = "docs/specs/features/01-inbox/feature-dark-mode.md"


def test_findings_have_their_place_and_the_exit_code_says_that_there_are_any(lab: Lab) -> None:
    lab.spec(
        "Ärger is handled\n      and shown gracefully", "a is b; c is d", name=INBOX, frontmatter="---\ntags: x\n---\n"
    )
    ran = lab.aigon("spec-check", "dark-mode", "--json")
    assert ran.code == 3, ran.err
    assert [(each["rule"], each["criterion"], each["line"], each["column"]) for each in ran.json["findings"]] == [
        ("no-tests", None, 6, 1),
        ("vague-word", 1, 9, 17),
        ("two-claims", 2, 10, 7),
    ]
    assert (ran.json["judge"], ran.json["person"], ran.json["not_run"]) == ([], [1, 2], None)
    shown = lab.aigon("spec-check", INBOX)
    assert shown.code == 3
    assert f"{INBOX}:9:17: Nobody can decide `gracefully`. Say what happens instead" in shown.out
    assert "2 of 2 criteria are decided by a person: 1, 2\n3 findings\n" in shown.out
    assert shown.out.endswith("aigon feature-prove dark-mode has an agent write tests for what nothing decides yet\n")


def test_a_command_that_passes_is_named_and_one_that_fails_is_sound(lab: Lab) -> None:
    lab.spec("a <!-- verify: test -f README.md -->", "b <!-- prints: cat new == x -->", name=INBOX)
    ran = lab.aigon("spec-check", "dark-mode")
    assert ran.code == 3
    assert "It holds already (exit 0), so it cannot show that the feature was built" in ran.out
    assert "All 2 criteria are decided by running something\n1 finding\n" in ran.out


def test_nothing_runs_where_nothing_may(lab: Lab) -> None:
    lab.spec("a <!-- verify: touch ran -->", name=INBOX)
    ran = lab.aigon("spec-check", "dark-mode", "--no-run")
    assert ran.code == 0 and "No command of the spec was run: --no-run was given" in ran.out
    lab.spec("a <!-- verify: touch ran -->")
    ran = lab.aigon("spec-check", "42")
    assert ran.code == 0 and "worked on already" in ran.out
    assert not lab.path("ran").exists()


def test_a_spec_is_read_where_the_project_cannot_be(lab: Lab) -> None:
    lab.spec("It is robust", "a <!-- verify: touch ran -->", name=INBOX)
    lab.write(".aigon/config.json", "{")
    ran = lab.aigon("spec-check", "dark-mode", "--json")
    assert ran.code == 3 and [each["rule"] for each in ran.json["findings"]] == ["vague-word"]
    assert "config.json" in ran.json["not_run"] and not lab.path("ran").exists()


def test_a_misspelled_check_is_a_finding_at_its_line(lab: Lab) -> None:
    lab.config(checks={"tests": {"command": "true"}})
    lab.spec("a <!-- check: test -->", "It is printed", name=INBOX)
    said = "There is no check 'test' for criterion 1. Did you mean 'tests'?"
    ran = lab.aigon("spec-check", "dark-mode", "--no-run")
    assert ran.code == 3 and f"{INBOX}:5:1: {said}" in ran.out
    assert f"warning, line 5: {said}" in lab.aigon("spec-show", "dark-mode").out


def test_a_setting_that_a_run_refuses_is_a_finding_at_its_line(lab: Lab) -> None:
    for key, said in (("kind: foo", "There is no kind of task 'foo'"), ("depends_on: b", "There is no feature 'b'")):
        lab.spec("a <!-- verify: test -e new -->", name=INBOX, frontmatter=f"---\n{key}\n---\n")
        ran = lab.aigon("spec-check", "dark-mode")
        assert ran.code == 3 and f"{INBOX}:2:1: " in ran.out and said in ran.out


def test_the_judge_is_named_and_too_many_criteria_are(lab: Lab) -> None:
    lab.config(judge={"backend": "command", "command": "true"})
    lab.spec("All tests pass", *[f"test {n}" for n in range(20)], "b <!-- human -->", name=INBOX)
    ran = lab.aigon("spec-check", "dark-mode", "--json").json
    assert [each["rule"] for each in ran["findings"]] == ["too-many"]
    assert (len(ran["judge"]), ran["person"]) == (20, [22])


def test_a_spec_of_checks_alone_shows_nothing(lab: Lab) -> None:
    lab.spec("All tests pass", "Lint is clean", name=INBOX)
    ran = lab.aigon("spec-check", "dark-mode", "--json")
    assert [each["rule"] for each in ran.json["findings"]] == ["only-checks"]


def test_a_spec_without_criteria_is_an_error(lab: Lab) -> None:
    lab.write(INBOX, "# X\n")
    assert lab.aigon("spec-check", "dark-mode").code == 2
