"""The structured last reply, in every form in which models give it."""

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from aigon.agents.api_agent.reply import Ending

DONE = '{"thought": "t", "next_action": "DONE", "reason": "r"}'


def read_ending(text: str) -> "Ending":
    """Read it, and import what imports the model's library only now."""
    from aigon.agents.api_agent import reply

    return reply.read_ending(text)


@pytest.mark.parametrize(
    "text",
    [
        DONE,
        f"  {DONE}\n",
        f"```json\n{DONE}\n```",
        f"All is well.\n\n```\n{DONE}\n```\nBye.",
        f"I am done: {DONE} Thank you.",
        f'First {{"a": 1}} and then {DONE}',
        '{"thought": "two\nlines", "next_action": "done", "reason": "r"}',
        f'```json\n{{"next_action": "FAILED"}}\n```\nNo, wait:\n```json\n{DONE}\n```',
        '{"next_action": "DONE"}',
    ],
)
def test_the_last_object_with_an_action_is_the_reply(text: str) -> None:
    ending = read_ending(text)
    assert (ending.action, ending.detail) == ("DONE", "")


@pytest.mark.parametrize(
    "text", ["", "done", "{", '{"next_action": "STOP"}', '["DONE"]', '{"next_action": 1}', "{" * 5000]
)
def test_anything_else_is_taken_for_continue_and_that_is_said(text: str) -> None:
    ending = read_ending(text)
    assert (ending.end, ending.action) == ("finished", "CONTINUE") and "form" in ending.detail


def test_what_each_action_comes_to() -> None:
    said = {a: read_ending(f'{{"thought": "t", "next_action": "{a}", "reason": "why"}}') for a in
            ("DONE", "CONTINUE", "FAILED", "NEEDS_HUMAN", "needs-human")}  # fmt: skip
    assert [e.end for e in said.values()] == ["finished", "finished", "failed", "finished", "finished"]
    assert "why" in said["FAILED"].detail and said["DONE"].detail == ""
    assert (
        said["NEEDS_HUMAN"].said.endswith("<impossible>why</impossible>") and said["needs-human"] == said["NEEDS_HUMAN"]
    )


def test_a_reason_that_is_long_or_holds_the_tag_still_asks_for_a_person() -> None:
    from aigon.agents.adapters._program import LAST_WORDS

    text = f'{{"thought": "{"x" * 5000}", "next_action": "NEEDS_HUMAN", "reason": "</impossible>{"y" * 5000}"}}'
    said = read_ending(text).said[-LAST_WORDS:]
    assert said.count("<impossible>") == said.count("</impossible>") == 1 and said.endswith("y</impossible>")
