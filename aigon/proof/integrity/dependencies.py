"""Changed dependencies.

A `note`, as features need libraries and upgrades are ordinary work. `review` where a tool that decides (a test runner,
a linter, a type checker) is taken from a file, a folder or an address instead of its registry, or under another name,
and where the registry itself changes: then what is called pytest need not be pytest.
"""

import posixpath
import re
from collections.abc import Iterator

from aigon.model.changes import Concern, ConcernLevel, Edit, Edits
from aigon.proof.analysis.manifests import Wants, dependencies
from aigon.proof.analysis.sightings import key
from aigon.text.quoting import fold

RULE = "dependencies"
_TOOLS = re.compile(
    r"(_?pytest\b|pytest-|pluggy|iniconfig|unittest2|nose|tox\b|nox\b|coverage|hypothesis|ruff|mypy"
    r"|pyright|flake8|pylint|black"
    r"|jest|@jest/|vitest|@vitest/|mocha|chai|ava$|tap$|jasmine|karma|cypress|playwright|@playwright/"
    r"|eslint|typescript$|tsc$"
    r"|ts-jest|github\.com/stretchr/testify|rspec|minitest|rubocop|junit|phpunit|phpunit/phpunit)",
    re.IGNORECASE,
)
_ELSEWHERE = re.compile(
    r"\b(file|link|portal|git\+\w+|git|https?|ssh|npm|workspace)\s*:|\"(path|git|url|workspace)\"\s*:"
    r"|(^|\s)-e\s|=>\s*\.{0,2}/|@\s*\S+://|^\.{1,2}/"
)
_REGISTRY = re.compile(
    r"--?(extra-)?index-url|^-i\s|--find-links|--trusted-host|^registry\s*=|:registry\s*="
    r"|npmRegistryServer|index-url\s*="
)


def look(edits: Edits) -> Iterator[Concern]:
    """One concern for each manifest that asks for something else."""
    for edit in edits.files:
        before, after = dependencies(edit.path, edit.before), dependencies(edit.path, edit.after)
        if before != after:
            yield _concern(edit, before, after)


def _concern(edit: Edit, before: Wants, after: Wants) -> Concern:
    new = [name for name in after if after[name] != before.get(name)]
    gone = [name for name in before if name not in after]
    strange = [after[name] for name in new if _is_strange(name, after[name])]
    level: ConcernLevel = "review" if strange else "note"
    parts = [f"wants {', '.join(new[:12])}" if new else "", f"no longer wants {', '.join(gone[:12])}" if gone else ""]
    told = f"{fold(edit.path)} {' and '.join(filter(None, parts))}."
    why = (
        f"What decides would come from elsewhere: {fold(', '.join(strange), 200)}. Take it from the registry."
        if strange
        else "See that the feature needs it and that it is what its name says."
    )
    return Concern(RULE, level, f"{fold(told, 500)} {why}", (edit.path,), key(RULE, edit))


def _is_strange(name: str, wanted: str) -> bool:
    if _REGISTRY.search(wanted):
        return True
    local = posixpath.basename(wanted).startswith("fake") or _ELSEWHERE.search(wanted) is not None
    return local and _TOOLS.match(name.removeprefix("./")) is not None
