"""Fixtures for all tests, and how they are shared out."""

import contextlib
import functools
import gc
import os
import re
import shutil
import signal
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from aigon.git.person import LOCAL_VARIABLES
from tests.lab import MEMORY, TEMPORARY, Lab, has_room, speaks_of_sandboxes

IN_MEMORY = "t"  # short, as a socket's path has 107 bytes at most

sys.dont_write_bytecode = False  # else every worker of every run rewrites all asserts: 10 s of a processor each
gc.disable()  # what is collected here stays to the end: see `pytest_collection_finish`
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # begun in the background: every program below would ignore it
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Path]:
    """A folder of the test's own: pytest's, or in memory for a laboratory, where a run takes a quarter less time."""
    if "lab" not in request.fixturenames or speaks_of_sandboxes(request.path) or not has_room(MEMORY):
        yield tmp_path
        return
    failed = request.session.testsfailed
    with tempfile.TemporaryDirectory(prefix="aigon-test-", dir=MEMORY, ignore_cleanup_errors=True) as folder:
        for name in (IN_MEMORY, TEMPORARY):
            Path(folder, name).mkdir()
        yield Path(folder, IN_MEMORY)
        if request.session.testsfailed > failed:  # pytest keeps it for whoever looks into the failure
            with contextlib.suppress(OSError):
                shutil.copytree(Path(folder, IN_MEMORY), tmp_path, symlinks=True, dirs_exist_ok=True)


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """A repository with one commit on main."""
    return Lab(tmp_path).init()


@pytest.fixture
def home(lab: Lab, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Lab:
    """A laboratory whose environment is this process's, in another current folder."""
    for name in set(os.environ) - set(lab.env):
        monkeypatch.delenv(name)
    for name, value in lab.env.items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    return lab


@pytest.fixture
def lab_environment(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of the laboratory, here in this process."""
    for name in LOCAL_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    for name, value in lab.env.items():
        monkeypatch.setenv(name, value)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Take what the test's module says of the configuration in first commits.

    `CONFIGURED = False`: there is none. `IN_PLACE = True`: loops that are not about the proof prove in place, since
    half of what a short run costs is its clean room. An autouse fixture would cost every test of the suite more.
    """
    module = getattr(item, "module", None)
    Lab.configured, Lab.in_place = getattr(module, "CONFIGURED", True), getattr(module, "IN_PLACE", False)


@pytest.fixture(scope="session", autouse=True)
def nobodys_credentials() -> Iterator[None]:
    """No test may reach a model or use somebody's login: providers' variables go, and addresses lead nowhere."""
    of_providers = re.compile(
        r"^(ANTHROPIC|OPENAI|GEMINI|GOOGLE|MISTRAL|CLAUDE|CODEX|COPILOT|OPENROUTER|AWS)_|_API_KEY$|_TOKEN$"
    )
    taken = {name: os.environ.pop(name) for name in list(os.environ) if of_providers.search(name)}
    os.environ["ANTHROPIC_BASE_URL"] = os.environ["OPENAI_BASE_URL"] = "http://127.0.0.1:9"
    yield
    os.environ.update(taken)


_STARTS = re.compile(r"(?m)^\s*(?:from|import) (?:tests\.(?:lab|warm)|subprocess)\b|\blab: Lab\b")
"""What a test imports or asks for that needs a repository or starts programs."""
_HELPER = re.compile(r"(?m)^\s*(?:from|import) (tests[.\w]*)(?: import ([\w, ]+))?")


@functools.cache
def starts_programs(file: Path) -> bool:
    """Whether a file of tests, or a helper in tests/ that it imports, starts programs or works in a repository."""
    text = file.read_text(encoding="utf-8")
    helpers = {
        helper
        for module, names in _HELPER.findall(text)
        for name in ("", *names.split(","))
        if (helper := Path(__file__).parents[1].joinpath(*module.split("."), name.strip()).with_suffix(".py")).is_file()
    }
    return bool(_STARTS.search(text)) or any(starts_programs(helper) for helper in helpers - {file})


@functools.cache
def asks_a_model(file: Path) -> bool:
    """Whether tests in the file start what imports a model's or a server's library."""
    return bool(re.search(r"ModelServer|ANTHROPIC_API_KEY|aigon\(\"(mcp|ui)\"", file.read_text(encoding="utf-8")))


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--quick`."""
    parser.addoption("--quick", action="store_true", help="what needs no repository, starts no program and is not long")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """With `--quick`, leave out files before they are imported."""
    quick = config.getoption("quick") and collection_path.name.startswith("test_")
    return starts_programs(collection_path) or None if quick else None


def pytest_configure(config: pytest.Config) -> None:
    """Give Hypothesis no deadline, which a busy machine would miss, and few examples with `--quick`."""
    from hypothesis import settings

    examples = 10 if config.getoption("quick") else 50
    settings.register_profile("aigon", deadline=None, max_examples=examples)
    settings.load_profile("aigon")


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with what takes longest: at the end it would keep one worker busy while the others have nothing left.

    What asks a model is next to each other, so that few workers start the large interpreter (`tests.warm.LARGE`).
    """
    if config.getoption("quick"):
        items[:] = [item for item in items if not item.get_closest_marker("long")]
    items.sort(key=lambda item: (not item.get_closest_marker("long"), not asks_a_model(item.path)))


def pytest_collection_finish() -> None:
    """Collect garbage again from here on, and never look through the modules and tests that are there by now."""
    gc.freeze()
    gc.enable()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Whoever has nothing left takes tests from the others: else one worker ends minutes before the last.

    The option `--dist worksteal` does the same, but in pyproject.toml it would be an error without `-n`.
    """
    from xdist.scheduler import WorkStealingScheduling  # type: ignore[import-untyped]

    if config.getoption("dist") != "load":  # what `-n` alone means; somebody asked for another one
        return None
    return WorkStealingScheduling(config, log)
