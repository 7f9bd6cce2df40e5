"""Whether a loop works in a candidate's worktree."""

from pathlib import Path

from aigon.core.candidate import Candidate
from aigon.ports.git import Checkout
from aigon.ports.home import known_home
from aigon.ports.loops import loop_lock
from aigon.ports.store import is_held


def feature_lock(home: Path, candidate: Candidate) -> Path:
    """The lock that a candidate's loop holds."""
    return loop_lock(home, candidate.feature, candidate.label)


def is_worked_in(main: Checkout, candidate: Candidate) -> bool:
    """Whether somebody holds that lock."""
    home = known_home(main.common_dir)
    return bool(home and is_held(feature_lock(home, candidate)))
