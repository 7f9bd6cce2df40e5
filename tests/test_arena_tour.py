"""The tour in docs/arena.md, from `aigon init` to a merged winner, is a transcript too.

`AIGON_UPDATE_TRANSCRIPTS=1 pytest -m slow tests/test_arena_tour.py` writes it anew after a change that is meant.
"""

import os
from pathlib import Path

import pytest

from tests import transcript
from tests.lab import scrubbed

PAGE = Path(__file__).parents[1] / "docs" / "arena.md"
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


@pytest.mark.slow
def test_the_arena_in_the_docs_is_what_really_happens(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.invalid\n")
    person = scrubbed(home)
    page = PAGE.read_text(encoding="utf-8")
    section = transcript.section(page, TOUR)
    (sample,) = transcript.scripts(section)
    transcript.run([transcript.Step(sample, "")], tmp_path, person)
    tour = transcript.steps(section)
    happened = [
        transcript.Step(step.command, step.output.replace(str(tmp_path), "/home/ada"))
        for step in transcript.run(tour, tmp_path / "greeter", person)
    ]
    if os.environ.get("AIGON_UPDATE_TRANSCRIPTS"):
        PAGE.write_text(page.replace(section, transcript.rewritten(section, happened)), encoding="utf-8")
        return
    for told, real in zip(tour, happened, strict=True):
        assert transcript.normalised(str(told)) == transcript.normalised(str(real))


def test_the_arenas_tour_goes_the_whole_way() -> None:
    tour = transcript.steps(transcript.section(PAGE.read_text(encoding="utf-8"), TOUR))
    verbs = [step.command.split()[1] for step in tour if step.command.startswith("aigon ")]
    assert list(dict.fromkeys(verbs)) == list(WAY)
