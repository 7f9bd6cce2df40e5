"""step_01.md and its like: each turn in short, with what the agent said as a quotation only."""

from collections.abc import Sequence
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt
from msgspec.structs import replace

from aigon.journal.events import Event
from aigon.journal.steps import StepSink, extract_headings
from aigon.journal.steps import render_turn_end as second_part
from aigon.journal.steps import render_turn_start as first_part
from aigon.model.turns import Turn, Usage
from tests.journal.tried import begun, run, turned
from tests.proof.hostile import EXAMPLES, TEXT, TURN

PROMPT = """\
# Iteration 1 of at most 5

## The spec

````markdown
# Feature: Dark mode
```
## no heading
```
## Acceptance Criteria
````

## Rules

- `# no heading either`
"""

WHOLE = """\
# Step 1: `claude` (`sonnet`, step 1 of 2)

Begun: 2026-11-20 10:01:00

## Prompt

About 1,739 tokens (4,000 characters); the whole is in [001/prompt.md](001/prompt.md). Its headings:

```text
Iteration 1 of at most 5
  The spec
  Rules
```

## What it said

A claim, shown to people. It is not evidence, and no other turn sees it.

````text
All done.
```
# Proven
```
````

## Tools it used

3: `Bash` 2, `Write` 1

- `Bash: npm test`
- `Write: src/a.py`
- `Bash: ls`

## How it ended

- Ended: failed (exit code 2) after 1m 00s, at 2026-11-20 10:01:00
- Reason: `exited with 2`
- Model: `sonnet`
- Cost: $0.20 (reported)
- Tokens: 1,200 in, 90,000 from a cache, 345 out
- Session: `s-1`
- Denied permissions: `Bash: curl x`
- Whole output: [001/agent.log](001/agent.log)
"""

SAID = turned(
    1, "failed", exit_code=2, said="All done.\n```\n# Proven\n```", detail="exited with 2", session="s-1",
    usage=Usage(1200, 345, 90000), denied=("Bash: curl x",), tools=("Bash: npm test", "Write: src/a.py", "Bash: ls"),
)  # fmt: skip


def told(folder: Path, events: Sequence[Event], past: Sequence[Event] = ()) -> str:
    """Step 1, after a turn whose prompt and output lie where the loop puts them."""
    (folder / "001").mkdir(parents=True, exist_ok=True)
    (folder / "001" / "prompt.md").write_text(PROMPT)
    (folder / "001" / "agent.log").write_text("")
    sink = StepSink(folder, past)
    for event in events:
        sink(event)
    sink.close()
    return (folder / "step_01.md").read_text()


def test_a_step_tells_of_the_prompt_of_what_was_said_and_done_and_of_how_it_ended(tmp_path: Path) -> None:
    assert told(tmp_path, [begun(1), SAID]) == WHOLE
    assert sorted(path.name for path in tmp_path.iterdir()) == ["001", "step_01.md"]


def test_a_step_is_there_while_the_agent_still_works(tmp_path: Path) -> None:
    text = told(tmp_path, [begun(1)])
    assert WHOLE.startswith(text) and "The spec" in text


def test_a_turn_that_is_repeated_under_its_number_goes_below_in_the_same_file(tmp_path: Path) -> None:
    (tmp_path / "001").mkdir()
    (tmp_path / "001" / "agent-2.log").write_text("")
    held = turned(1, "usage_limit", said="", tools=(), detail="resets at 5", cost=None, cost_status="unknown")
    text = told(tmp_path, [begun(1), held, begun(1, "opus", rung=1), SAID])
    first, again = text.split("\n## Again, step 1: `claude` (`opus`, step 2 of 2)\n")
    assert "- Ended: usage limit (exit code 0)" in first and "[001/agent.log]" in first
    assert "Nothing." in first and "None that its output tells of." in first and "- Cost: unknown" in first
    assert "- Ended: failed (exit code 2)" in again and "[001/agent-2.log]" in again
    assert [line for line in again.splitlines() if line.startswith("## ")] == []


def test_a_resumed_run_adds_to_the_step_that_had_broken_off(tmp_path: Path) -> None:
    past = [*run(0), begun(1)]
    told(tmp_path, past)
    (tmp_path / "step_01.md").write_text("# everything went well")
    text = told(tmp_path, [begun(1), SAID], past)
    assert text.count("# Step 1:") == 1 and text.count("## Again, step 1:") == 1
    assert "went well" not in text


def test_every_turn_has_a_file_with_its_number(tmp_path: Path) -> None:
    told(tmp_path, [event for number in (1, 2, 100) for event in (begun(number), turned(number))])
    assert sorted(path.name for path in tmp_path.glob("step*")) == ["step_01.md", "step_02.md", "step_100.md"]
    assert "- Whole output: none" in (tmp_path / "step_100.md").read_text()


def test_a_link_in_place_of_a_step_leads_nowhere(tmp_path: Path) -> None:
    precious = tmp_path / "precious"
    precious.write_text("mine")
    (tmp_path / "step_01.md").symlink_to(precious)
    assert told(tmp_path, [begun(1), SAID]) == WHOLE
    assert precious.read_text() == "mine"


def test_only_headings_of_the_prompt_itself_are_listed() -> None:
    assert extract_headings(PROMPT) == ("Iteration 1 of at most 5", "  The spec", "  Rules")
    assert extract_headings("```\n# a\n```\n# b") == ("b",)


@EXAMPLES
@given(TURN, st.lists(TEXT, max_size=6).map(tuple), st.text(max_size=80))
def test_no_text_of_an_agent_can_break_a_step(turn: Turn, tools: tuple[str, ...], prompt: str) -> None:
    start = replace(begun(1), agent=turn.agent, model=turn.model, effort=turn.detail)
    text = first_part(start, extract_headings(prompt), "001/prompt.md", again=False)
    text += second_part(replace(turn, tools=tools), turn.detail, "001/agent.log", again=False)
    assert text.encode()
    tokens = MarkdownIt("commonmark").parse(text)
    assert sum(token.type == "heading_open" for token in tokens) == 5
    assert not {"html_block", "blockquote_open", "hr", "code_block"} & {token.type for token in tokens}
    inline = [child for token in tokens for child in token.children or ()]
    assert {child.type for child in inline} <= {"text", "code_inline", "softbreak", "link_open", "link_close"}
    assert sum(child.type == "link_open" for child in inline) == 2


@settings(max_examples=20)
@given(st.text(alphabet="`#\n a", max_size=60))
def test_headings_are_found_in_whatever_a_prompt_is_and_quickly(text: str) -> None:
    assert len(extract_headings(text * 50)) <= (text * 50).count("#")
