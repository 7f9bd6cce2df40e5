"""Each format as its tool writes it: what becomes a criterion, and what is counted as left."""

import json
from collections.abc import Mapping
from textwrap import dedent

import pytest

from aigon.model.criteria import ImportedSpec
from aigon.spec.importers import find_specs, load_importers
from aigon.spec.writing import compose_imported_spec

SPECKIT = """
    # Feature Specification: Password reset

    **Feature Branch**: `001-reset`
    **Input**: User description: "Users reset their password"

    ### User Story 1 - Ask for a link (Priority: P1)

    **Acceptance Scenarios**:

    1. **Given** a user, **When** she asks, **Then** a mail arrives

    ### Edge Cases

    - What happens twice?

    ### Functional Requirements

    - **FR-001**: System MUST send a link:
      - within a minute
      - once
    - **FR-002**: System MUST expire it after [NEEDS CLARIFICATION: how long?]

    ### Measurable Outcomes

    - **SC-001**: 95% of links arrive
"""
OPENSPEC = """
    ## ADDED Requirements

    ### Requirement: Reset link
    The system SHALL send a link.

    #### Scenario: Known user
    - **WHEN** she asks
    - **THEN** a mail arrives

    ### Requirement: Expiry
    A link SHALL expire.

    ## REMOVED Requirements

    ### Requirement: Secret question
    **Reason**: nobody remembers
"""
KIRO = """
    # 需求文档

    ### 需求 2：重置

    #### 验收标准

    1. WHEN a user asks THEN the system SHALL send a mail
    2. THE link SHALL expire

    ### Glossary

    - **Link**: an address
"""
STORY = """
    # Story 1.3: Password reset

    ## Status
    Done

    ## Story
    **As a** user, I want a link

    ## Acceptance Criteria (ACs)

    1. **AC1:** A mail arrives:
       - once
    2. The link expires

    ## Tasks / Subtasks

    - [x] Task 1
      - [x] Part
"""
PRD = {
    "project": "reset",
    "branchName": "ralph/reset",
    "userStories": [
        {"id": "US-001", "title": "Link", "acceptanceCriteria": ["A mail arrives"], "passes": True, "notes": ""},
        {"id": "US-002", "acceptanceCriteria": [{"text": "It expires", "testCommand": "npm test"}]},
        {"id": "US-003", "acceptanceCriteria": [{"text": "It is logged", "testCommand": "cd x\nls"}]},
    ],
}
TASKS = {
    "master": {
        "tasks": [
            {"id": 1, "title": "Old", "status": "done"},
            {
                "id": 2,
                "title": "Link",
                "testStrategy": "A mail arrives",
                "priority": "high",
                "subtasks": [{"id": 1, "title": "Expiry", "description": "after a day"}],
            },
        ]
    }
}
ISSUE = {
    "body": "Users forget.\r\n\r\nAcceptance:\r\n- A mail arrives\r\n- It expires\r\n\r\nNotes:\r\n- not now\r\n",
    "labels": [{"id": "MDU6", "name": "bug", "description": "", "color": "d73a4a"}],
    "number": 157,
    "state": "OPEN",
    "title": "Password reset",
    "url": "https://github.com/acme/shop/issues/157",
}
MARKDOWN = """
    # Reset

    Users forget their passwords quite often.

    ## To do

    - [ ] A mail arrives
    - [x] It expires
    - plain
"""


def read(name: str, texts: Mapping[str, object]) -> list[ImportedSpec]:
    """The features that an importer finds in these files, all of which are one group."""
    importer = load_importers()[name]
    given = {path: dedent(text) if isinstance(text, str) else json.dumps(text) for path, text in texts.items()}
    if name != "github":
        assert [set(group) for group in find_specs(importer, sorted(given))] == [set(given)]
        (group,) = find_specs(importer, sorted(given))
        given = {path: given[path] for path in group}
    return list(importer.read(given))


def texts(spec: ImportedSpec) -> list[str]:
    return [criterion.text for criterion in spec.criteria]


def test_spec_kit_brings_scenarios_requirements_and_outcomes() -> None:
    tasks = "- [ ] T001 [P] [US1] Mail in src/mail.py\n- [ ] T002 Link\n"
    folder = "specs/001-reset"
    (spec,) = read(
        "speckit", {f"{folder}/spec.md": SPECKIT, f"{folder}/tasks.md": tasks, f"{folder}/plan.md": "# Plan"}
    )
    assert (spec.title, spec.summary) == ("Password reset", "Users reset their password")
    assert texts(spec) == [
        "Given a user, When she asks, Then a mail arrives",
        "FR-001: System MUST send a link: within a minute; once",
        "FR-002: System MUST expire it after [NEEDS CLARIFICATION: how long?]",
        "SC-001: 95% of links arrive",
    ]
    assert spec.questions == ("how long?",)
    assert spec.left == {"Edge Cases": 1, "tasks.md": 2, "plan.md": 1}
    assert list(spec.original) == [f"{folder}/spec.md", f"{folder}/plan.md", f"{folder}/tasks.md"]


def test_spec_kit_without_plan_and_tasks_is_read() -> None:
    (spec,) = read("speckit", {"specs/001-reset/spec.md": SPECKIT})
    assert len(spec.criteria) == 4 and spec.left == {"Edge Cases": 1}


def test_openspec_brings_scenarios_and_requirements_without_one() -> None:
    change = "openspec/changes/add-reset"
    (spec,) = read(
        "openspec",
        {f"{change}/proposal.md": "## Why\nUsers forget.\n", f"{change}/specs/auth/spec.md": OPENSPEC,
         f"{change}/tasks.md": "- [ ] 1.1 Mail"},
    )  # fmt: skip
    assert (spec.title, spec.summary) == ("Add reset", "Users forget.")
    assert [(c.group, c.text) for c in spec.criteria] == [
        ("Reset link", "Known user: WHEN she asks; THEN a mail arrives"),
        ("Expiry", "A link SHALL expire."),
        ("Secret question", "Removed: Secret question"),
    ]
    assert spec.left == {"tasks.md": 1}


def test_archived_changes_count_only_where_nothing_else_is() -> None:
    importer = load_importers()["openspec"]
    old, new = "changes/archive/2026-a/proposal.md", "changes/b/proposal.md"
    assert list(find_specs(importer, [old, new])) == [(new,)]
    assert list(find_specs(importer, [old])) == [(old,)]


def test_kiro_brings_numbered_sentences_in_any_language() -> None:
    folder = ".kiro/specs/password-reset"
    (spec,) = read("kiro", {f"{folder}/requirements.md": KIRO, f"{folder}/design.md": "# Design"})
    assert spec.title == "Password reset"
    assert texts(spec) == ["2.1 WHEN a user asks THEN the system SHALL send a mail", "2.2 THE link SHALL expire"]
    assert spec.left == {"Glossary": 1, "design.md": 1}


def test_bmad_leaves_the_tasks_of_a_story() -> None:
    (spec,) = read("bmad", {"docs/stories/1.3.story.md": STORY})
    assert (spec.title, spec.summary) == ("Password reset", "As a user, I want a link")
    assert texts(spec) == ["AC1: A mail arrives: once", "The link expires"]
    assert spec.left == {"Tasks / Subtasks": 1}


def test_prd_json_is_one_feature_with_a_heading_per_story() -> None:
    (spec,) = read("prd_json", {"prd.json": PRD})
    assert [(c.group, c.text, c.annotation) for c in spec.criteria] == [
        ("US-001: Link", "A mail arrives", ""),
        ("US-002", "It expires", "verify: npm test"),
        ("US-003", "It is logged", "verify: cd x\nls"),
    ]
    assert (spec.title, spec.left) == ("reset", {"passes": 1, "branchName": 1, "commands that fit no comment": 1})
    assert b"cd x ls" not in compose_imported_spec(spec, "prd.json")


def test_prd_toon_brings_each_task_under_its_id() -> None:
    pytest.importorskip("toon_format")
    table = "project: reset\ntasks[2]{id,title,status}:\n  T001,Send a mail,pending\n  T002,Expire it,done\n"
    (spec,) = read("prd_toon", {"prd.toon": table})
    assert (spec.title, texts(spec)) == ("reset", ["T001: Send a mail", "T002: Expire it"])
    assert spec.left == {"status": 2}


def test_taskmaster_brings_each_task_that_is_not_over() -> None:
    (spec,) = read("taskmaster", {".taskmaster/tasks/tasks.json": TASKS})
    assert (spec.title, texts(spec)) == ("Link", ["A mail arrives", "Expiry: after a day"])
    assert spec.left == {"priority": 1, "tasks that are over": 1}


def test_an_issue_brings_what_stands_below_acceptance() -> None:
    (spec,) = read("github", {"gh:157": ISSUE})
    assert (spec.title, spec.summary, spec.source) == ("Password reset", "", ISSUE["url"])
    assert texts(spec) == ["A mail arrives", "It expires"]
    assert spec.left == {"the text": 1, "labels (bug)": 1}
    assert spec.original == {"issue 157": ISSUE["body"]}


@pytest.mark.parametrize("label", ["**Acceptance Criteria**", "Acceptance criteria:", "## AC:", "### Acceptance"])
def test_acceptance_is_a_heading_or_a_label(label: str) -> None:
    body = f"**Context**\nWe want it.\n\n{label}\n\n* It is written\n\n**Notes**\n\n* not now\n"
    (spec,) = read("github", {"gh:157": {**ISSUE, "body": body}})
    assert texts(spec)[0] == "It is written"


def test_markdown_brings_its_boxes_where_no_heading_says_acceptance() -> None:
    (spec,) = read("markdown", {"notes/reset.md": MARKDOWN})
    assert (spec.title, texts(spec)) == ("Reset", ["A mail arrives", "It expires"])
    assert spec.summary == "Users forget their passwords quite often."
    assert spec.left == {"To do": 1}


@pytest.mark.parametrize(
    ("name", "path", "text"),
    [
        ("prd_json", "prd.json", "{"),
        ("prd_json", "prd.json", "[" * 100_000),
        ("prd_json", "prd.json", '{"phases": []}'),
        ("prd_json", "prd.json", "[1, 2]"),
        ("taskmaster", "tasks/tasks.json", '{"master": {"tasks": [{"id": 1, "status": "done"}]}}'),
        ("taskmaster", "tasks/tasks.json", "[]"),
        ("github", "gh:1", '{"title": 1}'),
        ("github", "gh:1", "not JSON"),
    ],
)
def test_what_is_malformed_is_a_value_error(name: str, path: str, text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        list(load_importers()[name].read({path: text}))
