"""Run everything with the base's tests, configuration and inputs, and judge what fails or reads them no more."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

from msgspec import Struct
from msgspec.structs import replace

from aigon.checks.schedule import find_answering
from aigon.git import objects
from aigon.job.job import Job
from aigon.job.results import Result
from aigon.model.changes import Concern, hash_change
from aigon.model.checks import Check
from aigon.observation import Observer
from aigon.proof import criteria
from aigon.proof.base_tests import BaseVersions, leave_out_files
from aigon.proof.bench import (
    ProofBench,
    Trouble,
    describe_lost,
    find_trouble,
    list_deciding,
    list_problems,
    name_for_people,
    name_in_record,
)
from aigon.proof.findings import apply_decisions
from aigon.proof.frozen import had_no_tests
from aigon.text.amounts import join_words
from aigon.text.patterns import compile_re

BASE_TESTS = "base-tests"
"""The rule of what does not pass with the base's versions of what the agent touched."""
UNREAD = "unread-inputs"
"""The rule of what decided on the base and does not any more."""
_RUNNER = compile_re(r"\b(?:make|just|task|npm|pnpm|yarn|bun|tox|nox)\b")
"""Programs that do what a file of the project says."""


class Inputs(Struct, frozen=True):
    """The inputs that commands read on the base, by their names in the record; `observer` tells what they read now."""

    of_base: Mapping[str, Sequence[str]]
    observer: Observer

    def run(self, bench: ProofBench, tree: str, checks: Sequence[Check], name: str) -> dict[str, Result]:
        """Run checks; what read inputs on the base is observed, each command in a room of its own.

        Not what is measured, which may need several runs.
        """
        watched = [check for check in checks if self.has_reader(check) and not check.quantity]
        results = bench.run(tree, [check for check in checks if check not in watched], name)
        answering = find_answering(watched, bench.world.check_env.get("PATH", ""))
        watching = replace(bench, observer=self.observer)
        for check in (check for check in watched if check.name not in answering):
            same = [check, *(each for each in watched if answering.get(each.name) == check.name)]
            results |= watching.run(tree, same, name)
        return results

    def has_reader(self, check: Check) -> bool:
        """Return whether a check read inputs on the base."""
        return name_in_record(check) in self.of_base

    def find_unread(self, bench: ProofBench, tree: str, checks: Sequence[Check]) -> Iterator[Concern]:
        """Yield a review for inputs that a check did not read where it was observed, and that it passes without:
        something else decides in their place."""
        readers = [check for check in checks if self.has_reader(check)]
        replace(bench, observer=self.observer).run(tree, [check for check in readers if check.quantity], "inputs")
        now = self.observer.observation.commands
        unread = {
            check.name: [path for path in self.of_base[name] if path not in now[name].files]
            for check in readers
            if (name := name_in_record(check)) in now and not (now[name].walks or now[name].unknown)
        }
        gone = sorted({path for paths in unread.values() for path in paths})
        doubted = [check for check in readers if unread.get(check.name)]
        ran = bench.run(tree, doubted, "without-inputs", overlay=dict.fromkeys(gone))
        passing = [name_for_people(check) for check in doubted if not find_trouble(bench.job, check, ran[check.name])]
        if passing:
            what = f"{join_words(passing)} read {join_words(gone[:5])} on the base"
            what = f"{what}; now something else decides in its place"
            yield Concern(UNREAD, "review", what, tuple(gone), hash_change([UNREAD, tree, *gone]))


def prove_with_base(
    bench: ProofBench, touched: BaseVersions, inputs: Inputs, of_base: dict[str, Result]
) -> tuple[ProofBench, dict[str, Result], dict[str, Trouble]]:
    """Return what fails with the base's versions; in rooms that are apart it may only lack a network."""
    of_base = of_base or run_base_tests(bench, touched, inputs)
    failed = _judge(bench, touched, of_base)
    if not failed or not bench.rooms.apart:
        return bench, of_base, failed
    bench = bench.put_together()
    of_base = run_base_tests(bench, touched, inputs)
    return bench, of_base, _judge(bench, touched, of_base)


def run_base_tests(bench: ProofBench, touched: BaseVersions, inputs: Inputs) -> dict[str, Result]:
    """Run everything with the base's tests and configuration in place of the agent's."""
    deciding, commands = list_deciding(bench.job), criteria.list_commands(bench.job.required)
    if touched.tree == touched.with_new_tests:
        return inputs.run(bench, touched.tree, deciding, "base-tests")
    # New tests of the agent's may read an input in place of those that did.
    without = [check for check in deciding if check not in commands or inputs.has_reader(check)]
    results = inputs.run(bench, touched.tree, without, "base-tests")
    return results | bench.run(touched.with_new_tests, commands, "base-commands")


def _judge(bench: ProofBench, touched: BaseVersions, results: Mapping[str, Result]) -> dict[str, Trouble]:
    """Return what fails with the base's tests and configuration."""
    commands = criteria.list_commands(bench.job.required)
    alone = bench.run(touched.tree, commands, "without-fixtures") if touched.has_new_fixtures else {}
    failed: dict[str, Trouble | None] = {}
    for check in list_deciding(bench.job):
        name, result = check.name, results[check.name]
        if check not in commands:
            failed[name] = _judge_tests(bench, check, result, is_excused=_is_excused(bench, check, result))
            continue
        failed[name] = _judge_command(bench, touched, check, result)
        if not failed[name] and name in alone:  # the base's tests in it, or its exit if it names none
            failed[name] = _judge_tests(bench, check, alone[name], is_excused=alone[name].reported)
    return {name: trouble for name, trouble in failed.items() if trouble}


def _judge_tests(bench: ProofBench, check: Check, result: Result, *, is_excused: bool) -> Trouble | None:
    """Return which of the base's tests a check lost, else why it fails, unless that says nothing here."""
    if lost := bench.find_lost(check, result):
        return describe_lost(check, lost, result)
    return None if is_excused else find_trouble(bench.job, check, result)


def _judge_command(bench: ProofBench, touched: BaseVersions, command: Check, result: Result) -> Trouble | None:
    """Return what speaks against a criterion's command: tests of the base that fail in it, or its own words.

    It may be about tests that the agent added to a file of the base, and those are not here: its exit says nothing.
    """
    base = {test for tested in bench.record.tested.values() for test in tested.tests}
    red = {test: outcome for test, outcome in result.tests.items() if outcome in ("failed", "error")}
    # A file of the base that did not run there had no tests yet; here it is as it was.
    paths = objects.list_entries(bench.world.workspace.trusted, bench.job.base_commit) if red else {}
    added = leave_out_files(red, (path for path in paths if bench.job.protection.part(path) == "tests"))
    failing = [test for test in red if test in base or not base or test not in added]
    if failing:
        more = f", and {len(failing) - 1} more" if len(failing) > 1 else ""
        return Trouble(f"{name_for_people(command)}: {failing[0]} fails{more}", list_problems(result))
    words = " ".join(command.argv)
    named = any(path.rpartition("/")[2] in words for path in touched.configuration)
    runs_configured = named or (touched.configuration and _RUNNER.search(words))
    # What reads none of the inputs passes here as it did on the tree itself.
    judged = (runs_configured or touched.inputs or touched.inline) and not result.reported
    return find_trouble(bench.job, command, result) if judged else None


def _is_excused(bench: ProofBench, check: Check, result: Result) -> bool:
    """Return whether a check may fail although nothing of the base does.

    It has no tests, as on the base, which a runner may call a failure (pytest does); or all of them passed and it only
    missed a threshold of the whole: the base's tests alone do not have to cover the new code.
    """
    counts = result.finding.counts
    had_none = had_no_tests(bench.record.tested.get(name_in_record(check)))
    if not counts or counts.errors:
        return False
    own_report = any("{report}" in part for part in check.argv)
    missed = check.role == "tests" and own_report and counts.passed and not counts.failed
    return bool(missed or (had_none and result.reported and not counts.total))


def _describe_expectation(touched: BaseVersions, troubles: Iterable[Trouble]) -> str:
    from aigon.proof.expectations import describe_changed_expectation  # parsers of all languages

    tests = dict.fromkeys(problem.test for trouble in troubles for problem in trouble.problems if problem.test)
    return describe_changed_expectation(tests, touched.files)


def list_base_concerns(
    job: Job, touched: BaseVersions, troubles: Mapping[str, Trouble], *, base_passes: bool
) -> tuple[Concern, ...]:
    """Return what follows if the agent touched tests or what configures the checks; a note if a person approved."""
    paths, key = touched.paths, hash_change(touched.name)
    if troubles:
        said, *others = (each.summary for each in troubles.values())
        if others:
            said += f"; {join_words([other.partition(':')[0] for other in others])}, too"
        listed = ", ".join(paths[:2]) + (", ..." if len(paths) > 2 else "")
        state, reason = f"with {listed} as on the base: {said}", "the feature is to change what they ask for"
        if base_passes:
            state, reason = f"{said}. The base's version of {listed} passes", "other tests ask for the same"
        elif changed := _describe_expectation(touched, troubles.values()):
            state = f"{state}. {changed}"
        what = f"{state}. A person can approve it if {reason}"
        mendable = not job.protection.asks_for(paths)
        return apply_decisions([Concern(BASE_TESTS, "review", what, paths, key, mendable)], job.decisions)
    config = (*touched.configuration, *touched.inputs)
    files = touched.files
    tests = tuple(path for path in files.before if path not in touched.inputs and not files.is_only_added_to(path))
    named = {"changed-config": config, "changed-tests": (*tests, *touched.inline)}
    shown = {path: f"tests in {path}" for path in touched.inline}
    names = [f"{old} renamed to {new}" for old, new in touched.renames.items()]
    says = f"changed, and everything passes with the base's version{f', {join_words(names)}' if names else ''}, too"
    return tuple(
        Concern(rule, "note", f"{', '.join(shown.get(path, path) for path in files[:10])}: {says}", files, key)
        for rule, files in named.items()
        if files
    )
