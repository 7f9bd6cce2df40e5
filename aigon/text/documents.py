"""Strict reading of YAML and JSON documents: every key is known, every value has its type, every error has a place."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from aigon.errors import AigonError, usage
from aigon.text import durations

Word = TypeVar("Word", bound=str)
LONGEST = 24 * 3600.0
"""Seconds that a time limit may be at most."""


def nearest(word: str, known: Iterable[str]) -> str:
    """`did you mean 'x'?` where a known word is close, then all known words: a hint."""
    from difflib import get_close_matches

    words = sorted(known)
    close = get_close_matches(word, words, n=1)
    return (f"Did you mean {close[0]!r}? " if close else "") + f"Known: {', '.join(words) or 'none'}"


@dataclass(frozen=True, slots=True)
class Node:
    """A value in a document: `file` as people know it, `path` the keys that lead to it, joined with dots.

    Every method raises AigonError (usage) when the value is not what the method's name says.
    """

    value: object
    file: str
    path: str = ""

    def wrong(self, what: str, hint: str = "") -> AigonError:
        """An error about this value: `what` continues the sentence that begins with its key."""
        return usage(f"{self.path or 'The document'} {what}", where=self.file, hint=hint)

    def pairs(self) -> dict[str, "Node"]:
        """A mapping with any keys."""
        if not isinstance(self.value, dict):
            raise self.wrong(f"must be a mapping, not {self.value!r:.60}")
        return {str(key): self._child(str(key), value) for key, value in self.value.items()}

    def fields(self, known: Iterable[str], required: Iterable[str] = ()) -> dict[str, "Node"]:
        """A mapping with only `known` keys, all of the `required` ones among them."""
        pairs, known = self.pairs(), tuple(known)
        for key in pairs:
            if key not in known:
                raise usage(f"Unknown key {pairs[key].path!r}", where=self.file, hint=nearest(key, known))
        for key in required:
            if key not in pairs:
                raise self.wrong(f"needs the key {key!r}")
        return pairs

    def items(self) -> tuple["Node", ...]:
        """A list."""
        if not isinstance(self.value, list):
            raise self.wrong(f"must be a list, not {self.value!r:.60}")
        return tuple(self._child(str(number), value) for number, value in enumerate(self.value))

    def text(self) -> str:
        """A text, on one line or more; it may be empty."""
        if not isinstance(self.value, str):
            raise self.wrong(f"must be a text, not {self.value!r:.60}", "Put it in quotes")
        return self.value

    def texts(self) -> tuple[str, ...]:
        """A list of texts; one text alone stands for a list of one."""
        return (self.value,) if isinstance(self.value, str) else tuple(item.text() for item in self.items())

    def inside(self) -> str:
        """A path inside the project: relative, without `..`."""
        path = self.text()
        if not path or path.startswith(("/", "~")) or ".." in path.split("/"):
            raise self.wrong(f"must be a path inside the project, not {path!r}")
        return path

    def pattern(self) -> str:
        """A regular expression."""
        try:
            re.compile(self.text())
        except re.error as error:
            raise self.wrong(f"is not a regular expression: {error}") from None
        return self.text()

    def flag(self) -> bool:
        """True or false."""
        if not isinstance(self.value, bool):
            raise self.wrong(f"must be true or false, not {self.value!r:.60}")
        return self.value

    def whole(self) -> int:
        """A whole number, 0 or more."""
        if isinstance(self.value, bool) or not isinstance(self.value, int) or self.value < 0:
            raise self.wrong(f"must be a whole number, not {self.value!r:.60}")
        return self.value

    def seconds(self) -> float:
        """A time above 0 and up to 24 hours: a number of seconds, or a text such as `90s`, `20m`, `1h30m`."""
        wrong = self.wrong(f"must be a time, not {self.value!r:.60}", "Seconds (600), or a text: 90s, 20m, 1h30m")
        if isinstance(self.value, bool) or not isinstance(self.value, int | float | str):
            raise wrong
        try:
            seconds = durations.seconds(self.value)
        except ValueError:
            raise wrong from None
        if seconds > LONGEST:
            raise wrong
        return seconds

    def choice(self, known: Sequence[Word]) -> Word:
        """One of the `known` words."""
        for word in known:
            if word == self.value:
                return word
        raise self.wrong(f"cannot be {self.value!r:.60}", nearest(str(self.value), known))

    def _child(self, key: str, value: object) -> "Node":
        return Node(value, self.file, f"{self.path}.{key}" if self.path else key)
