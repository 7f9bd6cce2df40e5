"""What the tests of worktrees have in common: a candidate of feature 42, provided for as a run would."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from aigon.config.loading import parse_configuration
from aigon.config.models import Config
from aigon.errors import AigonError, Exit
from aigon.git.person import LOCAL_VARIABLES, Checkout
from aigon.model.agents import Candidate
from aigon.worktrees.worktree import provide_worktree
from tests.lab import Lab

CLAUDE = Candidate("42", "dark-mode", "cc", "claude", "worktree", 1, "feature-42-cc-dark-mode", "")


def scrubbed_here(lab: Lab, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment of the laboratory, here in this process."""
    for name in (*LOCAL_VARIABLES, *(each for each in os.environ if each.startswith("XDG_"))):
        monkeypatch.delenv(name, raising=False)
    for name, value in lab.env.items():
        monkeypatch.setenv(name, value)


def config(**worktree: Any) -> Config:
    """A configuration with this section on worktrees."""
    import json

    return parse_configuration([("test", json.dumps({"worktree": worktree}).encode())])


@dataclass
class Case:
    """A repository, and what people were told so far."""

    lab: Lab
    root: Path
    said: list[str] = field(default_factory=list)

    @contextmanager
    def main(self) -> Iterator[Checkout]:
        """The main checkout."""
        with Checkout.open(self.root) as checkout:
            yield checkout

    def provide(self, candidate: Candidate = CLAUDE, settings: Config | None = None, base: str = "HEAD") -> Candidate:
        """The candidate with its worktree."""
        with self.main() as main:
            return provide_worktree(main, candidate, settings or config(), base, self.said.append)

    def refused(
        self, candidate: Candidate = CLAUDE, settings: Config | None = None, code: Exit = Exit.ENVIRONMENT
    ) -> AigonError:
        """What providing for the candidate is refused with."""
        with pytest.raises(AigonError) as caught:
            self.provide(candidate, settings)
        assert caught.value.code == code, caught.value
        return caught.value

    def moved_to(self, place: Path) -> "Case":
        """The same after the main checkout was moved."""
        self.root.rename(place)
        return Case(self.lab, place)


def other(candidate: Candidate, label: str, slot: int) -> Candidate:
    """Another candidate of the same feature."""
    return replace(candidate, label=label, slot=slot, branch=f"feature-42-{label}-dark-mode", path="", ready="")
