"""Changed dependencies.

A `note`, as features need libraries and upgrades are ordinary work. `review` if a tool that decides (a test runner, a
linter, a type checker) is taken from a file, a folder or an address instead of its registry, or under another name, and
if the registry itself changes: then what is called pytest need not be pytest.
"""

import posixpath
import re
from collections.abc import Iterator

from aigon.model.changes import Concern, Edits
from aigon.proof.analysis.manifests import read_dependencies
from aigon.proof.analysis.sightings import report_file
from aigon.text.patterns import compile_re
from aigon.text.quoting import fold

RULE = "dependencies"
_TOOLS = compile_re(
    r"(_?pytest\b|pytest-|pluggy|iniconfig|unittest2|nose|tox\b|nox\b|coverage|hypothesis|ruff|mypy"
    r"|pyright|flake8|pylint|black|jest|@jest/|vitest|@vitest/|mocha|chai|ava$|tap$|jasmine|karma|cypress|playwright"
    r"|@playwright/|eslint|typescript$|tsc$|ts-jest|github\.com/stretchr/testify|rspec|minitest|rubocop|junit|phpunit"
    r"|phpunit/phpunit)",
    re.IGNORECASE,
)
_ELSEWHERE = compile_re(
    r"\b(file|link|portal|git\+\w+|git|https?|ssh|npm|workspace)\s*:|\"(path|git|url|workspace)\"\s*:"
    r"|(^|\s)-e\s|=>\s*\.{0,2}/|@\s*\S+://|^\.{1,2}/"
)
_REGISTRY = compile_re(
    r"--?(extra-)?index-url|^-i\s|--find-links|--trusted-host|^registry\s*=|:registry\s*="
    r"|npmRegistryServer|index-url\s*="
)


def look(edits: Edits) -> Iterator[Concern]:
    """Report each manifest that asks for something else."""
    for edit in edits.files:
        before, after = read_dependencies(edit.path, edit.before), read_dependencies(edit.path, edit.after)
        if before == after:
            continue
        new = [name for name in after if after[name] != before.get(name)]
        gone = [name for name in before if name not in after]
        strange = [after[name] for name in new if _is_strange(name, after[name])]
        parts = [f"wants {', '.join(new[:12])}"] if new else []
        parts += [f"no longer wants {', '.join(gone[:12])}"] if gone else []
        why = "See that the feature needs it and that it is what its name says."
        if strange:
            why = f"What decides would come from elsewhere: {fold(', '.join(strange), 200)}. Take it from the registry."
        what = fold(f"{fold(edit.path)} {' and '.join(parts)}.", 500)
        yield report_file(RULE, "review" if strange else "note", f"{what} {why}", edit)


def _is_strange(name: str, wanted: str) -> bool:
    if _REGISTRY.search(wanted):
        return True
    local = posixpath.basename(wanted).startswith("fake") or _ELSEWHERE.search(wanted) is not None
    return local and _TOOLS.match(name.removeprefix("./")) is not None
