"""Features that a feature depends on, by the specs of the project."""

from collections.abc import Sequence

from aigon.errors import AigonError, usage
from aigon.job.spec_locations import SpecLocation
from aigon.model.criteria import SpecSettings
from aigon.spec import features
from aigon.spec.features import Feature


def find_dependencies(
    places: Sequence[SpecLocation], feature: Feature, settings: SpecSettings
) -> tuple[SpecLocation, ...]:
    """Return the features that one with these settings depends on.

    `places` are those of all features. Raises AigonError (exit 2), with the line, for one that does not exist, and if
    features depend on each other in a circle.
    """
    direct = _resolve(places, feature, settings)
    _refuse_circle(places, [feature], direct)
    return direct


def _resolve(places: Sequence[SpecLocation], feature: Feature, settings: SpecSettings) -> tuple[SpecLocation, ...]:
    known, found = [place.feature for place in places], []
    for name in settings.depends_on:
        try:
            wanted = features.choose_feature(known, name)
        except AigonError as error:
            error.where = f"{feature.path}: line {settings.lines['depends_on']}"
            error.what = f"depends_on: {error.what}"
            raise
        found.append(next(place for place in places if place.feature == wanted))
    return tuple(found)


def _refuse_circle(places: Sequence[SpecLocation], path: list[Feature], needed: Sequence[SpecLocation]) -> None:
    for place in needed:
        way = [*path, place.feature]
        if place.feature.name_for_people == path[0].name_for_people:
            listed = " -> ".join(each.name_for_people for each in way)
            where, hint = path[-1].path, "Take one of them out of depends_on"
            raise usage(f"Features depend on each other in a circle: {listed}", where=where, hint=hint)
        if place.feature in path:  # a circle without the feature at hand: said when one of them starts
            continue
        try:
            spec = place.parse()
            further = _resolve(places, place.feature, spec.settings)
        except (AigonError, OSError):  # what is wrong with that spec is said when it starts
            continue
        _refuse_circle(places, way, further)
