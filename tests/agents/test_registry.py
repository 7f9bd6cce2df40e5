"""The kinds of agents that can be named."""

import subprocess
import sys
from pathlib import Path

import pytest

from aigon.agents.adapters import READERS, adapter_for, find_adapter, find_type, load_types
from aigon.errors import AigonError, Exit
from aigon.model.turns import Agent, TurnRequest


def test_every_shipped_kind_has_a_module_that_reads_it() -> None:
    assert {"claude", "codex", "command", "replay"} <= set(load_types())
    assert {found.reads for found in load_types().values()} <= set(READERS.names())
    assert not [name for name in READERS.names() if name.startswith("_")]


def test_a_short_name_is_the_kind_too_and_belongs_to_one_only() -> None:
    assert find_adapter("cc").kind == find_type("claude")
    aliases = [alias for found in load_types().values() for alias in found.aliases]
    assert len(aliases) == len({*aliases, *load_types()}) - len(load_types())


def test_an_unknown_agent_is_a_usage_error_that_lists_the_known_ones_and_the_nearest() -> None:
    with pytest.raises(AigonError) as caught:
        find_adapter("cluade")
    assert caught.value.code is Exit.USAGE
    assert "'cluade'" in caught.value.what
    assert "Did you mean 'claude'?" in caught.value.hint
    assert all(name in caught.value.hint for name in ("claude", "codex", "command", "replay"))


@pytest.mark.parametrize("name", ["_ending", "__init__", "os", "", "text"])
def test_what_is_no_kind_cannot_be_named(name: str) -> None:
    with pytest.raises(AigonError):
        find_adapter(name)


def test_a_kind_of_ones_own_is_one_file_and_replaces_a_shipped_one_of_its_name(tmp_path: Path) -> None:
    (tmp_path / "mine.yaml").write_text("title: Mine\nprogram: mine\naliases: [m]\nargv: [--go, '{model}']\n"
                                        "model: [--use, '{model}']\nreads: text\n")  # fmt: skip
    (tmp_path / "codex.yml").write_text("title: Another Codex\nprogram: codex2\nreads: codex\n")
    assert (find_type("m", [tmp_path]).title, find_type("codex", [tmp_path]).program) == ("Mine", "codex2")
    agent = Agent("x", "mine", model="big", kind=find_type("mine", [tmp_path]))
    ask = TurnRequest(1, "42", "run", "/w", "/c", "/w/spec.md", str(tmp_path / "prompt.md"))
    assert adapter_for(agent).build_launch(agent, ask).argv == ("mine", "--go", "--use", "big")
    assert adapter_for(agent).build_launch(agent, ask).stdin == "prompt"


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("title: X\nargvs: []\n", "argvs"),
        ("program: x\n", "title"),
        ("title: X\nreads: nothing\n", "nothing"),
        ("title: X\nreads: text\nargv: ['{promt}']\n", "promt"),
        ("title: X\nreads: text\nladder: [{turn: 1}]\n", "turn"),
        ("title: [\n", "mine.yaml"),
    ],
)
def test_a_malformed_kind_is_a_usage_error_that_names_file_and_key(tmp_path: Path, text: str, named: str) -> None:
    (tmp_path / "mine.yaml").write_text(text)
    with pytest.raises(AigonError) as caught:
        find_type("mine", [tmp_path])
    assert caught.value.code is Exit.USAGE
    assert named in f"{caught.value.what} {caught.value.where}"
    assert "mine.yaml" in caught.value.where


def test_naming_an_adapter_imports_nothing_heavy() -> None:
    code = (
        "import sys; from aigon.agents.adapters import find_adapter\n"
        "[find_adapter(n) for n in ('claude', 'command', 'replay')];"
        "print([m for m in ('anthropic', 'pydantic', 'git', 'rich', 'click') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
