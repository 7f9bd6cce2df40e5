"""Find, read and move feature specs in a checkout."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from aigon.errors import AigonError, usage
from aigon.files import atomic
from aigon.spec import features
from aigon.spec.features import LARGEST, ROOT, TOO_MUCH, Feature, Stage, parse_feature_path, strip_prefix
from aigon.text.patterns import compile_re

if TYPE_CHECKING:  # what parses specs and the configuration takes longer to import than a list of features to print
    from aigon.config.loading import ReadFile
    from aigon.model.criteria import Spec


NOT_STAGES = ("logs", "evaluations")
"""Folders next to the stages whose files are named after features, too."""
_FIRST_LINE = compile_re(rb"#{1,6} +([^\s#\\\0][^#\\\0\t\r\n]*)(?:[\r\n]|\Z)")


def spec_paths(root: Path) -> list[str]:
    """Return the path of every spec of the project."""
    found = root.glob(f"{features.ROOT}/*/feature-*.md")
    return sorted(path.relative_to(root).as_posix() for path in found if path.parent.name not in NOT_STAGES)


def locate_feature(root: Path, wanted: str) -> Feature:
    """Return the feature named by an ID, a slug or a path. Raises AigonError (exit 2) with what is near."""
    if wanted.endswith(".md") and (found := locate_path(root, wanted)):
        return found
    return features.find_feature(spec_paths(root), wanted)


def refuse_closed(feature: Feature) -> None:
    """Raise AigonError (exit 2) for a feature that is done or cancelled, until it is reopened."""
    if feature.stage in ("done", "cancelled"):
        name = feature.name_for_people
        hint = f"aigon reopen {name} takes it up again; aigon feature-create begins another"
        raise usage(f"Feature {name} is {feature.stage} already", where=feature.path, hint=hint)


def resolve_name(root: Path, wanted: str, branch: str | None) -> str:
    """Return the name of a feature's records: by its branch if it has one, since its spec may be anywhere."""
    feature = parse_feature_path(f"/{branch}.md") if branch else None
    return (feature or locate_feature(root, wanted)).name_for_people


def locate_path(root: Path, wanted: str) -> Feature | None:
    """Return the feature whose spec is at a path, anywhere in the repository and under any name."""
    for start in (Path.cwd(), root):
        path = (start / wanted).resolve()
        if path.is_file() and path.is_relative_to(root):
            relative = path.relative_to(root).as_posix()
            return feature_for_path(relative)
    return None


def feature_for_path(path: str) -> Feature:
    """Return the feature whose spec is at `path`, under any name."""
    return parse_feature_path(path) or Feature(
        "", features.slugify(path.rpartition("/")[2].removesuffix(".md")), path, ""
    )


def read_spec(files: "ReadFile", feature: Feature, name: str = "") -> "Spec":
    """Return the spec as `files` have it, called `name` in messages.

    Raises AigonError (exit 2) if it is missing or has no criterion.
    """
    raw, name = files(feature.path), name or feature.path
    if raw is None:
        raise usage("The spec is missing", where=name, hint="git status shows where it went")
    return parse_runnable_spec(raw, name)


def read_spec_file(path: Path, name: str) -> "Spec":
    """Return the spec in a file, called `name` in messages. Raises AigonError (exit 2)."""
    try:
        raw = atomic.read_bounded(path, LARGEST, "The spec", hint=TOO_MUCH)
    except OSError as error:
        raise usage(f"The spec cannot be read: {error.strerror}", where=name) from error
    return parse_runnable_spec(raw, name)


def read_title(raw: bytes) -> str:
    """Return the title of the spec in `raw`. Raises as `parse_spec` does, unless the first line is a plain heading."""
    if first := _FIRST_LINE.match(raw):
        return strip_prefix(first[1].decode("utf-8", "replace"))
    from aigon.spec.document import parse_spec

    return parse_spec(raw).title


def parse_runnable_spec(raw: bytes, name: str) -> "Spec":
    """Return the spec in these bytes. Raises AigonError (exit 2), naming the file, if it has no criterion."""
    from aigon.spec.document import parse_spec, read_known_failures, require_criteria

    try:
        spec = parse_spec(raw)
        require_criteria(spec, name)
        read_known_failures(spec)  # malformed, it is said before anything is changed
    except AigonError as error:
        if name not in error.where:  # the parser sees bytes and names a line only
            error.where = f"{name}: {error.where}" if error.where else name
        raise
    return spec


def move_to_stage(root: Path, feature: Feature, stage: Stage, id: str | None = None) -> tuple[Feature, list[str]]:
    """Move the spec to `stage`; return the feature then, and the paths that changed.

    A spec outside `docs/specs/features/` stays where it is. Raises AigonError (exit 2) if another spec is in the way.
    """
    if not feature.path.startswith(f"{ROOT}/") or (feature.stage == stage and id is None):
        return feature, []
    target = feature.at(stage, id)
    if (root / target).exists():
        raise usage("Another spec is in the way", where=target, hint="Rename or remove one of the two")
    (root / target).parent.mkdir(parents=True, exist_ok=True)
    (root / feature.path).rename(root / target)
    moved = parse_feature_path(target)
    assert moved is not None, "a feature's path parses back"
    return moved, [feature.path, target]


@contextmanager
def moved_to_stage(
    root: Path, feature: Feature, stage: Stage, id: str | None = None
) -> Iterator[tuple[Feature, list[str]]]:
    """Move the spec to `stage`, and back if the block raises."""
    moved, paths = move_to_stage(root, feature, stage, id)
    try:
        yield moved, paths
    except BaseException:
        if paths:
            (root / moved.path).rename(root / feature.path)
        raise
