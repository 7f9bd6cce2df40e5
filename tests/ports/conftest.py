"""Fixtures for tests of git and files, most of which know nothing of features."""

import pytest

from tests.lab import Lab


@pytest.fixture(autouse=True)
def configured(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave aigon's configuration out of the first commit of each laboratory if the module says CONFIGURED = False."""
    monkeypatch.setattr(Lab, "configured", getattr(request.module, "CONFIGURED", True))
