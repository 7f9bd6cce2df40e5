"""An evaluation for the terminal, in 80 columns: the table, then what is proposed and why."""

from collections.abc import Iterator, Sequence
from textwrap import wrap

from aigon.compare.rules.evaluation import Evaluation
from aigon.compare.views.rows import UNKNOWN, Row, gate_rows, measure_rows
from aigon.compare.views.words import crossed, dominates, headline, next_step, notes
from aigon.text.quoting import fold

COLUMNS = 80
TITLE = 20
"""Columns of the titles; the others share what is left."""
ABREAST = 4
"""Candidates beside each other; more stand in tables below."""


def text(found: Evaluation, kept: str) -> str:
    """All of it; `kept` says where it was written, or why not."""
    lines = [_folded(f"Feature {found.subject.feature}: {found.subject.title}"), "", *_tables(found)]
    lines += [*_cross_checks(found), *_section("Dominance", [dominates(pair) for pair in found.dominance])]
    lines += [*_section("Not known", notes(found)), "", *wrap(headline(found), COLUMNS)]
    lines += [line for reason in found.proposal.reasons for line in _wrapped(reason)]
    return "\n".join([*lines, *([kept] if kept else []), f"Next: {next_step(found)}"])


def _tables(found: Evaluation) -> Iterator[str]:
    rows = (*gate_rows(found), Row("", ()), *measure_rows(found))
    labels = [entry.label for entry in found.entries]
    for start in range(0, len(labels), ABREAST):
        some = slice(start, start + ABREAST)
        yield _line("", labels[some])
        yield from (_line(row.title, row.cells[some]) for row in rows)
        yield ""
    if any(UNKNOWN in row.cells for row in rows):
        yield f"{UNKNOWN} is not known, and passes no gate"


def _line(title: str, cells: Sequence[str]) -> str:
    width = (COLUMNS - TITLE) // ABREAST
    return (f"{title:<{TITLE}}" + "".join(f"{_cut(cell, width - 1):<{width}}" for cell in cells)).rstrip()


def _cut(cell: str, width: int) -> str:
    """What is too long loses its middle: labels of one agent differ at their end."""
    half = (width - 1) // 2
    return cell if len(cell) <= width else f"{cell[: width - 1 - half]}…{cell[-half:]}"


def _cross_checks(found: Evaluation) -> Iterator[str]:
    known = [check for check in found.cross_checks if check.known]
    if known:
        said = [f"tests of {c.tests_of} on {c.against}: {crossed(c)} pass" for c in known]
        yield from _section("New tests on the others (advisory)", said)


def _section(title: str, sentences: Sequence[str]) -> Iterator[str]:
    if sentences:
        yield from ("", title)
        yield from (line for sentence in sentences for line in _wrapped(sentence))


def _wrapped(sentence: str) -> list[str]:
    return wrap(fold(sentence, 400), COLUMNS, initial_indent="  - ", subsequent_indent="    ")


def _folded(line: str) -> str:
    return fold(line, COLUMNS)
