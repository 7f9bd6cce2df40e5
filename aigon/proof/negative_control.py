"""The negative control: in the room, the base's tests once more with another expected value, which have to fail."""

import json
import secrets
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from typing import Literal

from msgspec import Struct, field, to_builtins
from msgspec.structs import replace

from aigon.checks.reports import ADDOPTS, add_pytest_options
from aigon.control.alteration import Alteration, write_files
from aigon.control.places import UNSURE, AlterableTest
from aigon.files.atomic import write_atomic
from aigon.job.results import Result
from aigon.model.changes import Concern, hash_change
from aigon.model.checks import Check
from aigon.proof.bench import ProofBench, name_for_people
from aigon.proof.control_plan import Controlled, ControlPlan
from aigon.syntax import Edit

RULE = "negative-control"
LONGEST = 60.0
"""Seconds that a run may take in any case, besides five times those that the tests took."""

Doubt = Literal["holds", "never runs", "unsure", "reworded"]
"""What a test that passed with another expected value does if it is broken at that very place: it fails, so the
comparison holds for any value; it passes even if it is broken where it begins; or nothing more is known of it. The last
one fails with the same assertions in other words."""


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
        elif doubts == {"reworded"}:
            how = "fail with the same assertions in other words"
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
    seed = secrets.token_hex(8)
    control = _Run(bench, tree, with_base, seed, results, changed).control(checks)
    if control.summary:
        bench.folder.mkdir(parents=True, exist_ok=True)  # where nothing ran, nothing made it
        write_atomic(bench.folder / "control.json", json.dumps(to_builtins(control), indent=1).encode())
    return control


class _Survivor(Struct, frozen=True):
    """A test that passed with another expected value: in which check, and what its id can mean."""

    check: str
    meant: tuple[AlterableTest, ...]
    passed_at_base: bool


class _Ran(Struct, frozen=True):
    """The results of the altered tests: `altered` are those that were reached, `lacking` says why others were not."""

    altered: frozenset[str]
    survived: Mapping[str, Doubt]
    excused: frozenset[str]
    lacking: tuple[str, ...]


class _Run(Controlled, frozen=True):
    """One control. Every run in a room is of all checks that are concerned, with files written over the tree."""

    def control(self, checks: Sequence[Check]) -> Control:
        plan = self.plan(checks)
        commands, scripts = self.alter_commands(checks, plan.kept, "any")
        if not plan.kept and not commands:
            why = "no test or command here could be altered"
            return Control(self.seed, plain=plan.total, unaltered=plan.unaltered, lacking=why)
        tests = self._run_tests(checks, plan)
        survived = {**tests.survived, **self._run_commands(commands, scripts, "control-commands")}
        late, late_scripts = self.alter_commands(checks, plan.kept, "last")
        if late != commands or late_scripts != scripts:
            survived |= self._run_commands(late, late_scripts, "control-ends")
        survived |= {**self._recheck_fixed(checks, plan), **self._reword_commands(checks, plan), **survived}
        if self.bench.world.stop.now:
            return Control()
        return Control(
            self.seed,
            len(tests.altered),
            len(commands),
            0 if plan.left_out else plan.total - len(tests.altered),
            () if plan.left_out else plan.unaltered,
            tuple(sorted(tests.excused)),
            plan.left_out,
            survived,
            f"with altered tests {tests.lacking[0]}" if tests.lacking else "",
        )

    def _run_tests(self, checks: Sequence[Check], plan: ControlPlan) -> _Ran:
        """Run the altered tests, and ask of each that passes all the same what it is worth."""
        overlay = plan.write_files()
        kept = [check for check in checks if check.name in plan.kept]
        ran = self._run(self.with_base, kept, "control", overlay, plan.alteration)
        lacking = [f"there was no report ({each.finding.summary})" for each in ran.values() if not each.reported]
        reported = {name: ids for name, ids in plan.kept.items() if ran[name].reported}
        # A runner that stops at the first failure, as by `pytest -x`, says nothing of the tests after it.
        unreached = {name: _find_unreached(ran[name], ids) for name, ids in reported.items()}
        if number := sum(map(len, unreached.values())):
            lacking.append(f"the run stopped at a failure before {number} of them")
        survivors = {
            each: _Survivor(check.name, meant, self.bench.list_base_tests(check)[each] == "passed")
            for check in checks
            for each, meant in reported.get(check.name, {}).items()
            if each not in unreached[check.name] and not _has_failed(ran[check.name], each)
        }
        survived, excused = self._confirm(checks, survivors, plan.alteration, overlay, plan.free)
        survived |= {
            f"{check.title} exits 0": "holds"
            for check in checks
            if check.name in ran and ran[check.name].finding.exit_code == 0 and not survivors
        }
        altered = {each for name, ids in reported.items() for each in ids if each not in unreached[name]}
        return _Ran(frozenset(altered), survived, frozenset(excused), tuple(lacking))

    def _run_commands(
        self, commands: Sequence[Check], scripts: Mapping[str, bytes | None], name: str
    ) -> dict[str, Doubt]:
        """Return the altered commands that pass all the same."""
        passed = self._run(self.tree, commands, name, scripts) if commands else {}
        doubted = [check for check in commands if passed[check.name].finding.exit_code == 0]
        if doubted:  # what says nothing in the base either was made by people
            at_base = self._run(self.bench.job.base_commit, doubted, f"{name}-base", scripts)
            doubted = [check for check in doubted if at_base[check.name].finding.exit_code != 0]
        return dict.fromkeys(map(name_for_people, doubted), "holds")

    def _recheck_fixed(self, checks: Sequence[Check], plan: ControlPlan) -> dict[str, Doubt]:
        """Return the tests that pass only now and either also if they alone are altered, or not in other words.

        What forgives until a right test fails forgives these alone; what knows the tests' text or one wrong result does
        not know it in other words. A short suite runs as a whole for these few: then all of its tests have other words.
        """
        fixed = {
            each: meant
            for check in checks
            for each, meant in plan.kept.get(check.name, {}).items()
            if self.bench.list_base_tests(check)[each] != "passed"
        }
        tests, chosen = {test for meant in fixed.values() for test in meant}, plan.alteration.chosen
        sure = {each for each, meant in fixed.items() if not any(chosen[test].rank & UNSURE for test in meant)}
        whole = [] if plan.free else [ids for ids in plan.kept.values() if not fixed.keys().isdisjoint(ids)]
        asked = {**fixed, **{each: meant for ids in whole for each, meant in ids.items()}}
        reworded = {test for meant in asked.values() for test in meant}
        same = [(test.path, tuple({edit for place in test.places for edit in place.same})) for test in reworded]

        def run(
            ids: Set[str], edits: Sequence[tuple[str, Sequence[Edit]]], name: str, tree: str = self.with_base
        ) -> set[str]:
            """Return the tests that pass."""
            written = dict(write_files(plan.alteration.sources, edits))
            others = dict.fromkeys(path for path in plan.free if path not in {test.path for test in tests})
            concerned = [check for check in checks if not ids.isdisjoint(plan.kept.get(check.name, ()))]
            ran = self._run(tree, concerned, name, {**others, **written}, plan.alteration).values()
            return {each for each in ids if {r.tests.get(each) for r in ran} & {"passed"}}

        forgiven, failing = set[str](), set(asked) if any(edits for _, edits in same) else set[str]()
        if sure and any(len(fixed.keys() & ids) < len(ids) for ids in plan.kept.values()):
            forgiven = run(sure, [(test.path, chosen[test].edits) for test in tests], "control-alone")
        for name in ("control-words", "control-words-again"):
            failing -= run(failing, same, name) if failing else failing
        if doubted := failing - fixed.keys():  # what fails on the base as well says something else in other words
            failing &= fixed.keys() | run(doubted, same, "control-words-base", self.bench.job.base_commit)
        return {**dict.fromkeys(failing, "reworded"), **dict.fromkeys(forgiven, "holds")}

    def _reword_commands(self, checks: Sequence[Check], plan: ControlPlan) -> dict[str, Doubt]:
        """Return the commands that fail with the same assertions in other words."""
        commands, scripts = self.alter_commands(checks, plan.kept, "same")
        for name in ("control-words-commands", "control-words-commands-again"):
            ran = self._run(self.tree, commands, name, scripts) if commands else {}
            commands = tuple(check for check in commands if ran[check.name].finding.exit_code != 0)
        return dict.fromkeys(map(name_for_people, commands), "reworded")

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

        def ask(ids: set[str], tree: str, question: str, files: Mapping[str, bytes | None]) -> dict[str, str]:
            """Return how each test ends; "" if it does not end at all."""
            names = {survivors[each].check for each in ids}
            asked = {test.path for each in ids for test in survivors[each].meant}
            files = {**files, **dict.fromkeys(path for path in free if path not in asked)}
            concerned = [check for check in checks if check.name in names]
            ran = self._run(tree, concerned, f"control-{question}", files, alteration)
            return {each: ran[survivors[each].check].tests.get(each, "") for each in ids}

        def break_tests(ids: set[str], where: Callable[[AlterableTest], Edit]) -> dict[str, bytes | None]:
            tests = {test for each in ids for test in survivors[each].meant}
            return dict(write_files(alteration.sources, ((test.path, (where(test),)) for test in tests)))

        every = set(survivors)
        # A test that is expected to fail counts as skipped once it does.
        at_start = break_tests(every, lambda test: test.breaking)
        running = {
            each for each, end in ask(every, self.with_base, "start", at_start).items() if end not in ("passed", "")
        }
        of_base = {each for each in running if survivors[each].passed_at_base}
        # On the base, too, these pass with any value: it is the tests that do not look.
        at_base = ask(of_base, self.bench.job.base_commit, "base", overlay)
        rest = running - {each for each, end in at_base.items() if end in ("passed", "skipped")}
        at_place = break_tests(rest, lambda test: alteration.chosen[test].breaking)
        ends = ask(rest, self.with_base, "place", at_place)
        # The code ended these before a line that every run of them comes to.
        ended = {
            each
            for each in rest
            if ends[each] == "passed" and not any(alteration.chosen[t].rank & UNSURE for t in survivors[each].meant)
        }
        survived: dict[str, Doubt] = {
            **dict.fromkeys(every - running, "never runs"),
            **dict.fromkeys((rest & of_base) | ended, "unsure"),  # on the base the line runs
            **dict.fromkeys((each for each in rest if ends[each] in ("failed", "error")), "holds"),
        }
        return survived, every - survived.keys()

    def _run(
        self,
        tree: str,
        checks: Sequence[Check],
        name: str,
        overlay: Mapping[str, bytes | None],
        alteration: Alteration | None = None,
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
        ran = self.bench.run(tree, tuple(hasty), name, overlay=overlay)
        if not alteration:
            return dict(ran)
        known = {name: self.results[name].tests for name in ran}
        return {name: replace(each, tests=alteration.rename(each.tests, known[name])) for name, each in ran.items()}


def _list_some(names: Sequence[str]) -> str:
    return f" ({', '.join(names[:3])}{', ...' if len(names) > 3 else ''})" if names else ""


def _find_unreached(result: Result, ids: Iterable[str]) -> frozenset[str]:
    """Return the altered tests that are not in the report of a run that failed at one of them."""
    asked = frozenset(ids)
    has_failed = result.finding.exit_code and any(_has_failed(result, each) for each in asked)
    return asked - result.tests.keys() if has_failed else frozenset()


def _has_failed(result: Result, test: str) -> bool:
    return result.tests.get(test) in ("failed", "error")
