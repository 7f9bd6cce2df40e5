"""Which of two candidates a judge prefers: asked in both orders, without a name in anything that is sent."""

import os
from collections.abc import Sequence
from dataclasses import replace

from aigon.compare.new_tests_bench import Bench
from aigon.compare.pairwise_asking import answered
from aigon.compare.pairwise_names import plain_words
from aigon.compare.pairwise_shown import change, new_mark, pair_of, view
from aigon.compare.rules.evidence import Preference, Preferred
from aigon.config.models import JudgeConfig
from aigon.errors import AigonError
from aigon.judge.pairwise import Pair, build_pair_question, read_preference
from aigon.judge.pairwise import Preference as Said
from aigon.judge.selection import BUDGET, measure_diff
from aigon.judge.settings import choose_judge
from aigon.model.criteria import Spec
from aigon.model.judging import JudgeAnswer, JudgeSettings
from aigon.model.turns import CostStatus
from aigon.run.actors import find_judge

Tip = tuple[str, str]
"""A candidate's label, and the commit that its work ends with."""


def prefer(bench: Bench, one: Tip, other: Tip, spec: Spec, base: str) -> Preference:
    """Which of two candidates better fulfils the criteria of `spec`, by their changes from `base`; never raises.

    Unknown, with the reason, where no judge is configured or can be asked, a change is too large to be shown whole, or
    an answer is malformed, refused or late. `cost` is that of all calls.
    """
    try:
        settings = _judge(bench)
        if settings is None:
            return _unknown(one, other, "no judge is configured")
        return _asked(bench, settings, one, other, spec, base)
    except AigonError as error:
        return _unknown(one, other, f"{error.what}{f': {error.hint}' if error.hint else ''}")


def _judge(bench: Bench) -> JudgeSettings | None:
    """The judge that was chosen; none is taken for it unasked. Raises AigonError where it cannot be asked."""
    own = bench.config.judge or JudgeConfig()
    chosen = choose_judge(own, None)
    if chosen in (None, "none"):
        return None
    return find_judge(bench.config, chosen, (), dict(os.environ), bench.checkout.root)


def _asked(bench: Bench, settings: JudgeSettings, one: Tip, other: Tip, spec: Spec, base: str) -> Preference:
    changes = [change(bench, base, tip) for _, tip in (one, other)]
    if changes[0] == changes[1]:
        return Preference(one[0], other[0], "tie", ("what can be shown of both is the same",), 0.0, "reported")
    plain = plain_words(bench, (one, other), base)
    views = [view(each, plain, spec) for each in changes]
    for (label, _), shown, whole in zip((one, other), views, changes, strict=True):
        if not shown.whole:
            size = sum(map(measure_diff, whole))
            said_ = f"the change of {label} is too large to be compared ({size:,} characters, {BUDGET:,} can be shown)"
            return _unknown(one, other, said_)
    return _both_orders(bench, settings, one[0], other[0], pair_of(spec, plain, views[0], views[1]))


def _both_orders(bench: Bench, settings: JudgeSettings, one: str, other: str, pair: Pair) -> Preference:
    turned = replace(pair, changes=(pair.changes[1], pair.changes[0]), mark=new_mark())
    answers: list[JudgeAnswer] = []
    heard: list[Said] = []
    for each in (pair, turned):
        answers.append(answered(settings, build_pair_question(each), bench.stop))
        found = answers[-1].failure or read_preference(each, answers[-1].text)
        if isinstance(found, str):
            return _unknown((one, ""), (other, ""), found, answers)
        heard.append(found)
    return _agreed(one, other, heard, answers)


def _agreed(one: str, other: str, heard: Sequence[Said], answers: Sequence[JudgeAnswer]) -> Preference:
    there: dict[str, Preferred] = {"first": "one", "second": "other", "tie": "tie"}
    back: dict[str, Preferred] = {"first": "other", "second": "one", "tie": "tie"}
    ahead, behind = there[heard[0].preference], back[heard[1].preference]
    if ahead == behind:
        labels = {"first": one, "second": other}
        reasons = tuple(f"{labels[change]}: {text}" for change, text in heard[0].reasons)
        return Preference(one, other, ahead, reasons, *_cost(answers))
    said_of = {"one": one, "other": other, "tie": "neither"}
    why = f"its two answers do not agree: it prefers {said_of[ahead]}, and in the other order {said_of[behind]}"
    return Preference(one, other, "tie", (why,), *_cost(answers))


def _unknown(one: Tip, other: Tip, why: str, answers: Sequence[JudgeAnswer] = ()) -> Preference:
    return Preference(one[0], other[0], "unknown", (why,), *_cost(answers))


def _cost(answers: Sequence[JudgeAnswer]) -> tuple[float | None, CostStatus]:
    """US dollars of all calls and how that is known; nothing where nobody was asked."""
    costs = [answer.cost for answer in answers if answer.cost is not None]
    if len(costs) < len(answers):
        return None, "unknown"
    estimated = any(answer.cost_status == "estimated" for answer in answers)
    return sum(costs), "estimated" if estimated else "reported"
