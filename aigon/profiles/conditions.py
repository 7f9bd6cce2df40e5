"""Conditions on a project: what is there, never what happens when it is run. In YAML see KINDS."""

import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache, partial
from typing import Annotated, Any, Literal

from msgspec import Struct

from aigon.errors import usage
from aigon.model.checks import ProjectReader
from aigon.text.documents import DocumentNode

SEARCHED = 200
"""Files that one `text` condition reads at most."""

Format = Literal["toml", "json", "ini"]
Condition = Callable[[ProjectReader], bool]
"""Returns whether it holds for a project. Raises AigonError (usage) for a broken configuration file."""


def parse_condition(node: DocumentNode) -> Condition:
    """Return the condition in a document: a mapping with exactly one key, which names its kind."""
    pairs = node.fields(KINDS)
    if len(pairs) != 1:
        raise node.wrong("must have exactly one key", f"One of {', '.join(KINDS)}; join several with any: or all:")
    [(kind, child)] = pairs.items()
    read, holds = KINDS[kind]
    return partial(holds, read(child))


def _read_true(node: DocumentNode) -> bool:
    if not node.flag():
        raise node.wrong("can only be true")
    return True


def _read_parts(node: DocumentNode) -> tuple[Condition, ...]:
    parts = tuple(parse_condition(item) for item in node.items())
    if not parts:
        raise node.wrong("must name at least one condition")
    return parts


class TextCondition(Struct, frozen=True):
    """A file that matches one of the patterns holds a match of the regular expression."""

    glob: tuple[str, ...]
    matching: Annotated[str, DocumentNode.pattern]

    def holds(self, project: ProjectReader) -> bool:
        contents = (project.read(name) or b"" for name in _list_files(self.glob, project))
        return any(re.search(self.matching, content.decode("utf-8", "replace")) for content in contents)


def _list_files(patterns: tuple[str, ...], project: ProjectReader) -> list[str]:
    return [name for pattern in patterns for name in project.glob(pattern)[:SEARCHED]]


class EntryCondition(Struct, frozen=True):
    """A configuration file, or any file that matches a glob, has a value under a key (`*` is any key).

    null, false and a blank text are no value; an empty table is one. `matching` and `not_matching` are regular
    expressions for a text, or for the texts in a list. Section names of an INI file hold dots and colons of their own
    (`tool:pytest`), so they are not split.
    """

    format: Format
    section: str = ""
    key: str = ""
    file: Annotated[str, DocumentNode.inside] = ""
    glob: tuple[str, ...] = ()
    matching: Annotated[str, DocumentNode.pattern] = ""
    not_matching: Annotated[str, DocumentNode.pattern] = ""

    def holds(self, project: ProjectReader) -> bool:
        names = _list_files(self.glob, project) if self.glob else [self.file]
        return any(self._fits(value) for name in names for value in self._read_values(name, project))

    def _read_values(self, name: str, project: ProjectReader) -> list[object]:
        if (raw := project.read(name)) is None:
            return []
        in_ini = tuple(filter(None, (self.section, self.key)))
        try:
            return find_values(self.format, raw, in_ini if self.format == "ini" else tuple(self.key.split(".")))
        except (ValueError, RecursionError) as error:
            if self.glob:  # what only matches a pattern may be broken on purpose, as a test's data is
                return []
            what = f"{name} is not valid {self.format.upper()}: {error}".splitlines()[0]
            raise usage(what, where=name, hint="Fix it: it defines the checks of this project") from None

    def _fits(self, value: object) -> bool:
        if value is None or value is False or (isinstance(value, str) and not value.strip()):
            return False
        texts = [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str)]
        if self.not_matching and any(re.search(self.not_matching, text) for text in texts):
            return False
        return not self.matching or any(re.search(self.matching, text) for text in texts)


def _read_entry(format: Format, node: DocumentNode) -> EntryCondition:
    options = ("file", "glob", "section", "key", "matching", "not_matching")
    fields = node.fields([name for name in options if name != "section" or format == "ini"],
                         required=("section" if format == "ini" else "key",))  # fmt: skip
    if ("file" in fields) == ("glob" in fields):
        raise node.wrong("needs either the key 'file' or the key 'glob'")
    return node.build(EntryCondition, format=format)


KINDS: Mapping[str, tuple[Callable[[DocumentNode], Any], Callable[[Any, ProjectReader], bool]]] = {
    "always": (_read_true, lambda _true, _project: True),
    "file": (DocumentNode.inside, lambda path, project: project.kind(path) == "file"),
    "folder": (DocumentNode.inside, lambda path, project: project.kind(path) == "folder"),
    "glob": (DocumentNode.texts, lambda patterns, project: any(project.glob(each) for each in patterns)),
    "text": (lambda node: node.build(TextCondition), TextCondition.holds),
    "toml": (partial(_read_entry, "toml"), EntryCondition.holds),
    "json": (partial(_read_entry, "json"), EntryCondition.holds),
    "ini": (partial(_read_entry, "ini"), EntryCondition.holds),
    "tool": (DocumentNode.text, lambda name, project: project.tool(name) is not None),
    "module": (DocumentNode.text, lambda name, project: project.module(name)),
    "any": (_read_parts, lambda parts, project: any(part(project) for part in parts)),
    "all": (_read_parts, lambda parts, project: all(part(project) for part in parts)),
    "not": (parse_condition, lambda part, project: not part(project)),
}
"""The kinds of condition by their key in YAML: what reads the value, and whether it holds for a project."""


def find_values(kind: Format, raw: bytes, keys: tuple[str, ...]) -> list[object]:
    """Return every value that `keys` lead to in the document; `*` is any key. Raises ValueError for a broken one."""
    values = [_parse_cached(kind, raw)]
    for key in keys:
        mappings = [value for value in values if isinstance(value, dict)]
        values = [child for each in mappings for name, child in each.items() if key in ("*", name)]
    return values


@lru_cache(maxsize=16)
def _parse_cached(kind: Format, raw: bytes) -> object:
    """Parse the document. Every parser's own error is a ValueError."""
    text = raw.decode("utf-8-sig")
    try:
        if kind == "json":
            return json.loads(text)
        if kind == "toml":
            import tomllib

            return tomllib.loads(text)
        from configparser import Error, RawConfigParser

        parser = RawConfigParser(strict=False, allow_no_value=True)
        try:
            parser.read_string(text)
        except Error as error:
            raise ValueError(str(error)) from None
        return {section: dict(parser.items(section)) for section in parser.sections()}
    except RecursionError:
        raise ValueError("it is nested too deeply") from None
