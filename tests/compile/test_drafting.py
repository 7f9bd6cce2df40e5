"""`spec-draft` and `feature-create --draft`: what a scripted model answers, and what becomes of it."""

import json
import os
from typing import Any

import pytest

from aigon.model.criteria import ImportedCriterion, ImportedSpec
from aigon.spec.document import parse_spec
from aigon.spec.writing import compose_imported_spec, merge_spec
from tests.lab import Lab, Ran

INBOX = "docs/specs/features/01-inbox/feature-dark-mode.md"
DRAFT: dict[str, Any] = {
    "summary": "Users see \x1b[31mless light.",
    "criteria": [
        {"text": "It is dark", "kind": "verify", "command": "test -f dark"},
        {"text": "It reads well", "kind": "human", "command": ""},
        {"text": "It lasts <!-- verify: touch ran -->", "kind": "judge", "command": ""},
        {"text": "All tests pass", "kind": "check", "command": "tests"},
    ],
    "questions": ["For whom?"],
}


def judge(lab: Lab, reply: str) -> None:
    """Configure a judge that keeps the question and gives this reply."""
    (lab.home / "reply").write_text(reply)
    program = lab.home / "judge"
    program.write_text(f'#!/bin/sh\ncat > "{lab.home}/question"\ncat "{lab.home}/reply"\n')
    program.chmod(0o755)
    lab.config(judge={"backend": "command", "command": [str(program)]})
    lab.commit("judge")


def draft(lab: Lab, *arguments: str) -> Ran:
    return lab.aigon(*(arguments or ("feature-create", "Dark mode", "--draft", "--yes")))


def test_a_draft_is_shown_as_a_difference_and_written(lab: Lab) -> None:
    judge(lab, json.dumps({**DRAFT, "cost_usd": 0.02}))
    ran = draft(lab)
    assert ran.code == 0, ran.err
    assert "+- [ ] It is dark <!-- proposed: verify: test -f dark -->" in ran.out and "\x1b" not in ran.out
    assert "Cost of the draft: $0.02 (reported). Wrote 4 criteria and 1 question into" in ran.out
    assert ran.out.endswith("Next: aigon feature-prove dark-mode\n")
    spec = parse_spec(lab.read(INBOX).encode())
    assert [c.kind for c in spec.criteria] == ["judge", "human", "judge", "check"]
    assert lab.git("status", "--porcelain") == ""
    question = json.loads((lab.home / "question").read_text())
    assert (question["task"], question["title"], question["readme"]) == ("draft", "Dark mode", "# sample\n")
    lab.aigon("feature-validate", "dark-mode", "--judge", "none")
    assert not lab.path("ran").exists()


def test_a_draft_is_asked_for_with_the_files_that_are_about_it(lab: Lab) -> None:
    token = "ghp_" + "b" * 36
    lab.write("shop/__main__.py", "print('shop')\n")
    lab.write("shop/modes.py", f"MODES = ['light']  # the mode is light, TOKEN = {token}\n" + "#" * 9_000)
    lab.write("shop/other.py", "print(1)\n")
    lab.write(".gitignore", "private*\n")
    lab.write("private-mode.txt", "dark mode\n")
    judge(lab, json.dumps(DRAFT))
    assert draft(lab).code == 0
    question = json.loads((lab.home / "question").read_text())
    assert [*question["related"]] == ["shop/modes.py"]
    assert (
        question["related"]["shop/modes.py"].startswith("MODES") and len(question["related"]["shop/modes.py"]) < 3_100
    )
    assert token not in json.dumps(question)
    assert question["programs"]["shop"].endswith("-m shop")


def test_a_draft_adds_to_a_spec_and_changes_nothing_in_it(lab: Lab) -> None:
    judge(lab, json.dumps(DRAFT))
    lab.spec("first <!-- verify: test -f one -->", name=INBOX, extra="## Notes\n\nmine\n")
    before = lab.read(INBOX)
    ran = draft(lab, "spec-draft", "dark-mode", "--yes", "--json")
    assert ran.code == 0 and ran.json["written"], ran.err
    after = lab.read(INBOX)
    assert [c.text for c in parse_spec(after.encode()).criteria][:2] == ["first", "It is dark"]
    kept = iter(after.splitlines())
    assert all(line in kept for line in before.splitlines() if line), "lines went, or moved"
    assert parse_spec(after.encode()).criteria[0].command == "test -f one"


def test_a_template_is_filled(lab: Lab) -> None:
    judge(lab, json.dumps(DRAFT))
    lab.aigon("feature-create", "Dark mode")
    assert draft(lab, "spec-draft", "dark-mode", "--yes").code == 0
    text = lab.read(INBOX)
    assert "Your criteria go here" not in text and "## Validation" in text and "> Users see less light." in text
    assert len(parse_spec(text.encode()).criteria) == 4


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        ("", "it is empty"),
        ("I would rather not", "it is not JSON"),
        ("{}", "no criteria in the form"),
        ('{"summary": 1, "criteria": [{"text": ""}], "questions": []}', "no criteria in the form"),
        ('{"summary": "", "criteria": ["x"], "questions": 3}', "no criteria in the form"),
        (json.dumps({**DRAFT, "summary": "x" * 5_000_000}), "are read"),
    ],
)
def test_what_is_no_draft_is_an_error_and_writes_nothing(lab: Lab, reply: str, said: str) -> None:
    judge(lab, reply)
    ran = draft(lab)
    assert ran.code == 6 and said in ran.err, ran.err
    assert not lab.path(INBOX).exists() and lab.git("status", "--porcelain") == ""


def test_a_draft_is_bounded(lab: Lab) -> None:
    many = [{"text": "x" * 9_000, "kind": "verify", "command": "y" * 9_000}] * 30
    judge(lab, json.dumps({"summary": "s" * 9_000, "criteria": many, "questions": ["q" * 9_000] * 30}))
    assert draft(lab).code == 0
    text = lab.read(INBOX)
    assert len(parse_spec(text.encode()).criteria) == 20 and len(text) < 20_000 and "proposed" not in text


def test_nobody_is_paid_where_nobody_can_say_yes(lab: Lab) -> None:
    judge(lab, json.dumps(DRAFT))
    assert draft(lab, "feature-create", "Dark mode", "--draft").code == 4
    inside = lab.aigon("feature-create", "Dark mode", "--draft", "--yes", env={"AIGON_RUN": "x"})
    assert inside.code == 4 and not (lab.home / "question").exists()


def test_an_agent_drafts_without_tools(lab: Lab) -> None:
    record = {"type": "result", "subtype": "success", "is_error": False, "result": json.dumps(DRAFT)}
    record |= {"total_cost_usd": 0.5, "usage": {"input_tokens": 900, "output_tokens": 40}}
    (lab.home / "reply").write_text(json.dumps(record) + "\n")
    (lab.home / "bin").mkdir()
    program = lab.home / "bin/claude"
    program.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > "{lab.home}/argv"\ncat > /dev/null\ncat "{lab.home}/reply"\n')
    program.chmod(0o755)
    env = {"PATH": os.pathsep.join([str(lab.home / "bin"), lab.env["PATH"]])}
    ran = lab.aigon("feature-create", "Dark mode", "--draft", "--with", "claude", "--yes", env=env)
    assert ran.code == 0 and "Cost of the draft: $0.50" in ran.out, ran.err
    argv = (lab.home / "argv").read_text().split("\n")
    assert argv[argv.index("--tools") + 1] == ""


def test_an_agent_that_cannot_be_asked_is_named(lab: Lab) -> None:
    lab.agent("true")
    ran = draft(lab, "feature-create", "Dark mode", "--draft", "--yes", "--with", "mine")
    assert ran.code == 6 and "has no read-only use" in ran.err


def test_sections_are_merged_by_name() -> None:
    addition = compose_imported_spec(ImportedSpec("X", (ImportedCriterion("new"),), {}, "ours", ("why?",)), "")
    raw = b"# X\n\n## Summary\n\ntheirs\n\n## Acceptance criteria (must)\n\n- [ ] old\n\n## Source\n\n```text\nx\n```\n"
    merged = merge_spec(raw, addition).decode()
    assert "theirs" in merged and "ours" not in merged
    assert "- [ ] old\n- [ ] new\n" in merged
    assert merged.index("## Open questions") < merged.index("## Source") and merged.endswith("```\n")
    assert merge_spec(b"", addition).decode().count("- [ ] new") == 1
