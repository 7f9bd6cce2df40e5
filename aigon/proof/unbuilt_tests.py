"""Find the tests of the base that could not run there: nobody could load or build a file that uses what is to be built.

No report of the base names them, and yet they are no new tests: they decide as those do that failed there.
"""

import re
from collections.abc import Mapping, Sequence, Set
from pathlib import PurePosixPath

from msgspec.structs import replace

from aigon.control.alteration import alter
from aigon.git import objects
from aigon.job.results import Result
from aigon.model.checks import Check
from aigon.proof.bench import ProofBench, name_in_record
from aigon.proof.frozen import Tested
from aigon.syntax import language_of

MOST_FILES = 1_000
"""Test files that are read."""


def record_unbuilt_tests(
    bench: ProofBench, with_base: str, checks: Sequence[Check], results: Mapping[str, Result]
) -> ProofBench:
    """Return the bench with a record that has them as tests that ended in an error.

    The `results` are of the tree `with_base`, where the base's tests are. There the files of the base hold them word
    for word.
    """
    tested = dict(bench.record.tested)
    for check in checks:
        known = tested.get(name := name_in_record(check))
        unknown = {each for each, end in results[check.name].tests.items() if end == "passed"}
        unknown -= known.tests.keys() if known else unknown
        if known and unknown and (found := _find_in_base(bench, with_base, unknown)):
            tested[name] = Tested({**known.tests, **dict.fromkeys(found, "error")}, known.reported)
    return replace(bench, record=replace(bench.record, tested=tested))


def _find_in_base(bench: ProofBench, with_base: str, ids: Set[str]) -> set[str]:
    now = read_tests(bench, with_base, list_words(ids))
    base = bench.read_files(bench.job.base_commit, now)
    alteration = alter(now, "")

    def is_of_base(test: str) -> bool:
        meant = alteration.find_meant(test)
        return bool(meant) and all(
            now[each.path][each.node.start : each.node.end] in base.get(each.path, b"") for each in meant
        )

    return {test for test in ids if is_of_base(test)}


def list_words(ids: Set[str]) -> set[str]:
    """Return the words of tests' ids."""
    return {word for each in ids for word in re.findall(r"\w+", each)}


def read_tests(bench: ProofBench, tree: str, words: Set[str]) -> dict[str, bytes]:
    """Return the files that tests can be in: by their names, by the words of ids, and Rust's modules with tests."""
    job, git = bench.job, bench.world.workspace.trusted

    def can_hold(path: str) -> bool:
        is_deciding = path.endswith(".rs") or job.protection.part(path) in ("tests", "config")
        return bool(words and language_of(path) and (is_deciding or PurePosixPath(path).stem in words))

    entries = {path: e for path, e in objects.list_entries(git, tree).items() if can_hold(path)}
    some = dict(list(entries.items())[:MOST_FILES])
    blobs = objects.read_blobs(git, [entry.sha for entry in some.values()])
    return {path: blobs[e.sha] for path, e in some.items() if not path.endswith(".rs") or b"test" in blobs[e.sha]}
