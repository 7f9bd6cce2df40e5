"""Ports and names that a worktree has to itself, so that what runs in one is in nobody's way."""

import hashlib
import re
from pathlib import Path

from aigon.config.models import Config
from aigon.errors import AigonError, usage
from aigon.files.home import known_home
from aigon.git.main_checkout import around
from aigon.model.candidates import Candidate

LONGEST_NAME = 63
"""Characters of a project name that Docker Compose takes: it becomes a part of host names."""
LAST_PORT = 65_535


def environment(candidate: Candidate, config: Config) -> dict[str, str]:
    """Ports and names of the candidate's own, for whatever runs in its worktree.

    Raises AigonError (exit 2) where no ports are left for its slot.
    """
    first = config.worktree.port_base + candidate.slot * config.worktree.ports
    if first + config.worktree.ports - 1 > LAST_PORT:
        raise usage(
            f"There are no ports left for worktree {candidate.slot}: they would begin at {first}",
            where="worktree.portBase, worktree.ports",
            hint="Lower one of them, or remove worktrees that are not needed: aigon worktrees",
        )
    return {
        "AIGON_SLOT": str(candidate.slot),
        "AIGON_PORT_BASE": str(first),
        "COMPOSE_PROJECT_NAME": _project(candidate),
    }


def _project(candidate: Candidate) -> str:
    """A name that Compose takes and that no other candidate has, of another repository of the same name either."""
    repository, own = _repository(Path(candidate.path))
    end = f"-{candidate.feature}-{candidate.label}-{own}".lower()
    end = re.sub(r"[^a-z0-9_-]", "-", end)
    name = re.sub(r"[^a-z0-9_-]+", "-", repository.lower()).strip("-_") or "aigon"
    return f"{name[: LONGEST_NAME - len(end)]}{end}"


def _repository(path: Path) -> tuple[str, str]:
    """A repository's name, and what tells it from others of that name."""
    try:
        home = known_home(around(path).common_dir)
    except (AigonError, OSError):
        home = None
    id_ = home.name if home else f"{path.parent.name}-{hashlib.sha256(str(path.parent).encode()).hexdigest()}"
    name, _, own = id_.rpartition("-")
    return name, own[:6]
