"""Comments that silence a linter, a type checker or a coverage tool.

Counted over the whole change, so that moved code is nothing. One to three new ones that name what they silence are
ordinary work and a `note`; four or more in the product, or one that silences a whole file without naming anything, are
a `review`: with enough of them any checker is green. In tests they are a `note`, as tests do odd things on purpose.
Only comments and attributes count, not texts that hold the same words.
"""

import re
from collections.abc import Iterator

from aigon.model.changes import Concern, ConcernLevel, Edit, Edits, hash_change
from aigon.proof.analysis.languages import family, list_parts
from aigon.proof.analysis.sightings import Sighting, describe_sightings, find_new
from aigon.proof.analysis.text import bare, comments, line_of

RULE = "suppressions"
_MANY = 4
"""From how many on they are a review; the number is a judgement, not a measurement."""
_WHY = (
    "A checker that is told to look away passes whatever the code is like. "
    "Fix what it found, or name the one rule and the reason where it is wrong."
)
_BLANKET = re.compile(
    r"#\s*(ruff|flake8):\s*noqa\s*$|#\s*mypy:\s*ignore-errors|#\s*pylint:\s*(skip-file|disable=all)"
    r"|#\s*pyre-ignore-all|#\s*pyright:\s*(basic|standard)\s*$|#\s*(yapf|isort):\s*skip_file"
    r"|/\*\s*eslint-disable\s*(\*/|--|$)|//\s*@ts-nocheck|/\*\s*@ts-nocheck|tslint:disable\s*(\*/|$)"
    r"|istanbul ignore file|[cv]8 ignore file|(deno-lint|biome)-ignore-(file|all)|stylelint-disable\s*(\*/|$)"
    r"|rubocop:disable\s+all|phpcs:ignoreFile|@phpstan-ignore-file|swiftlint:disable all|shellcheck\s+disable=all"
    r"|golangci-lint:\s*ignore|//nolint:?\s*all|sonar\.skip|#\s*pragma:\s*no cover\s*file"
)
_ONE = re.compile(
    r"#\s*noqa\b|#\s*type:\s*ignore|#\s*(pyright|pyre|ty):\s*ignore|#\s*pyre-(ignore|fixme)|#\s*(ruff|flake8):\s*noqa"
    r"|#\s*pylint:\s*disable|#\s*nosec\b|#\s*nosemgrep|#\s*pragma:\s*no\s*(cover|branch)"
    r"|#\s*mypy:\s*(disable|allow|ignore)|#\s*pyright:\s*report|\beslint-disable|@ts-(ignore|expect-error|nocheck)"
    r"|tslint:disable|(istanbul|[cv]8)\s+ignore|biome-ignore|deno-lint-ignore|oxlint-disable|//\s*nolint"
    r"|@phpstan-ignore|psalm-suppress|phpcs:(ignore|disable)|rubocop:disable|:nocov:|swiftlint:disable|ktlint-disable"
    r"|shellcheck\s+disable|hadolint\s+ignore|NOSONAR|NOLINT|noinspection|coverage:ignore|stylelint-disable"
    r"|sqlfluff:\s*noqa|yamllint\s+disable"
)
_ATTRIBUTE = re.compile(
    r"#!?\[\s*(?:cfg_attr\([^\n]{1,80},\s*)?(?:allow|expect)\s*\(|@SuppressWarnings\b|@Suppress\b|@SuppressLint\b"
    r"|\[(?:\w+:\s*)?SuppressMessage\b|#pragma\s+warning\s+disable|#pragma\s+(?:GCC|clang)\s+diagnostic\s+ignored"
    r"|@(?:typing\.)?no_type_check\b|#\[coverage\(off\)\]"
)
_WIDE_ATTRIBUTE = re.compile(r"#!\[\s*allow\s*\(|SuppressWarnings\(\s*\"all\"|#pragma\s+warning\s+disable\s*$")
_SILENCES = "silences a checker"
_SILENCES_FILE = "silences a checker for a whole file"


def look(edits: Edits) -> Iterator[Concern]:
    """Report at most once for the product and once for the tests."""
    yield from _report(_list_written(edits, "product", "config", "other"), "review")
    yield from _report(_list_written(edits, "tests"), "note")


def risen(edits: Edits) -> int:
    """Return how many more places silence a checker after these edits, tests included; below 0 for fewer."""
    return _count_rise(_list_written(edits, "product", "config", "other", "tests"))


def _list_written(edits: Edits, *parts: str) -> list[Edit]:
    return [edit for edit in list_parts(edits, *parts) if family(edit.path) not in ("text", "markup")]


def _count_rise(edits: list[Edit]) -> int:
    return sum(len([*_see(e.path, e.after or "")]) - len([*_see(e.path, e.before or "")]) for e in edits)


def _report(edits: list[Edit], worst: ConcernLevel) -> Iterator[Concern]:
    found = list(find_new(edits, _see))
    whole = any(sighting.level == "review" for _, new in found for sighting in new)
    rise = _count_rise(edits)
    if whole or rise > 0:
        many = "A checker is silenced in 1 more place" if rise == 1 else f"Checkers are silenced in {rise} more places"
        shown = " ".join(describe_sightings(edit.path, new) for edit, new in found[:5])
        what = f"{many}{', once for a whole file' if whole else ''}. {shown} {_WHY}"
        key = hash_change([RULE, *(part for edit, new in found for part in (edit.path, *(s.text for s in new)))])
        level: ConcernLevel = worst if whole or rise >= _MANY else "note"
        yield Concern(RULE, level, what, tuple(edit.path for edit, _ in found)[:20], key)


def _see(path: str, text: str) -> Iterator[Sighting]:
    code = bare(text, path).split("\n")
    first_code = next((number for number, line in enumerate(code, 1) if line.strip()), 0)
    for number, comment in comments(text, path):
        # Before the first code, `# type: ignore` means the file.
        whole = re.fullmatch(r"#\s*type:\s*ignore\s*", comment) and number < first_code
        if whole or _BLANKET.search(comment):
            yield Sighting(number, comment, _SILENCES_FILE, "review")
        elif one := _ONE.search(comment[:2000]):
            # The comment alone: what is before it on the line may change without anything more being silenced.
            yield Sighting(number, comment[one.start() :], _SILENCES, "note")
    for number, line in enumerate(code, 1):
        if _ATTRIBUTE.search(line[:2000]):
            whole_line = line_of(text, number)
            wide = _WIDE_ATTRIBUTE.search(whole_line[:2000])
            yield Sighting(number, whole_line, _SILENCES_FILE if wide else _SILENCES, "review" if wide else "note")
