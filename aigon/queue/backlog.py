"""The order of the backlog: by priority, then by ID, and after what a feature depends on."""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from aigon.errors import AigonError, usage
from aigon.git.person import Checkout
from aigon.job.dependencies import find_dependencies
from aigon.job.spec_locations import SpecLocation, list_spec_locations
from aigon.model.criteria import Spec
from aigon.spec.document import parse_spec
from aigon.spec.features import Feature

CLOSED = ("done", "cancelled", "paused")
"""Stages of features that are no work to do."""
_RANKS = {"high": 0, "medium": 1, "low": 2}


class PlannedFeature(Struct, frozen=True):
    """A feature of the backlog with its spec, and the features that it depends on and that are not merged."""

    feature: Feature
    spec: Spec
    missing: tuple[str, ...] = ()


def plan_backlog(main: Checkout) -> tuple[PlannedFeature, ...]:
    """Return the backlog in the order of `aigon run start`.

    Raises AigonError (exit 2) that names every spec that cannot be read, every unknown and every circular dependency.
    """
    places = list_spec_locations(main.root, main.common_dir)
    planned: dict[str, PlannedFeature] = {}
    errors: list[str] = []
    for place in places:
        if place.feature.stage == "backlog":
            try:
                spec = _read(place)
                missing = find_dependencies(places, place.feature, spec.settings)
            except AigonError as error:
                errors.append(f"{error.where}: {error.what}")
                continue
            names = tuple(each.feature.name_for_people for each in missing)
            planned[place.feature.name_for_people] = PlannedFeature(place.feature, spec, names)
    if errors:
        listed = "; ".join(dict.fromkeys(errors))  # each feature of a circle tells of the same one
        raise usage("The backlog cannot be worked through", where=listed, hint="Fix the specs it names")
    return tuple(planned[name] for name in _sort(planned))


def _read(place: SpecLocation) -> Spec:
    try:
        return parse_spec(place.read())
    except (AigonError, OSError, ValueError) as error:
        raise usage(str(error), where=place.where) from None


def _sort(planned: Mapping[str, PlannedFeature]) -> Iterator[str]:
    """Yield the names so that each comes after those of the backlog that it needs, else by priority and ID."""

    def rank(name: str) -> tuple[int, int, str]:
        each = planned[name]
        return _RANKS[each.spec.settings.priority or "medium"], int(each.feature.id or 10**9), name

    waiting = set(planned)
    while waiting:
        name = min((each for each in waiting if waiting.isdisjoint(planned[each].missing)), key=rank)
        waiting.remove(name)
        yield name
