"""What integrity rules look for: patterns and words by rule, and what was seen, told from what the base had, in words.

The patterns and words are in `templates/integrity.yaml`.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache

from msgspec import Struct

from aigon.files.resources import read_shipped
from aigon.languages import is_code
from aigon.model.changes import Concern, ConcernLevel, Edit, Edits, hash_change
from aigon.text.documents import DocumentNode, parse_yaml
from aigon.text.patterns import compile_re
from aigon.text.quoting import code_span, fold

_SHOWN = 5
"""Sightings of one file that are shown. The others are counted."""


@cache
def _read_rule(rule: str) -> Mapping[str, DocumentNode]:
    return parse_yaml(read_shipped("templates", "integrity.yaml"), "integrity.yaml").pairs()[rule].pairs()


def expand(pattern: str, names: Mapping[str, str]) -> str:
    """Return a pattern with each `%name%` replaced by its part."""
    while found := re.search(r"%(\w+)%", pattern):
        pattern = pattern.replace(found[0], names[found[1]])
    return pattern


def list_words(rule: str, name: str) -> frozenset[str]:
    """Return the words that a rule knows by a name."""
    return frozenset(_read_rule(rule)[name].text().split())


@cache
def list_patterns(rule: str, name: str) -> tuple[re.Pattern[str], ...]:
    """Return the patterns of the list `name` of a rule, one by one."""
    return tuple(map(compile_re, _list_texts(rule, name)))


@cache
def find_pattern(rule: str, name: str, flags: int = 0) -> re.Pattern[str]:
    """Return the pattern `name` of a rule; for a list, one that matches what any of them matches."""
    return compile_re("|".join(_list_texts(rule, name)), flags)


def _list_texts(rule: str, name: str) -> list[str]:
    entries = _read_rule(rule)
    texts = {key: node.text() for key, node in entries.items() if isinstance(node.value, str)}
    written = [texts[name]] if name in texts else [each.text() for each in entries[name].items()]
    return [expand(each, texts) for each in written]


class Sighting(Struct, frozen=True):
    """Something on a line (from 1) of a text; `text` is that line, `says` what it does, as in "it ... "."""

    line: int
    text: str
    says: str
    level: ConcernLevel = "review"

    @property
    def name(self) -> tuple[str, str]:
        """Its identity, independent of its line."""
        return " ".join(self.text.split()), self.says


Look = Callable[[str, str], Iterable[Sighting]]
"""What can be seen in a text, given its path and the text."""


def find_new(edits: Iterable[Edit], look: Look) -> Iterator[tuple[Edit, list[Sighting]]]:
    """Yield what the change brought, by file. What the base had, there or in a file that lost it, is not new."""
    now = [(edit, list(look(edit.path, edit.after or ""))) for edit in edits]
    if not any(sightings for _, sightings in now):
        return
    lost: Counter[tuple[str, str]] = Counter()
    candidates = []
    for edit, sightings in now:
        before = Counter(each.name for each in look(edit.path, edit.before or ""))
        candidates.append((edit, list(_subtract(sightings, before))))
        lost += before
    for edit, sightings in candidates:
        if new := list(_subtract(sightings, lost)):
            yield edit, new


def _subtract(sightings: Iterable[Sighting], known: Counter[tuple[str, str]]) -> Iterator[Sighting]:
    for each in sorted(sightings, key=lambda sighting: sighting.line):
        if known[each.name] > 0:
            known[each.name] -= 1
        else:
            yield each


def report(rule: str, found: Iterable[tuple[Edit, list[Sighting]]], why: str) -> Iterator[Concern]:
    """Yield one concern for each file and level. `why` says what is wrong with it and what to do."""
    levels: tuple[ConcernLevel, ...] = ("review", "note")
    for edit, sightings in found:
        for level in levels:
            if chosen := [each for each in sightings if each.level == level]:
                yield report_file(rule, level, f"{describe_sightings(edit.path, chosen)} {why}", edit)


def describe_sightings(path: str, sightings: list[Sighting]) -> str:
    """Return the sightings of one file, a sentence each."""
    lines = [f"{fold(path)}:{each.line} {each.says}: {code_span(each.text, 160)}." for each in sightings[:_SHOWN]]
    more = len(sightings) - _SHOWN
    return " ".join(lines) + (f" There are {more} more in this file." if more > 0 else "")


def report_file(rule: str, level: ConcernLevel, what: str, edit: Edit) -> Concern:
    """Return a concern about one file.

    The whole text is in its key: an approval is for this file as it is, not for a line that others can move around.
    """
    gone = str(edit.after is None)
    parts = [rule, edit.path, edit.mode, edit.base_mode, gone, edit.before or "", edit.after or ""]
    return Concern(rule, level, what, (edit.path,), hash_change(parts))


def list_product(edits: Edits) -> list[Edit]:
    """Return the edits of what is delivered. Code among prose and data counts, since it can be imported."""
    return [e for e in edits.files if e.part == "product" or (e.part == "other" and is_code(e.path))]


def list_parts(edits: Edits, *parts: str) -> list[Edit]:
    """Return the edits of files that are one of `parts`."""
    return [edit for edit in edits.files if edit.part in parts]
