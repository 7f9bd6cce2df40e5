"""Settings in a spec: what they say, and that one that is nearly right is an error with its line."""

import pytest

from aigon.errors import AigonError
from aigon.model.criteria import SpecSettings, SpecStage
from aigon.spec.document import parse_spec

BOXES = "\n## Acceptance Criteria\n\n- [ ] a\n- [ ] b\n- [ ] c\n"


def settings(frontmatter: str, body: str = "") -> SpecSettings:
    head = f"---\n{frontmatter}\n---\n" if frontmatter else ""
    return parse_spec(f"{head}# X\n\n{body}{BOXES}".encode()).settings


def test_all_settings_are_read_with_their_lines() -> None:
    found = settings(
        "mode: ralph\nkind: build\nmax_iterations: 7\nmax_time: 1h30m\npromise: [TESTS_PASS, ALL_DONE]\n"
        "priority: high\ndepends_on: [12, dark-mode]\nstages:\n"
        "  - {promise: TESTS_PASS, criteria: [1, 2]}\n  - criteria: 3"
    )
    assert found == SpecSettings(
        mode="ralph",
        kind="build",
        max_iterations=7,
        max_time=5400.0,
        promises=("TESTS_PASS", "ALL_DONE"),
        priority="high",
        depends_on=("12", "dark-mode"),
        stages=(SpecStage((1, 2), "TESTS_PASS"), SpecStage((3,))),
        lines={
            "mode": 2,
            "kind": 3,
            "max_iterations": 4,
            "max_time": 5,
            "promise": 6,
            "priority": 7,
            "depends_on": 8,
            "stages": 9,
        },
    )


def test_one_value_is_a_list_of_one_and_an_empty_key_sets_nothing() -> None:
    assert settings("promise: ALL_DONE\ndepends_on: 7").promises == ("ALL_DONE",)
    assert settings("mode:\nkind: ''\ndepends_on: []\nstages:") == settings("") == SpecSettings()


@pytest.mark.parametrize(
    ("frontmatter", "where", "what"),
    [
        ("mode: ralf", "line 2", "Did you mean 'ralph'?"),
        ("a: 1\npriority: hihg", "line 3", "Did you mean 'high'?"),
        ("kind: Market research", "line 2", "lower case"),
        ("max_iterations: 21", "line 2", "1 to 20"),
        ("max_iterations: '0'", "line 2", "1 to 20"),
        ("max_iterations: ten", "line 2", "whole number"),
        ("max_time: soon", "line 2", "such as 90s"),
        ("max_time: [1h]", "line 2", "must be a text"),
        ("promise: [a, <b>]", "line 2", "no < or >"),
        ("depends_on: {a: b}", "line 2", "must be a list"),
        ("stages: [{criteria: [4]}]", "line 2", "criterion 4, which does not exist"),
        ("stages: [{criteria: [1]}, {criteria: [1]}]", "line 2", "criterion 1 twice"),
        ("stages: [{critera: [1]}]", "line 2", "Did you mean 'criteria'?"),
        ("stages: [{promise: X}]", "line 2", "needs the key 'criteria'"),
        ("stages: [{criteria: []}]", "line 2", "is empty"),
        ("stages: [{promise: [X, Y], criteria: 1}]", "line 2", "more than one phrase"),
        ("max-iterations: 3", "line 2", "Did you mean `max_iterations`?"),
        ("maxIterations: 3", "line 2", "Did you mean `max_iterations`?"),
        ("dependson: 3", "line 2", "Did you mean `depends_on`?"),
        ("promises: DONE", "line 2", "Did you mean `promise`?"),
        ("mode: x\nmax_time: y", "lines 2 and 3", "2 settings are malformed"),
    ],
)
def test_a_bad_setting_is_named_with_its_line(frontmatter: str, where: str, what: str) -> None:
    with pytest.raises(AigonError) as caught:
        settings(frontmatter)
    assert (caught.value.code, caught.value.where) == (2, where)
    assert what in f"{caught.value.what} {caught.value.hint}"


@pytest.mark.parametrize("key", ["model: opus", "stage: draft", "kinds: x", "title: Mode", "type: task"])
def test_keys_of_other_tools_are_left_alone(key: str) -> None:
    assert settings(key) == SpecSettings()


@pytest.mark.parametrize(
    "line", ["mode: ralph", "- mode: ralph", "* `mode: ralph`", "**Mode**: `ralph`", "x\nmode: ralph"]
)
def test_the_mode_may_be_a_line_below_a_heading_configuration(line: str) -> None:
    assert settings("", f"## Configuration\n\n{line}\n").mode == "ralph"


@pytest.mark.parametrize(
    "body",
    [
        "## Configuration\n\n```\nmode: ralph\n```\n",
        "## Configuration\n\n    mode: ralph\n",
        "## Configuration\n\nUse mode: ralph here\n",
        "## Settings\n\nmode: ralph\n",
        "## Configuration\n\n## More\n\nmode: ralph\n",
    ],
)
def test_other_lines_set_no_mode(body: str) -> None:
    assert settings("", body).mode is None


def test_a_misspelt_mode_below_configuration_is_a_warning() -> None:
    spec = parse_spec(f"# X\n\n## Configuration\n\n- mode: ralf\n- mode: dark\n{BOXES}".encode())
    assert [(each.line, each.message) for each in spec.warnings] == [
        (5, "`mode: ralf` is ignored. Did you mean `mode: ralph`?")
    ]
