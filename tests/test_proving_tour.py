"""The run in docs/proving.md, from sentences to tests that decide, is a transcript.

`AIGON_UPDATE_TRANSCRIPTS=1 pytest -m slow tests/test_proving_tour.py` writes it anew after a change that is meant.
"""

import os
from pathlib import Path

import pytest

from tests import transcript
from tests.lab import scrubbed

PAGE = Path(__file__).parents[1] / "docs" / "proving.md"
TOUR = "A run of it"


@pytest.mark.slow
def test_the_run_in_the_docs_is_what_really_happens(tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.invalid\n")
    person, page = scrubbed(home), PAGE.read_text(encoding="utf-8")
    section = transcript.section(page, TOUR)
    (sample,) = transcript.scripts(section)
    transcript.run([transcript.Step(sample, "")], tmp_path, person)
    tour = transcript.steps(section)
    happened = transcript.run(tour, tmp_path / "calculator", person)
    if os.environ.get("AIGON_UPDATE_TRANSCRIPTS"):
        PAGE.write_text(page.replace(section, transcript.rewritten(section, happened)), encoding="utf-8")
        return
    for told, real in zip(tour, happened, strict=True):
        assert transcript.normalised(str(told)) == transcript.normalised(str(real))
