"""What the last comparison of a feature proposed: kept with the commits that it spoke of, in aigon's own folder."""

import json
from collections.abc import Mapping
from pathlib import Path

from aigon.compare.rules.evaluation import Evaluation
from aigon.files.atomic import write_atomic
from aigon.journal.account import Recommendation


def remember(home: Path, found: Evaluation) -> None:
    """Keep the proposal, with the commit that each candidate was at."""
    file = _file(home, found.subject.feature)
    file.parent.mkdir(parents=True, exist_ok=True)
    made = found.proposal
    document = {
        "kind": made.kind,
        "label": made.winner,
        "reasons": made.reasons,
        "so_far": made.so_far,
        "tips": {entry.label: entry.tip for entry in found.entries},
    }
    write_atomic(file, json.dumps(document).encode() + b"\n")


def remembered(home: Path | None, feature: str, tips: Mapping[str, str]) -> Recommendation | None:
    """The proposal, where the candidates are the same and stand where they stood; None otherwise."""
    if home is None:
        return None
    try:
        document = json.loads(_file(home, feature).read_bytes())
        if document["tips"] != dict(tips) or document["so_far"]:
            return None
        return Recommendation(document["kind"], str(document["label"]), tuple(map(str, document["reasons"])))
    except (OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def _file(home: Path, feature: str) -> Path:
    return home / "evaluations" / f"{feature}.json"
