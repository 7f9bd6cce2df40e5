"""Whether a branch is proven: by aigon's own journal, on exactly the commit that the branch has."""

from dataclasses import dataclass

from aigon.errors import AigonError
from aigon.git.person import Checkout
from aigon.journal.events import Event, RunFinished
from aigon.journal.records import Records
from aigon.journal.state import State, replay
from aigon.model.outcomes import Met, NeedsHuman, describe_outcome
from aigon.spec.features import ROOT, parse_feature_path


@dataclass(frozen=True, slots=True)
class Standing:
    """How a branch stands: its `tip`, the commit that the last run `ended` on, whether that is proven, else `why` not.

    `changed`: the run was, but the branch has other commits since. `nothing_built`: every criterion passed at the base.
    """

    tip: str
    ended: str
    proven: bool
    why: str = ""
    changed: bool = False
    nothing_built: bool = False


def standing(main: Checkout, records: Records, branch: str) -> Standing:
    """By the journal: the state file lies where an agent can write it. A damaged journal proves nothing."""
    tip = main.commit_of(f"refs/heads/{branch}") or ""
    try:
        events = records.events() if records.journal.exists() else []
    except AigonError as error:
        return Standing(tip, "", proven=False, why=error.what)
    state, ended = replay(events), _last_commit(events)
    if not tip:
        return Standing(tip, ended, proven=False, why="its branch is gone")
    if not isinstance(state.outcome, Met):
        empty = isinstance(state.outcome, NeedsHuman) and state.outcome.nothing_built
        return Standing(tip, ended, proven=False, why=_words(state), nothing_built=empty)
    if tip == ended or _only_the_spec(main, ended, tip):
        return Standing(tip, ended, proven=True)
    return Standing(tip, ended, proven=False, why="it has changed since it was proven", changed=True)


def _words(state: State) -> str:
    if state.outcome:
        return describe_outcome(state.outcome)
    return "its last run has not ended" if state.started else "it has not run"


def _last_commit(events: list[Event]) -> str:
    """The commit that the last outcome speaks of."""
    return next((event.commit for event in reversed(events) if isinstance(event, RunFinished)), "")


def _only_the_spec(main: Checkout, proven: str, tip: str) -> bool:
    """Whether `tip` is the commit by which aigon moves a spec to done, byte for byte, and nothing else."""
    if not proven or main.ask("rev-list", "--parents", "-1", tip) != f"{tip} {proven}":
        return False
    rows = [
        row.split() for row in (main.ask("diff-tree", "-r", "--raw", "--no-renames", proven, tip) or "").splitlines()
    ]
    if len(rows) != 2 or {row[4] for row in rows} != {"D", "A"}:
        return False
    gone, come = sorted(rows, key=lambda row: row[4], reverse=True)
    old, new = parse_feature_path(gone[5]), parse_feature_path(come[5])
    same = (gone[0].lstrip(":"), gone[2]) == (come[1], come[3])
    return bool(same and old and new and gone[5].startswith(f"{ROOT}/") and come[5] == old.at("done"))
