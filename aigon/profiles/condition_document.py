"""How conditions are written in YAML: a mapping with one key that names the kind, see KINDS."""

from collections.abc import Callable, Mapping

from aigon.profiles.conditions import All, Always, Any, Condition, Entry, Glob, Module, Not, Present, Text, Tool
from aigon.text.documents import Node
from aigon.text.entries import Format


def parse(node: Node) -> Condition:
    """The condition in a document: a mapping with exactly one key, which names its kind."""
    pairs = node.fields(KINDS)
    if len(pairs) != 1:
        raise node.wrong("must have exactly one key", f"One of {', '.join(KINDS)}; join several with any: or all:")
    [(kind, child)] = pairs.items()
    return KINDS[kind](child)


def _always(node: Node) -> Condition:
    if not node.flag():
        raise node.wrong("can only be true")
    return Always()


def _parts(node: Node) -> tuple[Condition, ...]:
    parts = tuple(parse(item) for item in node.items())
    if not parts:
        raise node.wrong("must name at least one condition")
    return parts


def _text_node(node: Node) -> Condition:
    fields = node.fields(("glob", "matching"), required=("glob", "matching"))
    return Text(fields["glob"].texts(), fields["matching"].pattern())


def _entry_node(kind: Format, node: Node) -> Condition:
    place = ("section", "key") if kind == "ini" else ("key",)
    fields = node.fields(("file", "glob", *place, "matching", "not_matching"), required=(place[0],))
    if ("file" in fields) == ("glob" in fields):
        raise node.wrong("needs either the key 'file' or the key 'glob'")
    wanted = {name: fields[name].pattern() for name in ("matching", "not_matching") if name in fields}
    file = fields["file"].inside() if "file" in fields else ""
    patterns = fields["glob"].texts() if "glob" in fields else ()
    return Entry(kind, file, _keys(kind, fields), **wanted, patterns=patterns)


def _keys(kind: Format, fields: Mapping[str, Node]) -> tuple[str, ...]:
    if kind != "ini":
        return tuple(fields["key"].text().split("."))
    # Section names hold dots and colons of their own (`tool:pytest`), so they are not split.
    return tuple(fields[name].text() for name in ("section", "key") if name in fields)


KINDS: Mapping[str, Callable[[Node], Condition]] = {
    "always": _always,
    "file": lambda node: Present(node.inside(), "file"),
    "folder": lambda node: Present(node.inside(), "folder"),
    "glob": lambda node: Glob(node.texts()),
    "text": _text_node,
    "toml": lambda node: _entry_node("toml", node),
    "json": lambda node: _entry_node("json", node),
    "ini": lambda node: _entry_node("ini", node),
    "tool": lambda node: Tool(node.text()),
    "module": lambda node: Module(node.text()),
    "any": lambda node: Any(_parts(node)),
    "all": lambda node: All(_parts(node)),
    "not": lambda node: Not(parse(node)),
}
"""The kinds of condition by their key in YAML."""
