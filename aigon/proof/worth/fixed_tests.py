"""Weigh tests of the base that pass only now: they have to fail if the functions that they ask give something else.

If one does not, something else than these functions has it pass: a runner that was patched, and hides it as soon as a
test has another text or another test fails, or a helper that asserts nothing.
"""

import re
import time
from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from aigon.checks.reports import EVERY_TEST, add_pytest_options
from aigon.control.alteration import alter as alter_tests
from aigon.git import objects
from aigon.model.changes import Concern, hash_change
from aigon.proof.bench import name_in_record
from aigon.proof.findings import Tree
from aigon.proof.worth import new_tests
from aigon.proof.worth.alter import Drawn, Way, list_new_functions
from aigon.proof.worth.new_tests import RanChecks, RunOnTree, Weighing, alter_all
from aigon.syntax import language_of
from aigon.text.patterns import compile_re
from aigon.text.quoting import fold

RULE = "negative-control"
_DEFINED = compile_re(rb"\b(?:def|function|fn|func|const|let|var)\s+(\w+)")
"""A name that a test file defines itself: a call by it is none of the product's."""
WAYS: tuple[Way, ...] = ("empty", "other", "none")


def find_undecided(tree: Tree, run: RunOnTree, ran: RanChecks, options: str) -> Iterator[Concern]:
    """Yield a review for tests of the base that pass only now, and whatever the functions that they call return."""
    product, drawn = tree.read_changes("product"), Drawn()
    new = frozenset(name for path, (base, text) in product.items() for name in list_new_functions(path, text, base))
    fixed = _find_fixed(ran)
    asked = _find_asked(tree, fixed, new) if fixed and new else {}
    named, names = frozenset[str]().union(*asked.values()), {fixed[test] for test in asked}
    checks = [add_pytest_options(check, options, EVERY_TEST) for check in ran.checks if check.name in names]
    took = sum(ran.results[check.name].finding.duration for check in checks)
    if took > new_tests.QUICK:
        tree = replace(tree, name=new_tests.leave_out_others(tree, asked, ran.tested))
    ends = time.monotonic() + max(new_tests.find_least(), new_tests.SHARE * took)
    weighing = Weighing(run, checks, ends, set(asked), broken=True, name="fixed")

    def copy() -> Mapping[str, str]:
        return alter_all(product, replace(drawn, way="true"), named)

    for way in WAYS:
        altered = alter_all(product, replace(drawn, way=way), named) if weighing.open and not weighing.unfit else {}
        if altered:
            weighing.try_on(tree, altered, copy)
    if weighing.open and weighing.tried and not weighing.unfit:
        undecided = sorted(weighing.open)
        listed = fold(", ".join(undecided[: new_tests.SHOWN]), 400)
        returns = f"whatever {', '.join(sorted(named)[: new_tests.SHOWN])} returns"
        what = f"{len(undecided)} tests of the base that failed there pass now, {returns}: {listed}"
        yield Concern(RULE, "review", what, (), hash_change([RULE, *undecided]))


def _find_fixed(ran: RanChecks) -> dict[str, str]:
    """Return the tests that failed on the base and pass now, each with its check."""
    fixed: dict[str, str] = {}
    for check in ran.checks:
        tested = ran.tested.get(name_in_record(check))
        for test, outcome in (tested.tests if tested else {}).items():
            if outcome in ("failed", "error") and ran.results[check.name].tests.get(test) == "passed":
                fixed.setdefault(test, check.name)
    return fixed


def _find_asked(tree: Tree, fixed: Mapping[str, str], new: frozenset[str]) -> dict[str, frozenset[str]]:
    """Return the tests that use, in the base's words, what some of the `new` functions return, with their names."""
    base = {row.path: row.base for row in tree.rows}
    entries = [base.get(path, e) for path, e in objects.list_entries(tree.git, tree.name).items()]
    tests = [entry for entry in entries if entry and language_of(entry.path) and tree.part(entry.path) == "tests"]
    files = {entry.path: entry.sha for entry in tests[: new_tests.MOST_FILES] if entry.is_file}
    blobs = objects.read_blobs(tree.git, files.values())
    new -= {name.decode() for sha in files.values() for name in _DEFINED.findall(blobs[sha])}
    alteration = alter_tests({path: blobs[sha] for path, sha in files.items()}, "")
    asked: dict[str, frozenset[str]] = {}
    for test, meant in alteration.find_altered(fixed).items():
        texts = [alteration.sources[each.path].text(each.node) for each in meant]
        used = [frozenset(name for name in new if uses(text, name)) for text in texts]
        if all(used):
            asked[test] = frozenset[str]().union(*used)
    return asked


def uses(text: str, name: str) -> bool:
    """Return whether a call stands anywhere but at the start of a line, where it is made for its effect alone."""
    call = rf"\b{re.escape(name)}\s*\("
    return re.search(rf"(?m)^(?!\s*(?:await\s+)?[\w.]*{call}).*{call}", text) is not None
