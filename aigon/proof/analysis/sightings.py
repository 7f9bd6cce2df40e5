"""What a rule saw, told apart by whether the change brought it, and put into words."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from aigon.model.changes import Concern, ConcernLevel, Edit, hash_change
from aigon.text.quoting import code_span, fold

_SHOWN = 5
"""Sightings of one file that are shown; the others are counted."""


@dataclass(frozen=True, slots=True)
class Sighting:
    """Something on a line (from 1) of a text; `text` is that line, `says` what it does, as in "it ... "."""

    line: int
    text: str
    says: str
    level: ConcernLevel = "review"

    @property
    def name(self) -> tuple[str, str]:
        """What it is, independently of where it stands."""
        return " ".join(self.text.split()), self.says


Look = Callable[[str, str], Iterable[Sighting]]
"""What can be seen in a text, given its path and the text."""


def fresh(edits: Iterable[Edit], look: Look) -> Iterator[tuple[Edit, list[Sighting]]]:
    """What the change brought, by file. What stood in the base, there or in a file that lost it, is nothing new."""
    now = [(edit, list(look(edit.path, edit.after or ""))) for edit in edits]
    if not any(seen for _, seen in now):
        return
    lost: Counter[tuple[str, str]] = Counter()
    found = []
    for edit, seen in now:
        before = Counter(each.name for each in look(edit.path, edit.before or ""))
        found.append((edit, list(_beyond(seen, before))))
        lost += before
    for edit, new in found:
        left = list(_beyond(new, lost))
        if left:
            yield edit, left


def _beyond(seen: Iterable[Sighting], known: Counter[tuple[str, str]]) -> Iterator[Sighting]:
    for each in sorted(seen, key=lambda sighting: sighting.line):
        if known[each.name] > 0:
            known[each.name] -= 1
        else:
            yield each


def reported(rule: str, found: Iterable[tuple[Edit, list[Sighting]]], why: str) -> Iterator[Concern]:
    """One concern for each file and level. `why` says what is wrong with it and what to do."""
    for edit, sightings in found:
        levels: tuple[ConcernLevel, ...] = ("review", "note")
        for level in levels:
            here = [each for each in sightings if each.level == level]
            if here:
                yield _concern(rule, level, edit, here, why)


def _concern(rule: str, level: ConcernLevel, edit: Edit, sightings: list[Sighting], why: str) -> Concern:
    # The whole text is in the key: an approval is for this file as it is, not for a line that others can move around.
    return Concern(rule, level, f"{told(edit.path, sightings)} {why}", (edit.path,), key(rule, edit))


def told(path: str, sightings: list[Sighting]) -> str:
    """The sightings of one file as a sentence each."""
    lines = [f"{fold(path)}:{each.line} {each.says}: {code_span(each.text, 160)}." for each in sightings[:_SHOWN]]
    more = len(sightings) - _SHOWN
    return " ".join(lines) + (f" There are {more} more in this file." if more > 0 else "")


def key(rule: str, edit: Edit) -> str:
    """A name for what a rule says about one file, which no later change of the file shares."""
    gone = edit.after is None
    return hash_change([rule, edit.path, edit.mode, edit.base_mode, str(gone), edit.before or "", edit.after or ""])
