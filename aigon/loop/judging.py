"""Ask the judge about open criteria, with what aigon captured of the checks' output to quote from."""

import os
from collections.abc import Generator, Sequence
from contextlib import suppress
from pathlib import Path

from msgspec.structs import replace

from aigon.errors import environment
from aigon.files.atomic import open_plain
from aigon.git.diff import diff_trees
from aigon.isolation.check_sandbox import ANYTHING, JUDGE, CheckSandbox
from aigon.job.job import Job
from aigon.job.world import CheckStart, World
from aigon.journal.events import Event, JudgeAsked, MoneySpent
from aigon.journal.state import State
from aigon.judge import selection
from aigon.judge.backends import ask_in_thread
from aigon.judge.judgement import build_case
from aigon.judge.question import Case, Judgement, ObservedCheck
from aigon.judge.reply import MALFORMED
from aigon.model.checks import Finding
from aigon.model.criteria import Verdict
from aigon.model.requests import JUDGE_BROKEN, JudgeAnswer, JudgeQuestion, JudgeSettings
from aigon.secrets.redaction import redact_value
from aigon.spec.features import LOGS

OUTPUT_TAIL = 256 * 1024
"""Bytes of the end of an output that can be quoted."""


def observe_check(finding: Finding) -> ObservedCheck:
    """Return the finding with the end of its output. A remembered pass has none: an agent could edit its log."""
    return ObservedCheck(finding, _read_tail(finding.log) if finding.log and not finding.cached else "")


def _read_tail(path: str) -> str:
    """Return the end of an ordinary file; "" for anything else, without waiting for it."""
    with suppress(OSError), open_plain(path) as file:
        file.seek(max(0, os.fstat(file.fileno()).st_size - OUTPUT_TAIL))
        return file.read(OUTPUT_TAIL).decode(errors="replace")
    return ""


FORMAT = "The format is in docs/judges.md, under 'A judge of your own'"


def ask_about_open(
    job: Job, world: World, number: int, verdicts: Sequence[Verdict], findings: Sequence[Finding]
) -> Generator[Event, State, tuple[Verdict, ...]]:
    """Return `verdicts` with the judge's answers in place of those that wait for it."""
    settings, waiting = job.judge, [v.criterion for v in verdicts if v.method == "judge"]
    if not waiting or settings is None or world.stop.now:
        return tuple(verdicts)
    if red := [f.title for f in findings if f.status != "pass" and f.check not in job.demand.known_failures]:
        why = f"not judged while checks fail ({', '.join(red)})"
        return tuple(replace(v, reason=why) if v.criterion in waiting else v for v in verdicts)
    work, asked = world.workspace, [each for each in job.spec.criteria if each.number in waiting]
    diffs = diff_trees(work.trusted, job.base_commit, work.tree(), job.own_files, selection.is_hidden_by_name)
    case = build_case(
        settings,
        asked,
        job.spec.raw.decode(errors="replace"),
        [diff for diff in diffs if not diff.path.startswith(LOGS)],  # other logs quote agents, too
        [observe_check(finding) for finding in findings],
    )
    yield JudgeAsked(world.now(), number, tuple(waiting))
    judgement = yield from _judge(world, settings, number, case)
    answers = {verdict.criterion: _limit_verdict(job, settings, verdict) for verdict in judgement.verdicts}
    return tuple(answers.get(verdict.criterion, verdict) for verdict in verdicts)


def _judge(world: World, settings: JudgeSettings, number: int, case: Case) -> Generator[Event, State, Judgement]:
    """Make every call of the judgement, and report what each cost."""
    from aigon.judge.judgement import judge_case

    steps = judge_case(case)
    try:
        question = next(steps)
        while not world.stop.look():
            answer = _ask(world, settings, question)
            if answer.failure and not number:
                _require_same_outside(world, settings, question)
            answer = redact_value(answer, world.redact)
            yield MoneySpent(world.now(), number, "judge", answer.cost, answer.cost_status)
            question = steps.send(answer)
        return Judgement(())
    except StopIteration as end:
        result: Judgement = end.value
        return result


def _require_same_outside(world: World, settings: JudgeSettings, question: JudgeQuestion) -> None:
    """Ask a judge that failed at the baseline without a sandbox. Raises AigonError (exit 7) if it answers then."""
    box = world.find(CheckSandbox)
    if settings.backend != "command" or box is None or not box.confines(JUDGE):
        return
    with box.lifting(JUDGE):
        if _ask(world, settings, question).failure:
            return
    raise environment(
        "The judge fails in the sandbox of checks, and answers without",
        where=".aigon/config.json",
        hint=f"Add {box.describe_grant(JUDGE, [ANYTHING])}, or the paths that it needs",
    )


def _confine(world: World, settings: JudgeSettings) -> JudgeSettings:
    """Return the settings of a judge that is a command so that it runs in the sandbox of checks, if there is one."""
    box = world.find(CheckSandbox)
    if settings.backend != "command" or box is None or not box.confines(JUDGE):
        return settings
    from aigon.judge.backends import command

    if command.explain_unready(settings, settings.env):
        return settings
    folder = os.path.abspath(settings.cwd)  # noqa: PTH100 - a text
    program = os.path.expanduser(settings.command[0])  # noqa: PTH111 - a user that does not exist must not raise
    argv = box.wrap_command((program, *settings.command[1:]), Path(folder), CheckStart(JUDGE, reads=(folder,)))
    return replace(settings, command=tuple(argv))


def _ask(world: World, settings: JudgeSettings, question: JudgeQuestion) -> JudgeAnswer:
    """Return one call's answer, or that none came in time or before the run was stopped."""
    settings = replace(settings, env={**settings.env, "AIGON_INVOCATION": world.invocation})  # as all of its programs
    return ask_in_thread(question, _confine(world, settings), world.stop)


def _limit_verdict(job: Job, settings: JudgeSettings, verdict: Verdict) -> Verdict:
    """Return the verdict as far as it may count.

    If a judge's own program does not keep to the format, no agent's turn can change that. With `autoCheckCriteria:
    false` a judge only proposes, and a person decides.
    """
    if settings.backend == "command" and verdict.status == "unclear" and MALFORMED in verdict.reason:
        return replace(verdict, method=JUDGE_BROKEN, reason=f"{verdict.reason}. {FORMAT}")
    if verdict.status != "met" or job.auto_check:
        return verdict
    why = f"the judge proposes met ({verdict.reason}); `aigon approve` decides"
    return replace(verdict, status="unclear", method="human", reason=why)
