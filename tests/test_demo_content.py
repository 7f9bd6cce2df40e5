"""What ships beside the code does what it says: the demo's recorded attempts, the spec template, the samples."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
import xml.etree.ElementTree as ElementTree
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from aigon.checks.project import ProjectOnDisk
from aigon.config.loading import parse_configuration
from aigon.errors import AigonError
from aigon.files.resources import read_profiles
from aigon.model.criteria import Criterion
from aigon.profiles.profile import detect_profile, load_profiles, resolve_profile
from aigon.profiles.resolution import Resolution
from aigon.spec.annotation import read_bound
from aigon.spec.document import parse_spec, require_criteria

ROOT = Path(__file__).parents[1]
DEMO = ROOT / "templates" / "demo"
SPEC = DEMO / "repo/docs/specs/features/03-in-progress/feature-01-durations.md"
EXAMPLE = ROOT / ".aigon.example"
# Without the plugins of the outer pytest: the demo needs none of them, and half a second less per command.
ENV = {
    "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
    "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
    "PYTHONDONTWRITEBYTECODE": "1",
}


def run(cwd: Path, command: str, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-c", command], cwd=cwd, env={**ENV, **env}, capture_output=True, text=True, timeout=60, check=False
    )


def after(attempt: int, folder: Path) -> Path:
    """The demo's repository as `attempt` leaves it: attempts build on each other, 0 is the base."""
    layers = [DEMO / "repo", *(DEMO / f"attempts/{number}/files" for number in range(1, attempt + 1))]
    for layer in layers:
        shutil.copytree(layer, folder, ignore=shutil.ignore_patterns("__pycache__"), dirs_exist_ok=True)
    return folder


def results(cwd: Path) -> tuple[set[str], set[str]]:
    """The names of the test functions with a green case and of those with a red one."""
    run(cwd, "python3 -m pytest -q --junitxml=report.xml")
    green: set[str] = set()
    red: set[str] = set()
    for case in ElementTree.parse(cwd / "report.xml").iter("testcase"):
        (red if len(case) else green).add(case.attrib["name"].split("[")[0])
    return green, red


def lint(cwd: Path) -> list[str]:
    """The rules that ruff finds broken, one entry per problem."""
    problems = json.loads(run(cwd, "ruff check --no-cache --output-format json").stdout)
    return [problem["code"] for problem in problems]


def holds(cwd: Path, criterion: Criterion) -> bool:
    """Whether a criterion's command exits 0 and, for a metric, prints a number within its lower bound."""
    if criterion.kind == "verify":
        return run(cwd, str(criterion.command)).returncode == 0
    expected = read_bound(str(criterion.command))
    assert expected.symbol == ">="
    done = run(cwd, expected.script)
    return done.returncode == 0 and int(done.stdout) >= int(expected.wanted)


def open_criteria(cwd: Path) -> set[int]:
    """The numbers of the criteria whose own command says no."""
    ours = [c for c in parse_spec(SPEC.read_bytes()).criteria if c.kind in ("verify", "metric")]
    with ThreadPoolExecutor(max_workers=2) as pool:
        met = pool.map(lambda criterion: holds(cwd, criterion), ours)
        return {criterion.number for criterion, yes in zip(ours, met, strict=True) if not yes}


def resolved(project: Path, own: dict[str, bytes], profile: str = "") -> Resolution:
    """The checks of `project` by the profile that is detected, or by the one named."""
    known = load_profiles(read_profiles(), own)
    on_disk = ProjectOnDisk(project, {"PATH": ENV["PATH"]})
    return resolve_profile(known[profile] if profile else detect_profile(known.values(), on_disk), on_disk)


@pytest.mark.slow
def test_on_the_base_the_feature_is_red_and_the_rest_is_green(tmp_path: Path) -> None:
    green, red = results(after(0, tmp_path))
    assert green == {
        "test_green_tea_steeps_for_two_minutes",
        "test_cold_brew_steeps_for_eight_hours",
        "test_a_tea_that_is_not_on_the_shelf_is_named",
    }
    assert len(red) == 4
    assert lint(tmp_path) == []
    assert open_criteria(tmp_path) == {1, 2, 3, 4, 5}


@pytest.mark.slow
def test_the_first_attempt_breaks_one_test_and_one_lint_rule(tmp_path: Path) -> None:
    _, red = results(after(1, tmp_path))
    assert red == {"test_show_of_no_time_at_all_is_0s"}
    assert lint(tmp_path) == ["F401"]
    assert open_criteria(tmp_path) == {3, 4}


@pytest.mark.slow
def test_the_second_attempt_is_green_and_still_short_of_one_criterion(tmp_path: Path) -> None:
    _, red = results(after(2, tmp_path))
    assert (red, lint(tmp_path)) == (set(), [])
    assert open_criteria(tmp_path) == {4}


def test_the_third_attempt_is_right(tmp_path: Path) -> None:
    green, red = results(after(3, tmp_path))
    assert (len(green), red, lint(tmp_path)) == (7, set(), [])
    assert open_criteria(tmp_path) == set()


@pytest.mark.parametrize("attempt", [1, 2])
def test_an_attempt_that_falls_short_claims_to_be_done(attempt: int) -> None:
    said = (DEMO / f"attempts/{attempt}/says.txt").read_text()
    assert "all tests pass and lint is clean" in said or "every criterion is met" in said


def test_attempts_change_nothing_but_the_package() -> None:
    for attempt in (1, 2, 3):
        files = DEMO / f"attempts/{attempt}/files"
        assert {path.name for path in files.iterdir()} == {"teatimer"}


@pytest.mark.parametrize(("name", "versions"), [("__init__", 2), ("__main__", 2), ("durations", 3)])
def test_versions_of_a_file_differ_in_size(name: str, versions: int) -> None:
    # Python trusts a .pyc file whose source has the same size and second: two versions may be written in one second.
    sizes = [path.stat().st_size for path in DEMO.glob(f"**/teatimer/{name}.py")]
    assert len(set(sizes)) == len(sizes) == versions


def test_no_criterion_of_the_demo_needs_a_judge_or_a_person() -> None:
    spec = parse_spec(SPEC.read_bytes())
    assert [c.kind for c in spec.criteria] == ["verify"] * 3 + ["metric", "verify"] + ["check"] * 2
    assert [c.command for c in spec.criteria if c.kind == "check"] == ["tests", "lint"]
    assert spec.warnings == ()
    assert not any(c.checked for c in spec.criteria)


def test_the_demo_has_two_checks_and_every_tool_for_them(tmp_path: Path) -> None:
    resolution = resolved(after(0, tmp_path), {})
    assert (resolution.profile, [(c.name, c.missing) for c in resolution.checks]) == (
        "generic",
        [("tests", ""), ("lint", "")],
    )


def test_the_demo_needs_neither_a_build_nor_a_type_checker() -> None:
    project = tomllib.loads((DEMO / "repo/pyproject.toml").read_text())
    assert "build-system" not in project
    assert set(project["tool"]) == {"pytest", "ruff"}


def test_the_feature_template_has_no_criteria_of_its_own() -> None:
    raw = (ROOT / "templates/specs/feature.md").read_bytes()
    spec = parse_spec(raw.replace(b"{{TITLE}}", b"Dark mode"))
    assert (spec.title, spec.validation, spec.warnings) == ("Dark mode", None, ())
    assert b"{{" not in raw.replace(b"{{TITLE}}", b"")
    with pytest.raises(AigonError, match="no acceptance criteria"):
        require_criteria(spec, "feature.md")


def test_examples_of_the_feature_template_become_criteria_outside_their_fence() -> None:
    raw = (ROOT / "templates/specs/feature.md").read_bytes()
    spec = parse_spec(re.sub(rb"(?m)^```.*\n", b"", raw))
    assert [c.kind for c in spec.criteria] == ["prints", "verify", "metric", "check", "human", "check"]


def test_the_sample_configuration_is_accepted() -> None:
    config = parse_configuration([("config.json", (EXAMPLE / "config.json").read_bytes())])
    assert (config.profile, config.validation.mode) == ("generic", "add")
    assert config.agents["mine"].command == [".aigon/agents/my-agent.sh"]


def test_the_sample_profile_finds_the_tests_of_a_project_of_scripts(tmp_path: Path) -> None:
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests/run.sh").write_text("exit 0\n")
    resolution = resolved(tmp_path, read_profiles(EXAMPLE / "profiles"), "scripts")
    assert [check.name for check in resolution.checks] == ["tests", "lint"]
    assert resolved(tmp_path, read_profiles(EXAMPLE / "profiles")).profile == "generic"


def test_the_files_that_the_sample_configuration_names_are_there() -> None:
    named = set(re.findall(r'"\.aigon/([^"]+)"', (EXAMPLE / "config.json").read_text()))
    named.remove("approvals")  # aigon makes the folder
    assert named == {"validation.sh", "agents/my-agent.sh"}
    for name in named:
        assert os.access(EXAMPLE / name, os.X_OK), name


def test_the_sample_validation_script_does_not_pass_when_it_ran_nothing(tmp_path: Path) -> None:
    done = run(tmp_path, str(EXAMPLE / "validation.sh"))
    assert (done.returncode, done.stdout) == (1, "")
    assert "nothing to run" in done.stderr


@pytest.mark.parametrize(("attempt", "code"), [(2, 0), (1, 1)])
def test_the_sample_validation_script_says_what_the_tests_say(tmp_path: Path, attempt: int, code: int) -> None:
    assert run(after(attempt, tmp_path), str(EXAMPLE / "validation.sh")).returncode == code


def test_the_sample_agent_shows_its_surroundings_and_fails_until_it_is_edited(tmp_path: Path) -> None:
    names = ("FEATURE", "ITERATION", "SPEC", "PROMPT_FILE", "RUN")
    done = run(tmp_path, str(EXAMPLE / "agents/my-agent.sh"), **{f"AIGON_{name}": f"<{name}>" for name in names})
    assert done.returncode == 1
    assert all(f"<{name}>" in done.stdout for name in names)
    assert list(tmp_path.iterdir()) == []
