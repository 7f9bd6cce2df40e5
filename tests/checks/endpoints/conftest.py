"""A repository with a server in it, and its check as aigon runs it."""

import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from aigon.checks.endpoints.check import endpoint_check
from aigon.checks.project import ProjectOnDisk
from aigon.config.endpoints import Endpoints
from aigon.config.sections import read_section
from aigon.model.checks import Check, Finding
from tests.compare.bench import ran, world_of
from tests.lab import Lab

APP = Path(__file__).with_name("app.py")
Checked = Callable[..., Check]
Found = Callable[..., Finding]


def served(*words: str) -> list[str]:
    """The command line of the server; `words` say how it behaves."""
    return [sys.executable, "app.py", "{port}", *words]


@pytest.fixture
def checked(lab: Lab) -> Checked:
    """The check that a configuration leads to. The server is `app.py`, unless another one is named."""
    shutil.copy(APP, lab.path("app.py"))

    def make(*words: str, folder: str = ".", **config: Any) -> Check:
        given = read_section(Endpoints, {"command": served(*words), **config})
        return endpoint_check(given, lab.root, folder, ProjectOnDisk(lab.root / folder, lab.env))

    return make


@pytest.fixture
def found(lab: Lab, checked: Checked) -> Found:
    """What the check came to; everything that it started is gone then."""

    def run(*words: str, theirs: dict[str, str] | None = None, **config: Any) -> Finding:
        check = checked(*words, **config)
        with world_of(lab, theirs) as world:
            return ran(world, [check])[check.name]

    return run
