"""JavaScript that reaches into the test runner, and packages that become plugins of one."""

import posixpath
import re
from collections.abc import Iterator

from aigon.model.changes import ConcernLevel
from aigon.proof.integrity._scan import line_of, without_comments
from aigon.proof.integrity._sightings import Sighting

_NAMES = "(?:expect|it|test|describe|jest|vi|beforeEach|afterEach|assert)"
_USES = "uses the test runner in the product"
_LANGUAGE = "changes the language itself"
_GLOBAL = r"\b(?:globalThis|global|window)\s*(?:\.\s*|\[\s*['\"])"
_JAVASCRIPT: tuple[tuple[re.Pattern[str], str, ConcernLevel], ...] = (
    (re.compile(rf"{_GLOBAL}{_NAMES}\b['\"\]\s]*=(?!=)"), "replaces a global of the test runner", "review"),
    (
        re.compile(r"\bexpect\.extend\s*\(|\bjest\.(?:fn|mock|spyOn|setTimeout)\s*\(|\bvi\.(?:fn|mock|spyOn)\s*\("),
        _USES,
        "review",
    ),
    (
        re.compile(r"\bModule\.(?:_load|_resolveFilename|_extensions|prototype\.require|wrap)\b[^=\n]{0,40}=(?!=)"),
        "changes how modules are loaded",
        "review",
    ),
    (
        re.compile(r"\brequire\.(?:cache|extensions)\s*\[[^\]\n]{1,120}\]\s*(?:\.exports\s*)?=(?!=)"),
        "replaces a module that is loaded",
        "review",
    ),
    (
        re.compile(r"\bassert\.(?:equal|strictEqual|deepEqual|deepStrictEqual|ok|throws|fail|rejects)\s*=(?!=)"),
        "replaces an assertion",
        "review",
    ),
    (
        re.compile(r"\bObject\.(?:is|keys|entries)\s*=(?!=)|\bNumber\.isNaN\s*=(?!=)|\bJSON\.stringify\s*=(?!=)"),
        _LANGUAGE,
        "review",
    ),
    (
        re.compile(
            r"\b(?:Object|Number|Function|Boolean|Error|Promise)\.prototype\.(?!valueOf|toString|hasOwn)\w+\s*=(?!=)"
        ),
        _LANGUAGE,
        "note",
    ),
    (
        re.compile(r"\b(?:Object|Number|Function|Boolean)\.prototype\.(?:valueOf|toString|hasOwnProperty)\s*=(?!=)"),
        _LANGUAGE,
        "review",
    ),
    (
        re.compile(r"['\"`][^'\"`\n]*(?:--outputFile|JEST_JUNIT_OUTPUT|--reporters?=)"),
        "steers the test runner by its arguments",
        "review",
    ),
)
_ENTRY = re.compile(r"pytest11|['\"]?nose\.plugins|flake8\.extension['\"]?\s*=\s*\[?\s*['\"]?$")


def meddling(path: str, text: str) -> Iterator[Sighting]:
    """Every line."""
    for number, line in enumerate(without_comments(text, path).split("\n"), 1):
        for pattern, says, level in _JAVASCRIPT:
            if pattern.search(line[:2000]):
                yield Sighting(number, line_of(text, number), says, level)
                break


def entry_points(path: str, text: str) -> Iterator[Sighting]:
    """Where a package says that pytest should load it."""
    if posixpath.basename(path) not in ("pyproject.toml", "setup.cfg", "setup.py", "entry_points.txt"):
        return
    for number, line in enumerate(without_comments(text, path).split("\n"), 1):
        if _ENTRY.search(line[:2000]):
            yield Sighting(number, line_of(text, number), "makes the package a plugin of the test runner")
