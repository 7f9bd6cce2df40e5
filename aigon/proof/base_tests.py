"""The tree as it would be with the base's tests and checker configuration, and the base's tests that are lost."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct

from aigon.checks.parsers.readings import list_beginnings
from aigon.git import objects
from aigon.git.objects import TreeEntry
from aigon.git.trusted import TrustedGit
from aigon.model.checks import Problem, TestResult
from aigon.profiles.protection import Protection, Rule
from aigon.proof import protected_keys
from aigon.proof.findings import Changed, read_versions
from aigon.proof.inline_tests import restore_inline_tests
from aigon.proof.inputs import Inputs
from aigon.proof.kept_tests import TestFiles
from aigon.text.amounts import format_count

MOST = 50
"""Problems listed; the rest is counted."""
FEW = 3
"""Tests of one file or class that are gone and are named one by one; more are named together."""
INLINE = Rule((), "review", "tests", source="tests inside the file")
_REASONS: Mapping[TestResult, str] = {
    "skipped": "it ran in the base and is skipped now",
    "failed": "it was in the base and fails",
    "error": "it was in the base and could not run to its end",
}


class BaseVersions(Struct, frozen=True):
    """`paths` are the tests and checker configuration that the agent touched, `configuration` those that are no tests,
    `inputs` the other files of the base that decide, and `inline` those of the product that hold tests.

    `name` names the very change. `tree` has the base's versions only, without new tests and new configuration: the
    checks have to pass on it, too. In `with_new_tests` the agent's new tests stay: what commands of criteria may be
    about, with the fixtures of a new conftest.py; `has_new_fixtures` says that there is one, which the base's tests
    have to pass without. `files` are the touched test files as text.
    """

    paths: tuple[str, ...]
    configuration: tuple[str, ...]
    inputs: tuple[str, ...]
    inline: tuple[str, ...]
    name: tuple[str, ...]
    tree: str
    with_new_tests: str
    files: TestFiles
    has_new_fixtures: bool


def restore_base_versions(
    git: TrustedGit, tree: str, rows: Sequence[Changed], protection: Protection, inputs: Inputs
) -> BaseVersions | None:
    """Return the trees to check as well; None if the agent touched neither tests nor what configures the checks.

    `inputs` are files beside them that decide.
    """
    rules = ((row, inputs.rules.get(row.path) or protection.relaid(row.path, new=row.base is None)) for row in rows)
    free = {row.path for row in rows if protection.is_allowed(row.path)}
    ruled = [(row, rule) for row, rule in rules if rule or (row.base and row.tree and row.path not in free)]
    versions = read_versions(git, [row for row, _ in ruled])
    touched: list[tuple[Changed, Rule]] = []
    files = TestFiles({}, {})
    restored: dict[str, tuple[str, str] | None] = {}  # mode and object's name that a path gets; None: it goes
    new_tests = set()
    for row, rule in ruled:
        before, after = versions[row.path]
        if rule and rule.keys and protected_keys.have_equal_keys(before, after, row.path, rule.keys):
            continue  # a file may hold more than what the rule protects
        text = _restore_part(row.path, rule, before, after)
        if rule is None and text is None:
            continue
        touched.append((row, rule or INLINE))
        restored[row.path] = (row.base.mode, row.base.sha) if row.base else None
        if row.tree and (rule is None or rule.keys):
            restored[row.path] = (row.tree.mode, _write_text(git, text)) if text is not None else None
        if rule and rule.part == "tests":
            files.add(row.path, before, after)
        if rule and row.base is None and (rule.part == "tests" or _is_conftest(row.path)):
            new_tests.add(row.path)
    for path, text in inputs.programs.items():
        entry = TreeEntry("100644", _write_text(git, text), path)
        touched.append((Changed(path, entry, entry), INLINE))
        restored[path] = (entry.mode, entry.sha)
    if not touched:
        return None
    kept = {path: version for path, version in restored.items() if version or path not in new_tests}
    without = objects.write_tree_with(git, tree, restored)
    return BaseVersions(
        tuple(restored),
        tuple(row.path for row, rule in touched if rule.part != "tests"),
        tuple(row.path for row, _ in touched if row.base and row.path in inputs.rules),
        tuple(row.path for row, rule in touched if rule is INLINE),
        tuple(f"{row.path} {row.tree.sha if row.tree else 'gone'}" for row, _ in touched),
        without,
        objects.write_tree_with(git, tree, kept) if kept != restored else without,
        files,
        any(map(_is_conftest, new_tests)),
    )


def _restore_part(path: str, rule: Rule | None, before: str | None, after: str | None) -> str | None:
    """Return the text of the tree with the base's inline tests, or with what it says under the keys of the rule."""
    if rule is None:
        return restore_inline_tests(path, before, after)
    return protected_keys.copy_keys(before, after, path, rule.keys) if rule.keys else None


def _write_text(git: TrustedGit, text: str) -> str:
    return objects.write_blob(git, text.encode("utf-8", "replace"))


def _is_conftest(path: str) -> bool:
    return path.rpartition("/")[2] == "conftest.py"


def find_lost_tests(
    base: Mapping[str, TestResult], now: Mapping[str, TestResult], reported_on_base: bool, reported_now: bool
) -> tuple[Problem, ...]:
    """Return the tests that ran on the base (passed or not) and are not `passed` now; not those that it skipped.

    At most MOST problems and one with the number of the others: what is gone first, then what is skipped, then what
    fails. No report now, if the base left one, is one problem.
    """
    wanted = {test: result for test, result in base.items() if result != "skipped"}
    if not reported_on_base or not wanted:
        return ()
    if not reported_now:
        report = f"a report with {format_count(len(wanted), 'test')}"
        return (Problem(f"on the base it left {report}, and now it leaves none: nothing shows they ran"),)
    problems = list(_list_gone(wanted, now))
    for result, reason in _REASONS.items():
        problems += [Problem(reason, test=test) for test in sorted(wanted) if now.get(test) == result]
    if (more := len(problems) - MOST) > 0:
        rest = Problem(f"{format_count(more, 'test')} of the base more, missing, skipped or failing")
        return (*problems[:MOST], rest)
    return tuple(problems)


def leave_out_files(base: Mapping[str, TestResult], files: Iterable[str]) -> dict[str, TestResult]:
    """Return `base` without the tests of these files, which someone may change (the `allow` of a spec)."""
    prefixes = list_beginnings(files)
    return {test: result for test, result in base.items() if not test.startswith(prefixes)}


def _list_gone(wanted: Mapping[str, TestResult], now: Mapping[str, TestResult]) -> Iterator[Problem]:
    missing = sorted(test for test in wanted if test not in now)
    if any("::" not in test for test in missing):
        # What broke in place of its tests (a file, a module, a class) is whole again if it has tests now.
        owners = {_find_owner(test) for test in now} - {""}
        holders = {".".join(owner.split(".")[:n]) for owner in owners for n in range(1, owner.count(".") + 2)}
        missing = [test for test in missing if wanted[test] == "passed" or test not in holders]
    gone, known = Counter(map(_find_owner, missing)), Counter(map(_find_owner, wanted))
    together = {owner: number for owner, number in gone.items() if owner and FEW < number == known[owner]}
    for owner, number in together.items():
        yield Problem(f"its {number} tests were in the base and are gone", test=owner)
    for test in missing:
        if _find_owner(test) not in together:
            yield Problem("it was in the base and is gone", test=test)


def _find_owner(test: str) -> str:
    return test.partition("::")[0] if "::" in test else ""
