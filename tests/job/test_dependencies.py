"""Features that depend on each other: found by ID or slug, unknown ones and circles named."""

from pathlib import Path

import pytest

from aigon.errors import AigonError
from aigon.job.spec_locations import SpecLocation, find_dependencies, list_missing
from aigon.spec.features import Feature, parse_feature_path


def place(root: Path, id: str, depends_on: str) -> SpecLocation:
    path = f"docs/specs/features/02-backlog/feature-{id}-f{id}.md"
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    text = f"---\npriority: high\ndepends_on: {depends_on}\n---\n# F\n\n## Acceptance Criteria\n\n- [ ] a\n"
    (root / path).write_text(text)
    feature = parse_feature_path(path)
    assert isinstance(feature, Feature)
    return SpecLocation(feature, root)


def needed(places: list[SpecLocation], at: int = 0) -> list[str]:
    own = places[at]
    return [each.feature.id for each in find_dependencies(places, own.feature, own.parse().settings)]


def test_dependencies_are_found_by_id_and_slug(tmp_path: Path) -> None:
    places = [place(tmp_path, id, needs) for id, needs in (("12", "[013, f14]"), ("13", "14"), ("14", "[]"))]
    assert [needed(places, at) for at in range(3)] == [["13", "14"], ["14"], []]


def test_only_what_is_merged_counts(tmp_path: Path) -> None:
    places = [place(tmp_path, id, "[13, 14, tbd]" if id == "12" else "[]") for id in ("12", "13", "14")]
    done = parse_feature_path("docs/specs/features/05-done/feature-13-f13.md")
    assert done is not None
    settings = places[0].parse().settings
    for branch, missing in (("main", ("14", "tbd")), ("feature-13-f13", ("13", "14", "tbd")), ("", ("14", "tbd"))):
        places[1] = SpecLocation(done, tmp_path, branch, b"")
        assert list_missing(places, settings) == missing


def test_an_unknown_one_and_a_circle_are_named(tmp_path: Path) -> None:
    places = [place(tmp_path, id, needs) for id, needs in (("12", "13"), ("13", "14"), ("14", "12"), ("15", "16"))]
    for at, wanted in ((0, "12 -> 13 -> 14 -> 12"), (3, "no feature '16'")):
        with pytest.raises(AigonError) as caught:
            needed(places, at)
        assert caught.value.code == 2 and wanted in caught.value.what
    assert caught.value.where.endswith("feature-15-f15.md: line 3")


def test_a_circle_elsewhere_does_not_concern_a_feature(tmp_path: Path) -> None:
    places = [place(tmp_path, id, needs) for id, needs in (("12", "13"), ("13", "14"), ("14", "13"))]
    assert needed(places) == ["13"]
