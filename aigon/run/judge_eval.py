"""Measure a judge: every change of a labelled set is judged as in a loop, and the verdicts are compared with the truth.

The questions, the checks of quotes and the refuting call are a loop's (`aigon.judge.judgement`).
"""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from aigon.config.loading import load_configuration, open_work_tree
from aigon.config.models import JudgeConfig
from aigon.errors import AigonError, unavailable
from aigon.files.resources import find_resource
from aigon.git.person import Checkout
from aigon.judge.accuracy import AccuracyReport, JudgedCase, LabelledVerdict
from aigon.judge.backends import ask_in_thread
from aigon.judge.judgement import judge_change
from aigon.judge.labelled import LabelledCase, diff_case, load_cases, open_bench
from aigon.judge.settings import choose_judge
from aigon.model.changes import FileDiff
from aigon.model.judging import JudgeAnswer, JudgeQuestion, JudgeSettings
from aigon.process import orphans
from aigon.process.stop import Stop
from aigon.run.actors import find_judge

Progress = Callable[[str], None]


class JudgeEvalRequest(Struct, frozen=True):
    """Options that a person gave; None for one that was not given. `set` is a folder, None for the shipped one."""

    set: str | None = None
    judge: str | None = None
    model: str | None = None
    mode: str | None = None
    repeat: int = 1


class _Stopped(Exception):
    """Somebody asked for the end."""


def evaluate_judge(start: Path, asked: JudgeEvalRequest, progress: Progress) -> tuple[AccuracyReport, str]:
    """Judge every case as often as asked. Return the report, and the signal that ended it early, if one did.

    Raises AigonError: 2 for a set or configuration that is malformed, 6 if the judge cannot be asked.
    """
    folder = Path(asked.set) if asked.set else find_resource("templates", "judging")
    labelled = load_cases(folder)
    settings = _find_measured_judge(start, asked)
    criteria = sum(len(case.truth) for case in labelled)
    progress(f"{settings.backend} ({settings.model}) judges {len(labelled)} changes with {criteria} criteria")
    orphans.adopt_orphans()
    with Stop(patient=False).handling() as stop:
        try:
            judged = tuple(_judge_all(labelled, settings, asked.repeat, stop, progress))
        finally:
            stop.halt()
            orphans.sweep()
    expected = len(labelled) * asked.repeat
    complete = len(judged) == expected
    report = AccuracyReport(settings.backend, settings.model, settings.mode, str(folder), expected, judged, complete)
    return report, "" if complete else stop.reason


def _find_measured_judge(start: Path, asked: JudgeEvalRequest) -> JudgeSettings:
    """Return the judge that was named, else the configured one. Raises AigonError (exit 6) if there is none."""
    root = start
    try:
        with Checkout.open(start) as checkout:
            root = checkout.root
    except AigonError:  # a judge can be measured outside of a checkout, too
        root = start
    config = load_configuration(open_work_tree(root))
    changes = {key: value for key, value in (("model", asked.model), ("mode", asked.mode)) if value}
    own = (config.judge or JudgeConfig()).update(**changes)
    chosen = choose_judge(own, asked.judge)
    config = config.update(judge=own)
    judge = None if chosen == "none" else find_judge(config, chosen, (), dict(os.environ), root)
    if judge is None:
        hint = "Name one: --judge anthropic, agent or command. If one cannot be asked, the error says what it needs"
        raise unavailable("There is no judge to measure", where="--judge, AIGON_JUDGE or judge.backend", hint=hint)
    return judge


def _judge_all(
    labelled: Sequence[LabelledCase], settings: JudgeSettings, repeat: int, stop: Stop, progress: Progress
) -> Iterator[JudgedCase]:
    """Yield every case in every round, until somebody asks for the end."""
    with open_bench() as place:  # what is wrong with a set is said before it costs
        cases = [(case, diff_case(place, case)) for case in labelled]
    due = [(round_, *case) for round_ in range(1, repeat + 1) for case in cases]
    for number, (round_, case, diffs) in enumerate(due, 1):
        progress(f"{number}/{len(due)} {case.name}")
        try:
            yield _judge_case(case, diffs, settings, round_, stop)
        except _Stopped:
            return


def _judge_case(
    case: LabelledCase, diffs: Sequence[FileDiff], settings: JudgeSettings, round_: int, stop: Stop
) -> JudgedCase:
    begun = time.monotonic()
    criteria = tuple(criterion for criterion in case.spec.criteria if criterion.number in case.truth)
    spec = case.spec.raw.decode(errors="replace")
    judgement = judge_change(settings, criteria, spec, diffs, case.observed, ask=lambda q: _ask(q, settings, stop))
    verdicts = {verdict.criterion: verdict for verdict in judgement.verdicts}
    decided = tuple(
        LabelledVerdict(c.number, c.text, case.truth[c.number], verdicts[c.number].status, verdicts[c.number].reason)
        for c in criteria
    )
    answers = tuple(call.answer for call in judgement.calls)
    took = time.monotonic() - begun
    return JudgedCase(case.name, case.about, round_, decided, judgement.rejected, answers, took)


def _ask(question: JudgeQuestion, settings: JudgeSettings, stop: Stop) -> JudgeAnswer:
    """Ask once. Raises AigonError (exit 6) if no call can help."""
    answer = ask_in_thread(question, settings, stop)
    if stop.now:
        raise _Stopped
    if not answer.available:
        raise unavailable(f"The judge {settings.backend} cannot be asked", where="--judge", hint=answer.failure)
    return answer
