"""The proof: before a run may end as proven, everything that decides is run once more where nothing else can help it.

On a clean export of the very tree, out of the workspace's reach; where the agent touched tests or what configures the
checks, on the tree with the base's versions of them as well. It is rehearsed on the base before the first paid turn.
"""

import time
from collections.abc import Generator, Iterator, Sequence
from dataclasses import replace

from aigon.checks import dependencies
from aigon.errors import AigonError
from aigon.files.system_errors import ResourceShortage, is_shortage
from aigon.job.assessment import Assessment, Snapshot, require_untouched
from aigon.job.demand import find_proof, is_hollow
from aigon.job.job import Job
from aigon.job.world import World
from aigon.journal.events import CheckFinished, CheckStarted, CriterionJudged, Event, Notice
from aigon.journal.state import State
from aigon.model.changes import Concern, hash_change
from aigon.model.checks import Finding, Problem
from aigon.model.criteria import Criterion, Verdict, find_bound_checks
from aigon.proof import findings as integrity_findings
from aigon.proof.baseline import compare_with_baseline
from aigon.proof.clean_room import ProofResult, carried_out
from aigon.proof.dry_run import record_base, refused, run_clean_room_dry_run
from aigon.proof.findings import Changed, changed
from aigon.proof.frozen import Frozen, load
from aigon.proof.vacuity import describe_passing
from aigon.proof.watch import Watch
from aigon.secrets.leaks import HOW_TO_ALLOW, is_secret_name
from aigon.text.fingerprints import fingerprint

TITLE = "Clean-room proof"
BASE_TESTS = "base-tests"
"""The rule of what is not green with the base's versions of what the agent touched."""
NOT_ISOLATED = "not isolated: nothing here keeps the proof from reaching the workspace"


def prove(
    job: Job, world: World, snapshot: Snapshot, look: Assessment, state: State
) -> Generator[Event, State, Assessment]:
    """The look; where it says that everything is proven, with what the integrity rules and the clean room say."""
    first = state.base is None and world.keeps
    proven = look.complete and find_proof(job.demand, look.findings, look.verdicts)
    whole = look.complete and (state.base is None or proven is not None)
    look = compare_with_baseline(job, world.workspace.trusted, snapshot, look, state, whole=whole)
    if first:
        record_base(job, world, look)
    if not look.complete:
        return look
    if first:
        require_untouched(look)
    if first and not job.base_results:  # otherwise it was said when the run was opened
        for text in describe_passing(job.spec.criteria, look.passed_at_base):
            yield Notice(world.now(), text, "warning")
    if proven and is_hollow(job.demand, look) and not job.demand.accept_passing:
        return look  # nothing was built, so there is nothing to prove
    if proven:
        look = yield from _proven(job, world, snapshot, look)
        if first and look.complete:
            _require_sound(look)
        return look
    if first and job.proof.mode == "clean-room":
        yield from run_clean_room_dry_run(job, world, snapshot.number, look, frozen_of(job, world))
        world.sweep()
    return look


def _proven(job: Job, world: World, snapshot: Snapshot, look: Assessment) -> Generator[Event, State, Assessment]:
    record = frozen_of(job, world)
    rows = changed(world.workspace.trusted, snapshot, record)
    for path in world.workspace.untracked():
        if is_secret_name(path) and not job.protection.may_hold_secrets(path):
            said = f"is kept out of every commit, since such files hold secrets; let git ignore it, or {HOW_TO_ALLOW}"
            yield Notice(world.now(), f"{path} {said}", "warning")
    concerns = (*integrity_findings.found(job, world, rows), *(watch.lost if (watch := world.find(Watch)) else ()))
    findings, proof = look.findings, ProofResult()
    if job.proof.mode == "clean-room":
        yield CheckStarted(world.now(), snapshot.number, "proof", TITLE)
        begun = time.monotonic()
        proof = _attempt(job, world, snapshot, look, record, rows)
        world.sweep()  # what ran in the room is over, what it left is not
        finding = _finding(proof, time.monotonic() - begun)
        yield CheckFinished(world.now(), snapshot.number, finding)
        findings = (*findings, finding)
    concerns = integrity_findings.settled((*concerns, *_base_tests(job, proof)), job.decisions)
    findings = (*findings, *integrity_findings.finding(concerns))
    if not any(concern.rule == BASE_TESTS and concern.level == "review" for concern in concerns):
        proof = replace(proof, with_base={})  # a person approved of it
    verdicts = tuple(_after(job, c, v, proof, findings) for c, v in zip(job.spec.criteria, look.verdicts, strict=True))
    for old, new, criterion in zip(look.verdicts, verdicts, job.spec.criteria, strict=True):
        if old != new:
            yield CriterionJudged(world.now(), snapshot.number, new, criterion.text)
    return replace(look, findings=findings, verdicts=verdicts, concerns=concerns, complete=not world.stop.now)


def _require_sound(look: Assessment) -> None:
    """Raise AigonError (exit 7) where all is met on the base, but not in a clean room: no agent can fix that."""
    for finding in look.findings:
        if finding.role == "proof" and finding.status != "pass":
            raise refused(finding.summary, finding.log)


def frozen_of(job: Job, world: World) -> Frozen:
    """The record of what decides; before any run it is what there is now."""
    known = load(world.frozen) if world.frozen else None
    root = world.workspace.root
    return known or Frozen(
        job.base_commit, str(root), "", folders=dependencies.find_dependency_folders(root, job.proof.setups)
    )


def _attempt(
    job: Job, world: World, snapshot: Snapshot, look: Assessment, record: Frozen, rows: tuple[Changed, ...]
) -> ProofResult:
    """The proof, or why it could not be carried out: that is no pass."""
    folder = world.iteration_folder(snapshot.number) / "proof"
    try:
        return carried_out(job, world, record, rows, look.findings, folder)
    except ResourceShortage:
        raise
    except AigonError as error:
        where = f" ({error.where})" if error.where else ""
        return ProofResult(failed=f"{error.what}{where}", log=str(folder))
    except OSError as error:
        if is_shortage(error.errno):
            raise
        return ProofResult(failed=f"{error.strerror or error}: {error.filename or ''}", log=str(folder))


def _finding(proof: ProofResult, seconds: float) -> Finding:
    """The proof as one more check. Where it was not isolated it is a pass that says so."""
    against = list(proof.against.values())
    problems = tuple(problem for each in against for problem in each.problems)
    if proof.failed:
        made = Finding("proof", "proof", TITLE, "error", f"it could not be carried out: {proof.failed}")
    elif against:
        summary = "red on a clean export, green in the workspace: " + "; ".join(each.summary for each in against)
        made = Finding("proof", "proof", TITLE, "fail", summary, problems=problems)
    else:
        how = f"{proof.ran} green on a clean export ({proof.mechanism})"
        made = Finding("proof", "proof", TITLE, "pass", how, problems=tuple(_weak(proof)))
    names = () if made.status == "pass" else (fingerprint("proof", made.summary, *(p.test for p in problems)),)
    return replace(made, duration=seconds, fingerprints=names, log=proof.log)


def _weak(proof: ProofResult) -> Iterator[Problem]:
    """What the outcome has to say of a proof that is one only in part."""
    if proof.mechanism == "none":
        yield Problem(NOT_ISOLATED, severity="warning")
    if proof.lacking:
        yield Problem(f"proved without the submodules {', '.join(sorted(proof.lacking))}", severity="warning")


def _base_tests(job: Job, proof: ProofResult) -> tuple[Concern, ...]:
    """The agent touched tests or what configures the checks, and with the base's versions it is not all green."""
    if proof.touched is None:
        return ()
    if not proof.with_base:
        config = [path for path in proof.touched.paths if job.protection.part(path) != "tests"]
        said = f"{', '.join(config[:10])}: changed, and everything is green with the base's version, too"
        return (
            (Concern("changed-config", "note", said, tuple(config), hash_change(proof.touched.name)),) if config else ()
        )
    said = "; ".join(each.summary for each in proof.with_base.values())
    listed = ", ".join(proof.touched.paths[:5]) + (", ..." if len(proof.touched.paths) > 5 else "")
    what = f"{listed} changed, and what the base tested is not all green: {said}"
    return (Concern(BASE_TESTS, "review", what, proof.touched.paths, hash_change(proof.touched.name)),)


def _after(
    job: Job, criterion: Criterion, verdict: Verdict, proof: ProofResult, findings: Sequence[Finding]
) -> Verdict:
    """What a verdict is worth after the proof: red there is failed; a judge's word waits for the rest to be clean."""
    names = _names(job, criterion)
    if against := [proof.against[name].summary for name in names if name in proof.against]:
        return replace(verdict, status="unmet", reason=f"red on a clean export: {against[0]}")
    if doubts := [proof.with_base[name].summary for name in names if name in proof.with_base]:
        return replace(verdict, status="unclear", reason=f"by the base's tests: {doubts[0]}")
    red = [f.title for f in findings if f.role in ("proof", "integrity") and f.status != "pass"]
    if verdict.method == "judge" and red:
        return replace(verdict, status="unclear", reason=f"a judge's word waits while {' and '.join(red)} is red")
    return verdict


def _names(job: Job, criterion: Criterion) -> tuple[str, ...]:
    """The checks or the command that decide a criterion."""
    if criterion.kind == "check":
        return find_bound_checks(criterion.command or "", {check.name: check.role for check in job.checks})
    return (f"criterion-{criterion.number}",) if criterion.kind in ("verify", "metric") else ()
