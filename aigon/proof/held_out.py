"""Hidden tests: laid over a clean export for a moment, and nowhere that the agent that works could find them.

Their output stays in no file, and what is told of a failure is the message of one assertion.
"""

import re
import secrets
import shutil
from collections.abc import Generator, Mapping, Sequence
from pathlib import PurePosixPath

from msgspec.structs import replace

from aigon.config.grants import is_inside
from aigon.control.alteration import alter, write_files
from aigon.control.programs import alter_script
from aigon.errors import environment
from aigon.files.home import state_home
from aigon.git import objects
from aigon.isolation.check_sandbox import ANYTHING, CheckSandbox
from aigon.isolation.mechanisms import CLOSING, choose_isolation
from aigon.isolation.run_sandbox import RunSandbox
from aigon.job.assessment import Snapshot
from aigon.job.job import Job
from aigon.job.results import Result
from aigon.job.world import World
from aigon.journal.decisions import Acceptance
from aigon.journal.events import CheckFinished, CheckStarted, Event
from aigon.journal.state import State
from aigon.model.checks import Finding
from aigon.model.criteria import HIDDEN, Criterion, Verdict
from aigon.proof.bench import ProofBench, make_bench
from aigon.proof.criteria import judge_by_own_command, list_commands, name_command
from aigon.proof.prove import frozen_of
from aigon.proof.vacuity import absent_files
from aigon.spec.annotation import find_script
from aigon.text.quoting import clip, fold, strip_escapes

TITLE = "Hidden tests"
LONGEST = 200
"""Characters of a message that the worker is told."""
_TELLING = 6
"""Characters from which a line of a hidden file is taken out of a message."""


def run_hidden_tests(
    job: Job, world: World, snapshot: Snapshot, verdicts: Sequence[Verdict]
) -> Generator[Event, State, tuple[Verdict, ...]]:
    """Return the verdicts, with those of hidden tests on a clean export of this snapshot."""
    asked = _list_asked(job)
    if not asked or world.stop.now:
        return tuple(verdicts)
    assert job.acceptance is not None, "criteria are bound to it"
    yield CheckStarted(world.now(), snapshot.number, HIDDEN, TITLE)
    place = world.home / HIDDEN / job.name
    try:
        shaped = replace(job, spec=replace(job.spec, criteria=asked))
        bench = make_bench(shaped, world, frozen_of(job, world), world.workspace.tree(), place, ())
        bench = replace(bench, rooms=replace(bench.rooms, apart=bench.rooms.mechanism in CLOSING))
        decided = _Trial(bench, job.acceptance, asked).decide()
    finally:
        shutil.rmtree(place, ignore_errors=True)
    world.sweep()
    failed = sum(verdict.status != "met" for verdict in decided.values())
    summary = f"{len(decided) - failed} of {len(decided)} passed"
    finding = Finding(HIDDEN, "script", TITLE, "fail" if failed else "pass", summary)
    yield CheckFinished(world.now(), snapshot.number, finding)
    return tuple(decided.get(v.criterion, v) if v.method == HIDDEN else v for v in verdicts)


def _list_asked(job: Job) -> tuple[Criterion, ...]:
    """Return the criteria that hidden tests decide, with their commands."""
    tests = ((c, job.acceptance.find_accepted(c)) for c in job.spec.criteria if c.kind == HIDDEN and job.acceptance)
    return tuple(replace(c, kind=test.kind, command=test.command) for c, test in tests if test)


class _Trial:
    """One run of the hidden tests that decide the `asked` criteria."""

    def __init__(self, bench: ProofBench, acceptance: Acceptance, asked: Sequence[Criterion]) -> None:
        self._bench, self._files, self._asked = bench, acceptance.files, asked
        self._tree = bench.world.workspace.tree()
        folders = tuple({f"{PurePosixPath(path).parent}/" for path in self._files})
        # What the worker put beside them could change what they say.
        own = (p for p in objects.list_entries(bench.world.workspace.trusted, self._tree) if p.startswith(folders))
        self._overlay: dict[str, bytes | None] = {**dict.fromkeys(own), **self._files}

    def decide(self) -> dict[int, Verdict]:
        """Return the verdicts; one that passes has to fail with another expected value."""
        results = self._run(self._asked, "hidden", self._overlay)
        verdicts = {c.number: self._judge(c, results) for c in self._asked}
        passed = [c for c in self._asked if verdicts[c.number].status == "met"]
        if len(passed) < len(self._asked):
            return verdicts
        altered = self._alter()
        control = [c for c in passed if any(path in altered for path in _list_files(c))]
        results = self._run(control, "control", {**self._overlay, **altered}) if control else {}
        for c in control:
            if judge_by_own_command(c, results).status == "met":
                why = "its hidden test passes with another expected value as well: the code did not decide it"
                verdicts[c.number] = replace(verdicts[c.number], status="unmet", evidence="", reason=why)
        return verdicts

    def _alter(self) -> dict[str, bytes]:
        """Return the test files with another expected value each."""
        seed = secrets.token_hex(8)
        drawn = alter(self._files, seed)
        altered = dict(write_files(drawn.sources, ((test.path, place.edits) for test, place in drawn.chosen.items())))
        scripts = ((path, alter_script(path, data, seed)) for path, data in self._files.items() if path not in altered)
        return altered | {path: data for path, data in scripts if data}

    def _run(self, asked: Sequence[Criterion], name: str, overlay: Mapping[str, bytes | None]) -> dict[str, Result]:
        return self._bench.run(self._tree, list_commands(asked), name, overlay=overlay)

    def _judge(self, criterion: Criterion, results: Mapping[str, Result]) -> Verdict:
        verdict = judge_by_own_command(criterion, results)
        if verdict.status == "met":
            return Verdict(criterion.number, "met", HIDDEN, "its hidden test passes", "")
        said = self._find_message(results[name_command(criterion)], verdict)
        reason = f"its hidden test fails{f': {said}' if said else ''}"
        return Verdict(criterion.number, verdict.status, HIDDEN, "", reason)

    def _find_message(self, result: Result, verdict: Verdict) -> str:
        """Return what the first failing assertion says, without any line of the hidden files."""
        errors = [problem.message for problem in result.finding.problems if problem.severity == "error"]
        if not errors and result.finding.status == "pass":
            errors = [verdict.reason]
        if not errors:
            errors = strip_escapes(result.finding.excerpt).strip().splitlines()[-1:]
        message = errors[0] if errors else ""
        for data in self._files.values():
            for line in data.decode("utf-8", "replace").splitlines():
                if len(line.strip()) >= _TELLING:
                    message = message.replace(line.strip(), "...")
        for path in self._files:
            message = re.sub(rf"\S*{re.escape(PurePosixPath(path).name)}\S*", "...", message)
        return clip(fold(message, 10 * LONGEST), LONGEST)


def _list_files(criterion: Criterion) -> tuple[str, ...]:
    return absent_files(find_script(criterion.kind, criterion.command), lambda _path: False)


def require_out_of_sight(job: Job, world: World) -> None:
    """Raise AigonError (exit 7) if the agent, or what it wrote and checks run, could read aigon's records here."""
    if not _list_asked(job):
        return
    if flaw := _find_flaw(job, world):
        raise environment(
            f"The hidden tests of feature {job.feature.name_for_people} would not be out of sight: {flaw}",
            where="ralph.hiddenTests",
            hint="Run it where bubblewrap or user namespaces work; or add --allow-visible, which the outcome will say",
        )


def _find_flaw(job: Job, world: World) -> str:
    box, checks = world.get(RunSandbox), world.find(CheckSandbox)
    if box.box is None:
        return "agents run without a sandbox"
    granted = (*box.box.grants.read, *box.box.grants.write)
    if any(is_inside(path, str(state_home())) or is_inside(str(world.home), path) for path in granted):
        return "the sandbox of agents grants aigon's records"
    if checks is None or checks.mechanism not in CLOSING:
        return "checks, which run what the agent wrote, can read what you can"
    if free := [name for name, entries in checks.allowed.items() if ANYTHING in entries]:
        return f"sandbox.allow lets {free[0]} run without a sandbox"
    if choose_isolation(world.workspace.root, job.proof.isolation) not in CLOSING:
        return "clean rooms are not isolated"
    return ""
