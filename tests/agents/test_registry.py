"""The agent adapters that can be named."""

import subprocess
import sys

import pytest

from aigon.agents import ALIASES, Adapter, adapter, claude, command, names, replay
from aigon.core.errors import AigonError, Exit


def test_the_file_name_is_the_registry() -> None:
    assert {"claude", "command", "replay"} <= set(names())
    assert not [name for name in names() if name.startswith("_")]


def test_every_adapter_module_keeps_the_contract() -> None:
    modules: list[Adapter] = [claude, command, replay]
    assert [adapter(name) for name in ("claude", "command", "replay")] == modules
    assert all(callable(getattr(adapter(name), part)) for name in names() for part in ("ready", "launch", "turn"))


def test_a_short_name_is_an_adapter_too() -> None:
    assert adapter("cc") is claude
    assert set(ALIASES.values()) <= set(names())


def test_an_unknown_adapter_is_a_usage_error_that_lists_the_known_ones_and_the_nearest() -> None:
    with pytest.raises(AigonError) as caught:
        adapter("cluade")
    assert caught.value.code is Exit.USAGE
    assert "'cluade'" in caught.value.what
    assert "did you mean claude?" in caught.value.hint
    assert "claude, command, replay" in caught.value.hint


@pytest.mark.parametrize("name", ["_ending", "__init__", "os", ""])
def test_what_is_no_adapter_cannot_be_named(name: str) -> None:
    with pytest.raises(AigonError):
        adapter(name)


def test_naming_an_adapter_imports_nothing_heavy() -> None:
    code = (
        "import sys; from aigon.agents import adapter, names; [adapter(n) for n in ('claude', 'command', 'replay')];"
        "print([m for m in ('anthropic', 'pydantic', 'git', 'rich', 'yaml', 'click') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
