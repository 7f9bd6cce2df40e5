"""The last section of docs/specs.md is a transcript: it is run here, and what comes back is what the page shows.

`AIGON_UPDATE_TRANSCRIPTS=1 pytest tests/test_specs_page.py` writes it anew after a change that is meant.
"""

import os
from pathlib import Path

from tests import transcript
from tests.lab import scrubbed

PAGE = Path(__file__).parents[1] / "docs" / "specs.md"
HEADING = "Import, check and draft, step by step"


def test_the_steps_of_the_page_are_what_really_happens(tmp_path: Path) -> None:
    home, project = tmp_path / "home", tmp_path / "project"
    home.mkdir()
    project.mkdir()
    (home / ".gitconfig").write_text("[user]\n\tname = Ada\n\temail = ada@example.invalid\n")
    page = PAGE.read_text(encoding="utf-8")
    section = transcript.section(page, HEADING)
    told, happened = transcript.steps(section), []
    for part in section.split("```sh\n")[1:]:
        script, rest = part.split("```\n", 1)
        transcript.run([transcript.Step(script, "")], project, scrubbed(home))
        happened += transcript.run(transcript.steps(rest), project, scrubbed(home))
    if os.environ.get("AIGON_UPDATE_TRANSCRIPTS"):
        PAGE.write_text(page.replace(section, transcript.rewritten(section, happened)), encoding="utf-8")
    else:
        for step, real in zip(told, happened, strict=True):
            assert transcript.normalised(str(step)) == transcript.normalised(str(real))
