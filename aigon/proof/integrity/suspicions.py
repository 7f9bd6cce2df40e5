"""Find code that fools the checks where no run can tell, by the rules of `templates/suspicions.yaml`.

Code that asks whether it is tested is right in every test, and code from outside of the repository is there wherever
the proof cannot be kept from it. Each form is a pattern over the code as `write` puts it: without comments, and with
texts put together. Python has a line for each statement, with names resolved (`sys.modules`, not `m`).
"""

import re
from bisect import bisect_right
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache, partial
from itertools import accumulate

from msgspec import Struct
from msgspec.structs import replace

from aigon.files.resources import read_shipped
from aigon.languages import extension, is_javascript, is_python, join_strings, line_of, without_comments
from aigon.model.changes import Concern, ConcernLevel, Edits
from aigon.proof.analysis.python import list_statements
from aigon.proof.analysis.sightings import Sighting, expand, find_new, list_product, report
from aigon.text.documents import parse_yaml

RULE = "suspicions"
_LONGEST_LINE = 2000


class Sign(Struct, frozen=True):
    """A pattern, and what code does that it is found in. Of several on one line the first counts.

    `languages` are `python`, `javascript` or extensions, none for every file; `beside` has to be found somewhere in the
    file, and `path` in its path.
    """

    says: str
    find: str
    languages: tuple[str, ...] = ()
    level: ConcernLevel = "review"
    path: str = ""
    beside: str = ""

    def fits(self, path: str) -> bool:
        """Return whether a file can have it."""
        end = extension(path)
        is_language = (
            not self.languages
            or end in self.languages
            or ("python" in self.languages and is_python(path))
            or ("javascript" in self.languages and is_javascript(path))
        )
        return is_language and re.search(self.path, path) is not None


class Suspicion(Struct, frozen=True):
    """One rule. Nothing is a concern if the base had what `unless` matches."""

    rule: str
    why: str
    signs: tuple[Sign, ...]
    unless: str = ""


@cache
def read_suspicions() -> tuple[Suspicion, ...]:
    """Return the rules that ship, with each `%name%` replaced by its part."""
    document = parse_yaml(read_shipped("templates", "suspicions.yaml"), "suspicions.yaml").fields(("names", "rules"))
    names = {name: node.text() for name, node in document["names"].pairs().items()}

    def fill(rule: Suspicion) -> Suspicion:
        filled = (replace(s, find=expand(s.find, names), beside=expand(s.beside, names)) for s in rule.signs)
        return replace(rule, signs=tuple(filled))

    return tuple(fill(node.build(Suspicion)) for node in document["rules"].items())


def look(edits: Edits) -> Iterator[Concern]:
    """Report every file in which a rule finds something that is new."""
    base = [*(edit.before or "" for edit in edits.files), *edits.tests.values()]
    for rule in read_suspicions():
        if not rule.unless or not any(re.search(rule.unless, text, re.MULTILINE) for text in base):
            yield from report(rule.rule, find_new(list_product(edits), partial(_see, rule.signs)), rule.why)


def _see(signs: Sequence[Sign], path: str, text: str) -> Iterator[Sighting]:
    """Yield what a text has, of each line what is first."""
    fitting = [sign for sign in signs if text and sign.fits(path)]
    if not fitting:
        return
    written = write(path, text)
    seen = dict[int, Sighting]()
    for sign in fitting:
        if not sign.beside or re.search(sign.beside, written.text):
            for match in re.finditer(sign.find, written.text, re.MULTILINE):
                line = written.lines[bisect_right(written.starts, match.start()) - 1]
                seen.setdefault(line, Sighting(line, line_of(text, line), sign.says, sign.level))
    yield from seen.values()


class Written(Struct, frozen=True):
    """Code as it is compared: for each of its lines where it begins, and its line in the file."""

    text: str
    starts: tuple[int, ...]
    lines: tuple[int, ...]


@lru_cache(maxsize=256)
def write(path: str, text: str) -> Written:
    """Return the code of a file without comments, names and texts as plain as they can be told."""
    rows = list_statements(text) if is_python(path) else None
    if rows is not None:
        lines = [written[:_LONGEST_LINE] for _, written in rows]
        numbers = [number for number, _ in rows]
    else:
        lines = [join_strings(line[:_LONGEST_LINE]) for line in without_comments(text, path).split("\n")]
        numbers = list(range(1, len(lines) + 1))
    starts = list(accumulate((len(line) + 1 for line in lines), initial=0))
    return Written("\n".join(lines), tuple(starts[:-1]), tuple(numbers))
