"""Product code that answers exactly the inputs of the visible tests.

The tests say what is asked: `multiply(2, 3) == 6`. A table, a chain of comparisons or a `match` of the product that
holds these inputs with these answers, nearly all of them and hardly any other, was copied from the tests.

`review` where a function of numbers, or of several arguments, is answered like that: such a table is no
implementation. `note` where texts are the keys (a lexicon, units, colours) or a number has a name (status codes, Roman
numerals): there a table is often what was asked for, and tests often name all of it. A table with entries beyond the
tests is nothing, and so is one with fewer than three of their examples (two, where there are several arguments).
"""

from collections.abc import Iterable, Iterator, Mapping

from aigon.model.changes import Concern, ConcernLevel, Edit, Edits
from aigon.proof.analysis import examples, literals
from aigon.proof.analysis.examples import Atoms, kind
from aigon.proof.analysis.languages import extension, is_code, is_python, of, product
from aigon.proof.analysis.python import read
from aigon.proof.analysis.sightings import Sighting, fresh, reported
from aigon.proof.analysis.tables import CopiedQuestion, answered, tables

RULE = "special-cases"
_WHY = (
    "These are the inputs and answers of the visible tests, so nothing shows that any other input works. "
    "Compute the answer; if a fixed table is what was asked for, a person can approve it."
)
_DATA = ("json", "csv", "tsv", "yaml", "yml", "toml", "txt", "dat")

Rows = Mapping[Atoms, Atoms]
"""Examples of one function: input and answer flattened to one, by input."""


def look(edits: Edits) -> Iterator[Concern]:
    """Every product file that holds the answers of the tests."""
    places = [edit for edit in _places(edits) if _could_answer(edit)]
    asked = list(_asked(edits)) if places else []

    def see(path: str, text: str) -> Iterable[Sighting]:
        return answered(path, text, asked) if text and asked else ()

    yield from reported(RULE, fresh(places, see), _WHY)


def _could_answer(edit: Edit) -> bool:
    """Whether the change brings any table at all, so that reading the tests is worth its time."""
    return len(_rows(edit.path, edit.after or "") - _rows(edit.path, edit.before or "")) > 1


def _rows(path: str, text: str) -> set[Atoms]:
    if is_python(path) and read(text) is not None:
        return {row for table in tables(text) for row in table.rows}
    return {(str(literal.line), *literal.atoms) for literal in literals.find_literals(path, text)}


def _places(edits: Edits) -> tuple[Edit, ...]:
    """Code, and data that it could read, but nothing that explains things to people."""
    data = [e for e in of(edits.files, "other", "product") if extension(e.path) in _DATA and not _explains(e.path)]
    return (*(e for e in product(edits) if is_code(e.path)), *data)


def _explains(path: str) -> bool:
    first = path.partition("/")[0].lower()
    return first in ("docs", "doc", "examples", "example") or path.endswith(("package.json", "lock.json", "-lock.yaml"))


def _asked(edits: Edits) -> Iterator[CopiedQuestion]:
    texts = dict(edits.tests)
    texts.update({f"{e.path} now": e.after or "" for e in of(edits.files, "tests")})
    texts.update({e.path: e.before for e in of(edits.files, "tests") if e.before})
    found: examples.Examples = {}
    for path, text in texts.items():
        path = path.removesuffix(" now")
        here = examples.examples(text) if is_python(path) else literals.examples(path, text) if is_code(path) else {}
        for name, answers in here.items():
            found.setdefault(name, {}).update(answers)
    for name, answers in found.items():
        several = any(len(given) > 1 for given in answers)
        yield from _of(name, answers, 2 if several else 3)
        for at in range(min(max(map(len, answers)), 5) if several else 0):
            yield from _of(name, {given[at : at + 1]: answer for given, answer in answers.items()}, 3)


def _of(name: str, answers: Rows, enough: int) -> Iterator[CopiedQuestion]:
    """A function as it is asked for, by all of its arguments or by one of several, if that tells its answers apart."""
    rows = {(*given, *answer): answer for given, answer in answers.items() if given}
    if len(rows) >= enough:
        yield CopiedQuestion(name, frozenset(rows), rows, enough, _level(answers))


def _level(answers: Rows) -> ConcernLevel:
    inputs = kind(atom for given in answers for atom in given)
    if inputs == "texts":
        return "note"
    single = all(len(given) == 1 for given in answers)
    named = all(any(atom.startswith("'") for atom in answer) for answer in answers.values())
    names = named and not any(given[0] in answer[0] for given, answer in answers.items() if given and answer)
    return "note" if single and names else "review"
