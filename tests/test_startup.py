"""Start-up is a feature: what `--help` and `--version` may import. Counted, because times drift with the machine."""

import subprocess
import sys
from pathlib import Path

import pytest

from aigon.cli import VERBS
from tests.lab import scrubbed

HEAVY = {
    "anthropic",
    "git",
    "pydantic",
    "rich",
    "yaml",
    "markdown_it",
    "psutil",
    "httpx",
    "platformdirs",
    "jinja2",
    "distributed",
    *("asyncio", "concurrent", "ctypes", "http", "multiprocessing", "sqlite3", "ssl", "unittest", "xml"),
}

NOT_TO_SHOW = {"difflib", "hashlib", "secrets", "shutil", "socket", "tempfile"}
"""Modules of Python that a command which only shows something can do without."""


# `-X importtime` would be blind to `importlib.import_module`, which is how a verb is found.
AT_THE_END = "import atexit, sys; atexit.register(lambda: print(*sys.modules, sep='\\n', file=sys.stderr)); "
AIGON = "from aigon.cli import main; main()"


def modules(folder: Path, code: str, *arguments: str) -> list[str]:
    """Every module that is there when a program ends, in the order of import."""
    command = [sys.executable, "-c", AT_THE_END + code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=scrubbed(folder))
    assert done.returncode == 0, done.stderr
    return done.stderr.splitlines()


def beyond_python(folder: Path, *arguments: str) -> list[str]:
    """The modules that aigon adds to those of an interpreter that does nothing."""
    bare = set(modules(folder, "pass"))
    return [name for name in modules(folder, AIGON, *arguments) if name not in bare]


def count_own(names: list[str]) -> int:
    """How many are not Python's: which of those there are differs between its versions."""
    return sum(name.partition(".")[0] not in sys.stdlib_module_names for name in names)


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["-h"], []])
def test_the_version_and_the_help_need_nothing_but_two_modules(arguments: list[str], tmp_path: Path) -> None:
    assert beyond_python(tmp_path, *arguments) == ["aigon", "aigon.cli"]


@pytest.mark.parametrize(
    "verb", ["feature-implement", "feature-status", "board", "config", "demo", "spec-show", "init", "records"]
)
def test_the_help_of_a_verb_imports_nothing_heavy(verb: str, tmp_path: Path) -> None:
    added = beyond_python(tmp_path, verb, "--help")
    assert f"aigon.commands.{VERBS[verb][0]}" in added
    assert HEAVY.isdisjoint(name.partition(".")[0] for name in added)
    assert count_own(added) <= 50, added


def test_the_board_needs_no_git_library_no_configuration_and_no_model(tmp_path: Path) -> None:
    """It is looked at often: what it costs is drawing, and reading the specs that there are."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    empty = beyond_python(tmp_path, "board")
    assert (HEAVY - {"rich"}).isdisjoint(name.partition(".")[0] for name in empty)
    assert "rich.console" not in empty and count_own(empty) <= 80, empty
    spec = tmp_path / "docs/specs/features/02-backlog/feature-07-x.md"
    spec.parent.mkdir(parents=True)
    spec.write_text("# Feature: X\n\n## Acceptance Criteria\n\n- [ ] it works\n")
    full = beyond_python(tmp_path, "board")
    assert {"anthropic", "git", "pydantic", "yaml", "httpx"}.isdisjoint(name.partition(".")[0] for name in full)
    assert {*NOT_TO_SHOW, "subprocess"}.isdisjoint(full) and count_own(full) <= 160, full


def test_a_spec_that_says_what_decides_is_shown_without_its_project(tmp_path: Path) -> None:
    """Neither configuration nor profiles, and no program is started."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    spec = tmp_path / "docs/specs/features/02-backlog/feature-07-x.md"
    spec.parent.mkdir(parents=True)
    spec.write_text(
        "# Feature: X\n\n## Acceptance Criteria\n\n- [ ] it `works` <!-- verify: make -->\n- [ ] Lint is clean\n"
    )
    beyond_python(tmp_path, "spec-show", "7")  # the first start of an installation parses what ships
    added = beyond_python(tmp_path, "spec-show", "7")
    assert (HEAVY - {"markdown_it"}).isdisjoint(name.partition(".")[0] for name in added)
    assert {*NOT_TO_SHOW, "subprocess"}.isdisjoint(added)
    assert not any(name.startswith(("aigon.config", "aigon.profiles", "aigon.run")) for name in added)
    assert count_own(added) <= 155, added


def test_the_status_imports_nothing_that_only_a_run_needs(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    added = beyond_python(tmp_path, "feature-status")
    assert HEAVY.isdisjoint(name.partition(".")[0] for name in added)
    assert NOT_TO_SHOW.isdisjoint(added) and count_own(added) <= 105, added


def test_a_run_begins_without_what_only_some_runs_need(tmp_path: Path) -> None:
    """Parsers of configuration and of tests in other languages, a judge, statistics over all runs."""
    bare = set(modules(tmp_path, "pass"))
    added = [name for name in modules(tmp_path, "import aigon.run.implement") if name not in bare]
    assert (HEAVY - {"concurrent", "ctypes"}).isdisjoint(name.partition(".")[0] for name in added)
    assert {"configparser", "difflib", "statistics", "tomllib"}.isdisjoint(added)
    assert {"aigon.control", "aigon.judge.judgement", "aigon.proof.clean_room", "aigon.proof.inputs"}.isdisjoint(added)
    assert count_own(added) <= 258, added


def test_a_start_hardly_ever_looks_for_cycles_in_what_stays(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    count = "print(sum(each['collections'] for each in gc.get_stats()), file=sys.stderr)"
    code = f"import atexit, gc, sys; gc.collect(); {count}; atexit.register(lambda: {count}); {AIGON}"
    command = [sys.executable, "-c", code, "board"]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path, env=scrubbed(tmp_path))
    before, after = map(int, done.stderr.split())
    assert after - before <= 5, "each costs up to a millisecond, and Python's own threshold asks for a hundred"


def test_the_configuration_is_read_without_pydantic(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    (tmp_path / ".aigon").mkdir()
    (tmp_path / ".aigon" / "config.json").write_text('{"guards": {"stall": 5}, "judge": {"timeout": "90s"}}')
    added = beyond_python(tmp_path, "config")
    assert "aigon.config.models" in added
    assert {"anthropic", "git", "pydantic", "httpx"}.isdisjoint(name.partition(".")[0] for name in added)


def test_the_library_lists_features_without_a_markdown_parser(tmp_path: Path) -> None:
    """Together with its import it takes 6 times as long as an interpreter that does nothing."""
    (tmp_path / ".git").mkdir()
    (tmp_path / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    spec = tmp_path / "docs/specs/features/02-backlog/feature-07-x.md"
    spec.parent.mkdir(parents=True)
    spec.write_text("# Feature: X\n\n- [ ] it works\n")
    bare = set(modules(tmp_path, "pass"))
    code = "from aigon.api import open_project; assert [f.title for f in open_project('.').features()] == ['X']"
    added = [name for name in modules(tmp_path, code) if name not in bare]
    assert HEAVY.isdisjoint(name.partition(".")[0] for name in added)
    assert {"subprocess", "logging", "aigon.spec.document", "aigon.model.criteria"}.isdisjoint(added)
    assert count_own(added) <= 37, added
