"""Find the spec of each feature, in the work tree or on the branch that it is worked on, and of those it depends on."""

import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct
from msgspec.structs import replace

from aigon.errors import AigonError, usage
from aigon.files import atomic
from aigon.files.home import find_home
from aigon.git import repository
from aigon.git.repository import read_checked_out_branch
from aigon.spec import features
from aigon.spec import files as specs
from aigon.spec.features import FOLDERS, LARGEST, ROOT, TOO_MUCH, Feature, choose_feature, is_named, parse_feature_path

if TYPE_CHECKING:
    from aigon.model.criteria import Spec, SpecSettings

UNDER_WAY = ("inbox", "backlog", "in-progress", "in-evaluation")
"""The stages that a feature goes through, in order. In any other stage no agent works on it."""


class SpecLocation(Struct, frozen=True):
    """A feature and where its spec is read: in the work tree at `root`, or on `branch`, which has it as `content`."""

    feature: Feature
    root: Path
    branch: str = ""
    content: bytes = b""

    def read(self) -> bytes:
        """Return the bytes of the spec. Raises AigonError (exit 2) if it is too large, OSError if it is not there."""
        if self.branch:
            return self.content
        return atomic.read_bounded(self.root / self.feature.path, LARGEST, "The spec", hint=TOO_MUCH)

    def files(self, path: str) -> bytes | None:
        """Return a file of the project: the spec from its branch, any other from the work tree."""
        if self.branch and path == self.feature.path:
            return self.content
        from aigon.config.loading import open_work_tree  # a board needs no configuration, which takes long to import

        return open_work_tree(self.root)(path)

    def parse(self) -> "Spec":
        """Return the spec, which has at least one criterion. Raises AigonError (exit 2) otherwise."""
        if self.branch:
            return specs.parse_runnable_spec(self.content, self.feature.path)
        return specs.read_spec_file(self.root / self.feature.path, self.feature.path)

    @property
    def is_merged(self) -> bool:
        """True if the feature is done where others build on it, and not only on its own branch or in a pull request."""
        return self.feature.stage == "done" and not _is_branch_of(self.branch, self.feature)

    @property
    def where(self) -> str:
        """The place of the spec, for people."""
        return f"{self.branch}: {self.feature.path}" if self.branch else self.feature.path

    @property
    def title(self) -> str:
        """The title of the spec, for lists; the feature's slug if the spec cannot be read."""
        try:
            return specs.read_title(self.read()) or self.feature.slug
        except (AigonError, OSError, ValueError):
            return self.feature.slug


def locate_spec(root: Path, common_dir: Path, wanted: str) -> SpecLocation:
    """Return the place of the feature meant by an ID, a slug, a title or a path. Raises AigonError (exit 2)."""
    if wanted.endswith(".md") and (found := specs.locate_path(root, wanted)):
        return SpecLocation(found, root)
    places = list_spec_locations(root, common_dir)
    feature = features.choose_feature([each.feature for each in places], wanted)
    return next(each for each in places if each.feature == feature)


def find_feature_here(root: Path, common_dir: Path, wanted: str) -> Feature:
    """Return the feature whose spec the work tree at `root` has as far on as any branch, or on its own branch.

    Raises AigonError (exit 2) for one that is unknown, or worked on on another branch.
    """
    place = locate_spec(root, common_dir, wanted)
    if not place.branch:
        return place.feature
    with suppress(AigonError):
        here = specs.locate_feature(root, wanted)
        if here.stage == place.feature.stage or _is_branch_of(read_checked_out_branch(root), here):
            return here
    raise usage(
        f"Feature {place.feature.name_for_people} is on another branch than the one that is checked out",
        where=place.branch,
        hint=f"git switch {place.branch}",
    )


def require_open_feature(root: Path, common_dir: Path, wanted: str) -> None:
    """Raise AigonError (exit 2) if the feature is done or cancelled, as far as this checkout can tell."""
    try:
        feature = locate_spec(root, common_dir, wanted).feature
    except AigonError:  # what is wrong with the name is for others to say
        return
    specs.refuse_closed(feature)


def find_feature_to_begin(root: Path, common_dir: Path, wanted: str) -> Feature:
    """Like `find_feature_here`; a feature of the inbox or the backlog without an ID has the next free one."""
    feature = find_feature_here(root, common_dir, wanted)
    if feature.id or feature.stage not in UNDER_WAY[:2] or not feature.path.startswith(f"{ROOT}/"):
        return feature
    return replace(feature, id=choose_next_id(root, common_dir))


def choose_next_id(root: Path, common_dir: Path) -> str:
    """Return the next ID that no spec, branch or record has."""
    names = [each.feature.name for each in list_spec_locations(root, common_dir)]
    for remote in (False, True):
        names += repository.list_feature_branches(common_dir, remote=remote)
    if home := find_home(common_dir):
        names += [f"feature-{path.name}-x" for path in home.glob("features/*") if path.name.isdecimal()]
    return features.next_id(f"{ROOT}/{name}.md" for name in names)


def find_checked_out_feature(root: Path) -> Feature | None:
    """Return the feature whose branch is checked out at `root`."""
    head = read_checked_out_branch(root)
    listed = (specs.feature_for_path(path) for path in specs.spec_paths(root))
    return next((each for each in listed if head and _is_branch_of(head, each)), None)


def list_spec_locations(root: Path, common_dir: Path) -> list[SpecLocation]:
    """Return every feature once: as the work tree at `root` has it, or its branch if it is further on there."""
    here = [SpecLocation(specs.feature_for_path(path), root) for path in specs.spec_paths(root)]
    branches = repository.list_feature_branches(common_dir)
    if not branches:
        return here
    head, owner = read_checked_out_branch(root), find_checked_out_feature(root)
    base = find_merge_target(common_dir, owner)
    places = list(here)
    taken_up = _list_taken_up(common_dir, branches, here)
    for each in _list_on_branches(root, branches, base, taken_up):
        is_own = _is_branch_of(head, each.feature) or bool(owner and _is_same(owner, each.feature))
        if is_own and each.feature.stage in UNDER_WAY:
            continue
        if each.branch in (each.feature.name, base, *taken_up):
            _merge_location(places, each)
    return places


def find_merge_target(common_dir: Path, feature: Feature | None) -> str:
    """Return the branch that a feature will be merged into, as its record has it; "" if that is not known."""
    home = find_home(common_dir) if feature else None
    if feature is None or home is None:
        return ""
    from aigon.journal.records import locate_records

    try:
        origin = locate_records(home, feature.name_for_people).origin()
    except AigonError:  # a damaged record is for those to report who need it
        return ""
    return origin.branch if origin else ""


def _is_same(one: Feature, other: Feature) -> bool:
    """Return whether two specs are of one feature: by ID, or by slug if one of them has no ID yet."""
    if one.id and other.id:
        return int(one.id) == int(other.id)
    return one.slug == other.slug


def _is_branch_of(branch: str, feature: Feature) -> bool:
    """Return whether `branch` is the feature's: its own, or that of an agent in a worktree."""
    of_agent = branch.startswith(f"feature-{feature.id}-") and branch.endswith(f"-{feature.slug}")
    return branch == feature.name or bool(feature.id and of_agent)


def _list_taken_up(common_dir: Path, branches: Sequence[str], here: Sequence[SpecLocation]) -> dict[str, str]:
    """Return the branches of worktrees whose features this work tree has in no later stage than the backlog, by name.

    The value is the name of the spec: a watcher copies it to the feature's branch alone.
    """
    known = {int(each.feature.id) for each in here if each.feature.id and each.feature.stage not in UNDER_WAY[:2]}
    ids = [re.match(r"feature-(\d+)-", branch) for branch in branches]
    if not any(match and int(match[1]) not in known for match in ids):
        return {}
    from aigon.journal.records import list_candidates

    return {
        each.branch: Feature(each.feature, each.slug, "", "").name
        for each in list_candidates(find_home(common_dir))
        if each.mode == "worktree" and each.branch in branches and int(each.feature) not in known
    }


def _list_on_branches(root: Path, branches: Sequence[str], base: str, names: Mapping[str, str]) -> list[SpecLocation]:
    """Return every spec of the branch `base`, and of each of `branches` the spec of its own feature.

    That is named as the branch is, or as `names` says.
    """
    folders = [f"{ROOT}/{folder}" for folder in FOLDERS.values()]
    listed = repository.list_branch_files(root, [(base, folder) for folder in folders]) if base else {}
    files = [(base, f"{folder}/{name}") for (_, folder), names in listed.items() for name in names]
    others = [(branch, names.get(branch, branch)) for branch in branches if branch != base]
    files += [(branch, f"{folder}/{name}.md") for branch, name in others for folder in folders]
    contents = repository.read_branch_files(root, files).items()
    return [
        SpecLocation(found, root, branch, text)
        for (branch, path), text in contents
        if (found := parse_feature_path(path))
    ]


def _merge_location(places: list[SpecLocation], place: SpecLocation) -> None:
    """Take `place` for its feature; if it is on the feature's own branch, only unless another one is further on."""
    same = [position for position, each in enumerate(places) if _is_same(each.feature, place.feature)]
    # One with an ID goes before one without.
    twin = next((position for position in same if places[position].feature.id), same[0] if same else None)
    if _is_branch_of(place.branch, place.feature):
        known = places[twin].feature.stage if twin is not None else UNDER_WAY[0]
        stage = place.feature.stage
        if known not in UNDER_WAY or (stage in UNDER_WAY and UNDER_WAY.index(stage) < UNDER_WAY.index(known)):
            return
    if twin is None:
        places.append(place)
    else:
        places[twin] = place


def find_dependencies(
    places: Sequence[SpecLocation], feature: Feature, settings: "SpecSettings"
) -> tuple[SpecLocation, ...]:
    """Return the features that one with these settings waits for: those it depends on that are not merged.

    `places` are those of all features. Raises AigonError (exit 2), with the line, for one that does not exist, and if
    features depend on each other in a circle.
    """
    direct = _resolve(places, feature, settings)
    _refuse_circle(places, [feature], direct)
    return direct


def list_missing(places: Sequence[SpecLocation], settings: "SpecSettings") -> tuple[str, ...]:
    """Return the names of what `find_dependencies` returns; one that does not exist yet is named as the spec does."""
    missing = []
    for name in settings.depends_on:
        found = [place for place in places if is_named(place.feature, name)]
        if len(found) != 1:
            missing.append(name)
        elif not found[0].is_merged:
            missing.append(found[0].feature.name_for_people)
    return tuple(missing)


def _resolve(places: Sequence[SpecLocation], feature: Feature, settings: "SpecSettings") -> tuple[SpecLocation, ...]:
    found = []
    for name in settings.depends_on:
        try:
            wanted = choose_feature([place.feature for place in places], name)
        except AigonError as error:
            error.where = f"{feature.path}: line {settings.lines['depends_on']}"
            error.what = f"depends_on: {error.what}"
            raise
        found += [place for place in places if place.feature == wanted and not place.is_merged]
    return tuple(found)


def _refuse_circle(places: Sequence[SpecLocation], path: list[Feature], needed: Sequence[SpecLocation]) -> None:
    for place in needed:
        if place.feature.name_for_people == path[0].name_for_people:
            first = path.index(min(path, key=lambda each: each.name_for_people))
            circle = [*path[first:], *path[:first], path[first]]  # the same words whichever of them is asked about
            listed = " -> ".join(each.name_for_people for each in circle)
            where, hint = circle[-2].path, "Take one of them out of depends_on"
            raise usage(f"Features depend on each other in a circle: {listed}", where=where, hint=hint)
        if place.feature in path:  # a circle without the feature at hand: said when one of them starts
            continue
        try:
            further = _resolve(places, place.feature, place.parse().settings)
        except (AigonError, OSError):  # what is wrong with that spec is said when it starts
            continue
        _refuse_circle(places, [*path, place.feature], further)
