"""Weigh the tests that are new: each has to fail when what the change does is altered.

Of a change without code, what the new tests name is altered, and failing on the base counts as well. A test that fails
because code breaks (an exception that it did not ask for) has noticed nothing: it would without any assertion.
"""

import os
import re
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace

from aigon.checks.execution import CRITERION
from aigon.checks.parsers.readings import list_beginnings, name_in_report
from aigon.checks.reports import EVERY_TEST, add_pytest_options
from aigon.control.alteration import list_cases
from aigon.git import objects
from aigon.job.results import Result
from aigon.model.changes import Concern, hash_change
from aigon.model.checks import Check
from aigon.proof.analysis.altered_code import Drawn, Way, alter
from aigon.proof.base_tests import TestFiles, find_kept_tests
from aigon.proof.bench import name_in_record
from aigon.proof.findings import Texts, Tree
from aigon.proof.frozen import Tested, had_no_tests
from aigon.syntax import language_of
from aigon.text.patterns import compile_re
from aigon.text.quoting import fold

RunOnTree = Callable[[str, Sequence[Check], str], Mapping[str, Result]]
"""Runs checks on a clean export of a tree; their output goes to the folder of that name."""
SHARE, LEAST = 0.4, 30.0
"""Seconds that weighing may take: a share of what the tests take, or so many, and more on a machine that is busy."""
QUICK = 5.0
"""Seconds up to which all tests run each time; those of the base are left out if that takes longer."""
MOST_FILES = 300
"""Files of the project that are searched for what new tests name."""
WAYS: tuple[tuple[Way, bool], ...] = (("empty", False), ("other", False), ("other", True), ("none", False))
"""How code is altered, and whether also inside: most tests notice the first, and then no other is run."""
RULE = "new-tests"
SHOWN = 5
_COVERAGE = compile_re(r"(?i)cov|\bnyc\b|\bc8\b|istanbul|tarpaulin|jacoco")
"""What tools that measure coverage are called, or print: nothing else tells that a check is about it."""
_BROKE = compile_re(r"(?:[\w.]*\.)?(?!\w*Assert)\w*(?:Error|Exception|Exit|Interrupt)\b")
"""How a failure is worded that is an exception, and no assertion."""


class RanChecks(Struct, frozen=True):
    """The checks that ran on the tree, with their results, and the tests that they have on the base."""

    checks: Sequence[Check]
    results: Mapping[str, Result]
    tested: Mapping[str, Tested]

    def list_counting(self) -> tuple[Check, ...]:
        """Return the checks that new tests can make pass: commands of criteria, what measures coverage, and what ran no
        test on the base."""
        return tuple(
            check
            for check in self.checks
            if check.source == CRITERION
            or measures_coverage(check, self.results[check.name])
            or had_no_tests(self.tested.get(name_in_record(check)))
        )


class Worth(Struct, frozen=True):
    """`tests` are the new ones, `worthless` those not seen to notice anything; `unknown` says why more is not known.

    With the `seed` the same is altered again.
    """

    tests: tuple[str, ...] = ()
    worthless: tuple[str, ...] = ()
    unknown: str = ""
    seed: str = ""


class Weighing(Struct):
    """The tests that have noticed nothing yet. `checks` run them, until `ends`; `unfit` says why they could not.

    `tried` says that they ran on altered code at all, which may not be loaded or built.
    """

    run: RunOnTree
    checks: Sequence[Check]
    ends: float
    open: set[str]
    unfit: str = ""
    number: int = 0
    tried: bool = False

    def try_on(self, tree: Tree, altered: Mapping[str, str], copy: Callable[[], Mapping[str, str]]) -> None:
        """Run the tests on the altered tree, and strike out those that notice it and not its copy, if there is one."""
        noticed = self.open & self.find_noticed(tree.lay_over(altered))
        if noticed and not self.unfit and (copied := copy()):
            noticed &= self.find_passed(tree.lay_over(copied))
        self.open -= noticed

    def find_noticed(self, tree: str) -> set[str]:
        """Return the tests that fail on a tree by what they assert."""
        results = self.run_all(tree).values()
        self.tried = self.tried or any(test in result.tests for result in results for test in self.open)
        return {test for result in results for test in _list_noticed(result)}

    def find_passed(self, tree: str) -> set[str]:
        """Return the tests that pass on a tree."""
        all_ = self.run_all(tree).values()
        return {test for result in all_ for test, outcome in result.tests.items() if outcome == "passed"}

    def run_all(self, tree: str) -> Mapping[str, Result]:
        """Run the checks on a tree."""
        self.number += 1
        left = max(0.1, self.ends - time.monotonic())
        checks = [replace(check, timeout=min(check.timeout, left)) for check in self.checks]
        results = self.run(tree, checks, f"worth-{self.number}")
        if time.monotonic() > self.ends:
            self.unfit = "it took too long"
        return results


def find_least() -> float:
    """Return LEAST, stretched by how many processes wait for each core: what else runs here is no fault of a test."""
    return LEAST * max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


def find_new_tests(
    results: Mapping[str, Result], tested: Mapping[str, Tested], added: Iterable[str], files: TestFiles
) -> dict[str, str]:
    """Return the tests that pass and that the base does not have, each with the check that ran it.

    If no report tells which tests the base has, only those in `added` files are new. A test of the base that is now
    elsewhere in `files` is not.
    """
    known = {test for each in tested.values() for test in each.tests}
    beginnings = None if any(each.reported for each in tested.values()) else list_beginnings(added)
    new: dict[str, str] = {}
    for name, result in sorted(results.items(), key=lambda item: -len(item[1].tests)):
        for test, outcome in result.tests.items():
            if outcome == "passed" and test not in known and (beginnings is None or test.startswith(beginnings)):
                new.setdefault(test, name)
    moved = find_kept_tests(new, dict.fromkeys(known, "passed"), TestFiles(files.after, files.before))
    return {test: name for test, name in new.items() if test not in moved}


def weigh_new_tests(tree: Tree, run: RunOnTree, ran: RanChecks, files: TestFiles, options: str) -> Worth:
    """Weigh the new tests; `options` pytest gets anyway."""
    new = find_new_tests(ran.results, ran.tested, (row.path for row in tree.rows if row.base is None), files)
    if not new:
        return Worth()
    product: Texts
    product, own = tree.read_changes("product"), tree.read_changes("tests")
    drawn, named = Drawn(), None
    if not alter_all(product, drawn):
        named = {word for _, text in own.values() for word in re.findall(r"\w+", text)}
        product = _read_product(tree, named)
    product = {path: product[path] for path in alter_all(product, drawn, named)}
    if not product:
        return Worth(tuple(new), (), "aigon cannot alter what the change is written in")
    chosen = [add_pytest_options(check, options, EVERY_TEST) for check in ran.checks if check.name in new.values()]
    took = sum(ran.results[check.name].finding.duration for check in chosen)
    weighing = Weighing(run, chosen, time.monotonic() + max(find_least(), SHARE * took), set(new))
    if took > QUICK:
        tree = replace(tree, name=leave_out_others(tree, new, ran.tested))
        if not set(new) <= weighing.find_passed(tree.name):
            weighing.unfit = weighing.unfit or "they do not pass without the others, and all of them take too long"
    counts = ran.list_counting()  # else nothing follows but a note

    def copy(inside: bool) -> dict[str, str]:
        return alter_all(product, replace(drawn, way="true"), named, inside=inside) if counts else {}

    for way, inside in WAYS:
        if not weighing.open or weighing.unfit:
            break
        if altered := alter_all(product, replace(drawn, way=way), named, inside=inside):
            # Who notices the very same text without other values has looked at the copy, and not at what it does.
            weighing.try_on(tree, altered, partial(copy, inside))
    if named is not None and weighing.open and not weighing.unfit and (base := _with_code_of_base(tree)):
        weighing.open -= weighing.find_noticed(base)
    if weighing.open and not weighing.tried and not weighing.unfit:
        return Worth(tuple(new), (), "what aigon altered could not be loaded or built", drawn.seed)
    worthless = tuple(test for test in new if test in weighing.open)
    return Worth(tuple(new), worthless, weighing.unfit if worthless else "", drawn.seed)


def measures_coverage(check: Check, result: Result) -> bool:
    """Return whether the command or what it printed names a tool that measures coverage."""
    said = " ".join((*check.argv, *check.env.values(), result.finding.summary, result.output.decode(errors="replace")))
    return bool(_COVERAGE.search(said))


def make_concerns(worth: Worth, without: Mapping[str, str]) -> Iterator[Concern]:
    """Yield what follows: a review for checks that fail `without` the tests that are worth nothing, each with why."""
    names = fold(", ".join(worth.worthless[:SHOWN]), 400)
    more = f" and {len(worth.worthless) - SHOWN} more" if len(worth.worthless) > SHOWN else ""
    why = "count for nothing: none of their assertions fails when what the change does is altered"
    why = f"were not weighed: {worth.unknown}" if worth.unknown else why
    count = f"{len(worth.worthless) or len(worth.tests)} of {len(worth.tests)} new tests {why}"
    key = hash_change([RULE, *worth.worthless, *without])
    if without:
        hint = "Let each test assert what the code does."
        yield Concern(RULE, "review", f"{'; '.join(without.values())}, without {names}{more}. {count}. {hint}", (), key)
    elif worth.worthless or worth.unknown:
        yield Concern(RULE, "note", f"{count}{': ' if names else ''}{names}{more}", (), key)


def alter_all(
    texts: Texts, drawn: Drawn, named: Collection[str] | None = None, *, inside: bool = False
) -> dict[str, str]:
    """Return the files that can be altered, as they are then."""
    altered = {path: alter(path, after, before, named, drawn, inside=inside) for path, (before, after) in texts.items()}
    return {path: text for path, text in altered.items() if text is not None}


def remove_tests(tree: Tree, worth: Worth) -> str | None:
    """Return the tree without the tests that are worth nothing, None if none of them could be found in a file.

    A new file without any other test goes as a whole.
    """
    without: dict[str, tuple[str, str] | None] = {}
    for path, (before, text) in tree.read_changes("tests", "product").items():
        beginnings = list_beginnings([path])
        cases = list_cases(path, text)
        names = {case.name for case in cases}
        # A runner that names no files leaves the names of the tests in them.
        here = [t for t in worth.tests if t.startswith(beginnings) or f" {path}::" in t or t in names]
        gone = {_read_name(test) for test in here if test in worth.worthless}
        if gone and not before and set(here) <= set(worth.worthless):
            without[path] = None
        elif gone and language_of(path) == "python":
            lines = text.split("\n")
            for case in (case for case in cases if case.name in gone):
                indent = len(lines[case.start - 1]) - len(lines[case.start - 1].lstrip())
                lines[case.start - 1 : case.end] = [" " * indent + "pass", *[""] * (case.end - case.start)]
            without[path] = ("100644", objects.write_blob(tree.git, "\n".join(lines).encode("utf-8", "replace")))
    return objects.write_tree_with(tree.git, tree.name, without) if without else None


def _read_name(test: str) -> str:
    """Return `TestX.test_y` for an id that names the class before the test."""
    owner, _, name = test.partition("[")[0].rpartition("::")
    last = owner.rpartition(".")[2]
    return f"{last}.{name}" if last[:1].isupper() else name


def _read_product(tree: Tree, named: Collection[str]) -> Texts:
    """Return the texts of product files, which count as unchanged; if `named` has the names of some, only of these."""
    entries = [entry for entry in objects.list_entries(tree.git, tree.name).values() if entry.is_file]
    code = [entry for entry in entries if tree.part(entry.path) == "product" and language_of(entry.path)]
    called = [entry for entry in code if _read_module(entry.path) in named]
    found = (called or code)[:MOST_FILES]
    blobs = objects.read_blobs(tree.git, [entry.sha for entry in found])
    texts = {entry.path: blobs[entry.sha].decode("utf-8", "replace") for entry in found}
    return {path: (text, text) for path, text in texts.items()}


def _read_module(path: str) -> str:
    """Return what imports call a file: its name, or that of its folder."""
    folder, _, name = path.rpartition("/")
    stem = name.partition(".")[0]
    return folder.rpartition("/")[2] if stem in ("__init__", "index", "mod") else stem


def leave_out_others(tree: Tree, new: Collection[str], tested: Mapping[str, Tested]) -> str:
    """Return the tree without the files that only hold tests of the base."""
    known = [test for each in tested.values() for test in each.tests]
    without: dict[str, tuple[str, str] | None] = {}
    for path in objects.list_entries(tree.git, tree.name):
        if tree.part(path) == "tests":
            beginnings = list_beginnings([path])
            if any(t.startswith(beginnings) for t in known) and not any(t.startswith(beginnings) for t in new):
                without[path] = None
    return objects.write_tree_with(tree.git, tree.name, without)


def _with_code_of_base(tree: Tree) -> str | None:
    """Return the tree with the base's code under the new tests."""
    rows = [row for row in tree.rows if tree.part(row.path) in ("product", "other")]
    base = {row.path: (row.base.mode, row.base.sha) if row.base else None for row in rows}
    return objects.write_tree_with(tree.git, tree.name, base) if base else None


def _list_noticed(result: Result) -> Iterator[str]:
    """Yield the tests that failed by what they assert."""
    broke = {name_in_report(each.test) for each in result.finding.problems if _BROKE.match(each.message)}
    yield from (test for test, outcome in result.tests.items() if outcome == "failed" and test not in broke)
