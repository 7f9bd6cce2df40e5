"""Objects that are equal to everything, in languages whose tests the negative control cannot alter."""

import re
from collections.abc import Iterator

from aigon.model.changes import Concern, Edits
from aigon.proof.analysis.languages import extension, list_product
from aigon.proof.analysis.sightings import Sighting, find_new, report, sight
from aigon.proof.analysis.text import without_comments

RULE = "always-equal"
_WHY = (
    "Such an object passes any comparison in a test, right or wrong. "
    "Compare what makes two of them equal, or return plain values."
)
_YES = r"(?:true|!false|this\s*==\s*this|self\s*==\s*self)"
_PATTERNS = (
    (
        "java|kt|cs|scala|groovy|php|swift|dart",
        rf"\b[eE]quals\s*\([^()]{{0,80}}\)[^{{;=]{{0,60}}(?:\{{\s*return\s+|=>?\s*){_YES}",
    ),
    ("rb", r"\bdef\s+(?:==|eql\?|===|equal\?)\s*\(?[^\n]{0,40}[\n;]\s*(?:return\s+)?true\s*[\n;]\s*end"),
    ("swift", r"static\s+func\s+==\s*\([^()]{0,80}\)[^{]{0,40}\{\s*(?:return\s+)?true\b"),
    ("cpp|cc|cxx|hpp|h", r"\boperator\s*==\s*\([^()]{0,80}\)[^{;]{0,40}\{\s*return\s+true\b"),
)


def look(edits: Edits) -> Iterator[Concern]:
    """Report every product file that brings such an object."""
    yield from report(RULE, find_new(list_product(edits), _see), _WHY)


def _see(path: str, text: str) -> Iterator[Sighting]:
    end = extension(path)
    for languages, pattern in _PATTERNS:
        for match in re.finditer(pattern, without_comments(text, path)) if end in languages.split("|") else ():
            yield sight(text, match.start(), "has an object that is equal to whatever it is compared with")
