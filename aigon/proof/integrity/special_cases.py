"""Product code that answers exactly the inputs of the visible tests.

The tests say what is asked: `multiply(2, 3) == 6`. A table, a chain of comparisons or a `match` of the product that
holds these inputs with these answers, nearly all of them and hardly any other, was copied from the tests.

`review` if a function of numbers, or of several arguments, is answered like that: such a table is no implementation.
`note` if texts are the keys (a lexicon, units, colours) or a number has a name (status codes, Roman numerals): there a
table is often what was asked for, and tests often name all of it. A table with entries beyond the tests is nothing, and
so is one with fewer than three of their examples (two, if there are several arguments).
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from aigon.model.changes import Concern, ConcernLevel, Edits
from aigon.proof.analysis.examples import (
    Atoms,
    Examples,
    Literal,
    find_literals,
    read_examples,
    read_python_examples,
)
from aigon.proof.analysis.languages import extension, is_code, is_python, list_parts, list_product
from aigon.proof.analysis.python import can_read
from aigon.proof.analysis.sightings import Sighting, find_new, report
from aigon.proof.analysis.tables import Table, list_defaults, list_tables
from aigon.proof.analysis.text import line_of

RULE = "special-cases"
_WHY = (
    "These are the inputs and answers of the visible tests, so nothing shows that any other input works. "
    "Compute the answer; if a fixed table is what was asked for, a person can approve it."
)
_DATA = ("json", "csv", "tsv", "yaml", "yml", "toml", "txt", "dat")
_NEARLY_ALL = 0.8
"""Of the examples that a table covers, and of a table that consists of examples."""
_FAR = 3
"""Lines between two literals that no longer belong to one table."""
_WIDEST = 30
"""Literals of a row that are compared, in languages that are read by their literals."""
_MOST = 300
"""Functions, and tables that look copied, that are compared with each other."""


@dataclass(frozen=True, slots=True)
class Question:
    """One function as the tests ask for it: the answer by each row of input and answer, and the level of a table."""

    name: str
    answers: Mapping[Atoms, Atoms]
    enough: int
    level: ConcernLevel

    @property
    def rows(self) -> frozenset[Atoms]:
        """Every example as one row of input and answer."""
        return frozenset(self.answers)


def look(edits: Edits) -> Iterator[Concern]:
    """Report every product file that holds the answers of the tests."""
    code = [edit for edit in list_product(edits) if is_code(edit.path)]
    data = [e for e in list_parts(edits, "other", "product") if extension(e.path) in _DATA and not _explains(e.path)]
    # Reading the tests is worth its time only if the change brings any table at all.
    places = [e for e in (*code, *data) if len(_list_rows(e.path, e.after) - _list_rows(e.path, e.before)) > 1]
    questions = list(_list_questions(edits)) if places else []

    def see(path: str, text: str) -> Iterable[Sighting]:
        return _find_answers(path, text, questions) if text and questions else ()

    yield from report(RULE, find_new(places, see), _WHY)


def _explains(path: str) -> bool:
    first = path.partition("/")[0].lower()
    return first in ("docs", "doc", "examples", "example") or path.endswith(("package.json", "lock.json", "-lock.yaml"))


def _list_rows(path: str, text: str | None) -> set[Atoms]:
    if can_read(path, text or ""):
        return {row for table in list_tables(text or "") for row in table.rows}
    return {(str(literal.line), *literal.atoms) for literal in find_literals(path, text or "")}


def _list_questions(edits: Edits) -> Iterator[Question]:
    changed = list_parts(edits, "tests")
    before = {e.path: e.before for e in changed if e.before}
    texts = [(path, before.get(path, text)) for path, text in edits.tests.items()]
    texts += [(e.path, e.after or "") for e in changed]
    texts += [(path, text) for path, text in before.items() if path not in edits.tests]
    found: Examples = {}
    for path, text in texts:
        examples = read_python_examples(text) if is_python(path) else read_examples(path, text) if is_code(path) else {}
        for name, answers in examples.items():
            found.setdefault(name, {}).update(answers)
    for name, answers in found.items():
        several = any(len(given) > 1 for given in answers)
        yield from _ask(name, answers, 2 if several else 3)
        # By one of several arguments, if that tells the answers apart.
        for at in range(min(max(map(len, answers)), 5) if several else 0):
            yield from _ask(name, {given[at : at + 1]: answer for given, answer in answers.items()}, 3)


def _ask(name: str, answers: Mapping[Atoms, Atoms], enough: int) -> Iterator[Question]:
    rows = {(*given, *answer): answer for given, answer in answers.items() if given}
    if len(rows) >= enough:
        yield Question(name, rows, enough, _choose_level(answers))


def _choose_level(answers: Mapping[Atoms, Atoms]) -> ConcernLevel:
    if all(atom.startswith("'") for given in answers for atom in given):
        return "note"
    single = all(len(given) == 1 for given in answers)
    named = all(any(atom.startswith("'") for atom in answer) for answer in answers.values())
    names = named and not any(given[0] in answer[0] for given, answer in answers.items() if given and answer)
    return "note" if single and names else "review"


def _find_answers(path: str, text: str, questions: list[Question]) -> Iterator[Sighting]:
    if can_read(path, text):
        copies = _find_python_copies(text, questions)
    else:
        literals = find_literals(path, text)
        known = {atom for literal in literals for atom in literal.atoms}
        possible = [q for q in questions if sum(map(known.issuperset, q.rows)) / len(q.rows) >= _NEARLY_ALL]
        copies = ((question, _find_run(question, literals, text)) for question in possible[:_MOST])
    for question, table in copies:
        if table:
            says = f"answers what the tests ask of {question.name}, and hardly anything else"
            yield Sighting(table.line, table.text, says, question.level)


def _find_python_copies(text: str, questions: list[Question]) -> Iterator[tuple[Question, Table | None]]:
    every = frozenset(row for question in questions for row in question.rows)
    held = [t for t in list_tables(text) if t.rows & every and len(t.rows & every) >= _NEARLY_ALL * t.size][:_MOST]
    rows = frozenset(row for table in held for row in table.rows)
    defaults = list_defaults(text) if held else set()
    for question in [q for q in questions if len(q.rows & rows) >= q.enough][:_MOST]:
        wanted = question.rows
        copied = [t for t in held if t.rows & wanted and len(t.rows & wanted) >= _NEARLY_ALL * t.size]
        hits = frozenset(row for table in copied for row in table.rows & wanted)
        covered = len(hits) + sum(question.answers[row] in defaults for row in wanted - hits)
        enough = len(hits) >= question.enough and covered >= _NEARLY_ALL * len(wanted)
        yield question, copied[0] if enough else None


def _find_run(question: Question, literals: list[Literal], text: str) -> Table | None:
    """Return rows that are close together, with little else among them: all that is known are literals."""
    wanted = question.rows
    longest = min(max(len(row) for row in wanted), _WIDEST)
    hits: set[Atoms] = set()
    others, at, last, first = 0, 0, -10, 0
    while at < len(literals):
        if literals[at].line - last > _FAR:
            if len(hits) >= question.enough:
                break
            hits, others, first = set(), 0, literals[at].line
        last = literals[at].line
        rows = (_join(literals[at : at + length]) for length in range(1, longest + 1))
        taken = next((length for length, row in enumerate(rows, 1) if row in wanted), 0)
        others += not taken
        if taken:
            hits.add(_join(literals[at : at + taken]))
            last = literals[at + taken - 1].line
        at += taken or 1
    pure = len(hits) >= _NEARLY_ALL * (len(hits) + others / longest)
    if len(hits) >= question.enough and pure and len(hits) >= _NEARLY_ALL * len(wanted):
        return Table(first, line_of(text, first))
    return None


def _join(literals: list[Literal]) -> Atoms:
    return tuple(atom for literal in literals for atom in literal.atoms)
