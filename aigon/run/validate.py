"""Iteration 0 alone: the checks and criteria on the files as they are. No agent, no commit, no state."""

import tempfile
from collections.abc import Generator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from aigon.core import decide
from aigon.core.decisions import ticked_by_a_person
from aigon.core.errors import Exit
from aigon.core.events import Event, IterationFinished
from aigon.core.model import Check
from aigon.core.outcome import Outcome, Stopped, describe, exit_code, status
from aigon.core.state import State
from aigon.ports import reaper, secrets
from aigon.ports.git import Checkout
from aigon.ports.home import known_home
from aigon.ports.stop import Stop
from aigon.ports.workspace import Tip, Workspace
from aigon.run.assess import assess
from aigon.run.drive import Observer, Recorder
from aigon.run.job import Job
from aigon.run.look import Look
from aigon.run.one_check import shown
from aigon.run.options import Options
from aigon.run.prepare import Prepared, job_of, prepare
from aigon.run.project_checks import require_tools
from aigon.run.prove import prove
from aigon.run.records import records_of
from aigon.run.snapshot import Snapshot
from aigon.run.world import World


@dataclass(frozen=True, slots=True)
class Validation:
    """What one look found, for people and scripts."""

    job: Job
    look: Look
    outcome: Outcome
    profile: str

    @property
    def exit_code(self) -> int:
        """The documented exit code."""
        return int(exit_code(self.outcome))

    def document(self) -> dict[str, object]:
        """Everything as data."""
        texts = {c.number: c.text for c in self.job.spec.criteria}
        return {
            "feature_id": self.job.feature.id,
            "profile": self.profile,
            "outcome": status(self.outcome),
            "exit_code": self.exit_code,
            "checks": [
                {"name": f.check, "role": f.role, "status": f.status, "summary": f.summary, "command": f.command,
                 "duration": round(f.duration, 3), "cached": f.cached}
                for f in self.look.findings
            ],
            "criteria": [
                {"number": v.criterion, "text": texts[v.criterion], "verdict": v.status, "method": v.method,
                 "evidence": v.evidence, "reason": v.reason}
                for v in self.look.verdicts
            ],
        }  # fmt: skip

    def text(self, verbose: bool) -> str:
        """The outcome; with `verbose` each check's command, duration and source."""
        lines = [_row(check, self.look) for check in self.job.checks] if verbose else []
        proven = sum(v.status == "met" for v in self.look.verdicts)
        return "\n".join([*lines, f"{proven} of {len(self.look.verdicts)} criteria proven. {_ending(self.outcome)}."])


def _ending(outcome: Outcome) -> str:
    """No loop ran, so no guard stopped one."""
    return outcome.reason.capitalize() if isinstance(outcome, Stopped) else describe(outcome)


def _row(check: Check, look: Look) -> str:
    finding = next(f for f in look.findings if f.check == check.name)
    how = "remembered" if finding.cached else f"{finding.duration:.1f} s"
    return f"{check.name}: {shown(check)}  [{check.role}, {how}, {check.source}]"


def validate(checkout: Checkout, options: Options, observers: Sequence[Observer]) -> Validation:
    """Look once, and say how it stands. Raises AigonError as a run would before it starts."""
    prepared = prepare(checkout, options, with_agent=False)
    if not options.skip_validation:
        require_tools(prepared.checks.checks)
    reaper.adopt_orphans()
    with tempfile.TemporaryDirectory(prefix="aigon-validate-") as folder, Stop().handling() as stop:
        world, job, snapshot = _opened(checkout, prepared, options, Path(folder), stop)
        try:
            look = _look(job, world, snapshot, Recorder((), observers))
            outcome = _outcome(job, look, world)
        finally:
            world.close()
            reaper.sweep()  # what a command in the clean room left running
    return Validation(job, look, outcome, prepared.checks.profile)


def _opened(
    checkout: Checkout, prepared: Prepared, options: Options, folder: Path, stop: Stop
) -> tuple[World, Job, Snapshot]:
    """A world whose git objects go into a temporary folder: the repository is only read."""
    home = known_home(checkout.common_dir)
    records = records_of(home, prepared.feature.name_for_people) if home else None
    origin = records.origin() if records else None
    workspace = Workspace(checkout, folder / "git", checkout.branch or "", objects=folder / "objects")
    base = origin.commit if origin and checkout.commit_of(origin.commit) else checkout.head or workspace.empty_tree()
    job = job_of(prepared, options, base)
    job = replace(job, decisions=records.decisions() if records else ())
    world = World(
        run_id="validate",
        workspace=workspace,
        checkout=checkout.root,
        folder=folder / "run",
        home=home or folder,
        stop=stop,
        agent_env={},
        check_env={**prepared.check_env, "AIGON_RUN": "validate"},
        redact=secrets.redactor(prepared.env),
        own_files={},
        keeps=False,
        rooms=folder / "rooms",
        frozen=records.frozen if records else None,
    )
    complaints = workspace.snapshot()
    snapshot = Snapshot(0, Tip(base, base), workspace, base, job.own_files, complaints)
    return world, job, snapshot


def _look(job: Job, world: World, snapshot: Snapshot, recorder: Recorder) -> Look:
    """Run the look by hand, and the proof where all is met: their events go to those who watch."""
    human = ticked_by_a_person(job.spec.criteria, job.decisions)
    state = State(human_ticks=human)
    look = _driven(assess(job, world, snapshot, state), state, recorder)
    return _driven(prove(job, world, snapshot, look, state), state, recorder)


def _driven(looking: Generator[Event, State, Look], state: State, recorder: Recorder) -> Look:
    try:
        event = next(looking)
        while True:
            recorder.show(event)
            event = looking.send(state)
    except StopIteration as end:
        look: Look = end.value
        return look


def _outcome(job: Job, look: Look, world: World) -> Outcome:
    finished = replace(
        IterationFinished(
            world.now(), 1, "", "", look.findings, look.verdicts, (), look.fingerprint, look.score, "", look.content
        ),
        concerns=look.concerns,
    )
    state = State(finished=1, last=finished)
    if stopped := decide.interrupted(job.limits, state, world.probe()):
        return stopped
    proven = decide.met(job.demand, look.findings, look.verdicts)
    waiting = decide.unavailable(job.limits, state, world.probe()) or decide.needs_human(
        job.demand, state, patient=False
    )
    return proven or waiting or Stopped("iterations", "criteria or checks are open", Exit.STOPPED)
