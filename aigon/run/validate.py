"""Iteration 0 alone: the checks and criteria on the files as they are. No agent, no commit, no state."""

import tempfile
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from aigon.checks.execution import render_command
from aigon.checks.project_checks import require_tools
from aigon.errors import Exit
from aigon.files.home import find_home
from aigon.git.person import Checkout
from aigon.git.workspace import Tip, Workspace
from aigon.job.assessment import Assessment, Snapshot
from aigon.job.demand import describe_nothing_built, find_proof, is_hollow
from aigon.job.job import Job
from aigon.job.options import Options
from aigon.job.world import World
from aigon.journal.decisions import find_human_ticks
from aigon.journal.durations import load_durations
from aigon.journal.events import Event, IterationFinished
from aigon.journal.records import Origin, find_candidate_at, locate_records
from aigon.journal.state import State
from aigon.loop import decide
from aigon.loop.assess import assess
from aigon.loop.drive import Observer, Recorder
from aigon.loop.guards.availability import unavailable
from aigon.model.checks import Check, Finding
from aigon.model.failures import describe_first_problems
from aigon.model.outcomes import Interrupted, Outcome, Stopped, describe_outcome, get_exit_code, get_status
from aigon.process import orphans
from aigon.process.stop import Stop
from aigon.proof.baseline import find_baseline
from aigon.proof.frozen import load
from aigon.proof.prove import prove
from aigon.proof.vacuity import describe_passing
from aigon.run.prepare import Prepared, build_job, prepare
from aigon.secrets import redaction
from aigon.text.amounts import format_duration
from aigon.views.validation import ValidationRow, build_check_document, render_check_table, wrap_lines


@dataclass(frozen=True, slots=True)
class ValidationPlan:
    """What one look will run: said before it begins, and all there is to say where it cannot begin."""

    prepared: Prepared
    checks: tuple[Check, ...]

    def document(self) -> dict[str, object]:
        """The project and its checks as data, nothing of them run."""
        checks = self.prepared.checks
        return {
            "feature_id": self.prepared.feature.id,
            "profile": checks.profile,
            "folders": dict(checks.folders),
            "checks": [build_check_document(row) for row in self.rows(())],
            "missing": [{"check": c.name, "tool": c.missing, "hint": c.hint} for c in self.checks if c.missing],
            "absent": [{"role": a.role, "why": a.why, "ecosystem": a.ecosystem} for a in checks.absent],
        }

    def text(self, width: int) -> str:
        """The profile, and what the project has and lacks, in a few lines of so many columns."""
        checks = self.prepared.checks
        folders = [f"  in {folder}: profile {profile}" for folder, profile in checks.folders.items()]
        names = ", ".join(f"{check.name} (up to {format_duration(check.timeout)})" for check in self.checks) or "none"
        missing = [f"  not installed: {c.missing}, for {c.name}. {c.hint}" for c in self.checks if c.missing]
        absent = [f"  {each.text}" for each in checks.absent]
        root = [] if checks.folders and "." not in checks.folders else [f"Profile: {checks.profile}"]
        lines = [*root, *folders, f"Checks: {names}", *missing, *absent]
        return "\n".join(part for line in lines for part in wrap_lines(line, width))

    def rows(self, findings: Sequence[Finding]) -> list[ValidationRow]:
        """The checks with what they came to, then what aigon itself looked at."""
        found = {finding.check: finding for finding in findings}
        own = [finding for finding in findings if finding.check not in {check.name for check in self.checks}]
        return [
            *(ValidationRow(c, found.get(c.name), render_command(c)) for c in self.checks),
            *(ValidationRow(None, each) for each in own),
        ]


NAMED = 8
"""Problems of a red check that are shown; `--json` has more."""


@dataclass(frozen=True, slots=True)
class ValidationReport:
    """What one look found, for people and scripts."""

    plan: ValidationPlan
    look: Assessment
    outcome: Outcome

    @property
    def exit_code(self) -> int:
        """The documented exit code."""
        return int(get_exit_code(self.outcome))

    def document(self) -> dict[str, object]:
        """Everything as data."""
        texts = {c.number: c.text for c in self.plan.prepared.spec.criteria}
        return {
            **self.plan.document(),
            "outcome": get_status(self.outcome),
            "exit_code": self.exit_code,
            "checks": [build_check_document(row) for row in self.plan.rows(self.look.findings)],
            "criteria": [
                {"number": v.criterion, "text": texts[v.criterion], "verdict": v.status, "method": v.method,
                 "evidence": v.evidence, "reason": v.reason}
                for v in self.look.verdicts
            ],
        }  # fmt: skip

    def text(self, width: int = 0) -> str:
        """The outcome; in front of it, in so many columns, a table of the checks where a width is given."""
        lines = [*render_check_table(self.plan.rows(self.look.findings), width), ""] if width else []
        lines += [line for finding in self.look.findings for line in _red(finding)]
        passed = self.look.passed_at_base if self.look.adds_nothing else ()
        lines += describe_passing(self.plan.prepared.spec.criteria, passed)
        proven = sum(v.status == "met" for v in self.look.verdicts)
        return "\n".join([*lines, f"{proven} of {len(self.look.verdicts)} criteria proven. {_ending(self.outcome)}."])


def _red(finding: Finding) -> list[str]:
    """What a red check named: nothing keeps its log."""
    if finding.status not in ("fail", "error") or not finding.problems:
        return []
    return [f"{finding.title}:", *(f"  {line}" for line in describe_first_problems(finding, NAMED)), ""]


def _ending(outcome: Outcome) -> str:
    """No loop ran, so no guard stopped one, and there is no state to save."""
    if isinstance(outcome, Interrupted):
        return f"Interrupted by {outcome.signal}; nothing was written"
    return outcome.reason.capitalize() if isinstance(outcome, Stopped) else describe_outcome(outcome)


def validate(
    checkout: Checkout,
    options: Options,
    observers: Sequence[Observer],
    announce: Callable[[ValidationPlan], None] = lambda _plan: None,
) -> ValidationReport:
    """Look once, and say how it stands; `announce` is told before it what will be run.

    Raises AigonError as a run would before it starts.
    """
    prepared = prepare(checkout, options, with_agent=False)
    plan = ValidationPlan(prepared, () if options.skip_validation else prepared.checks.checks)
    announce(plan)
    require_tools(plan.checks)
    orphans.adopt_orphans()
    with tempfile.TemporaryDirectory(prefix="aigon-validate-") as folder, Stop(patient=False).handling() as stop:
        world, job, snapshot = _opened(checkout, prepared, options, Path(folder), stop)
        try:
            look = assess_once(job, world, snapshot, Recorder((), observers))
            outcome = _outcome(job, look, world)
        finally:
            world.close()
            orphans.sweep()  # what a command in the clean room left running
    return ValidationReport(plan, look, outcome)


def _opened(
    checkout: Checkout, prepared: Prepared, options: Options, folder: Path, stop: Stop
) -> tuple[World, Job, Snapshot]:
    """A world whose git objects go into a temporary folder: the repository is only read."""
    home = find_home(checkout.common_dir)
    seat = find_candidate_at(home, checkout.root)
    records = locate_records(home, prepared.feature.name_for_people, seat.label if seat else "") if home else None
    origin = records.origin() if records else None
    workspace = Workspace(checkout, folder / "git", checkout.branch or "", objects=folder / "objects")
    base = _baseline(checkout, workspace, prepared, origin)
    # Where nobody knows what the feature began with, nobody can say that nothing was built.
    options = replace(options, accept_passing=base is None)
    job = build_job(prepared, options, base or checkout.head or workspace.empty_tree())
    frozen = load(records.frozen) if records else None
    same = frozen is not None and frozen.base == base
    job = replace(
        job,
        decisions=records.decisions() if records else (),
        base_results=frozen.passed if frozen and same else {},
    )
    world = World(
        run_id="validate",
        workspace=workspace,
        checkout=checkout.root,
        folder=folder / "run",
        home=home or folder,
        stop=stop,
        agent_env={},
        check_env={**prepared.check_env, "AIGON_RUN": "validate"},
        redact=redaction.make_redactor(prepared.env),
        keeps=False,
        rooms=folder / "rooms",
        frozen=records.frozen if records else None,
        durations=load_durations(home) if home else {},
    )
    complaints = workspace.snapshot()
    commit = job.base_commit
    snapshot = Snapshot(0, Tip(commit, commit), workspace, commit, job.own_files, complaints)
    return world, job, snapshot


def _baseline(checkout: Checkout, workspace: Workspace, prepared: Prepared, origin: Origin | None) -> str | None:
    """Return the commit that the feature began with, or will begin with; None if nothing tells."""
    if origin and checkout.commit_of(origin.commit):
        return origin.commit
    if checkout.head and checkout.branch == prepared.branch:
        return find_baseline(workspace.trusted, checkout.head, "")
    return checkout.head if prepared.feature.stage in ("inbox", "backlog") else None


def assess_once(job: Job, world: World, snapshot: Snapshot, recorder: Recorder) -> Assessment:
    """Run the look by hand, and the proof where all is met: their events go to those who watch."""
    human = find_human_ticks(job.spec.criteria, job.decisions)
    state = State(human_ticks=human)
    look = _driven(assess(job, world, snapshot, state), state, recorder)
    return _driven(prove(job, world, snapshot, look, state), state, recorder)


def _driven(looking: Generator[Event, State, Assessment], state: State, recorder: Recorder) -> Assessment:
    try:
        event = next(looking)
        while True:
            recorder.show(event)
            event = looking.send(state)
    except StopIteration as end:
        look: Assessment = end.value
        return look


def _outcome(job: Job, look: Assessment, world: World) -> Outcome:
    finished = replace(
        IterationFinished(
            world.now(), 1, "", "", look.findings, look.verdicts, (), look.fingerprint, look.score, "", look.content
        ),
        concerns=look.concerns,
        passed_at_base=look.passed_at_base,
        adds_nothing=look.adds_nothing,
    )
    state = State(finished=1, last=finished)
    if stopped := decide.interrupted(job.limits, state, world.probe()):
        return stopped
    proven = find_proof(job.demand, look.findings, look.verdicts)
    if proven and is_hollow(job.demand, finished) and not job.demand.accept_passing:
        return describe_nothing_built(job.demand)
    waiting = unavailable(job.limits, state, world.probe()) or decide.needs_human(job.demand, state, patient=False)
    return proven or waiting or Stopped("iterations", "criteria or checks are open", Exit.STOPPED)
