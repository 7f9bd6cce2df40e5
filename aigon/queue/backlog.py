"""The order of the backlog: by priority, then by ID, and after what a feature depends on."""

import heapq
from collections.abc import Iterator, Mapping, Sequence

from msgspec import Struct

from aigon.errors import AigonError, usage
from aigon.git.person import Checkout
from aigon.job.spec_locations import SpecLocation, list_spec_locations
from aigon.model.criteria import Spec
from aigon.spec.document import parse_spec
from aigon.spec.features import Feature, is_named

CLOSED = ("done", "cancelled", "paused")
"""Stages of features that are no work to do."""
_RANKS = {"high": 0, "medium": 1, "low": 2}


class PlannedFeature(Struct, frozen=True):
    """A feature of the backlog with its spec, and the features that it depends on and that are not done."""

    feature: Feature
    spec: Spec
    missing: tuple[str, ...] = ()


def plan_backlog(main: Checkout) -> tuple[PlannedFeature, ...]:
    """Return the backlog in the order of `aigon run start`.

    Raises AigonError (exit 2) that names every spec that cannot be read, every unknown and every circular dependency.
    """
    places = list_spec_locations(main.root, main.common_dir)
    planned, errors = {}, []
    for place in places:
        if place.feature.stage == "backlog":
            try:
                planned[place.feature.name_for_people] = (place.feature, _read(place))
            except AigonError as error:
                errors.append(str(error))
    errors += [text for feature, spec in planned.values() for text in _find_bad(places, feature, spec)]
    needs = {name: list_missing(places, spec) for name, (_, spec) in planned.items()}
    if circle := _find_circle(needs):
        errors.append(f"depends_on goes round: {' -> '.join(circle)}")
    if errors:
        raise usage("The backlog cannot be worked through", where="; ".join(errors), hint="Fix the specs it names")
    return tuple(PlannedFeature(*planned[name], missing=needs[name]) for name in _sort(planned, needs))


def find_missing_dependencies(main: Checkout, spec: Spec) -> tuple[str, ...]:
    """Return the features that a spec depends on and that are not done."""
    if not spec.settings.depends_on:
        return ()
    return list_missing(list_spec_locations(main.root, main.common_dir), spec)


def _read(place: SpecLocation) -> Spec:
    try:
        return parse_spec(place.read())
    except (AigonError, OSError, ValueError) as error:
        raise usage(str(error), where=place.where) from None


def _find_bad(places: Sequence[SpecLocation], feature: Feature, spec: Spec) -> Iterator[str]:
    for name in spec.settings.depends_on:
        if not any(is_named(each.feature, name) for each in places):
            yield f"{feature.path} depends on {name}, which does not exist"


def list_missing(places: Sequence[SpecLocation], spec: Spec) -> tuple[str, ...]:
    """Return the features among `places` that a spec depends on and that are not done, and unknown ones."""
    found = [next((p.feature for p in places if is_named(p.feature, name)), None) for name in spec.settings.depends_on]
    names = zip(found, spec.settings.depends_on, strict=True)
    return tuple(each.name_for_people if each else name for each, name in names if not each or each.stage != "done")


def _find_circle(needs: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the names along a circle of dependencies, the first one again at the end; empty if there is none."""
    cleared: set[str] = set()

    def follow(name: str, way: tuple[str, ...]) -> tuple[str, ...]:
        if name in way:
            return (*way[way.index(name) :], name)
        if name in cleared:
            return ()
        found = next((circle for each in needs.get(name, ()) if (circle := follow(each, (*way, name)))), ())
        cleared.add(name)
        return found

    return next((circle for name in needs if (circle := follow(name, ()))), ())


def _sort(planned: Mapping[str, tuple[Feature, Spec]], needs: Mapping[str, Sequence[str]]) -> Iterator[str]:
    """Yield the names so that each comes after those of the backlog that it needs, else by priority and ID."""

    def rank(name: str) -> tuple[int, int, str]:
        feature, spec = planned[name]
        return _RANKS[spec.settings.priority or "medium"], int(feature.id or 10**9), name

    waiting = {name: {each for each in needs[name] if each in planned} for name in planned}
    ready = [rank(name) for name, missing in waiting.items() if not missing]
    heapq.heapify(ready)
    while ready:
        name = heapq.heappop(ready)[2]
        yield name
        for other, missing in waiting.items():
            if name in missing:
                missing.discard(name)
                if not missing:
                    heapq.heappush(ready, rank(other))
