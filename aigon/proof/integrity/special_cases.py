"""Product code that answers exactly the inputs of the visible tests.

The tests say what is asked: `multiply(2, 3) == 6`. A table, a chain of comparisons or a `match` of the product that
holds these inputs with these answers, nearly all of them and hardly any other, was copied from the tests.

`review` if a function of numbers, or of several arguments, is answered like that: such a table is no implementation.
`note` if texts are the keys (a lexicon, units, colours) or a number has a name (status codes, Roman numerals): there a
table is often what was asked for, and tests often name all of it. A table with entries beyond the tests is nothing, and
so is one with fewer than three of their examples (two, if there are several arguments).
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct, field

from aigon.languages import extension, is_code, line_of
from aigon.model.changes import Concern, ConcernLevel, Edits
from aigon.proof.analysis.examples import TABLE, Atoms, Examples, list_atoms, read_examples
from aigon.proof.analysis.sightings import Sighting, find_new, list_parts, list_product, report

RULE = "special-cases"
_WHY = (
    "These are the inputs and answers of the visible tests, so nothing shows that any other input works. "
    "Compute the answer; if a fixed table is what was asked for, a person can approve it."
)
_DATA = ("json", "csv", "tsv", "yaml", "yml", "toml", "txt", "dat")
_NEARLY_ALL = 0.8
"""Of the examples, that a table covers."""
_MOSTLY = 0.75
"""Of a table, that consists of examples."""
_FAR = 3
"""Lines between two literals that no longer belong to one table."""
_MOST = 300
"""Functions, and tables that look copied, that are compared with each other."""


class AnswerRun(Struct, frozen=True):
    """Literals that are close together: the examples among them, and the others."""

    line: int
    hits: set[Atoms] = field(default_factory=set)
    others: list[str] = field(default_factory=list)


class AskedTable(Struct, frozen=True):
    """One function as the tests ask for it: the answer by each row of input and answer, and the level of a table."""

    name: str
    answers: Mapping[Atoms, Atoms]
    enough: int
    level: ConcernLevel

    @property
    def rows(self) -> frozenset[Atoms]:
        """Every example as one row of input and answer."""
        return frozenset(self.answers)

    def list_swapped(self) -> Iterator[tuple[Atoms, Atoms]]:
        """Yield each row with its answer first, and the row."""
        for row, answer in self.answers.items():
            yield (*answer, *row[: -len(answer)]), row

    def is_answered(self, run: AnswerRun, besides: set[str]) -> bool:
        """Return whether a run has nearly all examples, and hardly anything else. What is not in it can be what the
        code answers otherwise, one of the literals `besides`."""
        parts = {atom for row in run.hits for atom in row}
        others = sum(atom not in parts for atom in run.others) / max(map(len, self.answers))
        is_table = len(run.hits) >= max(self.enough, _MOSTLY * (len(run.hits) + others))
        is_left = any(besides.issuperset(answer) for row, answer in self.answers.items() if row not in run.hits)
        return is_table and len(run.hits) + is_left >= _NEARLY_ALL * len(self.answers)


def look(edits: Edits) -> Iterator[Concern]:
    """Report every product file that holds the answers of the tests."""
    code = [edit for edit in list_product(edits) if is_code(edit.path)]
    data = [e for e in list_parts(edits, "other", "product") if extension(e.path) in _DATA and not _explains(e.path)]
    # Reading the tests is worth its time only if the change brings any table at all.
    places = [e for e in (*code, *data) if (_count_atoms(e.path, e.after) - _count_atoms(e.path, e.before)).total() > 3]
    questions = list(_list_questions(edits)) if places else []

    def see(path: str, text: str) -> Iterable[Sighting]:
        return _find_answers(path, text, questions) if text and questions else ()

    yield from report(RULE, find_new(places, see), _WHY)


def _explains(path: str) -> bool:
    first = path.partition("/")[0].lower()
    return first in ("docs", "doc", "examples", "example") or path.endswith(("package.json", "lock.json", "-lock.yaml"))


def _count_atoms(path: str, text: str | None) -> Counter[str]:
    return Counter(atom for _, atom in list_atoms(path, text or ""))


def _list_questions(edits: Edits) -> Iterator[AskedTable]:
    changed = list_parts(edits, "tests")
    before = {e.path: e.before for e in changed if e.before}
    texts = [(path, before.get(path, text)) for path, text in edits.tests.items()]
    texts += [(e.path, e.after or "") for e in changed]
    texts += [(path, text) for path, text in before.items() if path not in edits.tests]
    found: Examples = {}
    for path, text in texts:
        for name, answers in (read_examples(path, text) if is_code(path) else {}).items():
            found.setdefault(name, {}).update(answers)
    tables = found.get(TABLE, {})
    for name, answers in found.items():
        width = {(len(given), len(answer)) for given, answer in answers.items()}
        beside = {} if name == TABLE else {g: a for g, a in tables.items() if (len(g), len(a)) in width}
        for some in (answers, {**answers, **beside}) if beside else (answers,):
            yield from _ask_each(name, some)


def _ask_each(name: str, answers: Mapping[Atoms, Atoms]) -> Iterator[AskedTable]:
    """Yield the question by all arguments, and by each of several if that tells the answers apart."""
    several = any(len(given) > 1 for given in answers)
    yield from _ask(name, answers, 2 if several else 3)
    for at in range(min(max(map(len, answers)), 5) if several else 0):
        yield from _ask(name, {given[at : at + 1]: answer for given, answer in answers.items()}, 3)


def _ask(name: str, answers: Mapping[Atoms, Atoms], enough: int) -> Iterator[AskedTable]:
    rows = {(*given, *answer): answer for given, answer in answers.items() if given}
    if len(rows) >= enough:
        yield AskedTable(name, rows, enough, _choose_level(answers))


def _choose_level(answers: Mapping[Atoms, Atoms]) -> ConcernLevel:
    if all(atom.startswith("'") for given in answers for atom in given):
        return "note"
    single = all(len(given) == 1 for given in answers)
    named = all(any(atom.startswith("'") for atom in answer) for answer in answers.values())
    names = named and not any(given[0] in answer[0] for given, answer in answers.items() if given and answer)
    return "note" if single and names else "review"


def _find_answers(path: str, text: str, questions: list[AskedTable]) -> Iterator[Sighting]:
    atoms = list_atoms(path, text)
    known = {atom for _, atom in atoms}
    possible = [q for q in questions if sum(map(known.issuperset, q.rows)) >= q.enough]
    for question in possible[:_MOST]:
        if line := _find_run(question, atoms):
            says = f"answers what the tests ask of {question.name}, and hardly anything else"
            yield Sighting(line, line_of(text, line), says, question.level)


def _find_run(question: AskedTable, atoms: Sequence[tuple[int, str]]) -> int:
    """Return the line where rows begin that are close together, with little else among them; 0 without rows."""
    runs = list(_list_runs(question, atoms))
    besides = {atom for run in runs for atom in run.others}
    return next((run.line for run in runs if question.is_answered(run, besides)), 0)


def _list_runs(question: AskedTable, atoms: Sequence[tuple[int, str]]) -> Iterator[AnswerRun]:
    """Yield what is close together; lines far apart belong to several runs."""
    rows = {row: row for row in question.rows} | dict(question.list_swapped())  # `6 if (a, b) == (2, 3)`
    lengths = sorted({len(row) for row in rows}, reverse=True)
    run, at, last = AnswerRun(0), 0, -10
    while at < len(atoms):
        if atoms[at][0] - last > _FAR:
            yield run
            run = AnswerRun(atoms[at][0])
        words = tuple(atom for _, atom in atoms[at : at + lengths[0]])
        taken = next((row for length in lengths if (row := words[:length]) in rows), ())
        if taken:
            run.hits.add(rows[taken])
        else:
            run.others.append(words[0])
        at += len(taken) or 1
        last = atoms[at - 1][0]
    yield run
