"""Find and read feature specs in a checkout."""

from pathlib import Path

from aigon.core import features
from aigon.core.errors import AigonError, usage
from aigon.core.features import Feature, feature_at
from aigon.core.model import Spec
from aigon.core.spec import known_failures, parse, require_criteria

NOT_STAGES = ("logs", "evaluations")
"""Folders beside the stages whose files are named after features too."""


def spec_paths(root: Path) -> list[str]:
    """Every spec of the project, relative to its root."""
    found = root.glob(f"{features.ROOT}/*/feature-*.md")
    return sorted(path.relative_to(root).as_posix() for path in found if path.parent.name not in NOT_STAGES)


def locate(root: Path, wanted: str) -> Feature:
    """The feature meant by an ID, a slug or a path. Raises AigonError (exit 2) with what is near."""
    if wanted.endswith(".md") and (found := _by_path(root, wanted)):
        return found
    return features.find(spec_paths(root), wanted)


def _by_path(root: Path, wanted: str) -> Feature | None:
    """A spec given by its path may stand anywhere in the repository, under any name."""
    for start in (Path.cwd(), root):
        path = (start / wanted).resolve()
        if path.is_file() and path.is_relative_to(root):
            relative = path.relative_to(root).as_posix()
            return feature_at(relative) or Feature("", features.slug(path.stem), relative, "")
    return None


def read(root: Path, feature: Feature) -> Spec:
    """The spec as it stands, with at least one criterion. Raises AigonError (exit 2) otherwise."""
    return read_file(root / feature.path, feature.path)


def read_file(path: Path, name: str) -> Spec:
    """The spec in a file, called `name` in messages. Raises AigonError (exit 2)."""
    try:
        spec = parse(path.read_bytes())
        require_criteria(spec, name)
        known_failures(spec)
    except OSError as error:
        raise usage(f"The spec cannot be read: {error.strerror}", where=name) from error
    except AigonError as error:
        if name not in error.where:  # the parser sees bytes and names a line only
            error.where = f"{name}: {error.where}" if error.where else name
        raise
    return spec
