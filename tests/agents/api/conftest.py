"""What the tests of the built-in agent share."""

from pathlib import Path

import pytest

from tests.agents.api.sessions import Desk


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    """A workspace for a session."""
    return Desk(tmp_path)
