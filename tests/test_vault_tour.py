"""The night in a vault in docs/tasks.md is a transcript: it is run here, and what comes back is what the page shows.

`AIGON_UPDATE_TRANSCRIPTS=1 pytest -m slow tests/test_vault_tour.py` writes it anew after a change that is meant.
"""

import os
from pathlib import Path

import pytest

from tests import transcript
from tests.lab import scrubbed

PAGE = Path(__file__).parents[1] / "docs" / "tasks.md"


@pytest.mark.slow
def test_the_night_in_the_docs_is_what_really_happens(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.invalid\n")
    person = scrubbed(home)
    page = PAGE.read_text(encoding="utf-8")
    section = transcript.section(page, "A night in a vault")
    (sample,) = transcript.scripts(section)
    transcript.run([transcript.Step(sample, "")], tmp_path, person)
    told = transcript.steps(section)
    happened = [
        transcript.Step(step.command, step.output.replace(str(tmp_path), "/home/ada"))
        for step in transcript.run(told, tmp_path / "vault", person)
    ]
    if os.environ.get("AIGON_UPDATE_TRANSCRIPTS"):
        PAGE.write_text(page.replace(section, transcript.rewritten(section, happened)), encoding="utf-8")
        return
    for each, real in zip(told, happened, strict=True):
        assert transcript.normalised(str(each)) == transcript.normalised(str(real))
