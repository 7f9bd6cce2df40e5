"""The proof: before a run may end as proven, everything that decides is run once more where nothing else can help it.

On a clean export of the very tree, out of the workspace's reach; if the agent touched tests or what configures the
checks, on the tree with the base's versions of them as well. A dry run on the base comes before the first paid turn.
"""

import time
from collections.abc import Generator, Iterator, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from aigon.checks import reuse
from aigon.errors import AigonError
from aigon.files.system_errors import ResourceShortage, is_shortage
from aigon.job.assessment import Assessment, Snapshot, find_proof, is_hollow, leave_undecided, require_untouched
from aigon.job.job import Job
from aigon.job.world import World
from aigon.journal.events import CheckFinished, CheckStarted, CriterionJudged, Event, Notice
from aigon.journal.state import State
from aigon.model.checks import Finding, Problem
from aigon.model.criteria import Criterion, Verdict
from aigon.proof.dry_run import make_refusal, name_deciding, record_base, run_clean_room_dry_run, try_criteria_on_base
from aigon.proof.findings import Changed, apply_decisions, find_concerns, list_changed, make_finding
from aigon.proof.frozen import Frozen, compare_with_baseline, load
from aigon.proof.restore import Watch
from aigon.proof.rooms import RoomTrees
from aigon.proof.vacuity import criterion_key, describe_passing, results_of
from aigon.secrets.leaks import HOW_TO_ALLOW, is_secret_name
from aigon.text.quoting import fingerprint

if TYPE_CHECKING:  # the first turn begins without it
    from aigon.proof.clean_room import ProofResult

TITLE = "Clean-room proof"
NOT_ISOLATED = "not isolated: nothing here keeps the proof from reaching the workspace"


def prove(
    job: Job, world: World, snapshot: Snapshot, look: Assessment, state: State
) -> Generator[Event, State, Assessment]:
    """Return the assessment; if all criteria passed, with what the integrity rules and the clean room say."""
    first = state.base is None and world.keeps
    proven = look.complete and find_proof(job.demand, look.findings, look.verdicts)
    whole = look.complete and (state.base is None or proven is not None)
    look = compare_with_baseline(job, world.workspace.trusted, snapshot, look, state, whole=whole)
    if first:
        passed = results_of(job.spec.criteria, look.verdicts) if look.complete and look.adds_nothing else {}
        if look.complete and not (look.adds_nothing or job.base_results):
            passed = yield from try_criteria_on_base(job, world, snapshot.number, look, frozen_of(job, world))
            known = (c.number for c in job.spec.criteria if passed.get(criterion_key(c)))
            look = replace(look, passed_at_base=tuple(known))
        record_base(job, world, look, passed)
    if not look.complete:
        return look
    if first:
        require_untouched(look)
    if first and not job.base_results:  # otherwise it was said when the run was opened
        for text in describe_passing(job.spec.criteria, look.passed_at_base):
            yield Notice(world.now(), text, "warning")
    hollow = is_hollow(job.demand, look, worked=state.worked)
    if proven and hollow and not job.demand.accept_passing:
        return look  # nothing was built, so there is nothing to prove
    if proven:
        look = yield from _prove_snapshot(job, world, snapshot, look)
        failed = next((f for f in look.findings if f.role == "proof" and f.status != "pass"), None)
        if first and look.complete and failed:  # everything passed on the base: no agent can fix the clean room
            raise make_refusal(failed.summary, failed.log)
    elif first and job.proof.mode == "clean-room":
        yield from run_clean_room_dry_run(job, world, snapshot.number, look, frozen_of(job, world))
        world.sweep()
    return look


def _prove_snapshot(
    job: Job, world: World, snapshot: Snapshot, look: Assessment
) -> Generator[Event, State, Assessment]:
    from aigon.proof.clean_room import ProofResult

    record, watch = frozen_of(job, world), world.find(Watch)
    for said in watch.before_proof() if watch else ():
        yield Notice(world.now(), said, "warning")
    rows = list_changed(world.workspace.trusted, snapshot, record)
    for path in world.workspace.list_untracked():
        if is_secret_name(path) and not job.protection.may_hold_secrets(path):
            said = f"is kept out of every commit, since such files hold secrets; let git ignore it, or {HOW_TO_ALLOW}"
            yield Notice(world.now(), f"{path} {said}", "warning")
    concerns = (*find_concerns(job, world, rows), *(watch.lost if watch else ()))
    findings, proof = look.findings, ProofResult()
    if job.proof.mode == "clean-room":
        yield CheckStarted(world.now(), snapshot.number, "proof", TITLE)
        begun = time.monotonic()
        proof = _attempt_proof(job, world, snapshot, look, record, rows)
        world.sweep()  # what ran in the room is over, what it left is not
        finding = _make_finding(proof, time.monotonic() - begun)
        yield CheckFinished(world.now(), snapshot.number, finding)
        findings = (*findings, finding)
    control = proof.control.judge() if proof.control else ()
    concerns = (*concerns, *proof.concerns, *control)
    concerns = apply_decisions(concerns, job.decisions)
    findings = (*findings, *make_finding(concerns))
    verdicts = []
    for criterion, verdict in zip(job.spec.criteria, look.verdicts, strict=True):
        verdicts.append(_review_verdict(job, criterion, verdict, proof, findings))
        if verdicts[-1] != verdict:
            yield CriterionJudged(world.now(), snapshot.number, verdicts[-1], criterion.text)
    look = replace(look, findings=findings, verdicts=tuple(verdicts), concerns=concerns)
    return leave_undecided(look) if world.stop.now else look


def frozen_of(job: Job, world: World) -> Frozen:
    """Return the record of what decides; before any run it is what there is now."""
    known = load(world.frozen) if world.frozen else None
    root = world.workspace.root
    return known or Frozen(
        job.base_commit, str(root), "", folders=reuse.find_dependency_folders(root, job.proof.setups)
    )


def _attempt_proof(
    job: Job, world: World, snapshot: Snapshot, look: Assessment, record: Frozen, rows: tuple[Changed, ...]
) -> "ProofResult":
    """Return the proof, or why it could not be carried out: that is no pass."""
    from aigon.proof.clean_room import ProofResult, run_proof

    folder = world.iteration_folder(snapshot.number) / "proof"
    try:
        proof = run_proof(job, world, record, rows, look, folder)
        return ProofResult(failed="the run was stopped", log=str(folder)) if world.stop.now else proof
    except ResourceShortage:
        raise
    except AigonError as error:
        where = f" ({error.where})" if error.where else ""
        return ProofResult(failed=f"{error.what}{where}", log=str(folder))
    except OSError as error:
        if is_shortage(error.errno):
            raise
        return ProofResult(failed=f"{error.strerror or error}: {error.filename or ''}", log=str(folder))
    finally:
        world.get(RoomTrees).close()


def _make_finding(proof: "ProofResult", seconds: float) -> Finding:
    """Return the proof as one more check. If it was not isolated, it is a pass that says so."""
    against = list(proof.against.values())
    problems = tuple(problem for each in against for problem in each.problems)
    if proof.failed:
        made = Finding("proof", "proof", TITLE, "error", f"it could not be carried out: {proof.failed}")
    elif against:
        summary = "fails on a clean export, passes in the workspace: " + "; ".join(each.summary for each in against)
        made = Finding("proof", "proof", TITLE, "fail", summary, problems=problems)
    else:
        how = f"{proof.ran} passed on a clean export ({proof.mechanism})"
        if proof.control and proof.control.summary:
            how = f"{how}; {proof.control.summary}"
        if proof.with_base:
            how = f"{how}; not with the base's tests, so no negative control yet"
        made = Finding("proof", "proof", TITLE, "pass", how, problems=tuple(_list_weaknesses(proof)))
    names = () if made.status == "pass" else (fingerprint("proof", made.summary, *(p.test for p in problems)),)
    return replace(made, duration=seconds, fingerprints=names, log=proof.log)


def _list_weaknesses(proof: "ProofResult") -> Iterator[Problem]:
    if proof.mechanism == "none":
        yield Problem(NOT_ISOLATED, severity="warning")
    if proof.lacking:
        yield Problem(f"proved without the submodules {', '.join(sorted(proof.lacking))}", severity="warning")


def _review_verdict(
    job: Job, criterion: Criterion, verdict: Verdict, proof: "ProofResult", findings: Sequence[Finding]
) -> Verdict:
    """Return what a verdict is worth after the proof: a judge's word waits until the rest is clean."""
    names = name_deciding(criterion, {check.name: check.role for check in job.checks})
    if against := [proof.against[name].summary for name in names if name in proof.against]:
        return replace(verdict, status="unmet", reason=f"fails on a clean export: {against[0]}")
    if doubts := [proof.with_base[name].summary for name in names if name in proof.with_base]:
        return replace(verdict, status="unclear", reason=f"with the base's tests: {doubts[0]}")
    red = [f.title for f in findings if f.role in ("proof", "integrity") and f.status != "pass"]
    if verdict.method == "judge" and red:
        return replace(verdict, status="unclear", reason=f"a judge's word waits while {' and '.join(red)} is red")
    return verdict
