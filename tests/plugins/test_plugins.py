"""The example distribution of docs/plugins.md, installed: every kind of plug-in takes part in a run."""

import re
import shutil
import tomllib
from pathlib import Path

import pytest

from tests.lab import Lab, Ran, finish

IN_PLACE = True
HERE = Path(__file__).parent
DOCS = HERE.parents[1] / "docs/plugins.md"
KINDS = ("agents", "parsers", "judges", "rules", "sinks", "guards", "importers")


def install(site: Path, entry_points: dict[str, dict[str, str]], name: str = "aigon-example") -> None:
    """Write what an installer writes: the package, and the metadata of its distribution."""
    shutil.copytree(HERE / "aigon_example", site / "aigon_example", dirs_exist_ok=True)
    info = site / f"{name.replace('-', '_')}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    text = "".join(
        f"[{group}]\n" + "".join(f"{key} = {value}\n" for key, value in entries.items())
        for group, entries in entry_points.items()
    )
    (info / "entry_points.txt").write_text(text)


def declared() -> dict[str, dict[str, str]]:
    """The entry points of the example's pyproject.toml."""
    groups: dict[str, dict[str, str]] = tomllib.loads((HERE / "pyproject.toml").read_text())["project"]["entry-points"]
    return groups


@pytest.fixture
def lab(tmp_path: Path) -> Lab:
    """A feature that the example agent builds; one criterion is for the judge."""
    lab = Lab(tmp_path).init()
    lab.spec("done <!-- verify: grep -q yes done.txt -->", "the answer is computed")
    command = "echo 'EXAMPLE FAIL: nothing yet'; test -f done.txt"
    checks = {"tests": {"command": command, "role": "tests", "parser": "example"}}
    lab.config(judge={"backend": "example"}, checks=checks)
    lab.commit("spec")
    return lab


def run(lab: Lab, site: Path, *options: str) -> Ran:
    """A run with the distributions in `site`."""
    env = {"PYTHONPATH": f"{site}:{lab.env['PYTHONPATH']}" if "PYTHONPATH" in lab.env else str(site)}
    return finish(lab.start("feature-implement", "42", "--loop", "--json", *options, env=env))


def test_a_plug_in_of_every_kind_takes_part_in_a_run(lab: Lab, tmp_path: Path) -> None:
    install(tmp_path / "site", declared())
    done = run(lab, tmp_path / "site", "--agent", "example")
    assert done.code == 0, done.out + done.err
    turn = next(event["turn"] for event in done.events if event["event"] == "turn_ended")
    assert (turn["agent"], turn["model"], turn["said"]) == ("example", "example-1", "I wrote done.txt")
    assert "judge" in {event["verdict"]["method"] for event in done.events if event["event"] == "criterion_judged"}
    assert "The example rule saw done.txt." in done.out
    names = next(tmp_path.rglob("example-sink.txt")).read_text().split()
    assert names[0] == "run_started" and names[-1] == "run_finished"
    findings = [event["finding"] for event in done.events if event["event"] == "check_finished"]
    assert "nothing yet" in {problem["message"] for finding in findings for problem in finding["problems"]}


def test_an_importer_of_a_plug_in_reads_its_format(lab: Lab, tmp_path: Path) -> None:
    install(tmp_path / "site", declared())
    lab.write("notes/wishes.md", "Light mode\nIt is light\n")
    done = finish(lab.start("feature-create", "--from", "notes", env={"PYTHONPATH": str(tmp_path / "site")}))
    assert done.code == 0 and "1 criterion of wishes (notes/wishes.md)" in done.out, done.out


def test_a_guard_of_a_plug_in_ends_a_run(lab: Lab, tmp_path: Path) -> None:
    install(tmp_path / "site", declared())
    Path(lab.env["HOME"], "example-stop").touch()
    done = run(lab, tmp_path / "site", "--agent", "example")
    assert done.code == 3 and "the file example-stop exists" in done.out


def test_a_name_that_is_taken_is_an_error_that_names_both(lab: Lab, tmp_path: Path) -> None:
    install(tmp_path / "site", {**declared(), "aigon.judges": {"command": "aigon_example.judge"}})
    lab.config(judge={"backend": "command", "command": "./judge.sh"})
    lab.commit("judge")
    done = run(lab, tmp_path / "site", "--agent", "example")
    assert done.code == 2
    assert "aigon itself" in done.out and "aigon-example" in done.out


def test_a_broken_plug_in_is_named_and_breaks_only_what_uses_it(lab: Lab, tmp_path: Path) -> None:
    site = tmp_path / "site"
    install(site, {**declared(), "aigon.agents": {"example": "aigon_example.agent", "broken": "aigon_example.missing"}})
    done = run(lab, site, "--agent", "broken")
    assert done.code == 2
    assert "aigon-example" in done.out and "broken" in done.out
    assert run(lab, site, "--agent", "example").code == 0


def test_a_worktree_adds_no_plug_in(lab: Lab) -> None:
    install(lab.root, {"aigon.guards": {"example": "aigon_example.guard"}})
    Path(lab.env["HOME"], "example-stop").touch()
    lab.agent("echo yes > done.txt; echo 'answer = compute_answer(yes)' > answer.py")
    lab.spec("done <!-- verify: grep -q yes done.txt -->")
    lab.config(judge={"backend": "none"}, checks={"tests": {"command": "test -f done.txt", "parser": "text"}})
    lab.commit("a distribution in the work tree")
    done = finish(lab.start("feature-implement", "42", "--loop", "--json"))
    assert done.code == 0, done.out


@pytest.mark.parametrize("kind", KINDS)
def test_the_documentation_shows_the_example_as_it_is(kind: str) -> None:
    module = declared()[f"aigon.{kind}"]["example"].replace(".", "/")
    source = (HERE / f"{module}.py").read_text()
    blocks = re.findall(r"```python\n(.*?)```", DOCS.read_text(), re.DOTALL)
    assert source in blocks
    assert f"`aigon.{kind}`" in DOCS.read_text()
