"""Find where a test can be altered, and draw what is put there."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from string import ascii_lowercase

from msgspec import Struct, field
from msgspec.structs import replace

from aigon.control.definitions import follow
from aigon.syntax import Edit, Node, Source


def words(text: str) -> frozenset[str]:
    """Return the words of a text as a set."""
    return frozenset(text.split())


LITERAL, VALUE, ASSERTION = 0, 2, 4
"""What is altered, the most telling first: an expected literal, what an expected expression comes to, the whole
assertion (it has to hold no more)."""
UNSURE = 1
"""Added for a place that may not run: in a branch, a loop, a function inside of the test."""


class Place(Struct, frozen=True):
    """One alteration of a test. `breaking` makes the test fail right there, whatever is compared.

    `same` says the same in other words: with operators of the language, so that no library decides.
    """

    edits: tuple[Edit, ...]
    breaking: Edit
    rank: int
    line: int
    same: tuple[Edit, ...] = ()

    def as_it_is(self) -> "Place":
        """Return the place of an assertion whose failure something catches: only its own exception is caught."""
        return replace(self, same=())


class AlterableTest(Struct, frozen=True, eq=False):
    """One test of a file, all of it in `node`. `owners` are the names of classes around it; `breaking` makes it fail as
    it begins.

    `is_title`: the name is a text, of which an id may add to the front; `is_open`: and also to the end.
    """

    path: str
    name: str
    node: Node
    places: tuple[Place, ...]
    breaking: Edit
    owners: tuple[str, ...] = ()
    is_title: bool = False
    is_open: bool = False


class Draw:
    """The draw for one test of one proof. `step` is added to a number, `word` to a text."""

    def __init__(self, seed: str, *names: str) -> None:
        self._random = random.Random("\0".join((seed, *names)))
        self.step = self._random.randint(3, 97)
        self.word = "_" + "".join(self._random.choices("bcdfghjkmnpqrstvwxz", k=5))

    def choose(self, places: Sequence[Place]) -> Place | None:
        """Return one of the most telling places."""
        return min(places, key=lambda place: (place.rank, self._random.random()), default=None)

    def small(self, value: int) -> int:
        """Return another number that fits wherever this one does: no compiler refuses it."""
        return (value + self.step) % 100 if value < 100 else value - self.step

    def alter_text(self, text: str) -> str:
        """Return another text: one that looks like this one, if it is long enough to be found nowhere by chance.

        Code that reads what a test expects cannot tell it from the right one by its shape.
        """
        spots = [at for at, char in enumerate(text) if char.isascii() and char.isalnum()]
        if len(spots) < 4 or not set(text).isdisjoint("\\{%$"):
            return text + self.word
        chars = list(text)
        for at in self._random.sample(spots, 2):
            kind = "0123456789" if chars[at].isdecimal() else ascii_lowercase
            other = self._random.choice([char for char in kind if char != chars[at].lower()])
            chars[at] = other.upper() if chars[at].isupper() else other
        return "".join(chars)

    def alter_float(self, value: float) -> float:
        """Return another number, also of one that is too large for the step to show."""
        other = value + self.step + 0.5
        return other if other != value else -value

    def alter_number(self, text: str) -> str | None:
        """Return another number of the same kind, as text; None if it cannot be read."""
        try:
            if any(mark in text.lower() for mark in (".", "e")) and not text.lower().startswith("0x"):
                return repr(self.alter_float(float(text.replace("_", ""))))
            return str(int(text.replace("_", ""), 0) + self.step)
        except ValueError:
            return None


Alter = Callable[[Source, Node, Draw], str | None]
"""Returns the replacement of a literal; None if it cannot be altered."""


class Subject(Struct, frozen=True):
    """What is altered: a test or a script, the `node` that runs. `titles` may name its values."""

    source: Source
    node: Node
    draw: Draw
    titles: tuple[Node, ...] = ()

    def text(self, node: Node) -> str:
        """Return the text there."""
        return self.source.text(node)


class Values(Struct, frozen=True):
    """The syntax of expected values in a language: `alter` by kind of a literal, `pure` kinds of other nodes.

    `wrap` is an expression with `{word}` and `{step}` that is called with a value and returns another of its type.
    """

    alter: Mapping[str, Alter]
    pure: frozenset[str]
    wrap: str = ""
    calls: frozenset[str] = field(default_factory=frozenset)

    def find_literals(self, subject: Subject, side: Node) -> Iterator[Edit]:
        """Yield an edit for each literal of an expression that is made of literals and names."""
        nodes = list(_walk_values(side, self.alter))
        if all(node.kind in self.alter or node.kind in self.pure or not node.kind[:1].isalpha() for node in nodes):
            for node in nodes:
                alter = self.alter.get(node.kind)
                if alter and (text := alter(subject.source, node, subject.draw)) is not None:
                    yield node.start, node.end, text

    def expect(self, subject: Subject, sides: Sequence[Node]) -> Iterator[tuple[Edit, ...]]:
        """Yield the alterations of what one of two sides expects, the later first: its literals, or those of the
        values that it is a name for."""
        for side in reversed(sides):
            if edits := list(self.find_literals(subject, side)):
                yield from ((edit,) for edit in edits)
                return
        yield from follow_names(subject, sides, self.find_literals)

    def compare(self, subject: Subject, sides: Sequence[Node]) -> Iterator[tuple[tuple[Edit, ...], int]]:
        """Yield the alterations of two sides that have to be equal, with their rank."""
        if expected := list(self.expect(subject, sides)):
            yield from ((edits, LITERAL) for edits in expected)
        elif self.wrap:
            without_calls = [side for side in sides if not any(node.kind in self.calls for node in side.walk())]
            side = (without_calls or list(sides))[-1]
            wrap = self.wrap.replace("{word}", subject.draw.word).replace("{step}", str(subject.draw.step))
            yield ((side.start, side.start, f"{wrap}("), (side.end, side.end, ")")), VALUE


def follow_names(
    subject: Subject, sides: Sequence[Node], find_literals: Callable[[Subject, Node], Iterator[Edit]]
) -> Iterator[tuple[Edit, ...]]:
    """Yield the alteration of every value that a side is a name for, where they are defined."""
    until = max(side.end for side in sides)
    for side in reversed(sides):
        values = follow(subject.source, side, until, subject.node, subject.titles)
        edits = [next(find_literals(subject, value), None) for value in values]
        if edits and all(edits):
            yield tuple(edit for edit in edits if edit)
            return


def _walk_values(node: Node, stop: Mapping[str, Alter]) -> Iterator[Node]:
    """Yield the nodes of an expression, without those inside of a literal."""
    pending = [node]
    while pending:
        found = pending.pop()
        yield found
        if found.kind not in stop:
            pending.extend(reversed(found.children))
