"""The tour in docs/getting-started.md is a transcript: it is run here, and what comes back is what the page shows.

README.md shows excerpts of the same run. `AIGON_UPDATE_TRANSCRIPTS=1 pytest tests/test_tour.py` writes the page anew
after a change that is meant; the excerpts are changed by hand.
"""

import os
import re
from pathlib import Path

import pytest

from aigon.cli import VERBS
from tests import transcript
from tests.lab import scrubbed

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
PAGE = ROOT / "docs" / "getting-started.md"
SAMPLE, TOUR = "A small project", "From a spec to a merge"
STEPS = "Your repository, in five steps"
ROOMS = ("base-tests", "clean", "control", "worth-1", "worth-2")
"""What the proof of the tour runs, each once."""
pytestmark = pytest.mark.long
WAY = (
    "init",
    "feature-create",
    "feature-implement",
    "feature-status",
    "feature-validate",
    "feature-done",
)


@pytest.fixture
def person(tmp_path: Path) -> dict[str, str]:
    """The environment of somebody whom git knows."""
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.invalid\n")
    return scrubbed(home)


def test_the_tour_is_what_really_happens_and_the_readme_shows_parts_of_it(
    tmp_path: Path, person: dict[str, str]
) -> None:
    page = PAGE.read_text(encoding="utf-8")
    (sample,) = transcript.scripts(transcript.section(page, SAMPLE))
    transcript.run([transcript.Step(sample, "")], tmp_path, person)
    section = transcript.section(page, TOUR)
    tour = transcript.steps(section)
    happened = transcript.run(tour, tmp_path / "greeter", person)
    rooms = sorted(path.name for path in (tmp_path / "greeter").glob(".aigon/runs/*/002/proof/*/"))
    assert tuple(name for name in rooms if "clock" not in name) == ROOMS, "a slow machine may look at clocks"
    if os.environ.get("AIGON_UPDATE_TRANSCRIPTS"):
        PAGE.write_text(page.replace(section, transcript.rewritten(section, happened)), encoding="utf-8")
    else:
        for told, real in zip(tour, happened, strict=True):
            assert transcript.normalised(str(told)) == transcript.normalised(str(real))
    for told in transcript.steps(transcript.section(README, STEPS)):
        (real,) = [step for step in happened if step.command.startswith(told.command)]
        assert transcript.missing_lines(told.output, real.output) == []


def test_the_tour_goes_the_whole_way_of_a_feature_without_a_git_command_by_hand() -> None:
    tour = transcript.steps(transcript.section(PAGE.read_text(encoding="utf-8"), TOUR))
    verbs = [step.command.split()[1] for step in tour if step.command.startswith("aigon ")]
    assert list(dict.fromkeys(verbs)) == list(WAY)
    assert set(verbs) <= set(VERBS)
    assert not [step.command for step in tour if "git " in step.command.replace(".gitignore", "")]


def test_the_readme_has_five_steps_and_their_criteria_are_those_of_the_tour() -> None:
    section = transcript.section(README, STEPS)
    assert re.findall(r"(?m)^\*\*(\d)\.", section) == list("12345")
    (criteria,) = re.findall(r"(?ms)^```markdown\n(.*?)^```$", section)
    written = [step.command for step in transcript.steps(PAGE.read_text(encoding="utf-8"))]
    assert len([command for command in written if criteria in command]) == 1


def test_a_transcript_that_says_something_else_is_noticed() -> None:
    told = "11:32:47 ✅ Tests: 20/20 passed (1.0s)\n11:32:47 iteration commit a9ad0b9 on main\n"
    same = "09:00:00 ✅ Tests: 20/20 passed (23.4s)\n09:00:01 iteration commit 6e98230 on main\n"
    other = "09:00:00 ✅ Tests: 19/20 passed (23.4s)\n09:00:01 iteration commit 6e98230 on main\n"
    assert transcript.normalised(told) == transcript.normalised(same)
    assert transcript.normalised(told) != transcript.normalised(other)
    assert transcript.normalised(told) != transcript.normalised(told.splitlines(keepends=True)[0])


def test_a_transcript_is_read_and_written_back_byte_for_byte() -> None:
    text = "before\n\n```console\n$ cat <<'END'\n> one\n>\n> two\n> END\none\n\ntwo\n$ true\n```\n\nafter\n"
    found = transcript.steps(text)
    assert [step.command for step in found] == ["cat <<'END'\none\n\ntwo\nEND", "true"]
    assert found[0].output == "one\n\ntwo\n"
    assert transcript.rewritten(text, found) == text
