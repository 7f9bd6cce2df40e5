"""The tour in docs/arena.md, from `aigon init` to a merged winner, is a transcript too.

`AIGON_UPDATE_TRANSCRIPTS=1 pytest -m slow tests/test_arena_tour.py` writes it anew after a change that is meant.
"""

import itertools
import os
import re
from pathlib import Path

import pytest

from tests import transcript
from tests.lab import scrubbed

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "arena.md"
TOUR = "From init to a merged winner"
WAY = (
    "init",
    "feature-create",
    "feature-setup",
    "arena",
    "feature-eval",
    "feature-done",
    "worktrees",
)


def follow(tour: list[transcript.Step], tmp_path: Path) -> list[transcript.Step]:
    """Run these steps in the sample project; what came back, as somebody at home in /home/ada sees it."""
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.invalid\n")
    person = scrubbed(home)
    (sample,) = transcript.scripts(transcript.section(PAGE.read_text(encoding="utf-8"), TOUR))
    transcript.run([transcript.Step(sample, "")], tmp_path, person)
    return [
        transcript.Step(step.command, step.output.replace(str(tmp_path), "/home/ada"))
        for step in transcript.run(tour, tmp_path / "greeter", person)
    ]


@pytest.mark.slow
def test_the_arena_in_the_docs_is_what_really_happens(tmp_path: Path) -> None:
    page = PAGE.read_text(encoding="utf-8")
    section = transcript.section(page, TOUR)
    tour = transcript.steps(section)
    happened = follow(tour, tmp_path)
    if os.environ.get("AIGON_UPDATE_TRANSCRIPTS"):
        PAGE.write_text(page.replace(section, transcript.rewritten(section, happened)), encoding="utf-8")
        return
    for told, real in zip(tour, happened, strict=True):
        assert transcript.normalised(str(told)) == transcript.normalised(str(real))


def test_all_that_comes_before_the_agents_is_what_really_happens(tmp_path: Path) -> None:
    tour = transcript.steps(transcript.section(PAGE.read_text(encoding="utf-8"), TOUR))
    before = list(itertools.takewhile(lambda step: not step.command.startswith("aigon arena"), tour))
    assert before[-1].command.startswith("aigon feature-setup")
    for told, real in zip(before, follow(before, tmp_path), strict=True):
        assert transcript.normalised(str(told)) == transcript.normalised(str(real))


def test_the_names_in_the_tables_are_those_that_aigon_prints() -> None:
    tour = transcript.steps(transcript.section(PAGE.read_text(encoding="utf-8"), TOUR))
    sources = "\0".join(path.read_text(encoding="utf-8") for path in (ROOT / "aigon").rglob("*.py"))
    shown = "".join(step.output for step in tour if step.command.startswith(("aigon arena", "aigon feature-eval")))
    rows = re.findall(r"(?m)^([A-Z][a-z']+(?: [a-z]+)*?)(?: {2,}| pass )", shown)
    headings = re.findall(r"(?m)^([A-Z][a-z]+(?: [a-z]+)*)(?: \(advisory\)|: .*)?$", shown)
    words = {*rows, *headings}
    assert len(words) > 20
    assert sorted(word for word in words if word not in sources) == []


def test_the_arenas_tour_goes_the_whole_way() -> None:
    tour = transcript.steps(transcript.section(PAGE.read_text(encoding="utf-8"), TOUR))
    verbs = [step.command.split()[1] for step in tour if step.command.startswith("aigon ")]
    assert list(dict.fromkeys(verbs)) == list(WAY)
