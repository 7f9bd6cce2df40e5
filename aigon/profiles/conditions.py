"""Conditions on a project: what is there, never what happens when it is run. In YAML see KINDS."""

import json
import re
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Literal

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
    return KINDS[kind](child)


def _parse_always(node: DocumentNode) -> Condition:
    if not node.flag():
        raise node.wrong("can only be true")
    return lambda _project: True


def _parse_path(kind: str, node: DocumentNode) -> Condition:
    path = node.inside()
    return lambda project: project.kind(path) == kind


def _parse_glob(node: DocumentNode) -> Condition:
    patterns = node.texts()
    return lambda project: any(project.glob(pattern) for pattern in patterns)


def _parse_text(node: DocumentNode) -> Condition:
    """A file that matches one of the patterns holds a match of the regular expression."""
    fields = node.fields(("glob", "matching"), required=("glob", "matching"))
    patterns, matching = fields["glob"].texts(), fields["matching"].pattern()

    def holds(project: ProjectReader) -> bool:
        contents = (project.read(name) or b"" for name in _list_files(patterns, project))
        return any(re.search(matching, content.decode("utf-8", "replace")) for content in contents)

    return holds


def _list_files(patterns: tuple[str, ...], project: ProjectReader) -> list[str]:
    return [name for pattern in patterns for name in project.glob(pattern)[:SEARCHED]]


def _parse_entry(kind: Format, node: DocumentNode) -> Condition:
    """A configuration file, or any file that matches a glob, has a value under a key (`*` is any key).

    null, false and a blank text are no value; an empty table is one. `matching` and `not_matching` are regular
    expressions for a text, or for the texts in a list.
    """
    place = ("section", "key") if kind == "ini" else ("key",)
    fields = node.fields(("file", "glob", *place, "matching", "not_matching"), required=(place[0],))
    if ("file" in fields) == ("glob" in fields):
        raise node.wrong("needs either the key 'file' or the key 'glob'")
    matching, unwanted = (fields[each].pattern() if each in fields else "" for each in ("matching", "not_matching"))
    file = fields["file"].inside() if "file" in fields else ""
    patterns = fields["glob"].texts() if "glob" in fields else ()
    # Section names hold dots and colons of their own (`tool:pytest`), so they are not split.
    in_ini = tuple(fields[name].text() for name in place if name in fields)
    keys = in_ini if kind == "ini" else tuple(fields["key"].text().split("."))

    def read_values(name: str, project: ProjectReader) -> list[object]:
        if (raw := project.read(name)) is None:
            return []
        try:
            return find_values(kind, raw, keys)
        except (ValueError, RecursionError) as error:
            if patterns:  # what only matches a pattern may be broken on purpose, as a test's data is
                return []
            what = f"{name} is not valid {kind.upper()}: {error}".splitlines()[0]
            raise usage(what, where=name, hint="Fix it: it defines the checks of this project") from None

    def fits(value: object) -> bool:
        if value is None or value is False or (isinstance(value, str) and not value.strip()):
            return False
        texts = [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str)]
        if unwanted and any(re.search(unwanted, text) for text in texts):
            return False
        return not matching or any(re.search(matching, text) for text in texts)

    def holds(project: ProjectReader) -> bool:
        names = _list_files(patterns, project) if patterns else [file]
        return any(fits(value) for name in names for value in read_values(name, project))

    return holds


def _parse_tool(node: DocumentNode) -> Condition:
    name = node.text()
    return lambda project: project.tool(name) is not None


def _parse_module(node: DocumentNode) -> Condition:
    name = node.text()
    return lambda project: project.module(name)


def _parse_parts(node: DocumentNode) -> tuple[Condition, ...]:
    parts = tuple(parse_condition(item) for item in node.items())
    if not parts:
        raise node.wrong("must name at least one condition")
    return parts


def _parse_any(node: DocumentNode) -> Condition:
    parts = _parse_parts(node)
    return lambda project: any(part(project) for part in parts)


def _parse_all(node: DocumentNode) -> Condition:
    parts = _parse_parts(node)
    return lambda project: all(part(project) for part in parts)


def _parse_not(node: DocumentNode) -> Condition:
    part = parse_condition(node)
    return lambda project: not part(project)


KINDS: Mapping[str, Callable[[DocumentNode], Condition]] = {
    "always": _parse_always,
    "file": lambda node: _parse_path("file", node),
    "folder": lambda node: _parse_path("folder", node),
    "glob": _parse_glob,
    "text": _parse_text,
    "toml": lambda node: _parse_entry("toml", node),
    "json": lambda node: _parse_entry("json", node),
    "ini": lambda node: _parse_entry("ini", node),
    "tool": _parse_tool,
    "module": _parse_module,
    "any": _parse_any,
    "all": _parse_all,
    "not": _parse_not,
}
"""The kinds of condition by their key in YAML."""


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
