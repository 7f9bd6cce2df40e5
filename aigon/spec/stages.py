"""Stages are folders: a feature moves by moving its spec."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from aigon.errors import usage
from aigon.spec.features import ROOT, Feature, Stage, feature_at


def to_stage(root: Path, feature: Feature, stage: Stage, id: str | None = None) -> tuple[Feature, list[str]]:
    """Move the spec to `stage`; the feature as it is then, and the paths that changed (none when it is there).

    A spec outside `docs/specs/features/` stays where its owner put it. Raises AigonError (exit 2) when another spec
    stands in the way.
    """
    if not feature.path.startswith(f"{ROOT}/") or (feature.stage == stage and id is None):
        return feature, []
    target = feature.at(stage, id)
    if (root / target).exists():
        raise usage("Another spec stands in the way", where=target, hint="Rename or remove one of the two")
    (root / target).parent.mkdir(parents=True, exist_ok=True)
    (root / feature.path).rename(root / target)
    moved = feature_at(target)
    assert moved is not None, "a feature's path parses back"
    return moved, [feature.path, target]


@contextmanager
def moved_to(root: Path, feature: Feature, stage: Stage, id: str | None = None) -> Iterator[tuple[Feature, list[str]]]:
    """Like `to_stage`; the spec moves back if something goes wrong in here."""
    moved, paths = to_stage(root, feature, stage, id)
    try:
        yield moved, paths
    except BaseException:
        if paths:
            (root / moved.path).rename(root / feature.path)
        raise
