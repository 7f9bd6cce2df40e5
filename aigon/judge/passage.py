"""Text in which quotes are looked for: neighbouring lines, with white space folded and every character's place kept."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from aigon.model.changes import DiffLine, FileDiff

Place = tuple[int, int]
"""A line's number and a column from 0."""


@dataclass(frozen=True, slots=True)
class Passage:
    """`folded` has one blank for each run of white space; `places` says where each of its characters stands."""

    folded: str
    places: tuple[Place, ...]

    def found(self, needle: str) -> Iterator[tuple[Place, ...]]:
        """The places of each occurrence of `needle` (folded). A part of a word is no occurrence."""
        at = self.folded.find(needle) if needle else -1
        while at >= 0:
            if _whole_words(self.folded, at, at + len(needle)):
                yield self.places[at : at + len(needle)]
            at = self.folded.find(needle, at + 1)


def fold(text: str) -> str:
    """`text` with one blank for each run of white space, and none at its ends."""
    return " ".join(text.split())


@lru_cache(maxsize=256)
def passages(diff: FileDiff, signs: str, *, old: bool = False) -> tuple[Passage, ...]:
    """The lines with one of these signs that follow each other, by their numbers in the later or the `old` file."""
    lines = [line for hunk in diff.hunks for line in hunk.lines if line.sign in signs]
    runs: list[list[tuple[int, str]]] = []
    for number, text in sorted((_number(line, old=old), line.text) for line in lines):
        if not runs or runs[-1][-1][0] + 1 != number:
            runs.append([])
        runs[-1].append((number, text))
    return tuple(passage(run) for run in runs)


def passage(lines: Sequence[tuple[int, str]]) -> Passage:
    """These numbered lines as one text."""
    characters: list[str] = []
    places: list[Place] = []
    for number, text in lines:
        for column, character in enumerate(text):
            if not character.isspace():
                characters.append(character)
            elif characters and characters[-1] != " ":
                characters.append(" ")
            else:
                continue
            places.append((number, column))
        if characters and characters[-1] != " ":
            characters.append(" ")
            places.append((number, len(text)))
    return Passage("".join(characters), tuple(places))


def _number(line: DiffLine, *, old: bool) -> int:
    return line.old if old else line.new


def _whole_words(text: str, begin: int, end: int) -> bool:
    before = begin > 0 and _in_word(text[begin - 1]) and _in_word(text[begin])
    after = end < len(text) and _in_word(text[end]) and _in_word(text[end - 1])
    return not before and not after


def _in_word(character: str) -> bool:
    return character.isalnum() or character == "_"
