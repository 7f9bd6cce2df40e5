"""Fixtures for all tests."""

from pathlib import Path

import pytest

from tests.lab import Lab


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """A repository with one commit on main."""
    return Lab(tmp_path).init()
