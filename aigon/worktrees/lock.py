"""Whether a loop works in a candidate's worktree."""

from pathlib import Path

from aigon.files.home import known_home
from aigon.files.store import is_held
from aigon.git.person import Checkout
from aigon.model.candidates import Candidate
from aigon.process.loops import loop_lock


def feature_lock(home: Path, candidate: Candidate) -> Path:
    """The lock that a candidate's loop holds."""
    return loop_lock(home, candidate.feature, candidate.label)


def is_worked_in(main: Checkout, candidate: Candidate) -> bool:
    """Whether somebody holds that lock."""
    home = known_home(main.common_dir)
    return bool(home and is_held(feature_lock(home, candidate)))
