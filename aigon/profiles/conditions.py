"""Conditions on a project: what is there, never what happens when it is run. In YAML see KINDS."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from aigon.errors import usage
from aigon.model.checks import ProjectReader
from aigon.text.documents import DocumentNode, Format, find_values

SEARCHED = 200
"""Files that one `text` condition reads at most."""


@dataclass(frozen=True, slots=True)
class Always:
    """Holds for every project."""


@dataclass(frozen=True, slots=True)
class PathExists:
    """A file or a folder stands at `path`."""

    path: str
    kind: Literal["file", "folder"]


@dataclass(frozen=True, slots=True)
class GlobMatches:
    """A file matches one of the patterns."""

    patterns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class TextMatches:
    """A file that matches one of the glob patterns holds a match of the regular expression `matching`."""

    patterns: tuple[str, ...]
    matching: str


@dataclass(frozen=True, slots=True)
class EntryMatches:
    """A configuration file has a value under `keys` (`*` is any key).

    null, false and a blank text are no value; an empty table is one. `matching` and `not_matching` are regular
    expressions for a text, or for the texts in a list. In place of `file`, `patterns` mean any file that matches one.
    """

    format: Format
    file: str
    keys: tuple[str, ...]
    matching: str = ""
    not_matching: str = ""
    patterns: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class HasTool:
    """The program `name` is found."""

    name: str


@dataclass(frozen=True, slots=True)
class HasModule:
    """The project's interpreter can import `name`."""

    name: str


@dataclass(frozen=True, slots=True)
class AnyOf:
    """One of the parts holds."""

    parts: tuple["Condition", ...]


@dataclass(frozen=True, slots=True)
class AllOf:
    """Every part holds."""

    parts: tuple["Condition", ...]


@dataclass(frozen=True, slots=True)
class Negation:
    """The part does not hold."""

    part: "Condition"


Condition = (
    Always | PathExists | GlobMatches | TextMatches | EntryMatches | HasTool | HasModule | AnyOf | AllOf | Negation
)


def holds(condition: Condition, project: ProjectReader) -> bool:
    """Return whether `project` fulfils `condition`. Raises AigonError (usage) for a broken configuration file."""
    match condition:
        case Always():
            return True
        case PathExists(path=path, kind=kind):
            return project.kind(path) == kind
        case GlobMatches(patterns=patterns):
            return any(project.glob(pattern) for pattern in patterns)
        case TextMatches():
            return _text_holds(condition, project)
        case EntryMatches():
            return _entry_holds(condition, project)
        case HasTool(name=name):
            return project.tool(name) is not None
        case HasModule(name=name):
            return project.module(name)
        case AnyOf(parts=parts):
            return any(holds(part, project) for part in parts)
        case AllOf(parts=parts):
            return all(holds(part, project) for part in parts)
        case Negation(part=part):
            return not holds(part, project)


def _list_files(condition: TextMatches | EntryMatches, project: ProjectReader) -> list[str]:
    return [name for pattern in condition.patterns for name in project.glob(pattern)[:SEARCHED]]


def _text_holds(condition: TextMatches, project: ProjectReader) -> bool:
    contents = ((project.read(name) or b"").decode("utf-8", "replace") for name in _list_files(condition, project))
    return any(re.search(condition.matching, content) for content in contents)


def _entry_holds(entry: EntryMatches, project: ProjectReader) -> bool:
    for name in _list_files(entry, project) if entry.patterns else [entry.file]:
        if (raw := project.read(name)) is None:
            continue
        try:
            values = find_values(entry.format, raw, entry.keys)
        except (ValueError, RecursionError) as error:
            if entry.patterns:  # what only matches a pattern may be broken on purpose, as a test's data is
                continue
            what = f"{name} is not valid {entry.format.upper()}: {error}".splitlines()[0]
            raise usage(what, where=name, hint="Fix it: the checks of this project are read from it") from None
        if any(_fits(value, entry) for value in values):
            return True
    return False


def _fits(value: object, entry: EntryMatches) -> bool:
    if value is None or value is False or (isinstance(value, str) and not value.strip()):
        return False
    texts = [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str)]
    if entry.not_matching and any(re.search(entry.not_matching, text) for text in texts):
        return False
    return not entry.matching or any(re.search(entry.matching, text) for text in texts)


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
    return Always()


def _parse_parts(node: DocumentNode) -> tuple[Condition, ...]:
    parts = tuple(parse_condition(item) for item in node.items())
    if not parts:
        raise node.wrong("must name at least one condition")
    return parts


def _parse_text(node: DocumentNode) -> Condition:
    fields = node.fields(("glob", "matching"), required=("glob", "matching"))
    return TextMatches(fields["glob"].texts(), fields["matching"].pattern())


def _parse_entry(kind: Format, node: DocumentNode) -> Condition:
    place = ("section", "key") if kind == "ini" else ("key",)
    fields = node.fields(("file", "glob", *place, "matching", "not_matching"), required=(place[0],))
    if ("file" in fields) == ("glob" in fields):
        raise node.wrong("needs either the key 'file' or the key 'glob'")
    wanted = {name: fields[name].pattern() for name in ("matching", "not_matching") if name in fields}
    file = fields["file"].inside() if "file" in fields else ""
    patterns = fields["glob"].texts() if "glob" in fields else ()
    # Section names hold dots and colons of their own (`tool:pytest`), so they are not split.
    in_ini = tuple(fields[name].text() for name in place if name in fields)
    keys = in_ini if kind == "ini" else tuple(fields["key"].text().split("."))
    return EntryMatches(kind, file, keys, **wanted, patterns=patterns)


KINDS: Mapping[str, Callable[[DocumentNode], Condition]] = {
    "always": _parse_always,
    "file": lambda node: PathExists(node.inside(), "file"),
    "folder": lambda node: PathExists(node.inside(), "folder"),
    "glob": lambda node: GlobMatches(node.texts()),
    "text": _parse_text,
    "toml": lambda node: _parse_entry("toml", node),
    "json": lambda node: _parse_entry("json", node),
    "ini": lambda node: _parse_entry("ini", node),
    "tool": lambda node: HasTool(node.text()),
    "module": lambda node: HasModule(node.text()),
    "any": lambda node: AnyOf(_parse_parts(node)),
    "all": lambda node: AllOf(_parse_parts(node)),
    "not": lambda node: Negation(parse_condition(node)),
}
"""The kinds of condition by their key in YAML."""
