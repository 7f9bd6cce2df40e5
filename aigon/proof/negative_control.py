"""The negative control: in the room, the base's tests once more with another expected value, which have to fail."""

import json
import re
import secrets
from collections.abc import Callable, Container, Iterable, Mapping, Sequence, Set
from pathlib import PurePosixPath
from typing import Literal

from msgspec import Struct, field, to_builtins
from msgspec.structs import replace

from aigon.checks.execution import CRITERION
from aigon.checks.reports import ADDOPTS, add_pytest_options
from aigon.control.alteration import Alteration, alter, find_tests, write_files
from aigon.control.commands import C_PROGRAMS, alter_assertions, alter_command, alter_script, find_scripts
from aigon.control.places import AlterableTest, Draw
from aigon.files.atomic import write_atomic
from aigon.git import objects
from aigon.job.results import Result
from aigon.model.changes import Concern, hash_change
from aigon.model.checks import Check
from aigon.proof.analysis.languages import is_code
from aigon.proof.bench import ProofBench
from aigon.proof.inputs import find_test_programs
from aigon.proof.troubles import name_for_people, name_in_record
from aigon.syntax import Edit, language_of
from aigon.text.patterns import compile_re

RULE = "negative-control"
SHARE, SMALLER_SHARE = 0.8, 0.5
"""How much of the suite's time the control may take, once the suite takes longer than LITTLE: less after a run of the
base's tests of their own, beside which it does not run."""
LITTLE = 10.0
"""Seconds of a suite that is altered as a whole."""
LONGEST = 60.0
"""Seconds that a run may take in any case, beside five times those that the tests took."""
LEAST = 20
"""Tests that are altered in any case."""
MOST_FILES = 1_000
"""Test files that are read."""
_WITHOUT_CODE = compile_re(r".*\.(?:md|rst|txt|adoc)|docs/.*")

Doubt = Literal["holds", "never runs", "unsure"]
"""What a test that passed with another expected value does if it is broken at that very place: it fails, so the
comparison holds for any value; it passes even if it is broken where it begins; or nothing more is known of it."""


class Control(Struct, frozen=True):
    """The result of the control. `altered` and `commands` had to fail; `survived` did not, by id, with what is known.

    `plain` are tests that nothing could be altered in, `unaltered` their ids; `excused` are those whose altered line
    did not run or that pass with any value on the base, too; `left_out` are test files that did not fit into the time;
    `lacking` says why none ran.
    """

    seed: str = ""
    altered: int = 0
    commands: int = 0
    plain: int = 0
    unaltered: tuple[str, ...] = ()
    excused: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    survived: Mapping[str, Doubt] = field(default_factory=dict)
    lacking: str = ""

    @property
    def summary(self) -> str:
        """The figures for people; "" if there was nothing to control."""
        parts = [(self.altered, "test"), (self.commands, "command")]
        ran = " and ".join(f"{number} {noun}{'s' * (number > 1)}" for number, noun in parts if number)
        outcome = f"{len(self.survived)} still passed" if self.survived else "every one fails, as it has to"
        said = [f"{ran} altered, {outcome}"] if ran else []
        said += [f"{self.plain} not alterable{_list_some(self.unaltered)}"] if self.plain else []
        said += [f"{len(self.excused)} skipped"] if self.excused else []
        if self.left_out:
            listed = _list_some(self.left_out)
            said += [f"partial: {len(self.left_out)} test files did not fit into the time{listed}"]
        said += [f"partial: {self.lacking}"] if self.lacking else []
        return "negative control: " + "; ".join(said) if said else ""

    def judge(self) -> tuple[Concern, ...]:
        """Return the review that survivors need."""
        if not self.survived:
            return ()
        doubts = set(self.survived.values())
        how = "pass whatever they expect"
        if "never runs" in doubts:
            how = "pass without being run, even broken in their first line"
        names = sorted(self.survived)
        listed = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
        what = f"{len(names)} of {self.altered + self.commands} {how}, so the code did not decide them: {listed}"
        return (Concern(RULE, "review", what, (), hash_change((RULE, *names))),)


def run_control(
    bench: ProofBench,
    tree: str,
    with_base: str,
    checks: Sequence[Check],
    results: Mapping[str, Result],
    changed: Sequence[str],
) -> Control:
    """Alter the commands of criteria on `tree`, and on `with_base`, where the base's tests are, those of the tests that
    passed in `results`."""
    if all(_WITHOUT_CODE.fullmatch(path) for path in changed):
        return Control()  # nothing that runs has changed
    seed = secrets.token_hex(8)
    control = _Run(bench, tree, with_base, seed, results).control(checks)
    if control.summary:
        bench.folder.mkdir(parents=True, exist_ok=True)  # where nothing ran, nothing made it
        write_atomic(bench.folder / "control.json", json.dumps(to_builtins(control), indent=1).encode())
    return control


class _Survivor(Struct, frozen=True):
    """A test that passed with another expected value: in which check, and what its id can mean."""

    check: str
    meant: tuple[AlterableTest, ...]
    passed_at_base: bool


class _Run(Struct, frozen=True):
    """One control. Every run in a room is of all checks that are concerned, with files written over the tree."""

    bench: ProofBench
    tree: str
    with_base: str
    seed: str
    results: Mapping[str, Result]

    def control(self, checks: Sequence[Check]) -> Control:
        bench = self.bench
        wanted = self._choose_checks(checks)
        files = self._read_tests({word for ids in wanted.values() for each in ids for word in re.findall(r"\w+", each)})
        seconds = sum(self.results[name].finding.duration for name in wanted)
        total = sum(map(len, wanted.values()))
        free = self._list_free(files) if seconds > LITTLE else {}
        only, left_out = self._sample(files, free)
        alteration = alter(files, self.seed, only)
        kept = {name: alteration.find_altered(ids) for name, ids in wanted.items()}
        kept = {name: ids for name, ids in kept.items() if ids}
        unaltered = tuple(sorted(each for name, ids in wanted.items() for each in ids - kept.get(name, {}).keys()))
        commands, scripts = self._alter_commands(checks, kept)
        if not kept and not commands:
            why = "no test or command here could be altered"
            return Control(self.seed, plain=total, unaltered=unaltered, lacking=why)
        chosen = alteration.chosen
        overlay: dict[str, bytes | None] = dict.fromkeys(left_out)
        overlay |= write_files(alteration.sources, ((test.path, chosen[test].edits) for test in chosen))
        ran = self._run(self.with_base, [check for check in checks if check.name in kept], "control", overlay)
        lacking = [f"there was no report ({each.finding.summary})" for each in ran.values() if not each.reported]
        kept = {name: ids for name, ids in kept.items() if ran[name].reported}
        # A runner that stops at the first failure, as by `pytest -x`, says nothing of the tests after it.
        unreached = {name: _find_unreached(ran[name], ids) for name, ids in kept.items()}
        if number := sum(map(len, unreached.values())):
            lacking.append(f"the run stopped at a failure before {number} of them")
        kept = {name: {e: meant for e, meant in ids.items() if e not in unreached[name]} for name, ids in kept.items()}
        altered = set().union(*kept.values()) if kept else set[str]()
        survivors = {
            each: _Survivor(check.name, ids[each], self.bench.list_base_tests(check)[each] == "passed")
            for check in checks
            for ids in [kept.get(check.name, {})]
            for each in ids
            if not _has_failed(ran[check.name], each)
        }
        survived, excused = self._confirm(checks, survivors, alteration, overlay, free)
        survived |= {
            f"{check.title} exits 0": "holds"
            for check in checks
            if check.name in ran and ran[check.name].finding.exit_code == 0 and not survivors
        }
        passed = self._run(self.tree, commands, "control-commands", scripts) if commands else {}
        doubted = [check for check in commands if passed[check.name].finding.exit_code == 0]
        if doubted:  # what says nothing in the base either was made by people
            at_base = self._run(bench.job.base_commit, doubted, "control-commands-base", scripts)
            doubted = [check for check in doubted if at_base[check.name].finding.exit_code != 0]
        survived |= dict.fromkeys(map(name_for_people, doubted), "holds")
        if bench.world.stop.now:
            return Control()
        why = f"with altered tests {lacking[0]}" if lacking else ""
        plain = total - len(altered) if not left_out else 0
        return Control(
            self.seed,
            len(altered),
            len(commands),
            plain,
            () if left_out else unaltered,
            tuple(sorted(excused)),
            left_out,
            survived,
            why,
        )

    def _choose_checks(self, checks: Sequence[Check]) -> dict[str, frozenset[str]]:
        """Return by check the tests that ran on the base and pass now, each test once."""
        covered, wanted = set[str](), dict[str, frozenset[str]]()
        for check in sorted(checks, key=lambda check: -len(self.results[check.name].tests)):
            passing = {test for test, result in self.results[check.name].tests.items() if result == "passed"}
            base = self.bench.list_base_tests(check)
            known = {test for test in passing if base.get(test, "skipped") != "skipped"}
            # `name (2)` counts several tests with one name, as long as none of them fails.
            ids = frozenset(test for test in known if test.rpartition(" (")[0] not in known) - covered
            if ids:
                wanted[check.name] = ids
                covered |= ids
        return wanted

    def _read_tests(self, words: Set[str]) -> dict[str, bytes]:
        """Return the files that tests can be in: by their names, by the words of ids, and Rust's modules with tests."""
        job, git = self.bench.job, self.bench.world.workspace.trusted

        def can_hold(path: str) -> bool:
            is_deciding = path.endswith(".rs") or job.protection.part(path) in ("tests", "config")
            return bool(words and language_of(path) and (is_deciding or PurePosixPath(path).stem in words))

        entries = {path: e for path, e in objects.list_entries(git, self.with_base).items() if can_hold(path)}
        some = dict(list(entries.items())[:MOST_FILES])
        blobs = objects.read_blobs(git, [entry.sha for entry in some.values()])
        return {path: blobs[e.sha] for path, e in some.items() if not path.endswith(".rs") or b"test" in blobs[e.sha]}

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

    def _alter_commands(
        self, checks: Sequence[Check], with_tests: Container[str]
    ) -> tuple[tuple[Check, ...], dict[str, bytes | None]]:
        """Return the criteria's commands with another expected value, and the scripts that hold it instead of them.

        So are checks of which no test was altered by its id, as it was in those `with_tests`.
        """
        found, scripts = list[Check](), dict[str, bytes | None]()
        for check in checks:
            command = check.argv[-1] if check.source == CRITERION else ""
            if altered := command and alter_command(command, self.seed):
                found.append(replace(check, argv=(*check.argv[:-1], altered)))
            elif files := self._alter_scripts(command) or (
                self._alter_files(check) if check.name not in with_tests else {}
            ):
                found.append(check)
                scripts |= files
        return tuple(found), scripts

    def _alter_scripts(self, command: str) -> dict[str, bytes]:
        """Return the files that a command of plain words names, with another expected value on their top level."""
        scripts = self.bench.read_files(self.tree, find_scripts(command))
        altered = ((path, alter_script(path, data, self.seed)) for path, data in scripts.items())
        return {path: data for path, data in altered if data}

    def _alter_files(self, check: Check) -> dict[str, bytes]:
        """Return what a check decides with, altered: one of its programs in C or Rust, or the test files that it read
        on the base in a language that is not parsed."""
        if check.source != CRITERION and check.role not in ("tests", "script"):
            return {}
        name, tests = name_in_record(check), [r for r in self.bench.job.protection.rules if r.part == "tests"]
        readers = self.bench.record.observed.list_readers().items()
        read = [path for path, names in readers if name in names and is_code(path)]
        if program := self._alter_program(check, [path for path in read if path.endswith(C_PROGRAMS)]):
            return program
        plain = [path for path in read if not language_of(path) and any(rule.means(path) for rule in tests)]
        files = self.bench.read_files(self.with_base, plain)
        altered = ((path, alter_assertions(data, self.seed)) for path, data in files.items())
        return {path: data for path, data in altered if data}

    def _alter_program(self, check: Check, read: Sequence[str]) -> dict[str, bytes]:
        record, git, job = self.bench.record, self.bench.world.workspace.trusted, self.bench.job
        programs = find_test_programs(git, job.base_commit, record.observed, job.protection, read) if read else ()
        # A cargo that found a program built does not read it again, but its name is among the words.
        words = re.findall(r"\w+", check.argv[-1])
        entries = objects.list_entries(git, self.with_base)
        named = [path for path in entries if path.endswith(".rs") and PurePosixPath(path).stem in words]
        files = self.bench.read_files(self.with_base, (*programs, *named))
        found = [(path, changed) for path, data in files.items() if (changed := alter_script(path, data, self.seed))]
        return dict([found[Draw(self.seed, name_in_record(check)).step % len(found)]]) if found else {}

    def _confirm(
        self,
        checks: Sequence[Check],
        survivors: Mapping[str, "_Survivor"],
        alteration: Alteration,
        overlay: Mapping[str, bytes | None],
        free: Iterable[str],
    ) -> tuple[dict[str, Doubt], set[str]]:
        """Return the survivors with what is known of them, and those that are excused.

        Each question is one run, only about those that the ones before left open, without the `free` files that have
        none of them.
        """

        def find(ids: set[str], tree: str, question: str, files: Mapping[str, bytes | None], *wanted: str) -> set[str]:
            """Return the tests that end in one of these ways; "": that do not end at all."""
            names = {survivors[each].check for each in ids}
            asked = {test.path for each in ids for test in survivors[each].meant}
            files = {**files, **dict.fromkeys(path for path in free if path not in asked)}
            ran = self._run(tree, [check for check in checks if check.name in names], f"control-{question}", files)
            return {each for each in ids if ran[survivors[each].check].tests.get(each, "") in wanted}

        def break_tests(ids: set[str], where: Callable[[AlterableTest], Edit]) -> dict[str, bytes | None]:
            tests = {test for each in ids for test in survivors[each].meant}
            return dict(write_files(alteration.sources, ((test.path, (where(test),)) for test in tests)))

        every = set(survivors)
        # A test that is expected to fail counts as skipped once it does.
        at_start = break_tests(every, lambda test: test.breaking)
        running = every - find(every, self.with_base, "start", at_start, "passed", "")
        of_base = {each for each in running if survivors[each].passed_at_base}
        # On the base, too, these pass with any value: it is the tests that do not look.
        indifferent = find(of_base, self.bench.job.base_commit, "base", overlay, "passed", "skipped")
        rest = running - indifferent
        at_place = break_tests(rest, lambda test: alteration.chosen[test].breaking)
        holding = find(rest, self.with_base, "place", at_place, "failed", "error")
        survived: dict[str, Doubt] = {
            **dict.fromkeys(every - running, "never runs"),
            **dict.fromkeys((rest - holding) & of_base, "unsure"),  # on the base the line runs
            **dict.fromkeys(holding, "holds"),
        }
        return survived, every - survived.keys()

    def _run(
        self, tree: str, checks: Sequence[Check], name: str, overlay: Mapping[str, bytes | None]
    ) -> dict[str, Result]:
        # Nobody reads why a test failed, and a test that waits for a value that never comes must not go on for long.
        options = self.bench.world.check_env.get(ADDOPTS, "")
        hasty = (
            replace(
                add_pytest_options(check, options, "--tb=no --maxfail=0"),
                timeout=min(check.timeout, LONGEST + 5 * self.results[check.name].finding.duration),
            )
            for check in checks
        )
        return self.bench.run(tree, tuple(hasty), name, overlay=overlay)


def _list_some(names: Sequence[str]) -> str:
    return f" ({', '.join(names[:3])}{', ...' if len(names) > 3 else ''})" if names else ""


def _find_unreached(result: Result, ids: Iterable[str]) -> frozenset[str]:
    """Return the altered tests that are not in the report of a run that failed at one of them."""
    asked = frozenset(ids)
    has_failed = result.finding.exit_code and any(_has_failed(result, each) for each in asked)
    return asked - result.tests.keys() if has_failed else frozenset()


def _has_failed(result: Result, test: str) -> bool:
    return result.tests.get(test) in ("failed", "error")
