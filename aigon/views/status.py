"""Where features stand, read from what their runs left. Costs the loop nothing."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from aigon.core.errors import environment
from aigon.core.features import Feature
from aigon.ports.loops import alive

NEWEST = 1
"""The state schema this version reads."""

SHOWN = ("status", "branch", "iteration", "criteria_met", "criteria_total", "checks", "criteria")
"""Keys without which a state says nothing."""


@dataclass(frozen=True, slots=True)
class Row:
    """A feature and the state of its last run; `state` is None before the first."""

    feature: Feature
    title: str
    state: dict[str, Any] | None
    running: bool


def read(root: Path, feature: Feature, title: str, home: Path | None) -> Row:
    """A feature's row; `home` is aigon's folder for the repository, where there is one.

    Raises AigonError (exit 7) for a state that cannot be read or is from a newer version.
    """
    path = root / feature.state_file()
    if not path.exists():
        return Row(feature, title, None, False)
    try:
        state = json.loads(path.read_bytes())
        newer = state["schema_version"] > NEWEST
        _ = [state[key] for key in SHOWN] if not newer else []
    except (ValueError, KeyError, TypeError) as error:
        hint = "It is a projection of the journal: `--resume` writes it anew"
        raise environment(f"The state file cannot be read ({error})", where=str(path), hint=hint) from None
    if newer:
        raise environment("The state file is from a newer aigon", where=str(path), hint="Upgrade aigon")
    return Row(feature, title, state, alive(state, home))


def document(rows: Sequence[Row]) -> dict[str, object]:
    """All rows as data."""
    return {
        "features": [
            {
                "id": row.feature.id or None,
                "slug": row.feature.slug,
                "title": row.title,
                "stage": row.feature.stage,
                "spec": row.feature.path,
                "running": row.running,
                "state": row.state,
            }
            for row in rows
        ]
    }


def text(rows: Sequence[Row], *, detailed: bool) -> str:
    """A line per feature; for a single one its criteria and checks too."""
    if not rows:
        return "There are no features yet. Write one: aigon feature-create NAME"
    lines = [line for row in rows for line in (_line(row), *(_details(row) if detailed else ()))]
    return "\n".join(lines)


def _line(row: Row) -> str:
    name = f"{row.feature.id or '-':>4}  {row.feature.stage:<13} {row.title}"
    return f"{name}  [{_standing(row)}]"


def _standing(row: Row) -> str:
    state = row.state
    if state is None:
        return "not started"
    status = state["status"]
    if status == "running" and not row.running:
        status = f"broken off; aigon feature-implement {row.feature.name_for_people} --resume"
    return f"{status}, {state['criteria_met']}/{state['criteria_total']} criteria, iteration {state['iteration']}"


def _details(row: Row) -> list[str]:
    if row.state is None:
        return [f"      spec: {row.feature.path}"]
    state = row.state
    lines = [f"      spec: {row.feature.path}", f"      branch: {state['branch']}", f"      log: {row.feature.log()}"]
    lines += [f"      {state['stop_reason']}"] if state.get("stop_reason") else []
    lines += [f"      check {c['name']}: {c['status']} ({c['summary']})" for c in state["checks"]]
    return lines + [_criterion(c) for c in state["criteria"]]


def _criterion(criterion: dict[str, Any]) -> str:
    box = "x" if criterion["verdict"] == "met" else " "
    why = criterion["reason"] or criterion["evidence"]
    return f"      [{box}] {criterion['number']} {criterion['verdict']}{f': {why}' if why else ''}"
