"""What is run for a comparison: new tests on the base, new tests on the others, and a judge where all is equal."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from itertools import combinations

from aigon.compare.entry import Contest
from aigon.compare.new_tests import Bench, new_tests
from aigon.compare.rules.entry import Entry
from aigon.compare.rules.evidence import CrossCheck, NewTests, Preference
from aigon.errors import AigonError, Exit
from aigon.process.stop import Stop


@contextmanager
def bench_of(contest: Contest) -> Iterator[Bench]:
    """Where tests can be run. Raises AigonError (exit 130 or 143) where a person ended it before all was seen."""
    with (
        Stop(patient=False).handling() as stop,
        Bench.open(contest.main, contest.config, contest.records, stop) as bench,
    ):
        yield bench
        if stop.reason:
            code = Exit.INTERRUPTED if stop.reason == "SIGINT" else Exit.TERMINATED
            raise AigonError("The comparison was stopped; nothing was written", code=code)


def with_new_tests(bench: Bench, entry: Entry) -> Entry:
    """The entry with the tests that it added, and whether they fail on the base."""
    if not (entry.base and entry.tip):
        return replace(entry, new_tests=NewTests(why="it has no branch"))
    return replace(entry, new_tests=new_tests(bench, entry.label, entry.base, entry.tip))


def crossed(bench: Bench, entries: Sequence[Entry]) -> tuple[CrossCheck, ...]:
    """Each one's new tests on the work of the others. No gate: names and places may differ for good reasons."""
    some = [(entry.label, entry.tip, entry.new_tests) for entry in entries if entry.new_tests and entry.tip]
    return _on_each_other(bench, some) if len(some) > 1 else ()


def _on_each_other(bench: Bench, some: Sequence[tuple[str, str, NewTests]]) -> tuple[CrossCheck, ...]:
    from aigon.compare.cross_checks import cross_checks

    return cross_checks(bench, some)


def preferences(bench: Bench, contest: Contest, entries: Sequence[Entry]) -> tuple[Preference, ...]:
    """What the judge prefers of each two; unknown without a judge."""
    return tuple(_preferred(bench, contest, one, other) for one, other in combinations(entries, 2))


def _preferred(bench: Bench, contest: Contest, one: Entry, other: Entry) -> Preference:
    from aigon.compare.pairwise import prefer

    return prefer(bench, (one.label, one.tip), (other.label, other.tip), contest.spec, one.base)
