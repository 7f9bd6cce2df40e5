"""Dependencies between features, by the `depends_on` of their specs. One counts once it is merged, not before."""

from collections.abc import Sequence

from aigon.errors import AigonError, usage
from aigon.job.spec_locations import SpecLocation
from aigon.model.criteria import SpecSettings
from aigon.spec.features import Feature, choose_feature, is_named


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
        found = [place for place in places if is_named(place.feature, name)]
        if len(found) != 1:
            missing.append(name)
        elif not found[0].is_merged:
            missing.append(found[0].feature.name_for_people)
    return tuple(missing)


def _resolve(places: Sequence[SpecLocation], feature: Feature, settings: SpecSettings) -> tuple[SpecLocation, ...]:
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
