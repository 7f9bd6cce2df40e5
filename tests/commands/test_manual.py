"""Man pages: one for each command, with every option, and as troff wants them."""

import importlib.util
import shutil
import subprocess
from pathlib import Path
from types import ModuleType

import click
import pytest

from aigon.cli import VERBS
from aigon.commands.root import root

ROOT = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def builder() -> ModuleType:
    pytest.importorskip("hatchling")
    spec = importlib.util.spec_from_file_location("hatch_build", ROOT / "hatch_build.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_every_command_has_a_page_with_every_option(builder: ModuleType, tmp_path: Path) -> None:
    builder.write_pages(tmp_path)
    for verb in VERBS:
        text = (tmp_path / f"aigon-{verb}.1").read_text().replace("\\-", "-")
        command = root.get_command(click.Context(root), verb)
        assert command is not None
        options = [each for each in command.params if isinstance(each, click.Option)]
        assert [each.name for each in options if not any(name in text for name in each.opts)] == []
        assert f"aigon-{verb} (1)" in (tmp_path / "aigon.1").read_text().replace("\\-", "-")


def test_what_troff_would_read_as_a_request_is_escaped(builder: ModuleType) -> None:
    assert builder._escape(".aigon/x's --y \\b `z`") == "\\&.aigon/x\\(aqs \\-\\-y \\eb \\(gaz\\(ga"


def test_troff_has_nothing_to_warn_of(builder: ModuleType, tmp_path: Path) -> None:
    groff = shutil.which("groff")
    if groff is None:
        pytest.skip("groff is not installed")
    pages = [str(page) for page in builder.write_pages(tmp_path)]
    done = subprocess.run([groff, "-man", "-ww", "-Tutf8", *pages], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
