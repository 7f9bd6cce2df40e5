"""Features as a caller writes them: created, edited, put aside and taken up, each a commit of the person's."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct

from aigon.api.project import FeatureInfo, describe_feature
from aigon.git.person import Checkout
from aigon.job.bookkeeping import Committing
from aigon.job.seat import hold_checkout
from aigon.job.spec_locations import locate_spec
from aigon.model.criteria import Criterion, SpecSettings
from aigon.run import feature_stages
from aigon.spec.document import parse_spec
from aigon.spec.foreign import ForeignAnnotation, list_proposals
from aigon.spec.writing import SettingValues, compose_spec, edit_spec, split_spec

_SILENT = Committing(lambda _text: None)


class SpecInfo(Struct, frozen=True):
    """The content of a feature's spec. `where` is its path, with the branch that has it.

    `proposals` are annotations that came with a text from outside and wait for a person.
    """

    feature: FeatureInfo
    where: str
    title: str
    description: str
    settings: SpecSettings
    criteria: tuple[Criterion, ...]
    proposals: tuple[ForeignAnnotation, ...]


def read_spec(root: Path, common_dir: Path, feature: str) -> SpecInfo:
    """See `Project.spec`."""
    place = locate_spec(root, common_dir, feature)
    raw = place.read()
    spec, parts = parse_spec(raw), split_spec(raw)
    info = describe_feature(place, parts.title)
    return SpecInfo(
        info, place.where, parts.title, parts.body.strip(), spec.settings, spec.criteria, list_proposals(raw)
    )


def create_feature(root: Path, title: str, description: str, settings: SettingValues) -> str:
    """See `Project.create_feature`; return the feature's name."""
    content = compose_spec(title, description, settings)
    with _hold(root) as checkout:
        return feature_stages.create_feature(checkout, title, "", _SILENT, content=content).name_for_people


def update_feature(
    root: Path, feature: str, title: str | None, description: str | None, settings: SettingValues
) -> None:
    """See `Project.update_feature`."""
    with _hold(root) as checkout:
        feature_stages.edit_feature(
            checkout, feature, lambda raw: edit_spec(raw, title, description, settings), _SILENT
        )


def move_feature(root: Path, feature: str, *, is_paused: bool) -> None:
    """See `Project.pause` and `Project.reopen`."""
    from aigon.done import retirement

    with _hold(root) as checkout:
        (retirement.pause_feature if is_paused else retirement.reopen_feature)(checkout, feature, _SILENT)


@contextmanager
def _hold(root: Path) -> Iterator[Checkout]:
    with Checkout.open(root) as checkout, hold_checkout(checkout):
        yield checkout
