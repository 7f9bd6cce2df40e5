"""Fixtures for all tests, and how they are shared out."""

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.lab import Lab

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # begun in the background: every program below would ignore it
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """A repository with one commit on main."""
    return Lab(tmp_path).init()


@pytest.fixture(autouse=True)
def configured(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave aigon's configuration out of first commits if the test's module says `CONFIGURED = False`."""
    if not getattr(request.module, "CONFIGURED", True):
        monkeypatch.setattr(Lab, "configured", False)


@pytest.fixture(scope="session", autouse=True)
def nobodys_credentials() -> Iterator[None]:
    """No test may reach a model or use somebody's login: providers' variables go, and addresses lead nowhere."""
    import os
    import re

    of_providers = re.compile(
        r"^(ANTHROPIC|OPENAI|GEMINI|GOOGLE|MISTRAL|CLAUDE|CODEX|COPILOT|OPENROUTER|AWS)_|_API_KEY$|_TOKEN$"
    )
    taken = {name: os.environ.pop(name) for name in list(os.environ) if of_providers.search(name)}
    os.environ["ANTHROPIC_BASE_URL"] = os.environ["OPENAI_BASE_URL"] = "http://127.0.0.1:9"
    yield
    os.environ.update(taken)


LONG = ("test_arena_tour.py", "test_an_arena.py", "test_tour.py", "test_wheel.py", "test_kinds.py")
"""Files with tests of many seconds."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest: at the end it would keep one worker busy while the others have nothing left."""
    items.sort(key=lambda item: item.path.name not in LONG)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Whoever has nothing left takes tests from the others: else one worker ends minutes before the last.

    The option `--dist worksteal` does the same, but in pyproject.toml it would be an error without `-n`.
    """
    from xdist.scheduler import WorkStealingScheduling  # type: ignore[import-untyped]

    if config.getoption("dist") != "load":  # what `-n` alone means; somebody asked for another one
        return None
    return WorkStealingScheduling(config, log)
