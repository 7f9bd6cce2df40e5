"""Mistakes in what a person typed or wrote: one message, exit 2, nothing changed."""

import json
from pathlib import Path

import pytest

from tests.lab import DONE_WHEN, SPEC, STATE, Lab
from tests.loop.untouched import explained, print_of, refused

IN_PLACE = True
LOOP = ("feature-implement", "42", "--loop")
CONFIG = ".aigon/config.json"


def written(lab: Lab, path: str, text: str | bytes) -> Lab:
    """The same repository with this file in it, committed."""
    lab.write(path, text)
    lab.commit("more")
    return lab


def config(lab: Lab, **keys: object) -> Lab:
    """The same repository with these configuration keys, committed."""
    lab.config(**keys)
    lab.commit("configured")
    return lab


def test_an_unknown_id_names_the_features_there_are(ready: Lab) -> None:
    refused(ready, "feature-implement", "43", code=2, what="no feature '43'", where="docs/specs/", do="42 dark-mode")


def test_a_mistyped_slug_names_the_nearest(ready: Lab) -> None:
    refused(
        ready, "feature-implement", "dark-mod", code=2, what="'dark-mod'", where="docs/specs/", do="mean 'dark-mode'?"
    )


def test_an_id_that_two_specs_carry_is_not_guessed(ready: Lab) -> None:
    other = "docs/specs/features/02-backlog/feature-042-light-mode.md"
    ready.spec("one", name=other)
    ready.commit("two")
    refused(ready, *LOOP, code=2, what="more than one feature", where=other, do="the path of the spec")


def test_without_a_terminal_no_option_is_named_that_would_be_refused(lab: Lab) -> None:
    error = lab.aigon("approvals", "--decide")
    assert error.code == 4 and "Run it in a terminal" in error.err and "--yes" not in error.err


@pytest.mark.parametrize("wanted", ["1", "001", "dark-mode", "PATH"])
def test_a_feature_is_found_by_every_name_it_has(lab: Lab, wanted: str) -> None:
    path = "docs/specs/features/03-in-progress/feature-01-dark-mode.md"
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->", name=path)
    lab.agent("touch done.txt")
    before = print_of(lab)
    ran = lab.aigon("feature-implement", path if wanted == "PATH" else wanted, "--loop", "--dry-run", "--json")
    assert ran.code == 0, ran.err
    assert (ran.json["feature_id"], ran.json["spec"], ran.json["branch"]) == ("01", path, "feature-01-dark-mode")
    assert print_of(lab) == before


def test_the_iteration_log_of_a_feature_is_not_a_second_feature(ready: Lab) -> None:
    assert ready.aigon(*LOOP).code == 0
    ran = ready.aigon("spec-show", "42", "--json")
    assert ran.code == 0, ran.err
    assert ran.json["spec"] == SPEC


def test_a_command_works_from_a_folder_of_the_repository(ready: Lab) -> None:
    ready.write("src/deep/module.py", "")
    ready.commit("code")
    ran = ready.aigon(*LOOP, cwd=ready.path("src/deep"))
    assert ran.code == 0, ran.err
    assert ready.boxes() == "x"
    assert ready.path(STATE).exists()
    assert not ready.path("src/deep/.aigon").exists()


def test_a_spec_without_criteria_is_refused_with_an_example(lab: Lab) -> None:
    lab.agent("true")
    lab.write(SPEC, "# Feature: Dark mode\n\n## Acceptance\n\n- [ ] a task\n")
    lab.commit("spec")
    what, do = "1 box under 'Acceptance', which is not read as criteria", "line 3: `## Acceptance Criteria`"
    for verb in (LOOP, (*LOOP, "--dry-run"), ("spec-show", "42"), ("feature-validate", "42")):
        refused(lab, *verb, code=2, what=what, where=f"{SPEC}:3", do=do)


def test_a_configuration_that_aigon_does_not_read_is_named(lab: Lab) -> None:
    lab.agent("true")
    lab.spec("done <!-- verify: test -f done.txt -->")
    lab.write(".aigon/config.yml", "profile: generic\n")
    lab.commit("spec")
    refused(
        lab, *LOOP, code=2, what="aigon does not read .aigon/config.yml", where="config.yml", do=".aigon/config.json"
    )


@pytest.mark.parametrize(
    ("frontmatter", "line"),
    [("---\nknown_failures: [a\n---\n", "line 2"), ("---\n- a\n- b\n---\n", "line 2")],
    ids=["not yaml", "not a mapping"],
)
def test_frontmatter_that_cannot_be_read_is_named_with_its_line(lab: Lab, frontmatter: str, line: str) -> None:
    lab.agent("true")
    lab.spec("done", frontmatter=frontmatter)
    lab.commit("spec")
    refused(lab, *LOOP, code=2, what="frontmatter", where=f"{SPEC}: {line}", do="`key: value`")


@pytest.mark.parametrize(
    ("annotation", "what", "do"),
    [
        ("verfy: true", "Unknown annotation `verfy`", "<!-- verify:"),
        ("metric: ./score.sh", "no comparator", "<!-- metric: ./score.sh >= 8 -->"),
        ("verify:", "says nothing", "<!-- verify:"),
    ],
)
def test_a_malformed_annotation_is_named_with_its_line(lab: Lab, annotation: str, what: str, do: str) -> None:
    lab.agent("true")
    lab.spec("fine <!-- verify: true -->", f"done <!-- {annotation} -->")
    lab.commit("spec")
    refused(lab, *LOOP, code=2, what=what, where=f"{SPEC}: line 6", do=do)


def test_known_failures_of_a_wrong_type_are_refused_before_the_branch_is_made(lab: Lab) -> None:
    lab.agent("true")
    lab.spec("done <!-- verify: true -->", frontmatter="---\nknown_failures: {a: b}\n---\n")
    lab.commit("spec")
    refused(lab, *LOOP, code=2, what="not a list of strings", where=SPEC, do="[one, two]")


@pytest.mark.parametrize(
    ("text", "what", "where", "do"),
    [
        (
            '{\n  "ralph": {\n    "enabled": true,\n  }\n}\n',
            "a comma too many before `}`",
            f"{CONFIG}:3",
            "from line 3",
        ),
        (b'{"profile": "\xff"}', "not UTF-8", CONFIG, "UTF-8"),
        ('{"ralph": {"maxIteration": 3}}', "'ralph.maxIteration'", CONFIG, "Did you mean 'maxIterations'?"),
        ('{"ralph": {"enabled": "yes"}}', "'ralph.enabled'", CONFIG, '"yes"'),
        ('{"ralph": {"maxIterations": 21}}', "'ralph.maxIterations'", CONFIG, "21"),
        ('{"ralph": {"maxIterations": 0}}', "'ralph.maxIterations'", CONFIG, "0"),
    ],
)
def test_a_malformed_configuration_names_file_key_and_remedy(
    ready: Lab, text: str | bytes, what: str, where: str, do: str
) -> None:
    refused(written(ready, CONFIG, text), *LOOP, code=2, what=what, where=where, do=do)


def test_a_malformed_profile_of_the_project_names_file_and_line(ready: Lab) -> None:
    name = ".aigon/profiles/mine.yaml"
    written(ready, name, "description: mine\nroles: [tests\n")
    refused(ready, *LOOP, code=2, what="Not valid YAML", where=f"{name}:", do="indentation")


def test_a_profile_that_does_not_exist_names_the_nearest(ready: Lab) -> None:
    refused(ready, *LOOP, "--profile", "libary", code=2, what="no profile 'libary'", where="--profile", do="library")


@pytest.mark.parametrize(("number", "why"), [("0", "0"), ("21", "21; a run takes at most 20, so that a person looks")])
def test_an_iteration_limit_outside_1_to_20_is_refused_with_the_reason(ready: Lab, number: str, why: str) -> None:
    limit = f"--max-iterations={number}"
    refused(ready, *LOOP, limit, code=2, what=why, where="--max-iterations", do="Give 1 to 20. --resume continues")


def test_an_iteration_limit_of_the_environment_is_held_to_the_same_rule(ready: Lab) -> None:
    env = {"AIGON_MAX_ITERATIONS": "21"}
    refused(ready, *LOOP, code=2, what="21", where="AIGON_MAX_ITERATIONS", do="1 to 20", env=env)


def test_zero_consecutive_failures_are_refused(ready: Lab) -> None:
    option = "--max-consecutive-failures"
    refused(ready, *LOOP, option, "0", code=2, what="0 consecutive failures", where=option, do="1")


def test_an_unknown_agent_lists_the_known_ones(ready: Lab) -> None:
    refused(ready, *LOOP, "--agent", "cluade", code=2, what="'cluade'", where="--agent", do="Did you mean 'claude'?")


def test_an_unknown_adapter_in_the_configuration_is_named(ready: Lab) -> None:
    config(ready, agents={"mine": {"adapter": "comand", "command": ["x"]}})
    refused(ready, *LOOP, code=2, what="'comand'", where=CONFIG, do="Did you mean 'command'?")


def test_an_unknown_judge_lists_the_known_ones(lab: Lab) -> None:
    lab.spec("it is beautiful")
    lab.agent("true")
    lab.commit("ready")
    refused(
        lab, *LOOP, "--judge", "antropic", code=2, what="'antropic'", where="--judge", do="Did you mean 'anthropic'?"
    )


def test_a_validation_script_that_is_missing_is_named_with_where_it_was_configured(ready: Lab) -> None:
    refused(
        ready,
        *LOOP,
        "--validation-script",
        "ci/check.sh",
        code=2,
        what="ci/check.sh does not exist",
        where="--validation-script",
        do="Create it",
    )
    config(ready, ralph={"validationScript": "ci/other.sh"})
    where = "ralph.validationScript in .aigon/config.json"
    refused(ready, *LOOP, code=2, what="ci/other.sh does not exist", where=where, do="Create it")


def test_a_loop_that_is_turned_off_says_how_to_turn_it_on(ready: Lab) -> None:
    config(ready, ralph={"enabled": False})
    refused(ready, *LOOP, code=2, what="turned off", where="ralph.enabled in .aigon/config.json", do='"enabled": true')
    assert ready.aigon("feature-implement", "42").code == 0


def test_a_resume_without_a_run_says_how_to_start_one(ready: Lab) -> None:
    refused(
        ready,
        "feature-implement",
        "42",
        "--resume",
        code=2,
        what="nothing to resume",
        where="no journal at",
        do="42 --loop",
    )


def test_an_agent_that_is_named_twice_is_refused(ready: Lab) -> None:
    refused(ready, *LOOP, "--agent", "mine", "--agent", "mine", code=2, what="mine", where="--agent", do="mine:MODEL")


@pytest.mark.parametrize(
    ("arguments", "what", "do"),
    [
        (("feature-implment", "42"), "feature-implment", "feature-implement"),
        (("feature-implement", "42", "--lop"), "--lop", "--loop"),
        (("feature-implement",), "ID", "--help"),
        (("feature-implement", "42", "--max-time", "soon"), "'soon'", "90s, 30m or 1h30m"),
        (("parked", "drop"), "'drop'", "restore"),
    ],
)
def test_a_slip_on_the_command_line_is_exit_2_for_people_and_as_data(
    ready: Lab, arguments: tuple[str, ...], what: str, do: str
) -> None:
    before = print_of(ready)
    ran = ready.aigon(*arguments, "--json")
    error = explained(ran, 2)
    assert what in error["what"], error
    assert do in " ".join(error.values()), error
    assert print_of(ready) == before


def test_without_json_a_refusal_prints_nothing_on_standard_output(ready: Lab) -> None:
    ran = ready.aigon("feature-implement", "43", "--loop")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith("aigon: There is no feature '43'.\n  where: docs/specs/features/\n  do:    ")


def test_json_of_a_refusal_is_one_document_with_a_schema_version(ready: Lab) -> None:
    ran = ready.aigon("feature-status", "43", "--json")
    document = json.loads(ran.out)
    assert document["schema_version"] == 1
    assert set(document["error"]) == {"what", "where", "hint", "exit_code"}
    assert document["error"]["exit_code"] == ran.code == 2


@pytest.mark.parametrize(
    ("arguments", "what", "do"),
    [
        (("feature-prioritise", "nope"), "no feature 'nope'", "feature-create"),
        (("feature-setup", "43"), "no feature '43'", "42 dark-mode"),
        (("feature-validate", "43"), "no feature '43'", "42 dark-mode"),
        (("feature-done", "43"), "no feature '43'", "42 dark-mode"),
        (("spec-show", "nothing.md"), "nothing.md", "feature-create"),
        (("approve", "42", "1", "--yes"), "decided by what runs", "change the spec"),
        (("reject", "42", "1", "--yes", "--why", "no"), "decided by what runs", "change the spec"),
        (("parked", "restore", "nothing"), "Nothing is saved aside", "aigon parked"),
        (("feature-create", "dark", "mode"), "exists already", "another name"),
        (("feature-create", "!!!"), "no letter from a to z", "dark mode"),
    ],
)
def test_every_verb_refuses_what_is_not_there(ready: Lab, arguments: tuple[str, ...], what: str, do: str) -> None:
    before = print_of(ready)
    error = explained(ready.aigon(*arguments, "--json"), 2)
    assert what in error["what"], error
    assert do in error["do"], error
    assert print_of(ready) == before


def test_what_is_refused_before_a_feature_is_known_ends_the_stream_of_events_as_well(tmp_path: Path, lab: Lab) -> None:
    ran = lab.aigon(*LOOP, "--json", cwd=tmp_path)
    assert ran.code == 7
    assert (ran.events[-1]["event"], ran.events[-1]["outcome"]) == ("run_finished", "refused")
