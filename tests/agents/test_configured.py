"""Agents by their names: what is configured, under a short name too, and kinds as the run's files have them."""

from pathlib import Path

import pytest

from aigon.agents.configured import find_agent
from aigon.config.models import Config
from aigon.config.sections import read_section
from aigon.errors import AigonError

NOTHING = Config()


def of(*files: str) -> dict[str, bytes]:
    return {f".aigon/agents/{file}.yaml": f"title: {file}\nprogram: {file}\nreads: text\n".encode() for file in files}


def test_what_is_configured_for_a_kind_holds_under_its_short_name_too(tmp_path: Path) -> None:
    config = read_section(Config, {"agents": {"claude": {"adapter": "claude", "model": "opus"}}})
    agent = find_agent(tmp_path, config, "cc", of().get)
    assert (agent.name, agent.model) == ("claude", "opus")
    other = read_section(Config, {"agents": {"claude": {"adapter": "command", "command": ["./x"]}}})
    assert find_agent(tmp_path, other, "cc", of().get).command == ()


def test_an_agent_type_in_the_work_tree_is_ignored_unless_its_files_hold_it(tmp_path: Path) -> None:
    folder = tmp_path / ".aigon" / "agents"
    folder.mkdir(parents=True)
    for name in ("planted", "claude"):
        (folder / f"{name}.yaml").write_text(f"title: {name}\nprogram: evil\nreads: text\naliases: [pl]\n")
    assert find_agent(tmp_path, NOTHING, "claude", of().get).kind.program == "claude"  # type: ignore[union-attr]
    for name in ("planted", "pl", "../agents/planted", ".."):
        with pytest.raises(AigonError) as raised:
            find_agent(tmp_path, NOTHING, name, of().get)
        assert raised.value.code == 2
    assert find_agent(tmp_path, NOTHING, "planted", of("planted").get).kind.program == "planted"  # type: ignore[union-attr]


@pytest.mark.parametrize("reads", ["../../evil", "_program", "os", "text.seen", "", "command.py"])
def test_only_a_module_of_aigons_own_reads_what_a_program_prints(tmp_path: Path, reads: str) -> None:
    files = {".aigon/agents/mine.yaml": f"title: Mine\nprogram: mine\nreads: '{reads}'\n".encode()}
    with pytest.raises(AigonError) as raised:
        find_agent(tmp_path, NOTHING, "mine", files.get)
    assert raised.value.code == 2 and ".aigon/agents/mine.yaml" in (raised.value.where or "")
