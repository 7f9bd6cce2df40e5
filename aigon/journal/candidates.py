"""The worktrees that aigon made in a repository, as its own record has them: one per agent and feature."""

from collections.abc import Iterator
from pathlib import Path

from aigon.journal.records import CANDIDATE, Records, records_of
from aigon.model.candidates import Candidate


def every(home: Path | None) -> tuple[Candidate, ...]:
    """All of a repository, in the order of their slots; none where aigon has no folder for it."""
    found = sorted(_each(home), key=lambda each: each.slot) if home else []
    return tuple(found)


def of_feature(home: Path | None, name: str) -> tuple[Candidate, ...]:
    """Those of the feature that people call `name`."""
    return tuple(each for each in every(home) if each.feature == name)


def at(home: Path | None, root: Path) -> Candidate | None:
    """The one whose worktree is at `root`."""
    return next((each for each in every(home) if Path(each.path) == root), None)


def records(home: Path, candidate: Candidate) -> Records:
    """The records of a candidate."""
    return records_of(home, candidate.feature, candidate.label)


def _each(home: Path) -> Iterator[Candidate]:
    for file in home.glob(f"features/*/{CANDIDATE}"):
        if candidate := Records(file.parent).candidate():
            yield candidate
