"""What is offered after a power cut can be typed as it stands."""

import shlex
from pathlib import Path
from types import SimpleNamespace
from typing import Any

from aigon.run.run_world import describe_damaged_ref


def test_a_command_that_is_offered_names_a_path_with_spaces_as_one_word(tmp_path: Path) -> None:
    file = tmp_path / "my work" / ".git" / "refs" / "heads" / "feature-1-a"
    file.parent.mkdir(parents=True)
    file.touch()
    checkout: Any = SimpleNamespace(common_dir=tmp_path / "my work" / ".git")
    error = describe_damaged_ref(checkout, "feature-1-a", "0" * 40)
    assert error is not None and shlex.split(error.hint)[:2] == ["rm", str(file)]
