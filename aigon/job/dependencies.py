"""What a feature depends on, by the `depends_on` of its spec. A dependency counts once it is merged, and not before."""

from collections.abc import Sequence

from aigon.errors import AigonError, usage
from aigon.job.spec_locations import SpecLocation
from aigon.model.criteria import SpecSettings
from aigon.spec import features
from aigon.spec.features import Feature


def find_dependencies(
    places: Sequence[SpecLocation], feature: Feature, settings: SpecSettings
) -> tuple[SpecLocation, ...]:
    """Return the features that one with these settings waits for: those it depends on that are not merged.

    `places` are those of all features. Raises AigonError (exit 2), with the line, for one that does not exist, and if
    features depend on each other in a circle.
    """
    direct = _resolve(places, feature, settings)
    _refuse_circle(places, [feature], direct)
    return direct


def list_missing(places: Sequence[SpecLocation], settings: SpecSettings) -> tuple[str, ...]:
    """Return the names of what `find_dependencies` returns; one that does not exist yet is named as the spec does."""
    missing = []
    for name in settings.depends_on:
        try:
            place = _choose(places, name)
        except AigonError:
            missing.append(name)
            continue
        missing += [] if place.is_merged else [place.feature.name_for_people]
    return tuple(missing)


def _choose(places: Sequence[SpecLocation], name: str) -> SpecLocation:
    wanted = features.choose_feature([place.feature for place in places], name)
    return next(place for place in places if place.feature == wanted)


def _resolve(places: Sequence[SpecLocation], feature: Feature, settings: SpecSettings) -> tuple[SpecLocation, ...]:
    found = []
    for name in settings.depends_on:
        try:
            found.append(_choose(places, name))
        except AigonError as error:
            error.where = f"{feature.path}: line {settings.lines['depends_on']}"
            error.what = f"depends_on: {error.what}"
            raise
    return tuple(place for place in found if not place.is_merged)


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
