"""Kinds of task: those that ship, and a project's own."""

from collections.abc import Mapping

from aigon.config.models import KindConfig
from aigon.files.resources import read_shipped
from aigon.text.documents import parse_yaml


def load_kinds(own: Mapping[str, KindConfig]) -> dict[str, KindConfig]:
    """Return all kinds by name; what a project sets goes before what ships under the same name."""
    document = parse_yaml(read_shipped("templates", "kinds.yaml"), "kinds.yaml")
    shipped = {name: node.pairs() for name, node in document.pairs().items()}
    known = {name: {key: node.value for key, node in keys.items()} for name, keys in shipped.items()}
    changed = {name: kind.model_dump(by_alias=True, exclude_unset=True) for name, kind in own.items()}
    names = {**known, **changed}
    return {name: KindConfig.model_validate({**known.get(name, {}), **changed.get(name, {})}) for name in names}
