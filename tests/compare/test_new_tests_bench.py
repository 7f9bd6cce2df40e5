"""Where a comparison works: what one that was killed left there is removed by the next."""

from pathlib import Path

from aigon.compare.bench import _open_scratch


def test_what_a_killed_comparison_left_is_removed_with_its_rooms_by_the_next(tmp_path: Path) -> None:
    (tmp_path / "comparing" / "1" / "warm" / "rooms" / "feature-42").mkdir(parents=True)
    with _open_scratch(tmp_path) as place:
        assert (place, list(place.iterdir())) == (tmp_path / "comparing" / "1", [])
    assert not place.exists()


def test_two_comparisons_at_once_do_not_meet(tmp_path: Path) -> None:
    with _open_scratch(tmp_path) as one, _open_scratch(tmp_path) as other:
        assert one != other
