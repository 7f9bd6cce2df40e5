"""A whole judgement without a loop around it: every call that it takes, one after the other."""

import secrets
from collections.abc import Callable, Sequence

from aigon.judge.case import Case, Judgement, Observed
from aigon.model.changes import FileDiff
from aigon.model.criteria import Criterion
from aigon.model.judging import JudgeAnswer, JudgeQuestion, JudgeSettings


def judge_change(
    settings: JudgeSettings,
    criteria: Sequence[Criterion],
    spec_text: str,
    file_diffs: Sequence[FileDiff],
    findings: Sequence[Observed],
    *,
    ask: Callable[[JudgeQuestion], JudgeAnswer],
) -> Judgement:
    """The verdicts on `criteria`, with every quote checked and every "met" put to a refuting call.

    `ask` makes one call (a backend's `ask`, bound to settings). It is called once for all criteria or once for each
    (`settings.mode`), then again for the claims that stood. What fails is an unclear verdict, never an exception.
    `file_diffs` come from `aigon.git.diff.diff_trees` or `aigon.git.diff.parse_diff` (text of one).
    """
    from aigon.judge.judgement import judgement

    case = case_of(settings, criteria, spec_text, file_diffs, findings)
    steps = judgement(case)
    try:
        question = next(steps)
        while True:
            question = steps.send(ask(question))
    except StopIteration as end:
        result: Judgement = end.value
        return result


def case_of(
    settings: JudgeSettings,
    criteria: Sequence[Criterion],
    spec_text: str,
    file_diffs: Sequence[FileDiff],
    findings: Sequence[Observed],
) -> Case:
    """The case, with delimiters that nobody could foresee."""
    mark = secrets.token_hex(8)
    return Case(tuple(criteria), spec_text, tuple(file_diffs), tuple(findings), mark, settings.mode)
