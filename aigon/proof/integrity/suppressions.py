"""Comments that silence a linter, a type checker or a coverage tool.

Counted over the whole change, so that moved code is nothing. One to three new ones that name what they silence are
ordinary work and a `note`; four or more in the product, or one that silences a whole file without naming anything, are
a `review`: with enough of them any checker is green. In tests they are a `note`, as tests do odd things on purpose.
Only comments and attributes count, not texts that hold the same words.
"""

import re
from collections.abc import Iterable, Iterator

from aigon.model.changes import Concern, ConcernLevel, Edit, Edits, hash_change
from aigon.proof.analysis.languages import family, of
from aigon.proof.analysis.sightings import Sighting, fresh, told
from aigon.proof.analysis.text import bare, comments, line_of

RULE = "suppressions"
_MANY = 4
"""From how many on they are a review; the number is a judgement, not a measurement."""

_BLANKET = re.compile(
    r"#\s*(ruff|flake8):\s*noqa\s*$|#\s*mypy:\s*ignore-errors|#\s*pylint:\s*(skip-file|disable=all)"
    r"|#\s*pyre-ignore-all"
    r"|#\s*pyright:\s*(basic|standard)\s*$|#\s*(yapf|isort):\s*skip_file"
    r"|/\*\s*eslint-disable\s*(\*/|--|$)|//\s*@ts-nocheck|/\*\s*@ts-nocheck|tslint:disable\s*(\*/|$)"
    r"|istanbul ignore file|[cv]8 ignore file|(deno-lint|biome)-ignore-(file|all)|stylelint-disable\s*(\*/|$)"
    r"|rubocop:disable\s+all|phpcs:ignoreFile|@phpstan-ignore-file|swiftlint:disable all"
    r"|shellcheck\s+disable=all"
    r"|golangci-lint:\s*ignore|//nolint:?\s*all|sonar\.skip|#\s*pragma:\s*no cover\s*file"
)
_ONE = re.compile(
    r"#\s*noqa\b|#\s*type:\s*ignore|#\s*(pyright|pyre|ty):\s*ignore|#\s*pyre-(ignore|fixme)|#\s*(ruff"
    r"|flake8):\s*noqa"
    r"|#\s*pylint:\s*disable|#\s*nosec\b|#\s*nosemgrep|#\s*pragma:\s*no\s*(cover|branch)"
    r"|#\s*mypy:\s*(disable|allow|ignore)"
    r"|#\s*pyright:\s*report|\beslint-disable|@ts-(ignore|expect-error|nocheck)|tslint:disable"
    r"|(istanbul|[cv]8)\s+ignore|biome-ignore|deno-lint-ignore|oxlint-disable|//\s*nolint"
    r"|@phpstan-ignore|psalm-suppress"
    r"|phpcs:(ignore|disable)|rubocop:disable|:nocov:|swiftlint:disable|ktlint-disable"
    r"|shellcheck\s+disable|hadolint\s+ignore"
    r"|NOSONAR|NOLINT|noinspection|coverage:ignore|stylelint-disable|sqlfluff:\s*noqa|yamllint\s+disable"
)
_ATTRIBUTE = re.compile(
    r"#!?\[\s*(?:cfg_attr\([^\n]{1,80},\s*)?(?:allow|expect)\s*\(|@SuppressWarnings\b|@Suppress\b"
    r"|@SuppressLint\b"
    r"|\[(?:\w+:\s*)?SuppressMessage\b|#pragma\s+warning\s+disable|#pragma\s+(?:GCC"
    r"|clang)\s+diagnostic\s+ignored"
    r"|@(?:typing\.)?no_type_check\b|#\[coverage\(off\)\]"
)
_WIDE_ATTRIBUTE = re.compile(r"#!\[\s*allow\s*\(|SuppressWarnings\(\s*\"all\"|#pragma\s+warning\s+disable\s*$")


def look(edits: Edits) -> Iterator[Concern]:
    """One concern for the product and one for the tests, at most."""
    yield from _reported(_written(edits, "product", "config", "other"), "review")
    yield from _reported(_written(edits, "tests"), "note")


def risen(edits: Edits) -> int:
    """How many more places silence a checker after these edits, tests included; below 0 where there are fewer."""
    written = _written(edits, "product", "config", "other", "tests")
    return sum(_count(e.path, e.after) - _count(e.path, e.before) for e in written)


def _written(edits: Edits, *parts: str) -> tuple[Edit, ...]:
    return tuple(e for e in of(edits.files, *parts) if family(e.path) not in ("text", "markup"))


def _see(path: str, text: str) -> Iterator[Sighting]:
    code_before = _first_code(path, text)
    for number, comment in comments(text, path):
        found = _ONE.search(comment[:2000])
        if _BLANKET.search(comment) or (re.fullmatch(r"#\s*type:\s*ignore\s*", comment) and number < code_before):
            yield Sighting(number, comment, "silences a checker for a whole file", "review")
        elif found:
            # The comment alone: what stands before it on the line may change without anything more being silenced.
            yield Sighting(number, comment[found.start() :], "silences a checker", "note")
    for number, line in enumerate(bare(text, path).split("\n"), 1):
        if _ATTRIBUTE.search(line[:2000]):
            wide = _WIDE_ATTRIBUTE.search(line_of(text, number)[:2000])
            says = "silences a checker for a whole file" if wide else "silences a checker"
            yield Sighting(number, line_of(text, number), says, "review" if wide else "note")


def _first_code(path: str, text: str) -> int:
    """The line of the first code. Before it, `# type: ignore` means the file."""
    lines = enumerate(bare(text, path).split("\n"), 1)
    return next((number for number, line in lines if line.strip()), 0)


def _reported(edits: tuple[Edit, ...], worst: ConcernLevel) -> Iterator[Concern]:
    found = list(fresh(edits, _see))
    whole = any(sighting.level == "review" for _, new in found for sighting in new)
    rise = sum(_count(e.path, e.after) - _count(e.path, e.before) for e in edits)
    if whole or rise > 0:
        level: ConcernLevel = worst if whole or rise >= _MANY else "note"
        yield Concern(RULE, level, _what(found, rise, whole), tuple(e.path for e, _ in found)[:20], _key(found))


def _count(path: str, text: str | None) -> int:
    return sum(1 for _ in _see(path, text or ""))


def _what(found: list[tuple[Edit, list[Sighting]]], rise: int, whole: bool) -> str:
    many = "A checker is silenced in 1 more place" if rise == 1 else f"Checkers are silenced in {rise} more places"
    return (
        f"{many}{', once for a whole file' if whole else ''}. {' '.join(told(e.path, new) for e, new in found[:5])} "
        "A checker that is told to look away is green whatever the code is like. "
        "Fix what it found, or name the one rule and the reason where it is wrong."
    )


def _key(found: Iterable[tuple[Edit, list[Sighting]]]) -> str:
    return hash_change([RULE, *(part for e, new in found for part in (e.path, *(s.text for s in new)))])
