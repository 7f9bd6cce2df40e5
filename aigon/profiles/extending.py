"""`extends:` in a profile or an ecosystem: what a document does not say is taken from the one that it names."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from aigon.text.documents import Node, nearest
from aigon.text.yaml import parsed

MERGED = ("ecosystems", "roles", "timeouts", "variables", "caches")
"""Keys whose mappings are put together key by key; of all others the document's own value stands alone."""


@dataclass(frozen=True, slots=True)
class Documents:
    """Documents by their path without suffix (`library`, `ecosystems/python`): those shipped and a project's own."""

    shipped: Mapping[str, bytes]
    own: Mapping[str, bytes]

    def names(self) -> list[str]:
        """All of them; a project's own replaces a shipped one of its name."""
        return list({**self.shipped, **self.own})

    def read(self, name: str) -> Node:
        """The document as it counts. Raises AigonError (usage): malformed, or it extends nothing."""
        return self._read(name, name in self.own, ())

    def _read(self, name: str, own: bool, extended_by: tuple[str, ...]) -> Node:
        node = parsed(self.own[name], f".aigon/profiles/{name}.yaml") if own else self._shipped(name)
        pairs = node.pairs()
        if "extends" not in pairs:
            return node
        wanted = _beside(name, pairs["extends"].text())
        # A project's document of a shipped one's name extends that one; any other name is its own before a shipped one.
        theirs = wanted in self.own and wanted != name
        if not theirs and (wanted not in self.shipped or not own):
            raise pairs["extends"].wrong(f"names nothing to extend: {wanted!r}", self._near(name, wanted))
        if theirs and wanted in extended_by:
            raise pairs["extends"].wrong(f"goes round in a circle: {' extends '.join((*extended_by, name, wanted))}")
        return Node(_merged(self._read(wanted, theirs, (*extended_by, name)), node), node.file)

    def _near(self, name: str, wanted: str) -> str:
        """Documents of the same sort, but for the one that asks."""
        alike = [n for n in self.names() if ("/" in n) == ("/" in name) and (n != name or n in self.shipped)]
        return nearest(wanted, alike)

    def _shipped(self, name: str) -> Node:
        return parsed(self.shipped[name], f"profiles/{name}.yaml")


def _beside(name: str, wanted: str) -> str:
    """`wanted` in the folder that `name` is in: an ecosystem extends an ecosystem."""
    folder, _, _ = name.rpartition("/")
    return f"{folder}/{wanted}" if folder else wanted


def _merged(base: Node, node: Node) -> dict[str, Any]:
    below: dict[str, Any] = {key: child.value for key, child in base.pairs().items()}
    said: dict[str, Any] = {key: child.value for key, child in node.pairs().items() if key != "extends"}
    both = {key: {**below[key], **said[key]} for key in MERGED if _mappings(below.get(key), said.get(key))}
    return {**below, **said, **both}


def _mappings(*values: object) -> bool:
    return all(isinstance(value, dict) for value in values)
