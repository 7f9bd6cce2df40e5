"""Conditions on a project: what is there, never what happens when it is run."""

import re
from dataclasses import dataclass
from typing import Literal

from aigon.errors import AigonError, usage
from aigon.model.checks import Project
from aigon.text.entries import Format, values

SEARCHED = 200
"""Files that one `text` condition reads at most."""


@dataclass(frozen=True, slots=True)
class Always:
    """Holds for every project."""


@dataclass(frozen=True, slots=True)
class Present:
    """A file or a folder stands at `path`."""

    path: str
    kind: Literal["file", "folder"]


@dataclass(frozen=True, slots=True)
class Glob:
    """A file matches one of the patterns."""

    patterns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Text:
    """A file that matches one of the glob patterns holds a match of the regular expression `matching`."""

    patterns: tuple[str, ...]
    matching: str


@dataclass(frozen=True, slots=True)
class Entry:
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
class Tool:
    """The program `name` is found."""

    name: str


@dataclass(frozen=True, slots=True)
class Module:
    """The project's interpreter can import `name`."""

    name: str


@dataclass(frozen=True, slots=True)
class Any:
    """One of the parts holds."""

    parts: tuple["Condition", ...]


@dataclass(frozen=True, slots=True)
class All:
    """Every part holds."""

    parts: tuple["Condition", ...]


@dataclass(frozen=True, slots=True)
class Not:
    """The part does not hold."""

    part: "Condition"


Condition = Always | Present | Glob | Text | Entry | Tool | Module | Any | All | Not


def holds(condition: Condition, project: Project) -> bool:
    """Whether `project` fulfils `condition`. Raises AigonError (usage) for a configuration file that is broken."""
    match condition:
        case Always():
            return True
        case Present(path=path, kind=kind):
            return project.kind(path) == kind
        case Glob(patterns=patterns):
            return any(project.glob(pattern) for pattern in patterns)
        case Text():
            return _text(condition, project)
        case Entry():
            return _entry(condition, project)
        case Tool(name=name):
            return project.tool(name) is not None
        case Module(name=name):
            return project.module(name)
        case Any(parts=parts):
            return any(holds(part, project) for part in parts)
        case All(parts=parts):
            return all(holds(part, project) for part in parts)
        case Not(part=part):
            return not holds(part, project)


def _text(condition: Text, project: Project) -> bool:
    names = [name for pattern in condition.patterns for name in project.glob(pattern)[:SEARCHED]]
    contents = ((project.read(name) or b"").decode("utf-8", "replace") for name in names)
    return any(re.search(condition.matching, content) for content in contents)


def _entry(entry: Entry, project: Project) -> bool:
    if entry.patterns:
        names = [name for pattern in entry.patterns for name in project.glob(pattern)[:SEARCHED]]
        return any(_entry_of(name, entry, project, strict=False) for name in names)
    return _entry_of(entry.file, entry, project, strict=True)


def _entry_of(file: str, entry: Entry, project: Project, *, strict: bool) -> bool:
    """Whether one file has it. What only matches a pattern may be broken on purpose, as a test's data is."""
    raw = project.read(file)
    if raw is None:
        return False
    try:
        found = values(entry.format, raw, entry.keys)
    except (ValueError, RecursionError) as error:
        if strict:
            raise _broken(entry, error) from None
        return False
    return any(_fits(value, entry) for value in found if _is_set(value))


def _broken(entry: Entry, error: Exception) -> AigonError:
    what = f"{entry.file} is not valid {entry.format.upper()}: {error}".splitlines()[0]
    return usage(what, where=entry.file, hint="Put it right: which checks this project has is read from it")


def _is_set(value: object) -> bool:
    return bool(value.strip()) if isinstance(value, str) else value is not None and value is not False


def _fits(value: object, entry: Entry) -> bool:
    texts = [each for each in (value if isinstance(value, list) else [value]) if isinstance(each, str)]
    if entry.not_matching and any(re.search(entry.not_matching, text) for text in texts):
        return False
    return not entry.matching or any(re.search(entry.matching, text) for text in texts)
