"""Objects that are equal to everything: a test that compares them passes whatever they are.

`review` for `__eq__` and its like that say yes without looking at what they are compared with, for the same in other
languages, and for mocks that equal anything (`unittest.mock.ANY`, MagicMock) in product code. Comparing types alone is
ordinary for classes without state, so it counts only against Python's own types. An order that never changes is a
`note`: sentinels such as an infinity have one. `__bool__` and `__eq__` that always say no are ordinary.
"""

import ast
import re
from collections.abc import Iterator

from aigon.model.changes import Concern, Edits
from aigon.proof.analysis.answers import LEVELS, definitions, says_yes
from aigon.proof.analysis.languages import extension, is_code, is_javascript, is_python, product
from aigon.proof.analysis.python import Module, read, units
from aigon.proof.analysis.sightings import Sighting, fresh, reported
from aigon.proof.analysis.text import line_at, line_of, without_comments

RULE = "always-equal"
_WHY = (
    "Such an object passes any comparison in a test, right or wrong. "
    "Compare what makes two of them equal, or return plain values."
)
_SAYS = "is equal to whatever it is compared with"
_MOCKS = ("ANY", "Mock", "MagicMock", "AsyncMock", "NonCallableMock", "NonCallableMagicMock", "sentinel")

_YES = r"(?:true|!0|!false|1\s*===?\s*1|True|Boolean\(1\)|this\s*===?\s*this|self\s*==\s*self)"
_ELSEWHERE: tuple[tuple[str, str], ...] = (
    (
        r"js",
        rf"\b(?:equals|isEqual|isEqualTo|eq|asymmetricMatch|includes|has|contains)\s*(?::\s*function\s*)?"
        rf"(?:\([^()]{{0,80}}\)|[:=]\s*\(?[\w\s,]{{0,40}}\)?)\s*(?::\s*\w+\s*)?(?:=>\s*)?"
        rf"(?:\{{\s*return\s+)?{_YES}\s*[;}},\n]",
    ),
    (r"js", r"jest\.asymmetricMatcher|\bSymbol\.toPrimitive\b[^;]{0,80}?(?:return|=>)\s*(?:[\d'\"`]|true|!0)"),
    (r"js", rf"\bvalueOf\s*(?:\(\s*\)|[:=]\s*\(\s*\))\s*(?:=>\s*)?(?:\{{\s*return\s+)?(?:{_YES}|\d|['\"`])"),
    (
        r"java|kt|cs|scala|groovy|php|swift|dart",
        rf"\b[eE]quals\s*\([^()]{{0,80}}\)[^{{;=]{{0,60}}(?:\{{\s*return\s+|=>?\s*){_YES}",
    ),
    (r"rs", r"\bfn\s+eq\s*\([^()]{0,80}\)\s*->\s*bool\s*\{\s*(?:return\s+)?true\b"),
    (r"rb", r"\bdef\s+(?:==|eql\?|===|equal\?)\s*\(?[^\n]{0,40}[\n;]\s*(?:return\s+)?true\s*[\n;]\s*end"),
    (r"swift", r"static\s+func\s+==\s*\([^()]{0,80}\)[^{]{0,40}\{\s*(?:return\s+)?true\b"),
    (r"cpp|cc|cxx|hpp|h", r"\boperator\s*==\s*\([^()]{0,80}\)[^{;]{0,40}\{\s*return\s+true\b"),
)


def look(edits: Edits) -> Iterator[Concern]:
    """Every product file that brings such an object."""
    yield from reported(RULE, fresh(product(edits), _see), _WHY)


def _see(path: str, text: str) -> Iterator[Sighting]:
    if is_python(path) and read(text) is not None:
        for module in units(text):
            yield from _in_python(module)
    elif is_code(path):
        yield from _elsewhere(path, text)


def _in_python(module: Module) -> Iterator[Sighting]:
    functions = {n.name: n for n in module.nodes if isinstance(n, ast.FunctionDef)}
    for node in module.nodes:
        for name, function in definitions(node, module):
            named = functions.get(function.id) if isinstance(function, ast.Name) else function
            if name in LEVELS and isinstance(named, (ast.FunctionDef, ast.Lambda)) and says_yes(named, name, module):
                yield Sighting(
                    module.line(node),
                    module.text(node),
                    f"defines {name}, which answers the same whatever it is compared with",
                    LEVELS[name],
                )
        if isinstance(node, (ast.Name, ast.Attribute)) and _is_mock(module.name(node)):
            yield Sighting(
                module.line(node), module.text(node), "uses a mock, which stands for anything, in the product"
            )


def _is_mock(name: str) -> bool:
    module, _, last = name.rpartition(".")
    return last in _MOCKS and module in ("unittest.mock", "mock")


def _elsewhere(path: str, text: str) -> Iterator[Sighting]:
    plain = without_comments(text, path)
    end = "js" if is_javascript(path) else extension(path)
    for languages, pattern in _ELSEWHERE:
        if end in languages.split("|"):
            for match in re.finditer(pattern, plain):
                line = line_at(plain, match.start())
                yield Sighting(line, line_of(text, line), f"has an object that {_SAYS}")
