"""Product code that asks whether it runs under a test: it can then behave in tests as it behaves nowhere else.

`review`, because no check can find out: everything aigon runs is a test. Asking for a runner in `sys.modules`, the
command line, the callers, or by a variable that only runners set has hardly an honest reason in a product. What does
have one is a `note`: a test mode of the project's own (`TESTING`, `CI`), a sub-command called `test`, NODE_ENV where
it keeps a server from listening, unittest where helpers for tests are what is delivered. Reading the base's test
files from product code belongs here too, since expected values can be taken from there.
"""

import posixpath
import re
from collections.abc import Iterable, Iterator

from aigon.model.changes import Concern, Edits
from aigon.proof.analysis import questions
from aigon.proof.analysis.languages import is_code, is_python, product
from aigon.proof.analysis.python import read
from aigon.proof.analysis.sightings import Sighting, fresh, reported
from aigon.proof.analysis.text import line_of, without_comments

RULE = "test-detection"
_WHY = (
    "Code that can tell a test from real use can pass every test without working. "
    "Make it behave the same everywhere, and hand in what tests need to vary from outside."
)
_QUOTED = re.compile(r"'([^'\n]{3,200})'|\"([^\"\n]{3,200})\"")
_LISTS = re.compile(r"\b(r?glob|iterdir|listdir|scandir|walk|read_text|readdir(Sync)?|readFile(Sync)?|open)\s*\(")
_HELPERS = re.compile(
    r"(^|/)(testing|test_?utils?|test_?helpers?|testkit|fixtures?|mocks?|pytest_[a-z_]*|[a-z_]*plugin)(/|\.[a-z]+$)"
)


def look(edits: Edits) -> Iterator[Concern]:
    """Every product file that asks for a test runner."""
    own = any(re.search(r"^[ \t]*(from|import) aigon\b", text[:20_000], re.MULTILINE) for text in edits.tests.values())
    names = _test_files(edits)

    def see(path: str, text: str) -> Iterable[Sighting]:
        seen = [*_asking(path, text, own), *_reading(path, text, names)]
        return {sighting.line: sighting for sighting in reversed(seen)}.values()

    yield from reported(RULE, fresh(product(edits), see), _WHY)


def _asking(path: str, text: str, own: bool) -> Iterator[Sighting]:
    if not is_code(path) or not text:
        return
    python = is_python(path) and read(text) is not None
    found = questions.find_python_questions(text, own) if python else questions.find_questions(path, text, own)
    for each in found:
        helper = _HELPERS.search(path) and "imports" in each.says
        yield Sighting(each.line, each.text, each.says, "note") if helper else each


def _test_files(edits: Edits) -> frozenset[str]:
    """What product code could name them by: their paths, and names that are no everyday words."""
    names = {posixpath.basename(path) for path in edits.tests}
    return frozenset(edits.tests) | {name for name in names if re.search(r"test|spec", name, re.I)}


def _reading(path: str, text: str, names: frozenset[str]) -> Iterator[Sighting]:
    if not is_code(path) or not names:
        return
    folders = {name.partition("/")[0] for name in names if "/" in name} & {"tests", "test", "spec", "__tests__"}
    for number, line in enumerate(without_comments(text, path).split("\n"), 1):
        found = _QUOTED.findall(line[:2000])
        named = {part.removeprefix("./").removeprefix("../").rstrip("/") for each in found for part in each if part}
        if named & names and not re.search(r"write|run|call|spawn|exec|>>>", line):
            yield Sighting(number, line_of(text, number), "names a file of the tests")
        elif named & folders and _LISTS.search(line):
            yield Sighting(number, line_of(text, number), "reads the folder of the tests")
