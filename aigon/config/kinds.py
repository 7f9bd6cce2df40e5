"""Kinds of task: those that ship, and a project's own."""

from collections.abc import Mapping

from aigon.config.models import KindConfig
from aigon.config.sections import read_section, write_value
from aigon.files.resources import read_shipped
from aigon.text.documents import parse_yaml


def load_kinds(own: Mapping[str, KindConfig]) -> dict[str, KindConfig]:
    """Return all kinds by name; what a project sets goes before what ships under the same name."""
    document = parse_yaml(read_shipped("templates", "kinds.yaml"), "kinds.yaml")
    shipped = {name: node.pairs() for name, node in document.pairs().items()}
    known = {name: {key: node.value for key, node in keys.items()} for name, keys in shipped.items()}
    changed = {name: write_value(kind) for name, kind in own.items()}
    names = {**known, **changed}
    return {name: read_section(KindConfig, {**known.get(name, {}), **changed.get(name, {})}) for name in names}
