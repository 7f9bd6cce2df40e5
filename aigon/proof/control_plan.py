"""The plan of a negative control: which tests and commands, and how many where a suite takes long.

Tests of the base that could not run there, because nobody could load or build a file that uses what is to be built, are
among them: no report of the base names them, and yet they decide as those do that failed there.
"""

import re
from collections.abc import Container, Mapping, Sequence, Set
from pathlib import PurePosixPath

from msgspec import Struct
from msgspec.structs import replace

from aigon.checks.execution import CRITERION
from aigon.control.alteration import Alteration, alter, find_tests, write_files
from aigon.control.places import AlterableTest, Draw
from aigon.control.programs import (
    C_PROGRAMS,
    Way,
    alter_command,
    alter_script,
    calls_any,
    find_scripts,
    list_changed_functions,
)
from aigon.git import objects
from aigon.job.results import Result
from aigon.languages import is_code
from aigon.model.changes import hash_change
from aigon.model.checks import Check
from aigon.proof.bench import ProofBench, name_in_record
from aigon.proof.frozen import Tested
from aigon.proof.inputs import find_test_programs
from aigon.syntax import language_of

SHARE, SMALLER_SHARE = 0.8, 0.5
"""How much of the suite's time the control may take, once the suite takes longer than LITTLE: less if there was a run
of the base's tests alone, which it has to wait for."""
LITTLE = 10.0
"""Seconds of a suite that is altered as a whole."""
LEAST = 20
"""Tests that are altered in any case."""


class ControlPlan(Struct, frozen=True):
    """The altered tests: in `kept`, by check, the ids that have to fail, with what each can mean.

    `unaltered` are the ids of the others; files in `left_out` do not fit into the time, any of the `free` could be.
    """

    alteration: Alteration
    kept: Mapping[str, Mapping[str, tuple[AlterableTest, ...]]]
    unaltered: tuple[str, ...]
    free: Mapping[str, int]
    left_out: tuple[str, ...]
    total: int

    def write_files(self) -> dict[str, bytes | None]:
        """Return the altered files by path; None for one that is left out."""
        chosen = self.alteration.chosen
        edits = ((test.path, place.edits) for test, place in chosen.items())
        return {**dict.fromkeys(self.left_out), **dict(write_files(self.alteration.sources, edits))}


class Controlled(Struct, frozen=True):
    """What is controlled: commands of criteria on `tree`, and on `with_base`, where the base's tests are, those that
    passed in `results`. The `seed` draws everything; `changed` are the files of the change."""

    bench: ProofBench
    tree: str
    with_base: str
    seed: str
    results: Mapping[str, Result]
    changed: Sequence[str] = ()

    def plan(self, checks: Sequence[Check]) -> ControlPlan:
        """Draw what is altered."""
        wanted = self._choose_checks(checks)
        files = read_tests(self.bench, self.with_base, list_words(frozenset[str]().union(*wanted.values())))
        seconds = sum(self.results[name].finding.duration for name in wanted)
        free = self._list_free(files) if seconds > LITTLE else {}
        only, left_out = self._sample(files, free)
        alteration = alter(files, self.seed, only)
        kept = {name: found for name, ids in wanted.items() if (found := alteration.find_altered(ids))}
        unaltered = tuple(sorted(each for name, ids in wanted.items() for each in ids - kept.get(name, {}).keys()))
        return ControlPlan(alteration, kept, unaltered, free, left_out, sum(map(len, wanted.values())))

    def _choose_checks(self, checks: Sequence[Check]) -> dict[str, frozenset[str]]:
        """Return by check the tests that ran on the base and pass now, each test once."""
        covered, wanted = set[str](), dict[str, frozenset[str]]()
        for check in sorted(checks, key=lambda check: -len(self.results[check.name].tests)):
            passing = {test for test, result in self.results[check.name].tests.items() if result == "passed"}
            base = self.bench.list_base_tests(check)
            known = {test for test in passing if base.get(test, "skipped") != "skipped"}
            # `name (2)` counts several tests with one name, as long as none of them fails. `name/sub` fails its test.
            parts = {test for test in known if known & {test.rpartition(" (")[0], test.rpartition("/")[0]}}
            ids = frozenset(known - parts) - covered
            if ids:
                wanted[check.name] = ids
                covered |= ids
        return wanted

    def _list_free(self, files: Mapping[str, bytes]) -> dict[str, int]:
        """Return the files that can be left out of a run so that it takes less time, with their number of tests.

        What others import, and what a compiler reads as one, is not left out.
        """
        sizes = {path: len(find_tests(path, data, self.seed)[1]) for path, data in files.items()}
        return {path: size for path, size in sizes.items() if size and self._can_leave_out(path, files)}

    def _sample(
        self, files: Mapping[str, bytes], free: Mapping[str, int]
    ) -> tuple[frozenset[str] | None, tuple[str, ...]]:
        """Return the files to alter, None for all, and those of the `free` ones that are left out."""
        if not free:
            return None, ()
        draw = Draw(self.seed, "files")
        order = sorted(free, key=lambda path: hash_change((draw.word, path)))
        has_own_run = self.tree != self.with_base and not self.bench.rooms.apart
        kept = sum(len(find_tests(path, files[path], self.seed)[1]) for path in files if path not in free)
        left = max(LEAST, int((SMALLER_SHARE if has_own_run else SHARE) * (sum(free.values()) + kept))) - kept
        chosen = []
        for path in order:
            if left > 0:
                chosen.append(path)
                left -= free[path]
        left_out = tuple(path for path in order if path not in chosen)
        return frozenset(files) - frozenset(left_out), left_out

    def _can_leave_out(self, path: str, files: Mapping[str, bytes]) -> bool:
        stem = re.escape(path.rpartition("/")[2].partition(".")[0].encode())
        imports = re.compile(rb"import.*\b" + stem + rb"\b|\b" + stem + rb"\b.*import")
        named = any(path in part for check in self.bench.job.checks for part in check.argv)
        imported = any(map(imports.search, files.values()))
        return language_of(path) in ("python", "javascript", "typescript", "tsx") and not named and not imported

    def alter_commands(
        self, checks: Sequence[Check], with_tests: Container[str], way: Way
    ) -> tuple[tuple[Check, ...], dict[str, bytes | None]]:
        """Return the criteria's commands with another expected value, and the scripts that hold it instead of them.

        So are checks of which no test was altered by its id, as it was in those `with_tests`.
        """
        found, scripts = list[Check](), dict[str, bytes | None]()
        for check in checks:
            command = check.argv[-1] if check.source == CRITERION else ""
            if altered := command and alter_command(command, self.seed, way):
                found.append(replace(check, argv=(*check.argv[:-1], altered)))
            elif files := self._alter_scripts(command, way) or (
                self._alter_files(check, way) if check.name not in with_tests else {}
            ):
                found.append(check)
                scripts |= files
        return tuple(found), scripts

    def _alter_scripts(self, command: str, way: Way) -> dict[str, bytes]:
        """Return the files that a command of plain words names, with another expected value on their top level."""
        scripts = self.bench.read_files(self.tree, find_scripts(command))
        return self._alter_each(scripts, way)

    def _alter_each(self, files: Mapping[str, bytes], way: Way) -> dict[str, bytes]:
        used = self._list_changed_functions() if way == "last" and files else None
        files = {path: data for path, data in files.items() if not used or calls_any(data, used)}
        altered = ((path, alter_script(path, data, self.seed, way, used)) for path, data in files.items())
        return {path: data for path, data in altered if data}

    def _list_changed_functions(self) -> frozenset[bytes]:
        job = self.bench.job
        paths = [path for path in self.changed if job.protection.part(path) == "product"]
        base, now = (self.bench.read_files(tree, paths) for tree in (job.base_commit, self.tree))
        found = (list_changed_functions(base.get(path, b""), data) for path, data in now.items())
        return frozenset(name for names in found for name in names)

    def _alter_files(self, check: Check, way: Way) -> dict[str, bytes]:
        """Return what a check decides with, altered: one of its programs in C or Rust, or the test files that it read
        on the base."""
        if check.source != CRITERION and check.role not in ("tests", "script"):
            return {}
        name, tests = name_in_record(check), [r for r in self.bench.job.protection.rules if r.part == "tests"]
        readers = self.bench.record.observed.list_readers().items()
        read = [path for path, names in readers if name in names and is_code(path)]
        if program := self._alter_program(check, [path for path in read if path.endswith(C_PROGRAMS)], way):
            return program
        # A criterion's command may only look at tests, as a linter does; of what it runs, it names the script.
        plain = [path for path in read if check.source != CRITERION or not language_of(path)]
        paths = [path for path in plain if any(rule.means(path) for rule in tests)]
        return self._alter_each(self.bench.read_files(self.with_base, paths), way)

    def _alter_program(self, check: Check, read: Sequence[str], way: Way) -> dict[str, bytes]:
        record, git, job = self.bench.record, self.bench.world.workspace.trusted, self.bench.job
        programs = find_test_programs(git, job.base_commit, record.observed, job.protection, read) if read else ()
        # A cargo that found a program built does not read it again, but its name is among the words.
        words = re.findall(r"\w+", check.argv[-1])
        entries = objects.list_entries(git, self.with_base)
        named = [path for path in entries if path.endswith(".rs") and PurePosixPath(path).stem in words]
        files = self.bench.read_files(self.with_base, (*programs, *named))
        found = [*self._alter_each(files, way).items()]
        return dict([found[Draw(self.seed, name_in_record(check)).step % len(found)]]) if found else {}


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
