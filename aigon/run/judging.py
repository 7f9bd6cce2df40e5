"""Ask the judge about what no command decides. It runs aside, so that Ctrl+C does not wait for a model."""

import threading
from collections.abc import Generator, Sequence
from dataclasses import replace
from queue import Empty, SimpleQueue

from aigon.core.decide import JUDGE_UNAVAILABLE
from aigon.core.events import Event, Spent
from aigon.core.judging import JudgeReply, JudgeRequest, JudgeSettings
from aigon.core.model import Finding, Verdict
from aigon.core.state import State
from aigon.judges import backend
from aigon.ports.stop import POLL_SECONDS
from aigon.run.job import Job
from aigon.run.world import World

GRACE_SECONDS = 5.0
"""How much longer than its own time-out a judge is waited for before its silence is the answer."""


def judged(
    job: Job, world: World, number: int, verdicts: Sequence[Verdict], findings: Sequence[Finding]
) -> Generator[Event, State, tuple[Verdict, ...]]:
    """`verdicts` with the judge's answers in place of those that wait for it."""
    waiting = [v.criterion for v in verdicts if v.method == "judge"]
    if not waiting or job.judge is None or world.stop.now:
        return tuple(verdicts)
    if red := [f.title for f in findings if f.status != "pass" and f.check not in job.demand.known_failures]:
        why = f"not judged while checks are red ({', '.join(red)})"
        return tuple(replace(v, reason=why) if v.criterion in waiting else v for v in verdicts)
    reply = _ask(job, world, job.judge, waiting, findings)
    yield Spent(world.now(), number, "judge", reply.cost, reply.cost_status)
    answers = {v.criterion: _answer(job, reply, v) for v in reply.verdicts}
    silent = "the judge did not answer on this criterion"
    return tuple(answers.get(v.criterion, replace(v, reason=silent)) if v.criterion in waiting else v for v in verdicts)


def _answer(job: Job, reply: JudgeReply, verdict: Verdict) -> Verdict:
    """What counts of a verdict: none of a judge that cannot be asked, a proposal with `autoCheckCriteria: false`."""
    if not reply.available:
        return replace(verdict, method=JUDGE_UNAVAILABLE)
    return _allowed(job, verdict)


def _ask(
    job: Job, world: World, settings: JudgeSettings, waiting: Sequence[int], findings: Sequence[Finding]
) -> JudgeReply:
    asked = tuple(c for c in job.spec.criteria if c.number in waiting)
    base = job.base_commit
    diff = world.workspace.diff(base, job.own_files)
    request = JudgeRequest(asked, diff, tuple(findings), job.spec.raw.decode(errors="replace"))
    replies: SimpleQueue[JudgeReply] = SimpleQueue()
    threading.Thread(
        target=lambda: replies.put(backend(settings.backend).judge(request, settings)), name="judge", daemon=True
    ).start()
    return _reply(world, settings, replies) or _silence(waiting, "the judge did not answer in time")


def _reply(world: World, settings: JudgeSettings, replies: "SimpleQueue[JudgeReply]") -> JudgeReply | None:
    limit = world.elapsed() + settings.timeout + GRACE_SECONDS
    while world.elapsed() < limit and not world.stop.look():
        try:
            return replies.get(timeout=POLL_SECONDS)
        except Empty:
            continue
    return None


def _silence(waiting: Sequence[int], why: str) -> JudgeReply:
    return JudgeReply(tuple(Verdict(number, "unclear", "judge", "", why) for number in waiting))


def _allowed(job: Job, verdict: Verdict) -> Verdict:
    if job.auto_check or verdict.status != "met":
        return verdict
    why = f"the judge proposes met ({verdict.reason}); `aigon approve` decides"
    return replace(verdict, status="unclear", reason=why)
