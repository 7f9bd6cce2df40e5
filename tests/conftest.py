"""Fixtures for all tests, and how they are shared out."""

from pathlib import Path
from typing import Any

import pytest

from tests.lab import Lab


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """A repository with one commit on main."""
    return Lab(tmp_path).init()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Whoever has nothing left takes tests from the others: else one worker ends minutes before the last.

    The option `--dist worksteal` does the same, but in pyproject.toml it would be an error without `-n`.
    """
    from xdist.scheduler import WorkStealingScheduling  # type: ignore[import-untyped]

    if config.getoption("dist") != "load":  # what `-n` alone means; somebody asked for another one
        return None
    return WorkStealingScheduling(config, log)
