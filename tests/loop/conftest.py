"""What the tests of whole loops share."""

import pytest

from tests.lab import DONE_WHEN, Lab


@pytest.fixture
def ready(lab: Lab) -> Lab:
    """A repository in which `feature-implement 42 --loop` would start."""
    lab.spec(f"it is done <!-- verify: {DONE_WHEN} -->")
    lab.agent("touch done.txt")
    lab.commit("ready")
    return lab
