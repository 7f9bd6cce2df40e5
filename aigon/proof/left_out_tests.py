"""Find the tests of the base that nobody could run there, and that do not run now although others next to them do.

A package that could not be built has no names of tests in any report of the base. Once it can be, nothing but its files
says which tests it has.
"""

from collections.abc import Iterator, Mapping, Sequence, Set

from aigon.control.alteration import Alteration, alter
from aigon.control.places import AlterableTest
from aigon.job.results import Result
from aigon.model.changes import Concern, hash_change
from aigon.model.checks import Check
from aigon.proof.bench import ProofBench, name_in_record
from aigon.proof.control_plan import list_words, read_tests
from aigon.proof.with_base import BASE_TESTS
from aigon.text.patterns import compile_re

_SOME_MACHINES = compile_re(
    rb"(?m)^//\s*(?:go:build|\+build)\b|_(?:windows|darwin|linux|\w+bsd|plan9|solaris|js|\w*amd64|arm\w*)_test\.go\Z"
)
"""What a Go file says, or is called, that is built on some machines alone."""


def find_left_out_tests(bench: ProofBench, checks: Sequence[Check], results: Mapping[str, Result]) -> Iterator[Concern]:
    """Yield a review for the tests that files of the base hold and nobody could run there, if others next to them run
    now and they do not."""
    words = list_words(frozenset[str]().union(*(results[check.name].tests for check in checks)))
    found = read_tests(bench, bench.job.base_commit, words)
    files = {path: data for path, data in found.items() if not _SOME_MACHINES.search(data + path.encode())}
    base = alter(files, "")
    for check in checks:
        known = bench.record.tested.get(name_in_record(check))
        left = _list_left_out(base, known.tests.keys(), results[check.name].tests.keys()) if known else []
        paths = tuple(sorted({test.path for test in left}))
        if left and not all(map(bench.job.protection.is_allowed, paths)):
            names = [f"{test.path}::{test.name}" for test in left]
            more = f" and {len(names) - 1} more" if len(names) > 1 else ""
            what = f"{check.title}: {names[0]}{more} could not be built on the base, and did not run now that others do"
            yield Concern(BASE_TESTS, "review", what, paths, hash_change((BASE_TESTS, *names)))


def _list_left_out(base: Alteration, before: Set[str], now: Set[str]) -> list[AlterableTest]:
    """Return tests next to those that ran `now`, where none ran before. A check that left some out then does so."""

    def locate(test: AlterableTest) -> str:
        return test.path.rpartition("/")[0] if test.path.endswith(".go") else test.path

    ran_before, ran_now = ({test for each in ids for test in base.find_meant(each)} for ids in (before, now))
    built, running = ({locate(test) for test in ran} for ran in (ran_before, ran_now))
    listed = [test for test in base.tests if base.sources[test.path].language not in ("python", "rust")]
    if any(locate(test) in built and test not in ran_before for test in listed):
        return []
    return [test for test in listed if locate(test) in running - built and test not in ran_now and not test.is_open]
