"""What a person asked of `feature-done`, and what came of it."""

from dataclasses import dataclass
from typing import Literal

from aigon.spec.features import Feature

How = Literal["merge", "squash", "rebase"]


@dataclass(frozen=True, slots=True)
class Request:
    """`wanted` and `agent` as typed ("" where none was named); `adopt` are `AGENT:PATH`; `into` the branch to merge
    into, "" for where the feature began; without `verify` the person's hooks that may refuse are skipped.
    """

    wanted: str
    agent: str = ""
    into: str = ""
    how: How = "merge"
    adopt: tuple[str, ...] = ()
    pr: bool = False
    keep_worktrees: bool = False
    force: bool = False
    verify: bool = True


@dataclass(frozen=True, slots=True)
class Left:
    """What became of a candidate's worktree and branch. `ref` keeps its last commit; `why` says what was left alone.

    `removed` holds too if somebody had removed them before; `gone` names what this merge removed.
    """

    label: str
    branch: str
    ref: str = ""
    worktree: str = ""
    removed: bool = False
    why: str = ""
    gone: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Done:
    """A feature that is merged, or (`url`) waits for it on the forge.

    `proof` says what the merge rests on; `adopted` are paths with whose they were; `notes` what a person should know.
    """

    feature: Feature
    target: str
    commit: str
    branch: str
    label: str = ""
    how: How = "merge"
    proof: str = ""
    adopted: tuple[str, ...] = ()
    winner: Left | None = None
    losers: tuple[Left, ...] = ()
    url: str = ""
    notes: tuple[str, ...] = ()
