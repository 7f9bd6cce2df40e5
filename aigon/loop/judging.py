"""What aigon captured of a check's output, for a judge to quote from."""

import os
import stat
import threading
from collections.abc import Generator, Sequence
from contextlib import suppress
from dataclasses import replace
from queue import Empty, SimpleQueue

from aigon.git.diff import diff_trees
from aigon.job.job import Job
from aigon.job.world import World
from aigon.journal.events import Event, JudgeAsked, MoneySpent
from aigon.journal.state import State
from aigon.judge import selection
from aigon.judge.backends import find_backend
from aigon.judge.judgement import build_case
from aigon.judge.question import Case, Judgement, ObservedCheck
from aigon.judge.reply import MALFORMED
from aigon.model.checks import Finding
from aigon.model.criteria import Verdict
from aigon.model.judging import JUDGE_BROKEN, JudgeAnswer, JudgeQuestion, JudgeSettings
from aigon.process.stop import POLL_SECONDS
from aigon.secrets.redaction import redact_value
from aigon.spec.features import LOGS

OUTPUT_TAIL = 256 * 1024
"""Bytes of the end of an output that can be quoted."""


def observe_check(finding: Finding) -> ObservedCheck:
    """The finding with the end of its output. A remembered pass has none: its log lay where an agent could edit it."""
    return ObservedCheck(finding, _read_tail(finding.log) if finding.log and not finding.cached else "")


def _read_tail(path: str) -> str:
    """The end of an ordinary file; "" for anything else, and never waiting for it."""
    with suppress(OSError):
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            seen = os.fstat(file.fileno())
            if not stat.S_ISREG(seen.st_mode):
                return ""
            file.seek(max(0, seen.st_size - OUTPUT_TAIL))
            return file.read(OUTPUT_TAIL).decode(errors="replace")
    return ""


FORMAT = "The format is in docs/judges.md, under 'A judge of your own'"
GRACE_SECONDS = 5.0
"""How much longer than its own time-out a judge is waited for before its silence is the answer."""


def ask_about_open(
    job: Job, world: World, number: int, verdicts: Sequence[Verdict], findings: Sequence[Finding]
) -> Generator[Event, State, tuple[Verdict, ...]]:
    """`verdicts` with the judge's answers in place of those that wait for it."""
    waiting = [v.criterion for v in verdicts if v.method == "judge"]
    if not waiting or job.judge is None or world.stop.now:
        return tuple(verdicts)
    if red := [f.title for f in findings if f.status != "pass" and f.check not in job.demand.known_failures]:
        why = f"not judged while checks are red ({', '.join(red)})"
        return tuple(replace(v, reason=why) if v.criterion in waiting else v for v in verdicts)
    case = _case(job, world, job.judge, waiting, findings)
    yield JudgeAsked(world.now(), number, tuple(waiting))
    found = yield from _sat(world, job.judge, number, case)
    answers = {verdict.criterion: _allowed(job, _usable(job.judge, verdict)) for verdict in found.verdicts}
    return tuple(answers.get(verdict.criterion, verdict) for verdict in verdicts)


def _case(job: Job, world: World, settings: JudgeSettings, waiting: Sequence[int], findings: Sequence[Finding]) -> Case:
    """What the judge sees: never a word of the agent's own but what it wrote into the tree."""
    asked = [criterion for criterion in job.spec.criteria if criterion.number in waiting]
    work = world.workspace
    found = diff_trees(work.trusted, job.base_commit, work.tree(), job.own_files, selection.is_hidden_by_name)
    diffs = [diff for diff in found if not diff.path.startswith(LOGS)]  # other logs quote agents, too
    return build_case(
        settings, asked, job.spec.raw.decode(errors="replace"), diffs, [observe_check(f) for f in findings]
    )


def _sat(world: World, settings: JudgeSettings, number: int, case: Case) -> Generator[Event, State, Judgement]:
    """Every call of the judgement, and what it cost."""
    from aigon.judge.judgement import judge_case

    steps = judge_case(case)
    try:
        question = next(steps)
        while not world.stop.look():
            answer = redact_value(_asked(world, settings, question), world.redact)
            yield MoneySpent(world.now(), number, "judge", answer.cost, answer.cost_status)
            question = steps.send(answer)
        return Judgement(())
    except StopIteration as end:
        result: Judgement = end.value
        return result


def _asked(world: World, settings: JudgeSettings, question: JudgeQuestion) -> JudgeAnswer:
    """One call's answer, or that there was none in time or before the run was stopped."""
    answers: SimpleQueue[JudgeAnswer] = SimpleQueue()
    settings = replace(settings, env={**settings.env, "AIGON_INVOCATION": world.invocation})  # as all of its programs
    threading.Thread(target=lambda: answers.put(_answer(settings, question)), name="judge", daemon=True).start()
    limit = world.elapsed() + settings.timeout + GRACE_SECONDS
    while world.elapsed() < limit and not world.stop.look():
        try:
            return answers.get(timeout=POLL_SECONDS)
        except Empty:
            continue
    return JudgeAnswer(failure="the judge did not answer in time")


def _answer(settings: JudgeSettings, question: JudgeQuestion) -> JudgeAnswer:
    try:
        return find_backend(settings.backend).ask(question, settings)
    except Exception as error:  # a backend must not raise; one that does has given no answer, and must not hang a run
        return JudgeAnswer(failure=f"the judge failed ({type(error).__name__})")


def _usable(settings: JudgeSettings, verdict: Verdict) -> Verdict:
    """The verdict; where a judge's own program does not keep to the format, no agent's turn can change that."""
    if settings.backend != "command" or verdict.status != "unclear" or MALFORMED not in verdict.reason:
        return verdict
    return replace(verdict, method=JUDGE_BROKEN, reason=f"{verdict.reason}. {FORMAT}")


def _allowed(job: Job, verdict: Verdict) -> Verdict:
    """A proposal with `autoCheckCriteria: false`: then a person decides what the judge found met."""
    if job.auto_check or verdict.status != "met":
        return verdict
    why = f"the judge proposes met ({verdict.reason}); `aigon approve` decides"
    return replace(verdict, status="unclear", method="human", reason=why)
