"""What docs/agents.md says of the agents is what their files say, and its example works as it stands."""

import json
import re
from pathlib import Path

import pytest
from msgspec.structs import replace

from aigon.agents.adapters import adapter_for, find_type, load_types
from aigon.config import loading
from aigon.model.agents import AgentType
from aigon.model.turns import Agent, TurnRequest
from tests.agents.turns import place, play, program
from tests.real_agents.programs import PROGRAMS

PAGE = (Path(__file__).parents[2] / "docs" / "agents.md").read_text(encoding="utf-8")
COSTS = {"reported": "dollars", "tokens": "tokens", "unknown": "nothing"}


def code(language: str) -> list[str]:
    return re.findall(rf"(?ms)^```{language}\n(.*?)^```$", PAGE)


def row(of: AgentType) -> tuple[str, ...]:
    """What the table has to say of this kind."""
    words = " ".join(of.argv)
    way = "command line" if "{prompt}" in words else "file" if "{prompt_file}" in words else "standard input"
    ran = "from its documentation, never run" if of.source == "docs" else of.tested
    started = f"`{of.program}`" if of.program else "yours" if of.name == "command" else "none"
    short = ", ".join(f"`{alias}`" for alias in of.aliases)
    return f"`{of.name}`", short, of.title, started, ran, way, COSTS[of.cost]


def test_the_table_says_of_every_kind_what_its_file_says() -> None:
    lines = re.findall(r"(?m)^\| (`\w+` .*)\|$", PAGE.partition("## What was tested")[0])
    told = {tuple(cell.strip() for cell in line.split("|")) for line in lines}
    assert sorted(told) == sorted(row(found) for found in load_types().values())


def test_the_table_of_real_runs_names_the_versions_that_the_files_were_tested_with() -> None:
    table = PAGE.partition("## What was tested")[2].partition("## ")[0]
    ran = re.findall(r"(?m)^\| `(\w+)` \| \S+ (\S+) \|", table)
    assert {name for name, _ in ran} == set(PROGRAMS)
    assert [(name, version) for name, version in ran if load_types()[name].tested != version] == []


def test_every_end_of_a_turn_is_explained() -> None:
    table = PAGE.partition("## How a turn ends")[2].partition("\n## ")[0]
    told = re.findall(r"(?m)^\| ([a-z ]+) \|", table)
    ends = ["finished", "failed", "refused", "usage limit", "overloaded", "unavailable", "bad credentials", "timed out",
            "killed", "not started"]  # fmt: skip
    assert told[1:] == ends


def test_its_configurations_are_good_ones_and_their_adapters_are_there() -> None:
    for text in code("json"):
        found = loading.parse_configuration([("docs/agents.md", text.encode())])
        assert [find_type(one.adapter).name for one in found.agents.values()]
        assert json.loads(text)["agents"]


def test_its_words_that_may_stand_in_a_command_line_are_all_that_there_are() -> None:
    from aigon.model.agents import ARGUMENT_GROUPS, PLACEHOLDERS

    text = PAGE.partition("A word of `argv`")[2].partition("Without a prompt")[0]
    assert set(re.findall(r"\{(\w+)\}", text)) == {*ARGUMENT_GROUPS, *PLACEHOLDERS} - {"session"}


@pytest.fixture
def mine(tmp_path: Path) -> AgentType:
    """The kind of the example, as a file of a project's own."""
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "mine.yaml").write_text(*code("yaml"))
    return find_type("my", [tmp_path / "agents"])


def test_the_example_is_ten_lines_that_really_start_a_program(tmp_path: Path, mine: AgentType) -> None:
    assert len(code("yaml")[0].splitlines()) == 10
    there = place(tmp_path)
    script = 'printf "%s\\n" "$@" > args.txt; cat "$3" > prompt.txt; echo "$MY_AGENT_TELEMETRY"; echo Done.'
    started = program(there.checkout / "my-agent", script)
    agent = Agent("mine", "mine", model="small", kind=mine)
    ask = there.ask()
    Path(ask.prompt_file).write_text("Do it.\n")
    turn = play(adapter_for(agent), agent, ask, {"PATH": f"{started.parent}:/usr/bin:/bin"})
    assert (turn.end, turn.said, turn.cost_status) == ("finished", "off\nDone.", "unknown")
    given = (there.workspace / "args.txt").read_text().split()
    assert given == ["run", "--prompt-file", ask.prompt_file, "--yes", "--model", "small"]
    assert (there.workspace / "prompt.txt").read_text() == "Do it.\n"


def test_the_example_takes_a_persons_own_permissions_and_fails_by_its_exit_code(
    tmp_path: Path, mine: AgentType
) -> None:
    there = place(tmp_path)
    started = program(there.checkout / "my-agent", "echo no >&2; exit 3")
    agent = Agent("mine", "mine", args=("--ask",), kind=mine)
    ask: TurnRequest = replace(there.ask(), number=2)
    assert adapter_for(agent).build_launch(agent, ask).argv == (
        "my-agent",
        "run",
        "--prompt-file",
        ask.prompt_file,
        "--ask",
    )
    turn = play(adapter_for(agent), agent, ask, {"PATH": f"{started.parent}:/usr/bin:/bin"})
    assert (turn.end, turn.detail) == ("failed", "exited with 3: no")
    missing = adapter_for(agent).explain_unready(agent, lambda _: None, {})
    assert "npm install -g my-agent" in missing
