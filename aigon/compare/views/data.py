"""An evaluation as data, for scripts. A value that is not known is null."""

from dataclasses import asdict

from aigon.compare.rules.changed import Changed
from aigon.compare.rules.entry import Entry
from aigon.compare.rules.evaluation import Evaluation
from aigon.compare.rules.gates import gates
from aigon.compare.rules.measures import MEASURES
from aigon.compare.rules.size import Size
from aigon.compare.views.rows import standing
from aigon.compare.views.words import notes


def document(found: Evaluation, path: str, commit: str, why: str) -> dict[str, object]:
    """All of it; `path` and `commit` are where it was kept, `why` why it was not."""
    return {
        "id": found.subject.feature,
        "at": found.at or None,
        "base": list(found.bases),
        "expected_paths": list(found.subject.expected),
        "proposal": asdict(found.proposal),
        "order": {
            "keys": ["gates", *(measure.key for measure in MEASURES), "judge"],
            "places": [list(labels) for labels in found.order.places],
            "falls": [asdict(fall) for fall in found.order.falls],
        },
        "candidates": [_candidate(entry, found) for entry in found.entries],
        "dominance": [asdict(pair) for pair in found.dominance],
        "cross_checks": [asdict(check) for check in found.cross_checks],
        "preferences": [asdict(each) for each in found.preferences],
        "not_known": list(notes(found)),
        "path": path or None,
        "commit": commit or None,
        "not_written": why or None,
    }


def _candidate(entry: Entry, found: Evaluation) -> dict[str, object]:
    said = next(each for each in found.strengths if each.label == entry.label)
    return {
        "label": entry.label,
        "agent": entry.agent,
        "branch": entry.branch,
        "tip": entry.tip or None,
        "looked": entry.looked or None,
        "status": standing(entry).replace(" ", "_"),
        "running": entry.running,
        "gates": {gate.key: {"result": gate.result, "why": gate.why} for gate in gates(entry)},
        "criteria": {"met": entry.proven, "total": entry.criteria},
        "iterations": entry.iterations,
        "seconds": None if entry.seconds is None else round(entry.seconds, 3),
        "cost": {"usd": entry.cost, "status": entry.cost_status, "at_least": entry.at_least},
        "tokens": asdict(entry.usage) if entry.usage else None,
        "tokens_unsaid": entry.silent,
        "change": _change(entry.changed) if entry.changed else None,
        "lint_delta": entry.delta("lint"),
        "types_delta": entry.delta("types"),
        "new_tests": asdict(entry.new_tests) if entry.new_tests else None,
        "concerns": [asdict(concern) for concern in entry.concerns],
        "regressed": None if entry.regressed is None else list(entry.regressed),
        "measures": {measure.key: measure.value(entry) for measure in MEASURES},
        "strengths": list(said.strengths),
        "weaknesses": list(said.weaknesses),
    }


def _change(changed: Changed) -> dict[str, object]:
    return {
        "files": list(changed.files),
        "source": _size(changed.source),
        "tests": _size(changed.tests),
        "other": _size(changed.other),
        "outside": None if changed.outside is None else list(changed.outside),
        "suppressions": changed.suppressions,
        "branching": changed.branching,
    }


def _size(size: Size | None) -> dict[str, int] | None:
    return asdict(size) if size else None
