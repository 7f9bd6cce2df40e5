from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from msgspec.structs import replace

from aigon.errors import AigonError, Exit
from aigon.job.assessment import Demand
from aigon.job.job import Job
from aigon.job.options import Limits
from aigon.loop.prompt import describe_decision, fill_template
from aigon.model.checks import Check
from aigon.model.criteria import Criterion, CriterionKind, Spec, Verdict
from aigon.spec.features import Feature
from aigon.text.amounts import estimate_tokens
from aigon.text.quoting import clean
from tests.proof.hostile import EXAMPLES, SPEC, TEXT, VERDICT

TEMPLATE = (Path(__file__).parents[2] / "templates" / "prompts" / "implement.md").read_text(encoding="utf-8")
CHECKS = (
    Check("tests", "tests", ("python", "-m", "pytest", "-q", "--junitxml", "{report}")),
    Check("web", "lint", ("npm", "run", "lint"), cwd="web", when="final"),
    Check("types", "types", ("mypy", "my dir", "--junit-xml={report}"), missing="mypy"),
)
SPEC_42 = Spec(
    b"\xef\xbb\xbf# Todo\r\n\r\n```sh\r\ntodo add\r\n```\r\n{{DIGEST}} {{NOPE}}\r\n",
    "Todo",
    {},
    (
        Criterion(1, 3, "`todo add` stores the item", False, "verify", "pytest tests/test_add.py", 0),
        Criterion(2, 4, "All tests pass", False, "check", "tests", 0),
    ),
    None,
)


def prompted(
    template: str = TEMPLATE,
    spec: Spec = SPEC_42,
    digest: str = "",
    checks: tuple[Check, ...] = CHECKS,
    skipped: bool = False,
    promises: tuple[str, ...] = ("COMPLETE",),
) -> str:
    verdicts = [Verdict(1, "met", "verify"), Verdict(2, "unmet", "check:tests")]
    job = replace(
        make_job(spec, "/w/docs/feature-42.md", checks),
        template=template,
        demand=Demand(spec.criteria, skip_validation=skipped),
        promises=promises,
    )
    return fill_template(job, 2, 5, verdicts=verdicts, digest=digest, logs="/w/.aigon/runs/r1/1")


def make_job(spec: Spec, spec_path: str, checks: tuple[Check, ...]) -> Job:
    feature = Feature("42", "todo", spec_path, "in-progress")
    demand, limits = Demand(spec.criteria), Limits()
    return Job(feature, "", "solo", spec, spec_path, "log.md", "", checks, demand, limits, (), None, TEMPLATE, 60)


def criterion(kind: CriterionKind, command: str | None = None) -> Criterion:
    return Criterion(1, 1, "text", False, kind, command, 0)


def headings(text: str) -> list[str]:
    tokens = MarkdownIt().parse(text)
    return [tokens[i + 1].content for i, t in enumerate(tokens) if t.type == "heading_open"]


def test_the_first_prompt_has_no_digest_and_no_hole_where_it_would_be() -> None:
    text = prompted()
    assert headings(text) == [
        "Iteration 2 of at most 5",
        "The spec",
        "The acceptance criteria, and what decides each",
        "The checks that run on your work",
        "Rules",
    ]
    assert "\n\n\n" not in text
    assert text.endswith("The whole output of the last assessment is in `/w/.aigon/runs/r1/1`.\n")


def test_a_digest_stands_before_the_rules_and_names_the_logs_once() -> None:
    text = prompted(digest="Failing checks: 1 of 2.\n\nFull logs: `/w/.aigon/runs/r1/1`\n")
    assert "## What the last assessment found\n\nFailing checks: 1 of 2.\n" in text
    assert headings(text)[-2:] == ["What the last assessment found", "Rules"]
    assert text.count("/w/.aigon/runs/r1/1") == 1


def test_the_whole_spec_is_in_the_prompt_as_data() -> None:
    fence = next(t for t in MarkdownIt().parse(prompted()) if t.type == "fence" and t.info == "markdown")
    assert fence.content == "# Todo\n\n```sh\ntodo add\n```\n{{DIGEST}} {{NOPE}}\n"
    assert "This is `/w/docs/feature-42.md`." in prompted()


def test_each_criterion_says_where_it_stands_and_what_decides_it() -> None:
    assert (
        "1. [passed] `todo add` stores the item\n   decided by: runs `pytest tests/test_add.py`, must exit 0\n"
        "2. [failed] All tests pass\n   decided by: check `tests` must pass\n"
    ) in prompted()


def test_checks_are_shown_as_a_person_would_run_them() -> None:
    assert (
        "Tests: python -m pytest -q\n"
        "Lint (web): npm run lint (in web, at the end only)\n"
        "Type check: mypy 'my dir' (cannot run: mypy is missing)\n"
    ) in prompted()


def test_skipped_validation_and_no_checks_are_said() -> None:
    assert "Validation is skipped in this run" in prompted(skipped=True)
    assert "decided by: no such check; unclear" in prompted(skipped=True)
    assert "None that aigon knows of" in prompted(checks=())


def test_a_value_is_never_read_as_a_template() -> None:
    assert prompted("{{SPEC_PATH}} {{DIGEST}}", digest="{{LOGS}} {{X}}") == (
        "`/w/docs/feature-42.md` ## What the last assessment found\n\n{{LOGS}} {{X}}\n"
    )


@pytest.mark.parametrize("name", ["NOPE", "digest", "SPEC2"])
def test_an_unknown_placeholder_is_a_usage_error_that_names_it(name: str) -> None:
    with pytest.raises(AigonError) as caught:
        prompted(f"a\n{{{{{name}}}}}\n\nb")
    assert f"{{{{{name}}}}}" in caught.value.what
    assert "{{SPEC_PATH}}" in caught.value.hint
    assert caught.value.code is Exit.USAGE


def test_the_rules_of_the_road_are_all_there() -> None:
    rules = prompted().split("## Rules")[1]
    for word in (
        "workspace",
        "tick",
        ".aigon/",
        "push",
        "branches",
        "history",
        "weaken",
        "<impossible>",
        "run the project's",
    ):
        assert word in rules


def test_executors_find_the_completion_criteria_in_fixed_words() -> None:
    block = prompted().split("IMPORTANT COMPLETION CRITERIA:\n")[1]
    assert "- Maximum iterations allowed: 5\n" in block
    assert "output exactly: <promise>COMPLETE</promise>\n" in block
    several = prompted(promises=("TESTS_PASS", "ALL_DONE"))
    assert all(f"output exactly: <promise>{each}</promise>\n" in several for each in ("TESTS_PASS", "ALL_DONE"))
    assert "Maximum iterations allowed: 5" in prompted(promises=()) and "<promise>" not in prompted(promises=())


def test_the_prompts_own_words_cost_little() -> None:
    assert estimate_tokens(TEMPLATE) < 1300


@pytest.mark.parametrize(
    ("kind", "command", "judge", "said"),
    [
        ("verify", "pytest tests/x.py", "", "runs `pytest tests/x.py`, must exit 0"),
        ("verify", "echo `date`", "", "runs `` echo `date` ``, must exit 0"),
        ("metric", "./score.sh >= 8", "", "runs `./score.sh`, its number must be >= 8"),
        ("metric", "./a > b && ./c < 0.5", "", "runs `./a > b && ./c`, its number must be < 0.5"),
        ("prints", "./greet == hi", "", "runs `./greet`, must print exactly `hi`"),
        ("prints", r'./greet == "a\nb"', "", r'runs `./greet`, must print exactly `"a\nb"`'),
        ("prints", './greet == ""', "", "runs `./greet`, must print exactly nothing"),
        ("seconds", "./build < 2.5", "", "runs `./build`, must take < 2.5 seconds by aigon's clock"),
        ("check", "tests", "", "check `tests` must pass"),
        ("check", "lint", "", "check `web` must pass"),
        ("check", "web", "", "check `web` must pass"),
        ("check", "build", "", "no such check; unclear"),
        ("check", None, "", "no such check; unclear"),
        ("judge", None, "anthropic", "judge: anthropic"),
        ("judge", None, "none", "a person (`aigon approve`), because there is no judge"),
        ("human", None, "anthropic", "a person (`aigon approve`)"),
    ],
)
def test_how_a_criterion_is_decided_is_one_phrase(
    kind: CriterionKind, command: str | None, judge: str, said: str
) -> None:
    assert describe_decision(criterion(kind, command), CHECKS, judge) == said


def test_a_missing_role_is_decided_by_the_script() -> None:
    script = Check("mine", "script", ("./validate.sh",))
    assert describe_decision(criterion("check", "build"), [script], "") == "check `mine` must pass"
    assert describe_decision(criterion("check", "unknown"), [script], "") == "no such check; unclear"


def test_several_checks_of_a_role_are_all_named() -> None:
    two = [Check(name, "tests", (name,)) for name in ("unit", "e2e")]
    assert describe_decision(criterion("check", "tests"), two, "") == "checks `unit`, `e2e` must pass"


@EXAMPLES
@given(SPEC, TEXT, st.lists(VERDICT, max_size=5), st.lists(TEXT, min_size=1, max_size=3))
def test_no_text_can_break_the_prompt(spec: Spec, path: str, verdicts: list[Verdict], argv: list[str]) -> None:
    check = Check(path, "tests", tuple(argv), cwd=path, missing=path)
    text = fill_template(make_job(spec, path, (check,)), 1, 5, verdicts=verdicts, logs=path)
    assert text.encode()
    assert headings(text) == headings(prompted().replace("Iteration 2", "Iteration 1"))
    fences = [t for t in MarkdownIt().parse(text) if t.type == "fence"]
    assert [t.info for t in fences] == ["markdown", "text", "text"]
    assert fences[0].content.strip("\n") == clean(spec.raw.decode("utf-8", "replace")).strip("\n")
