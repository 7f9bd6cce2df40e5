"""Where features stand, read from what their runs left, as data; the words are `status_text`. No loop notices."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aigon.errors import environment
from aigon.journal.state_document import NewerState, parse_state
from aigon.model.candidates import Candidate, format_run_command
from aigon.process.running import is_loop_alive
from aigon.spec.features import Feature

SHOWN = ("status", "branch", "iteration", "criteria_met", "criteria_total", "checks", "criteria")
"""Keys without which a state says nothing."""

State = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Standing:
    """A run as its state file tells it: `state` is None before the first, `running` whether its process is there."""

    state: State | None
    running: bool

    @property
    def status(self) -> str:
        """`not_started`, `running`, `broken_off` or how the last run ended."""
        if self.state is None:
            return "not_started"
        status = str(self.state["status"])
        return "broken_off" if status == "running" and not self.running else status

    @property
    def best(self) -> State | None:
        """The best checkpoint, where the branch does not stand there."""
        found = self.state.get("best") if self.state else None
        return found if isinstance(found, dict) and not found.get("latest", True) else None


@dataclass(frozen=True, slots=True)
class Lane:
    """An agent that has a worktree of its own, and how far it is; `there` says whether that folder is.

    `done`: the feature is merged, and its branch perhaps gone.
    """

    candidate: Candidate
    standing: Standing
    there: bool
    done: bool = False

    @property
    def next_command(self) -> str:
        """What a person types to let it go on; "" while it works, and where everything is proven or merged."""
        who, status = self.candidate, self.standing.status
        if self.done or status in ("running", "met"):
            return ""
        if status == "not_started":
            return f"aigon feature-implement {who.feature} --loop --worktree --agent {who.agent}"
        return format_run_command(who.feature, who.label)


@dataclass(frozen=True, slots=True)
class Row:
    """A feature, its run in the checkout itself, and the agents that have worktrees for it."""

    feature: Feature
    title: str
    standing: Standing
    lanes: tuple[Lane, ...] = ()


def read(
    root: Path, feature: Feature, title: str, home: Path | None, candidates: Sequence[Candidate] = (), main: str = ""
) -> Row:
    """A feature's row; `home` is aigon's folder for the repository, where there is one.

    `candidates` are those of the feature, whose state is in the `main` checkout. Raises AigonError (exit 7) for a state
    that cannot be read or is from a newer version.
    """
    there, done = Path(main) if main else root, feature.stage == "done"
    lanes = [
        Lane(each, _standing(there / feature.state_file(each.label), home), Path(each.path).is_dir(), done)
        for each in candidates
    ]
    return Row(feature, title, _standing(root / feature.state_file(), home), tuple(lanes))


def _standing(path: Path, home: Path | None) -> Standing:
    if not path.exists():
        return Standing(None, False)
    try:
        state = parse_state(path.read_bytes())
        _ = [state[key] for key in SHOWN]
    except NewerState:
        raise environment("The state file is from a newer aigon", where=str(path), hint="Upgrade aigon") from None
    except (OSError, ValueError, KeyError) as error:
        hint = "aigon doctor --repair   # keeps it, and makes it anew from the journal"
        raise environment(f"The state file cannot be read ({error})", where=str(path), hint=hint) from None
    return Standing(state, is_loop_alive(state, home))


def document(rows: Sequence[Row]) -> dict[str, object]:
    """All rows as data. `best` is None where the branch stands at its best checkpoint."""
    return {
        "features": [
            {
                "id": row.feature.id or None,
                "slug": row.feature.slug,
                "title": row.title,
                "stage": row.feature.stage,
                "spec": row.feature.path,
                "running": row.standing.running,
                "state": row.standing.state,
                "best": row.standing.best,
                "candidates": [_lane(lane) for lane in row.lanes],
            }
            for row in rows
        ]
    }


def _lane(lane: Lane) -> dict[str, object]:
    who, standing = lane.candidate, lane.standing
    return {
        "label": who.label,
        "agent": who.agent,
        "mode": who.mode,
        "branch": who.branch,
        "worktree": who.path,
        "worktree_there": lane.there,
        "status": standing.status,
        "running": standing.running,
        "best": standing.best,
        "next": lane.next_command or None,
        "state": standing.state,
    }
