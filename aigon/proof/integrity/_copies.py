"""Tables of a file, compared with what the tests ask for."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from aigon.model.changes import ConcernLevel
from aigon.proof.integrity import _literals
from aigon.proof.integrity._atoms import Atoms
from aigon.proof.integrity._languages import is_python
from aigon.proof.integrity._python import read
from aigon.proof.integrity._scan import line_of
from aigon.proof.integrity._sightings import Sighting
from aigon.proof.integrity._table import Table
from aigon.proof.integrity._tables import defaults, tables

_NEARLY_ALL = 0.8
"""Of the examples that a table covers, and of a table that consists of examples."""


@dataclass(frozen=True, slots=True)
class Asked:
    """One function as the tests ask for it: every example as one row of input and answer, and the level of a table."""

    name: str
    rows: frozenset[Atoms]
    answers: Mapping[Atoms, Atoms]
    enough: int
    level: ConcernLevel


def answered(path: str, text: str, asked: list[Asked]) -> Iterator[Sighting]:
    if is_python(path) and read(text) is not None:
        found = _in_python(text, asked)
    else:
        literals = _literals.literals(path, text)
        known = {atom for literal in literals for atom in literal.atoms}
        possible = [each for each in asked if _share(each.rows, known) >= _NEARLY_ALL]
        found = ((each, _run(each, literals, text)) for each in possible[:_MOST])
    for each, table in found:
        if table:
            says = f"answers what the tests ask of {each.name}, and hardly anything else"
            yield Sighting(table.line, table.text, says, each.level)


def _in_python(text: str, asked: list[Asked]) -> Iterator[tuple[Asked, Table | None]]:
    every = frozenset(row for each in asked for row in each.rows)
    held = [t for t in tables(text) if t.rows & every and len(t.rows & every) >= _NEARLY_ALL * t.size][:_MOST]
    rows = frozenset(row for table in held for row in table.rows)
    fallback = defaults(text) if held else set()
    for each in [each for each in asked if len(each.rows & rows) >= each.enough][:_MOST]:
        yield each, _copied(each, held, fallback)


def _share(rows: frozenset[Atoms], known: set[str]) -> float:
    """How many of the rows consist of what the text holds."""
    return sum(known.issuperset(row) for row in rows) / max(len(rows), 1)


def _copied(asked: Asked, held: list[Table], fallback: set[Atoms]) -> Table | None:
    """The first of the tables that, together, were copied."""
    mine = [t for t in held if len(t.rows & asked.rows) >= _NEARLY_ALL * t.size and t.rows & asked.rows]
    hits = frozenset(row for table in mine for row in table.rows & asked.rows)
    if len(hits) < asked.enough:
        return None
    covered = len(hits) + sum(asked.answers[row] in fallback for row in asked.rows - hits)
    return mine[0] if covered >= _NEARLY_ALL * len(asked.rows) else None


def _run(asked: Asked, found: list[_literals.Literal], text: str) -> Table | None:
    """The same where only literals are known: rows that stand close together, with little else among them."""
    longest = min(max(len(row) for row in asked.rows), _WIDEST)
    hits: set[Atoms] = set()
    others, at, last, first = 0, 0, -10, 0
    while at < len(found):
        if found[at].line - last > _FAR and len(hits) < asked.enough:
            hits, others, first = set(), 0, found[at].line
        elif found[at].line - last > _FAR:
            break
        last = found[at].line
        taken = _row(asked, found, at, longest)
        others += not taken
        if taken:
            hits.add(_joined(found[at : at + taken]))
            last = found[at + taken - 1].line
        at += taken or 1
    pure = len(hits) >= _NEARLY_ALL * (len(hits) + others / longest)
    if len(hits) >= asked.enough and pure and len(hits) >= _NEARLY_ALL * len(asked.rows):
        return Table(first, line_of(text, first))
    return None


_FAR = 3
"""Lines between two literals that no longer belong to one table."""
_WIDEST = 30
"""Literals of a row that are compared, in languages that are read by their literals."""
_MOST = 300
"""Functions, and tables that look copied, that are compared with each other."""


def _row(asked: Asked, found: list[_literals.Literal], at: int, longest: int) -> int:
    """How many literals, from this one, are an example; 0 for none."""
    for length in range(1, longest + 1):
        if _joined(found[at : at + length]) in asked.rows:
            return length
    return 0


def _joined(found: list[_literals.Literal]) -> Atoms:
    return tuple(atom for literal in found for atom in literal.atoms)
