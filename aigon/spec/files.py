"""Find and read feature specs in a checkout."""

from pathlib import Path
from typing import TYPE_CHECKING

from aigon.errors import AigonError, usage
from aigon.files import bounded
from aigon.model.criteria import Spec
from aigon.spec import features
from aigon.spec.document import LARGEST, TOO_MUCH, known_failures, parse, require_criteria
from aigon.spec.features import Feature, feature_at

if TYPE_CHECKING:  # what reads the configuration takes longer to import than a list of features to print
    from aigon.config.loading import ReadFile

NOT_STAGES = ("logs", "evaluations")
"""Folders beside the stages whose files are named after features too."""


def spec_paths(root: Path) -> list[str]:
    """Every spec of the project, relative to its root."""
    found = root.glob(f"{features.ROOT}/*/feature-*.md")
    return sorted(path.relative_to(root).as_posix() for path in found if path.parent.name not in NOT_STAGES)


def locate(root: Path, wanted: str) -> Feature:
    """The feature meant by an ID, a slug or a path. Raises AigonError (exit 2) with what is near."""
    if wanted.endswith(".md") and (found := locate_path(root, wanted)):
        return found
    return features.find(spec_paths(root), wanted)


def refuse_over(feature: Feature) -> None:
    """Raise AigonError (exit 2) for a feature that is done or cancelled: no run starts on it until it is reopened."""
    if feature.stage in ("done", "cancelled"):
        name = feature.name_for_people
        hint = f"aigon reopen {name} takes it up again; aigon feature-create begins another"
        raise usage(f"Feature {name} is {feature.stage} already", where=feature.path, hint=hint)


def name_of(root: Path, wanted: str, branch: str | None) -> str:
    """What the records of a feature are called: by its branch where it has one, since its spec may be anywhere."""
    feature = feature_at(f"/{branch}.md") if branch else None
    return (feature or locate(root, wanted)).name_for_people


def locate_path(root: Path, wanted: str) -> Feature | None:
    """Return the feature whose spec is at a path, anywhere in the repository and under any name."""
    for start in (Path.cwd(), root):
        path = (start / wanted).resolve()
        if path.is_file() and path.is_relative_to(root):
            relative = path.relative_to(root).as_posix()
            return feature_of(relative)
    return None


def feature_of(path: str) -> Feature:
    """The feature whose spec is at `path`, under whatever name."""
    return feature_at(path) or Feature("", features.slug(path.rpartition("/")[2].removesuffix(".md")), path, "")


def read(files: "ReadFile", feature: Feature) -> Spec:
    """The spec as `files` have it, with at least one criterion. Raises AigonError (exit 2) otherwise."""
    raw = files(feature.path)
    if raw is None:
        raise usage("The spec is not there", where=feature.path, hint="git status tells where it went")
    return parsed(raw, feature.path)


def read_file(path: Path, name: str) -> Spec:
    """The spec in a file, called `name` in messages. Raises AigonError (exit 2)."""
    try:
        raw = bounded.content(path, LARGEST, "The spec", hint=TOO_MUCH)
    except OSError as error:
        raise usage(f"The spec cannot be read: {error.strerror}", where=name) from error
    return parsed(raw, name)


def parsed(raw: bytes, name: str) -> Spec:
    """The spec in these bytes, with at least one criterion. Raises AigonError (exit 2), naming the file."""
    try:
        spec = parse(raw)
        require_criteria(spec, name)
        known_failures(spec)  # malformed, it is said before anything is changed
    except AigonError as error:
        if name not in error.where:  # the parser sees bytes and names a line only
            error.where = f"{name}: {error.where}" if error.where else name
        raise
    return spec
