"""Conditions on a project: what is there, never what happens when it is run. In YAML see KINDS."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal

from aigon.errors import AigonError, usage
from aigon.model.checks import Project
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


def holds(condition: Condition, project: Project) -> bool:
    """Whether `project` fulfils `condition`. Raises AigonError (usage) for a configuration file that is broken."""
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


def _text_holds(condition: TextMatches, project: Project) -> bool:
    names = [name for pattern in condition.patterns for name in project.glob(pattern)[:SEARCHED]]
    contents = ((project.read(name) or b"").decode("utf-8", "replace") for name in names)
    return any(re.search(condition.matching, content) for content in contents)


def _entry_holds(entry: EntryMatches, project: Project) -> bool:
    if entry.patterns:
        names = [name for pattern in entry.patterns for name in project.glob(pattern)[:SEARCHED]]
        return any(_entry_holds_in(name, entry, project, strict=False) for name in names)
    return _entry_holds_in(entry.file, entry, project, strict=True)


def _entry_holds_in(file: str, entry: EntryMatches, project: Project, *, strict: bool) -> bool:
    """Whether one file has it. What only matches a pattern may be broken on purpose, as a test's data is."""
    raw = project.read(file)
    if raw is None:
        return False
    try:
        found = find_values(entry.format, raw, entry.keys)
    except (ValueError, RecursionError) as error:
        if strict:
            raise _unreadable(entry, error) from None
        return False
    return any(_fits(value, entry) for value in found if _is_set(value))


def _unreadable(entry: EntryMatches, error: Exception) -> AigonError:
    what = f"{entry.file} is not valid {entry.format.upper()}: {error}".splitlines()[0]
    return usage(what, where=entry.file, hint="Put it right: which checks this project has is read from it")


def _is_set(value: object) -> bool:
    return bool(value.strip()) if isinstance(value, str) else value is not None and value is not False


def _fits(value: object, entry: EntryMatches) -> bool:
    texts = [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str)]
    if entry.not_matching and any(re.search(entry.not_matching, text) for text in texts):
        return False
    return not entry.matching or any(re.search(entry.matching, text) for text in texts)


def parse_condition(node: DocumentNode) -> Condition:
    """The condition in a document: a mapping with exactly one key, which names its kind."""
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
    return EntryMatches(kind, file, _parse_keys(kind, fields), **wanted, patterns=patterns)


def _parse_keys(kind: Format, fields: Mapping[str, DocumentNode]) -> tuple[str, ...]:
    if kind != "ini":
        return tuple(fields["key"].text().split("."))
    # Section names hold dots and colons of their own (`tool:pytest`), so they are not split.
    return tuple(fields[name].text() for name in ("section", "key") if name in fields)


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
